/* http.c: the daemon, the routes, and the three calls by which the library hands us a request. See
 * http.h.
 *
 * The library calls `take_call` once when the header is read, then for each part of the body, then
 * once more with no data; and again after a suspended connection was resumed. Completions go on in
 * completion.c.
 */
#include "serve/exchange.h"

#include "base/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum {
    BACKLOG = 1024, /* connections that wait to be accepted: a lecture hall that reloads at once */
    DRAIN_BODY_S =
        1 /* for the rest of a body when the server wants to stop: it gets a 503 anyway */
};

/* ---- simple routes --------------------------------------------------------------------------- */

static enum MHD_Result route_models(struct exchange *x) {
    struct buffer b = {0};
    openai_models(&b, x->h->o.model_name, x->h->started_s,
                  x->h->o.engine->backend->info.max_seq_tokens);
    return reply_bytes(x, 200, "application/json", &b);
}

static enum MHD_Result route_model(struct exchange *x) {
    struct buffer b = {0};
    if (strcmp(x->id, x->h->o.model_name))
        return reply_error(x, 404, "model", "model_not_found", "this server has \"%s\", not \"%s\"",
                           x->h->o.model_name, x->id);
    openai_model(&b, x->h->o.model_name, x->h->started_s,
                 x->h->o.engine->backend->info.max_seq_tokens);
    return reply_bytes(x, 200, "application/json", &b);
}

static enum MHD_Result route_health(struct exchange *x) {
    struct engine_load load = engine_load_of(x->h->o.engine);
    pthread_mutex_lock(&x->h->lock);
    bool draining = x->h->draining;
    pthread_mutex_unlock(&x->h->lock);
    struct buffer b = {0};
    buffer_printf(&b, "{\"status\":\"%s\",\"waiting\":%d,\"running\":%d}\n",
                  draining ? "draining" : "ok", load.waiting, load.running);
    return reply_bytes(x, draining ? 503 : 200, "application/json", &b);
}

static const struct route routes[] = {
    {"POST", "/v1/chat/completions", "", false, HTTP_MAX_BODY, OPENAI_CHAT, completion_begin,
     completion_run},
    {"POST", "/v1/completions", "", false, HTTP_MAX_BODY, OPENAI_COMPLETIONS, completion_begin,
     completion_run},
    {"GET", "/v1/models", "", false, 0, 0, NULL, route_models},
    {"GET", "/v1/models/", "", true, 0, 0, NULL, route_model},
    {"GET", "/health", "", false, 0, 0, NULL, route_health},
    {"GET", "/v1/presets", "", false, 0, 0, NULL, presets_route},
    {"GET", "/v1/records", "", false, 0, 0, NULL, records_route_list},
    {"POST", "/v1/records/", "/events", true, HTTP_MAX_POST, 0, NULL, records_route_post},
    {"GET", "/v1/records/", "/intervals", true, 0, 0, NULL, records_route_intervals},
    {"GET", "/v1/records/", "", true, 0, 0, NULL, records_route_get},
    {"GET", "/", "", true, 0, 0, NULL, files_route}, /* last: it takes what is left */
};

/* Does the path belong to the route? Copies its variable part, which has no slash except in files.
 */
static bool path_fits(const struct route *r, const char *path, char *variable, size_t cap) {
    if (!r->variable) return !strcmp(path, r->path);
    size_t head = strlen(r->path), tail = strlen(r->more), n = strlen(path);
    if (n < head + tail || strncmp(path, r->path, head) || strcmp(path + n - tail, r->more))
        return false;
    n -= head + tail;
    if (n >= cap || (r->run != files_route && (n == 0 || memchr(path + head, '/', n))))
        return false;
    memcpy(variable, path + head, n);
    variable[n] = '\0';
    return true;
}

static void find_route(struct exchange *x, const char *method, const char *path) {
    bool head = !strcmp(method, "HEAD"); /* as GET; the library leaves the body out */
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        const struct route *r = &routes[i];
        if (!path_fits(r, path, x->id, sizeof x->id)) continue;
        /* the API's paths are no files */
        if (r->run == files_route && !strncmp(path, "/v1/", 4)) continue;
        if (!strcmp(r->method, method) || (head && !strcmp(r->method, "GET"))) {
            x->route = r;
            return;
        }
        if (r->run != files_route) x->allow = r->method;
    }
}

