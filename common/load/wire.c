/* wire.c: see wire.h. */
#include "load/wire.h"

#include "base/clock.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { EVENTS_A_WAIT = 256, TIMER = WIRES };

/* An epoll event says which socket, and whose: a wire's, or the timer. */
static uint64_t key_of(int fd, int owner) {
    return (uint64_t)owner << 32 | (uint32_t)fd;
}

static int on_socket(CURL *curl, curl_socket_t fd, int what, void *ctx, void *known) {
    (void)curl;
    struct wire *w = ctx;
    struct epoll_event ev = {.data.u64 = key_of(fd, w->purpose)};
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(w->loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    if (what & CURL_POLL_IN) ev.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) ev.events |= EPOLLOUT;
    if (known) return epoll_ctl(w->loop->epoll_fd, EPOLL_CTL_MOD, fd, &ev);
    curl_multi_assign(w->multi, fd, w);
    return epoll_ctl(w->loop->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

static int on_timer(CURLM *multi, long ms, void *ctx) {
    (void)multi;
    struct wire *w = ctx;
    w->due_ns = ms < 0 ? INT64_MAX : clock_monotonic_ns() + ms * NS_PER_MS;
    return 0;
}

static int open_wire(struct wire_loop *l, enum wire_purpose p, int connections, struct err *e) {
    struct wire *w = &l->wires[p];
    *w = (struct wire){.loop = l, .purpose = p, .due_ns = INT64_MAX, .multi = curl_multi_init()};
    if (!w->multi) return err_set(e, "libcurl can't be started");
    curl_multi_setopt(w->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(w->multi, CURLMOPT_SOCKETDATA, w);
    curl_multi_setopt(w->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(w->multi, CURLMOPT_TIMERDATA, w);
    curl_multi_setopt(w->multi, CURLMOPT_MAXCONNECTS, (long)connections);
    curl_multi_setopt(w->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    return 0;
}

int wire_loop_open(struct wire_loop *l, int connections, struct err *e) {
    *l = (struct wire_loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC), .timer_ns = INT64_MAX};
    l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = key_of(l->timer_fd, TIMER)};
    if (l->epoll_fd < 0 || l->timer_fd < 0 ||
        epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->timer_fd, &ev))
        return err_set(e, "the event loop can't be made: %s", strerror(errno));
    return open_wire(l, WIRE_MEASURED, connections, e) || open_wire(l, WIRE_OTHER, 8, e) ? -1 : 0;
}

void wire_loop_close(struct wire_loop *l) {
    for (int p = 0; p < WIRES; p++) curl_multi_cleanup(l->wires[p].multi);
    if (l->timer_fd >= 0) close(l->timer_fd);
    if (l->epoll_fd >= 0) close(l->epoll_fd);
}

static void act(struct wire *w, curl_socket_t fd, int events) {
    int running;
    if (fd == CURL_SOCKET_TIMEOUT) w->due_ns = INT64_MAX; /* libcurl sets the next one */
    curl_multi_socket_action(w->multi, fd, events, &running);
}

int wire_add(struct wire *w, void *curl, struct err *e) {
    CURLMcode code = curl_multi_add_handle(w->multi, curl);
    if (code) return err_set(e, "libcurl takes no more requests: %s", curl_multi_strerror(code));
    act(w, CURL_SOCKET_TIMEOUT, 0);
    return 0;
}

void wire_remove(struct wire *w, void *curl) {
    curl_multi_remove_handle(w->multi, curl);
}

void *wire_done(struct wire *w, int *code) {
    int left;
    CURLMsg *m = curl_multi_info_read(w->multi, &left);
    if (!m) return NULL;
    CURL *curl = m->easy_handle;
    *code = (int)m->data.result; /* m is gone with the handle */
    curl_multi_remove_handle(w->multi, curl);
    return curl;
}

/* A timer that goes off earlier stays as it is: waking once too often is cheaper than a system call
 * each time. */
static void set_timer(struct wire_loop *l, int64_t at_ns) {
    if (l->timer_ns <= at_ns) return;
    l->timer_ns = at_ns;
    struct itimerspec t = {.it_value = {at_ns / NS_PER_S, at_ns % NS_PER_S}};
    timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
}

static void serve(struct wire_loop *l, const struct epoll_event *ev) {
    int fd = (int)(uint32_t)ev->data.u64, owner = (int)(ev->data.u64 >> 32), what = 0;
    uint64_t times;
    if (owner == TIMER) {
        l->timer_ns = INT64_MAX;
        if (read(fd, &times, sizeof times) < 0) return;
        return;
    }
    if (ev->events & (EPOLLIN | EPOLLHUP)) what |= CURL_CSELECT_IN;
    if (ev->events & EPOLLOUT) what |= CURL_CSELECT_OUT;
    if (ev->events & EPOLLERR) what |= CURL_CSELECT_ERR;
    act(&l->wires[owner], fd, what);
}

void wire_wait(struct wire_loop *l, int64_t until_ns, void (*between)(void *), void *ctx) {
    struct epoll_event events[EVENTS_A_WAIT];
    for (int p = 0; p < WIRES; p++)
        if (l->wires[p].due_ns < until_ns) until_ns = l->wires[p].due_ns;
    bool at_once = until_ns <= clock_monotonic_ns();
    if (!at_once) set_timer(l, until_ns);
    int n = epoll_wait(l->epoll_fd, events, EVENTS_A_WAIT, at_once ? 0 : -1);
    int64_t ready_ns = clock_monotonic_ns();
    for (int i = 0; i < n; i++) {
        serve(l, &events[i]);
        between(ctx);
    }
    for (int p = 0; p < WIRES; p++)
        if (l->wires[p].due_ns <= clock_monotonic_ns()) act(&l->wires[p], CURL_SOCKET_TIMEOUT, 0);
    int64_t turn_ns = clock_monotonic_ns() - ready_ns;
    if (n > 0 && turn_ns > l->longest_turn_ns) l->longest_turn_ns = turn_ns;
}
