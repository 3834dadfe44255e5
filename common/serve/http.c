/* http.c: the HTTP library's daemon: started, stopped, and its calls for each request. See http.h.
 *
 * The library calls take_call once when a request's header is read, once for each part of its body,
 * and once more with no data. The last call lets the request's route (http_router.c) read the body,
 * and runs it. A body above HTTP_LONG_BODY is read by another thread (http_reader.h); the library
 * calls take_call again when that is done. A route that suspends its connection goes on when the
 * library calls take_call again after the resume. At the end of the reply the library calls
 * `completed`.
 */
#include "base/priority.h"
#include "serve/http_cors.h"
#include "serve/http_gate.h"
#include "serve/http_listen.h"
#include "serve/http_reply.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* For the rest of a body once the server drains: its request gets a 503 anyway, or had its answer.
 */
enum { DRAIN_BODY_S = 1 };

/* ---- start and stop -------------------------------------------------------------------------- */

static struct MHD_Daemon *start_daemon(struct http *h, int fd, bool ipv6);

struct http *http_start(const struct http_options *o, struct err *e) {
    struct http *h = calloc(1, sizeof *h);
    bool ipv6;
    if (!h) {
        err_set(e, "no memory for the HTTP server");
        return NULL;
    }
    h->o = *o;
    if (!h->o.header_s) h->o.header_s = HTTP_HEADER_S;
    if (!h->o.body_s) h->o.body_s = HTTP_BODY_S;
    if (!h->o.linger_s) h->o.linger_s = HTTP_LINGER_S;
    h->started_s = time(NULL);
    pthread_mutex_init(&h->lock, NULL);
    h->watch = cors_check(o->cors, e) ? NULL : watch_start(gate_late_body, e);
    h->reader = h->watch ? reader_start(e) : NULL;
    int fd = h->reader ? http_listen(o, &ipv6, &h->socket, e) : -1;
    if (fd >= 0) {
        h->daemon = start_daemon(h, fd, ipv6); /* the library owns the socket from here on */
        if (!h->daemon) err_set(e, "the HTTP library doesn't start (no memory, or no descriptor?)");
    }
    if (h->daemon) return h;
    http_remove_socket(o, &h->socket);
    if (h->reader) reader_stop(h->reader);
    reader_free(h->reader);
    watch_stop(h->watch);
    pthread_mutex_destroy(&h->lock);
    free(h);
    return NULL;
}