/* ---- replies --------------------------------------------------------------------------------- */

enum MHD_Result reply_queue(struct exchange *x, int status, struct MHD_Response *r) {
    if (!r) return MHD_NO;
    if (x->live) {
        char attempt[16];
        snprintf(attempt, sizeof attempt, "%d", x->live->attempt);
        MHD_add_response_header(r, "X-Request-Id", x->live->id);
        MHD_add_response_header(r, "X-Attempt", attempt);
        pthread_mutex_lock(&x->live->lock);
        x->live->record.outcome.http_status = status;
        pthread_mutex_unlock(&x->live->lock);
    }
    if (x->unclear) MHD_add_response_header(r, "Connection", "close");
    if (status == 429 || status == 503) MHD_add_response_header(r, "Retry-After", "1");
    if (status == 405 && x->allow) MHD_add_response_header(r, "Allow", x->allow);
    x->replied = true;
    x->status = status;
    enum MHD_Result rc = MHD_queue_response(x->connection, (unsigned)status, r);
    MHD_destroy_response(r);
    return rc;
}

enum MHD_Result reply_bytes(struct exchange *x, int status, const char *type, struct buffer *b) {
    if (b->failed) {
        buffer_release(b);
        return MHD_NO;
    }
    struct MHD_Response *r = MHD_create_response_from_buffer(b->n, b->bytes, MHD_RESPMEM_MUST_FREE);
    if (!r) buffer_release(b);
    *b = (struct buffer){0};
    if (r) MHD_add_response_header(r, "Content-Type", type);
    if (r) MHD_add_response_header(r, "Cache-Control", "no-store");
    return reply_queue(x, status, r);
}

static const char *error_type(int status) {
    if (status == 429) return "rate_limit_error";
    return status >= 500 ? "server_error" : "invalid_request_error";
}

enum MHD_Result reply_error(struct exchange *x, int status, const char *field, const char *code,
                            const char *fmt, ...) {
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct buffer b = {0};
    openai_error(&b, error_type(status), text, field, code);
    buffer_puts(&b, "\n");
    return reply_bytes(x, status, "application/json", &b);
}

enum MHD_Result reply_err(struct exchange *x, int status, const struct err *e) {
    char text[600], line[40] = "";
    if (e->line > 0) snprintf(line, sizeof line, "line %d of the body: ", e->line);
    return reply_error(x, status, e->field, NULL, "%s%s", line,
                       err_format(e, NULL, text, sizeof text));
}

enum MHD_Result reply_tree(struct exchange *x, int status, cJSON *tree) {
    char *text = tree ? json_print(tree) : NULL;
    cJSON_Delete(tree);
    if (!text) return reply_error(x, 500, NULL, NULL, "no memory for this reply");
    struct buffer b = {0};
    buffer_puts(&b, text);
    buffer_puts(&b, "\n");
    cJSON_free(text);
    return reply_bytes(x, status, "application/json", &b);
}

const char *request_header(const struct exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

const char *request_query(const struct exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, name);
}

bool read_attempt(const char *text, int32_t *out) {
    size_t n = strlen(text);
    if (n < 1 || n > 7 || strspn(text, "0123456789") != n) return false;
    long v = strtol(text, NULL, 10);
    *out = (int32_t)v;
    return v >= 1 && v <= 1000000;
}

/* ---- the library's calls --------------------------------------------------------------------- */

static struct watched *watched_of(struct MHD_Connection *c) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

struct framing {
    int lengths, encodings;
};

static enum MHD_Result count_framing(void *ctx, enum MHD_ValueKind kind, const char *name,
                                     const char *value) {
    struct framing *f = ctx;
    (void)kind;
    (void)value;
    f->lengths += !strcasecmp(name, "Content-Length");
    f->encodings += !strcasecmp(name, "Transfer-Encoding");
    return MHD_YES;
}

