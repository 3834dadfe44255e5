/* http_gate.c: see http_gate.h. */
#include "serve/http_gate.h"

#include "serve/http_cors.h"
#include "serve/http_framing.h"
#include "serve/http_recv.h"
#include "serve/http_reply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

/* How a connection ends: `fault` is found; it is `ended` when the requests before it are over and,
 * if it is in a body, its own has begun. `answered` comes with it, unless the client reads no more
 * (framing.last), or without a fault (gate_refuse, gate_late_body). A copy is `ended` from its
 * beginning, with neither. After `answered` or `ended` all bytes are discarded. `gone` can come at
 * any time, and no copy lingers after it or `answered`. */
struct gate {
    struct http *h;
    int fd;
    struct watched *watched;
    struct framing framing;
    bool read;      /* some bytes */
    int64_t passed; /* requests of which the library has every byte */
    int64_t over;   /* those of them that it has answered. Fewer than passed: a fault waits */
    struct framing_fault fault; /* found; no byte passes any more */
    bool begins;                /* it waits until its request's exchange begins */
    bool ended;                 /* with that fault, because its turn has come; or it is a copy */
    bool gone;                  /* the client: it has closed, or was cut */
    atomic_int answered;        /* the status that was sent here, with which the connection ends */
    size_t discarded;           /* bytes, after that */
    struct exchange *exchange;  /* the one whose header is read and that is not over, or NULL */
    bool head;                  /* its request is a HEAD */
    char too_much[80];          /* framing's */
};

_Static_assert(2 * FRAMING_MAX_HEADER <= HTTP_CONNECTION_BYTES, "the library would say 431");

/* What is read of a lingering connection before the others have their turn. */
enum { DISCARD_BYTES = 16 * 1024, DISCARDS = 16 };

/* By descriptor; far beyond HTTP_MAX_CONNECTIONS. The recv of any thread looks into its element. */
enum { MAX_FD = 64 * 1024 };
static _Atomic(struct gate *) gates[MAX_FD];

static struct gate *gate_of(int fd) {
    return fd >= 0 && fd < MAX_FD ? gates[fd] : NULL;
}

static ssize_t gate_recv(int fd, void *to, size_t n, int flags);
static void linger(struct gate *g);
static void linger_as_copy(const struct gate *g, struct MHD_Connection *c);
static void answer(struct gate *g, int status, const char *field, const char *code,
                   const char *text, bool head);

void gate_add(struct http *h, int fd, struct watched *watched, sa_family_t family) {
    struct gate *g = fd < MAX_FD ? calloc(1, sizeof *g) : NULL;
    if (!g) return;
    g->h = h;
    g->fd = fd;
    g->watched = watched;
    g->ended = family == LINGERING;
    gates[fd] = g;
    recv_through(gate_recv);
    if (g->ended) linger(g);
}

void gate_remove(int fd, struct MHD_Connection *c) {
    struct gate *g = gate_of(fd);
    if (!g) return;
    if (g->read && !g->answered && !g->gone) linger_as_copy(g, c);
    gates[fd] = NULL;
    framing_release(&g->framing);
    free(g);
}

bool gate_has_read(int fd) {
    struct gate *g = gate_of(fd);
    return g && g->read;
}

int gate_answered(int fd) {
    struct gate *g = gate_of(fd);
    return g ? g->answered : 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A request at fault is next: the connection ends, with an answer if the client waits for one. */
static void end_with_fault(struct gate *g) {
    const struct framing_fault *f = &g->fault;
    g->ended = true;
    if (!g->framing.last)
        answer(g, f->status, f->field, f->status == 400 ? "ambiguous_length" : NULL, f->text,
               g->framing.head);
    linger(g);
}

/* Reads what the socket has given. Returns how much of it is for the library. */
static size_t pass(struct gate *g, const char *bytes, size_t n) {
    int complete;
    size_t good;
    g->read = true;
    g->fault = framing_read(&g->framing, bytes, n, &complete, &good);
    g->passed += complete;
    if (!g->fault.status) return n;
    g->begins = g->framing.part >= FRAMING_BODY && (g->passed > g->over || !g->exchange);
    if (g->begins || g->passed > g->over) return good; /* one of the next two functions goes on */
    end_with_fault(g);
    return 0;
}

/* What recv has returned instead of bytes. */
static ssize_t ended_by_client(struct gate *g, ssize_t got) {
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) g->gone = true;
    return got;
}

/* After the answer: throws away what has come. The library takes EAGAIN and EINTR for "nothing";
 * after EAGAIN it waits for more, after EINTR it asks again in its next turn. It closes at 0. */
static ssize_t discard(struct gate *g) {
    char bytes[DISCARD_BYTES];
    for (int i = 0; i < DISCARDS; i++) {
        ssize_t got = recvfrom(g->fd, bytes, sizeof bytes, MSG_DONTWAIT, NULL, NULL);
        if (got <= 0) return ended_by_client(g, got);
        g->discarded += (size_t)got;
        if (g->discarded > HTTP_LINGER_BYTES) return ended_by_client(g, 0);
    }
    errno = EINTR;
    return -1;
}