int http_port(const struct http *h) {
    return MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void http_drain(struct http *h) {
    engine_drain(h->o.engine); /* first: what the engine takes is counted in active */
    pthread_mutex_lock(&h->lock);
    h->draining = true;
    pthread_mutex_unlock(&h->lock);
    watch_hurry(h->watch, DRAIN_BODY_S);
}

int http_active(struct http *h) {
    pthread_mutex_lock(&h->lock);
    int active = h->active;
    pthread_mutex_unlock(&h->lock);
    return active;
}

int http_unanswered(struct http *h) {
    pthread_mutex_lock(&h->lock);
    int unanswered = h->unanswered;
    pthread_mutex_unlock(&h->lock);
    return unanswered;
}

bool http_lingers(struct http *h) {
    return watch_lingers(h->watch);
}

void http_stop(struct http *h) {
    if (!h) return;
    /* The library aborts when a connection is suspended in its stop. None is: the engine has closed
     * every stream, which resumes its connection, and the reader resumes its own. */
    reader_stop(h->reader);
    pthread_mutex_lock(&h->lock);
    h->stopping = true;
    pthread_mutex_unlock(&h->lock);
    MHD_stop_daemon(h->daemon);
    http_remove_socket(&h->o, &h->socket);
    reader_free(h->reader);
    watch_stop(h->watch);
    presets_release(h);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* ---- the library's calls --------------------------------------------------------------------- */

static int descriptor_of(struct MHD_Connection *c);
static struct exchange *header_read(struct http *h, struct MHD_Connection *c, const char *method,
                                    const char *path);
static uint64_t announced(const struct exchange *x);
static bool announces_too_much(const struct exchange *x);
static void send_no_continue(const struct exchange *x);
static void refuse_too_large(struct exchange *x);
static void take_body(struct exchange *x, const char *data, size_t n);
static bool read_body(struct exchange *x);
static enum MHD_Result run_route(struct exchange *x, const char *method, const char *path);

static enum MHD_Result take_call(void *cls, struct MHD_Connection *c, const char *path,
                                 const char *method, const char *version, const char *data,
                                 size_t *n, void **ctx) {
    struct exchange *x = *ctx;
    (void)version;
    if (!x) {
        *ctx = x = header_read(cls, c, method, path);
        if (!x) return MHD_NO;
        if (!x->replied && announces_too_much(x)) refuse_too_large(x);
        /* The library would send it behind the gate's answer. And behind one for no body it takes
         * the next request for one. */
        if (x->replied || (!announced(x) && !request_header(x, "Transfer-Encoding")))
            send_no_continue(x);
        return MHD_YES;
    }
    if (*n > 0) {
        take_body(x, data, *n);
        *n = 0;
        return MHD_YES;
    }
    if (x->replied) return MHD_NO; /* by the gate, in the middle of this body */
    if (x->ran) return x->route->resumed(x);
    watch_enter(x->h->watch, x->watched, WATCH_REPLY, 0);
    if (gate_answered(x->fd)) return MHD_NO; /* with a 408, just now */
    if (!x->was_read && !read_body(x)) return MHD_YES;
    x->ran = true;
    return run_route(x, method, path);
}

static void completed(void *cls, struct MHD_Connection *c, void **ctx,
                      enum MHD_RequestTerminationCode how) {
    (void)c;
    struct http *h = cls;
    struct exchange *x = *ctx;
    if (!x) return;
    *ctx = NULL;
    /* first: from here on the watch answers no late body of this exchange */
    watch_enter(h->watch, x->watched, WATCH_HEADER, h->o.header_s);
    gate_exchange_over(x->fd, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    if (x->route && x->route->end) x->route->end(x, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    buffer_release(&x->body);
    buffer_release(&x->out);
    buffer_release(&x->answer);
    pthread_mutex_lock(&h->lock);
    h->active -= x->active;
    pthread_mutex_unlock(&h->lock);
    free(x);
}

static void connection_event(void *cls, struct MHD_Connection *c, void **ctx,
                             enum MHD_ConnectionNotificationCode what) {
    struct http *h = cls;
    int fd = descriptor_of(c), on = 1;
    const struct sockaddr *address =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        watch_remove(h->watch, *ctx);
        gate_remove(fd, c);
        *ctx = NULL;
        return;
    }
    /* without it a token may wait 40 ms for the acknowledgement of the last one */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *ctx = watch_add(h->watch, fd);
    watch_enter(h->watch, *ctx, WATCH_HEADER, h->o.header_s);
    gate_add(h, fd, *ctx, address->sa_family);
}

_Static_assert(HTTP_STALL_S > HTTP_BODY_S + 1, "the library closes before a late body's 408");

static struct MHD_Daemon *start_daemon(struct http *h, int fd, bool ipv6) {
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    if (ipv6) flags |= MHD_USE_IPv6;
    priority_short_turns(); /* the library's thread inherits it: a token must not wait for a core */
    struct MHD_Daemon *daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, take_call, h, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_COMPLETED, completed, h, MHD_OPTION_NOTIFY_CONNECTION, connection_event,
        h, MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_MAX_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_STALL_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HTTP_CONNECTION_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 0, MHD_OPTION_END);
    priority_default_turns();
    return daemon;
}

/* ---- the header ------------------------------------------------------------------------------ */

static int descriptor_of(struct MHD_Connection *c) {
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static struct watched *watched_of(struct MHD_Connection *c) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static struct exchange *header_read(struct http *h, struct MHD_Connection *c, const char *method,
                                    const char *path) {
    int fd = descriptor_of(c);
    struct exchange *x = gate_has_read(fd) ? calloc(1, sizeof *x) : NULL;
    if (!x) return NULL;
    x->h = h;
    x->connection = c;
    x->fd = fd;
    x->watched = watched_of(c);
    pthread_mutex_lock(&h->lock);
    x->active = !h->draining;
    h->active += x->active;
    pthread_mutex_unlock(&h->lock);
    route_find(x, method, path);
    if (x->route && x->route->begin) x->route->begin(x);
    gate_exchange_begins(x, !strcmp(method, "HEAD"));
    if (!x->replied) watch_enter(h->watch, x->watched, WATCH_BODY, h->o.body_s);
    return x;
}

/* The Content-Length; 0 without one. */
static uint64_t announced(const struct exchange *x) {
    const char *length = request_header(x, "Content-Length");
    return length ? strtoull(length, NULL, 10) : 0;
}

static bool announces_too_much(const struct exchange *x) {
    return x->route && x->route->max_body > 0 && announced(x) > x->route->max_body;
}

/* The header's value is in the connection's own memory, and nobody reads it again. */
static void send_no_continue(const struct exchange *x) {
    char *expect = (char *)(uintptr_t)request_header(x, "Expect");
    if (expect && expect[0]) expect[0] = '\0';
}

/* ---- the body -------------------------------------------------------------------------------- */

/* Says 413 before the body is there. */
static void refuse_too_large(struct exchange *x) {
    char text[80];
    snprintf(text, sizeof text, "the body may have at most %zu bytes", x->route->max_body);
    gate_refuse(x, 413, text);
    buffer_release(&x->body);
}

static void take_body(struct exchange *x, const char *data, size_t n) {
    size_t max = x->route ? x->route->max_body : 0;
    if (max == 0 || x->replied) return; /* the route reads no body; or it was refused */
    INVARIANT(n <= max - x->body.n);    /* gate_exchange_begins */
    buffer_add(&x->body, data, n);
}

/* Has the route read the body? If not, the connection is suspended until it has. */
static bool read_body(struct exchange *x) {
    x->was_read = true;
    if (!x->route || !x->route->read || x->body.failed) return true;
    if (x->body.n > HTTP_LONG_BODY && reader_add(x->h->reader, x)) return false;
    x->route->read(x);
    return true;
}

static enum MHD_Result run_route(struct exchange *x, const char *method, const char *path) {
    if (x->body.failed) return reply_error(x, 500, NULL, NULL, "no memory for this body");
    if (x->route) return x->route->run(x);
    if (x->allow)
        return reply_error(x, 405, NULL, NULL, "%s %.80s takes %s", method, path, x->allow);
    return reply_error(x, 404, NULL, NULL,
                       "there is no route %s %.80s; POST /v1/chat/completions or /v1/completions, "
                       "GET /v1/models, /health, /v1/records",
                       method, path);
}