/* Does the header say only once where the body ends? The library takes the first length, or the
 * encoding; a proxy in front may take the other, and would pass on what it never checked as the
 * next request (request smuggling, RFC 9112 section 11.2). */
static bool clearly_framed(struct MHD_Connection *c) {
    struct framing f = {0};
    MHD_get_connection_values(c, MHD_HEADER_KIND, count_framing, &f);
    return f.lengths + f.encodings <= 1;
}

static enum MHD_Result unclear_framing(struct exchange *x) {
    return reply_error(x, 400, NULL, "ambiguous_length",
                       "send one Content-Length, or Transfer-Encoding alone: this header says more "
                       "than once where the body ends");
}

static struct exchange *header_read(struct http *h, struct MHD_Connection *c, const char *method,
                                    const char *path) {
    struct exchange *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    x->h = h;
    x->connection = c;
    x->watched = watched_of(c);
    x->unclear = !clearly_framed(c);
    if (x->unclear) return x; /* not one request for certain: no record */
    find_route(x, method, path);
    if (x->route && x->route->begin) x->route->begin(x);
    watch_body(h->watch, x->watched, h->o.body_s);
    return x;
}

static void take_body(struct exchange *x, const char *data, size_t n) {
    size_t max = x->route ? x->route->max_body : 0;
    if (x->body.n + n > max)
        x->too_large = max > 0; /* what no one reads is passed over */
    else
        buffer_add(&x->body, data, n);
}

static bool announces_too_much(const struct exchange *x) {
    const char *length = request_header(x, "Content-Length");
    return length && x->route && x->route->max_body > 0 &&
           strtoull(length, NULL, 10) > x->route->max_body;
}

static enum MHD_Result too_large(struct exchange *x) {
    x->too_large = true;
    return reply_error(x, 413, NULL, NULL, "the body may have at most %zu bytes",
                       x->route->max_body);
}

static enum MHD_Result run_route(struct exchange *x, const char *method, const char *path) {
    if (x->too_large) return too_large(x);
    if (x->body.failed) return reply_error(x, 500, NULL, NULL, "no memory for this body");
    if (x->route) return x->route->run(x);
    if (x->allow)
        return reply_error(x, 405, NULL, NULL, "%s %.80s takes %s", method, path, x->allow);
    return reply_error(x, 404, NULL, NULL,
                       "there is no route %s %.80s; POST /v1/chat/completions or /v1/completions, "
                       "GET /v1/models, /health, /v1/records",
                       method, path);
}

static enum MHD_Result take_call(void *cls, struct MHD_Connection *c, const char *path,
                                 const char *method, const char *version, const char *data,
                                 size_t *n, void **ctx) {
    (void)version;
    struct exchange *x = *ctx;
    if (!x) {
        *ctx = x = header_read(cls, c, method, path);
        if (!x) return MHD_NO;
        if (x->unclear) return unclear_framing(x);
        return announces_too_much(x) ? too_large(x) : MHD_YES;
    }
    if (*n > 0) {
        take_body(x, data, *n);
        *n = 0;
        return MHD_YES;
    }
    if (x->replied) return MHD_YES;
    watch_deadline(x->h->watch, x->watched, 0);
    return run_route(x, method, path);
}

static void completed(void *cls, struct MHD_Connection *c, void **ctx,
                      enum MHD_RequestTerminationCode how) {
    (void)c;
    struct http *h = cls;
    struct exchange *x = *ctx;
    if (!x) return;
    *ctx = NULL;
    if (x->live) completion_end(x, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    watch_deadline(h->watch, x->watched, h->o.header_s);
    buffer_release(&x->body);
    buffer_release(&x->out);
    buffer_release(&x->answer);
    free(x);
}

static void connection_event(void *cls, struct MHD_Connection *c, void **ctx,
                             enum MHD_ConnectionNotificationCode what) {
    struct http *h = cls;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        watch_remove(h->watch, *ctx);
        *ctx = NULL;
        return;
    }
    int fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd, on = 1;
    /* without it a token may wait 40 ms for the acknowledgement of the last one (M13) */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *ctx = watch_add(h->watch, fd);
    watch_deadline(h->watch, *ctx, h->o.header_s);
}

