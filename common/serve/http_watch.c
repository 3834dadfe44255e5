/* http_watch.c: closes connections at their deadlines. See http_watch.h. */
#include "serve/http_watch.h"

#include "base/clock.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

static const int64_t look_ns = 50 * NS_PER_MS; /* fine enough for deadlines of seconds */
/* How long a client that has closed its half may still be answered. The library doesn't notice a
 * half-closed connection when its end comes together with data. */
static const int64_t half_closed_ns = 1000 * NS_PER_MS;

struct watched {
    int fd;
    enum watch_phase phase;
    int64_t deadline_ns;        /* of the phase */
    struct watched *next, **at; /* at: the pointer that points here */
};

struct watch {
    pthread_t thread;
    int (*late_body)(int fd);
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t wake;
    struct watched *first;
    int64_t max_ns; /* the longest time from now to the deadline of a body or of a lingering one */
    bool stopping;
};

static bool half_closed(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static bool hurries(enum watch_phase phase) {
    return phase == WATCH_BODY || phase == WATCH_LINGER;
}

/* With the lock. */
static void enter(struct watch *w, struct watched *c, enum watch_phase phase, int seconds) {
    int64_t wait_ns = seconds * NS_PER_S;
    if (hurries(phase) && wait_ns > w->max_ns) wait_ns = w->max_ns;
    c->deadline_ns = wait_ns ? clock_monotonic_ns() + wait_ns : INT64_MAX;
    c->phase = phase;
}

static void close_overdue(struct watch *w) {
    int64_t now = clock_monotonic_ns();
    for (struct watched *c = w->first; c; c = c->next) {
        if (c->deadline_ns == INT64_MAX) continue; /* its request is in the engine */
        if (c->deadline_ns > now + half_closed_ns && half_closed(c->fd))
            c->deadline_ns = now + half_closed_ns;
        if (c->deadline_ns > now) continue;
        int linger_s = c->phase == WATCH_BODY && !half_closed(c->fd) ? w->late_body(c->fd) : 0;
        if (linger_s > 0) {
            enter(w, c, WATCH_LINGER, linger_s);
            continue;
        }
        shutdown(c->fd, SHUT_RDWR); /* while the lock is held, the descriptor can't be closed */
        c->deadline_ns = INT64_MAX;
    }
}

static void *run(void *ctx) {
    struct watch *w = ctx;
    pthread_mutex_lock(&w->lock);
    while (!w->stopping) {
        close_overdue(w);
        int64_t until = clock_monotonic_ns() + look_ns;
        struct timespec t = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
        pthread_cond_timedwait(&w->wake, &w->lock, &t);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

struct watch *watch_start(int (*late_body)(int fd), struct err *e) {
    struct watch *w = calloc(1, sizeof *w);
    if (!w) goto fail;
    w->late_body = late_body;
    w->max_ns = INT64_MAX;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    if (!pthread_create(&w->thread, NULL, run, w)) return w;
    free(w);
fail:
    err_set(e, "the thread that watches connections can't be started");
    return NULL;
}

void watch_stop(struct watch *w) {
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    INVARIANT(!w->first);
    w->stopping = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

struct watched *watch_add(struct watch *w, int fd) {
    struct watched *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->fd = fd;
    c->deadline_ns = INT64_MAX;
    pthread_mutex_lock(&w->lock);
    c->next = w->first;
    c->at = &w->first;
    if (c->next) c->next->at = &c->next;
    w->first = c;
    pthread_mutex_unlock(&w->lock);
    return c;
}

void watch_remove(struct watch *w, struct watched *c) {
    if (!c) return;
    pthread_mutex_lock(&w->lock);
    *c->at = c->next;
    if (c->next) c->next->at = c->at;
    pthread_mutex_unlock(&w->lock);
    free(c);
}

void watch_enter(struct watch *w, struct watched *c, enum watch_phase phase, int seconds) {
    if (!c) return;
    pthread_mutex_lock(&w->lock);
    enter(w, c, phase, seconds);
    pthread_mutex_unlock(&w->lock);
}

void watch_hurry(struct watch *w, int seconds) {
    int64_t wait_ns = seconds * NS_PER_S;
    pthread_mutex_lock(&w->lock);
    int64_t latest = clock_monotonic_ns() + wait_ns;
    w->max_ns = wait_ns;
    for (struct watched *c = w->first; c; c = c->next)
        if (hurries(c->phase) && c->deadline_ns > latest && c->deadline_ns != INT64_MAX)
            c->deadline_ns = latest;
    pthread_mutex_unlock(&w->lock);
}

bool watch_lingers(struct watch *w) {
    pthread_mutex_lock(&w->lock);
    const struct watched *c = w->first;
    while (c && c->phase != WATCH_LINGER) c = c->next;
    pthread_mutex_unlock(&w->lock);
    return c != NULL;
}