static ssize_t gate_recv(int fd, void *to, size_t n, int flags) {
    struct gate *g = gate_of(fd);
    if (!g || (flags & MSG_PEEK)) /* not ours; or it takes no bytes, and comes again for them */
        return recvfrom(fd, to, n, flags, NULL, NULL);
    if (g->answered || g->ended) return discard(g);
    size_t passes = 0;
    if (!g->fault.status) {
        ssize_t got = recvfrom(fd, to, n, flags, NULL, NULL);
        if (got <= 0) return ended_by_client(g, got);
        passes = pass(g, to, (size_t)got);
    }
    if (passes > 0) return (ssize_t)passes;
    if (g->ended) return discard(g);
    errno = EAGAIN; /* the library reads on when end_with_fault has sent the connection's end */
    return -1;
}

void gate_exchange_begins(struct exchange *x, bool head) {
    struct gate *g = gate_of(x->fd);
    g->exchange = x;
    g->head = head;
    if (g->begins && g->passed == g->over) {
        x->replied = true;
        end_with_fault(g);
    }
    if (!x->route || g->passed > g->over) return; /* the framing is behind this request already */
    g->framing.most_data = x->route->max_body;
    g->framing.too_much = g->too_much;
    snprintf(g->too_much, sizeof g->too_much, "the body may have at most %zu bytes",
             x->route->max_body);
}

void gate_exchange_over(int fd, bool delivered) {
    struct gate *g = gate_of(fd);
    if (!g) return;
    if (!delivered) g->gone = true;
    g->exchange = NULL;
    g->over++;
    if (g->fault.status && !g->ended && !g->begins && g->over >= g->passed) end_with_fault(g);
}

/* ---- replies --------------------------------------------------------------------------------- */

/* Sends the connection's end. The watch ends it after a time, and discard after so many bytes. */
static void linger(struct gate *g) {
    shutdown(g->fd, SHUT_WR);
    watch_enter(g->h->watch, g->watched, WATCH_LINGER, g->h->o.linger_s);
}

/* The library closes the descriptor next. If memory is out, that's all. */
static void linger_as_copy(const struct gate *g, struct MHD_Connection *c) {
    struct MHD_Daemon *daemon = MHD_get_connection_info(c, MHD_CONNECTION_INFO_DAEMON)->daemon;
    const struct sockaddr address = {.sa_family = LINGERING};
    pthread_mutex_lock(&g->h->lock);
    bool stopping = g->h->stopping;
    pthread_mutex_unlock(&g->h->lock);
    int fd = stopping ? -1 : fcntl(g->fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0) (void)MHD_add_connection(daemon, fd, &address, sizeof address);
}

void gate_refuse(struct exchange *x, int status, const char *text) {
    struct gate *g = gate_of(x->fd);
    x->replied = true;
    answer(g, status, NULL, NULL, text, g->head);
    linger(g);
}

int gate_late_body(int fd) {
    struct gate *g = gate_of(fd);
    if (!g) return 0;
    pthread_mutex_lock(&g->h->lock);
    bool draining = g->h->draining;
    pthread_mutex_unlock(&g->h->lock);
    if (draining)
        answer(g, 503, NULL, "draining", "the server is shutting down", g->head);
    else
        answer(g, 408, NULL, "body_timeout", "the rest of the body did not come in time", g->head);
    shutdown(fd, SHUT_WR);
    return g->h->o.linger_s;
}

static void put_date(struct buffer *b) {
    char text[40];
    struct tm tm;
    time_t now = time(NULL);
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
    buffer_puts(b, text);
}

static void answer(struct gate *g, int status, const char *field, const char *code,
                   const char *text, bool head) {
    const struct http *h = g->h;
    int before = 0;
    if (!atomic_compare_exchange_strong(&g->answered, &before, status)) return;
    const struct live_record *live = g->exchange ? g->exchange->live : NULL;
    if (live) completion_refused(g->exchange, status, text);
    struct buffer b = {0}, body = {0};
    const char *cors[CORS_HEADERS][2];
    openai_error(&body, reply_error_type(status), text, field, code);
    buffer_puts(&body, "\n");
    buffer_printf(&b, "HTTP/1.1 %d %s\r\n", status, MHD_get_reason_phrase_for((unsigned)status));
    put_date(&b);
    if (live) buffer_printf(&b, "X-Request-Id: %s\r\nX-Attempt: %d\r\n", live->id, live->attempt);
    for (int i = 0, n = cors_headers(h->o.cors, cors); i < n; i++)
        buffer_printf(&b, "%s: %s\r\n", cors[i][0], cors[i][1]);
    if (status == 503) buffer_puts(&b, "Retry-After: 1\r\n");
    buffer_printf(&b,
                  "Connection: close\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                  "\r\n",
                  body.n);
    if (!head) buffer_add(&b, body.bytes, body.n);
    if (!b.failed && !body.failed) /* a client that has not read its last replies gets none */
        (void)!send(g->fd, b.bytes, b.n, MSG_DONTWAIT | MSG_NOSIGNAL);
    buffer_release(&b);
    buffer_release(&body);
}