/* ---- start and stop -------------------------------------------------------------------------- */

static struct addrinfo *resolve(const char *host, int port, struct err *e) {
    char service[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    snprintf(service, sizeof service, "%d", port);
    int rc = getaddrinfo(host, service, &hints, &found);
    if (!rc) return found;
    err_at(e, 0, "--host", "'%s' is no address of this machine: %s", host, gai_strerror(rc));
    return NULL;
}

static int cannot_listen(const struct http_options *o, int why, struct err *e) {
    switch (why) {
    case EADDRINUSE:
        return err_at(e, 0, "--port", "port %d of %s is in use; --port 0 takes a free one", o->port,
                      o->host);
    case EACCES:
        return err_at(e, 0, "--port",
                      "no permission to listen on port %d; take one from 1024 on, or --port 0",
                      o->port);
    case EADDRNOTAVAIL:
        return err_at(e, 0, "--host",
                      "'%s' is no address of this machine; 127.0.0.1 is for this machine alone, "
                      "0.0.0.0 for all its addresses",
                      o->host);
    default:
        return err_set(e, "can't listen on %s port %d: %s", o->host, o->port, strerror(why));
    }
}

/* Ours, not the library's, because that keeps to itself why it failed. The socket, or -1. */
static int listen_on(const struct http_options *o, const struct addrinfo *at, struct err *e) {
    int on = 1, fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* connections of the last run that linger must not keep the port */
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd >= 0 && at->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (fd >= 0 && !bind(fd, at->ai_addr, at->ai_addrlen) && !listen(fd, BACKLOG)) return fd;
    int why = errno;
    if (fd >= 0) close(fd);
    return cannot_listen(o, why, e);
}

static struct MHD_Daemon *start_daemon(struct http *h, const struct addrinfo *at, int fd) {
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    if (at->ai_family == AF_INET6) flags |= MHD_USE_IPv6;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, take_call, h, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_COMPLETED, completed, h, MHD_OPTION_NOTIFY_CONNECTION, connection_event,
        h, MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_MAX_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_STALL_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HTTP_CONNECTION_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

struct http *http_start(const struct http_options *o, struct err *e) {
    struct addrinfo *at = resolve(o->host, o->port, e);
    struct http *h = at ? calloc(1, sizeof *h) : NULL;
    if (!h) goto out;
    h->o = *o;
    if (!h->o.header_s) h->o.header_s = HTTP_HEADER_S;
    if (!h->o.body_s) h->o.body_s = HTTP_BODY_S;
    h->started_s = time(NULL);
    pthread_mutex_init(&h->lock, NULL);
    h->watch = watch_start(o->records, e);
    int fd = h->watch ? listen_on(o, at, e) : -1;
    if (fd >= 0) {
        h->daemon = start_daemon(h, at, fd); /* the socket is the library's from here on */
        if (!h->daemon) err_set(e, "the HTTP library doesn't start (no memory, or no descriptor?)");
    }
    if (!h->daemon) {
        watch_stop(h->watch);
        free(h);
        h = NULL;
    }
out:
    if (at) freeaddrinfo(at);
    return h;
}

int http_port(const struct http *h) {
    return MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void http_drain(struct http *h) {
    watch_hurry_bodies(h->watch, DRAIN_BODY_S);
    pthread_mutex_lock(&h->lock);
    h->draining = true;
    pthread_mutex_unlock(&h->lock);
    engine_drain(h->o.engine);
}

int http_active(struct http *h) {
    pthread_mutex_lock(&h->lock);
    int active = h->active;
    pthread_mutex_unlock(&h->lock);
    return active;
}

void http_stop(struct http *h) {
    if (!h) return;
    /* A connection must not be suspended when the daemon stops. The engine has closed every stream,
     * which resumed them all. */
    MHD_stop_daemon(h->daemon);
    watch_stop(h->watch);
    presets_release(h);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
