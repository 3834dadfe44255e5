/* wire.h: many HTTP transfers in one thread: libcurl's multi interface over one epoll.
 *
 * A stream that is silent costs nothing, and waiting is exact: a timer on CLOCK_MONOTONIC, not a
 * number of milliseconds. A loop has two wires with separate connections: one for the
 * requests that are measured, one for everything else.
 */
#ifndef SERVELAB_LOAD_WIRE_H
#define SERVELAB_LOAD_WIRE_H

#include "base/err.h"

#include <stdint.h>

enum wire_purpose { WIRE_MEASURED, WIRE_OTHER, WIRES };

struct wire_loop;
struct wire {
    struct wire_loop *loop;
    enum wire_purpose purpose;
    void *multi;
    int64_t due_ns; /* when libcurl wants to be called; INT64_MAX: not before a socket is ready */
};

struct wire_loop {
    int epoll_fd, timer_fd;
    int64_t timer_ns; /* when the timer goes off; INT64_MAX: it doesn't */
    struct wire wires[WIRES];
    int64_t longest_turn_ns; /* so long, at most, were bytes there before they were read */
};

/* 0, or -1 and *e; wire_loop_close after either. `connections`: how many the measured wire keeps
 * open at most. */
int wire_loop_open(struct wire_loop *l, int connections, struct err *e);
void wire_loop_close(struct wire_loop *l);

/* Gives an easy handle to libcurl and lets it begin. 0, or -1 and *e. */
int wire_add(struct wire *w, void *curl, struct err *e);
/* Takes back a handle that isn't done. */
void wire_remove(struct wire *w, void *curl);
/* Takes back the next handle that is done, with its CURLcode. NULL: none is. */
void *wire_done(struct wire *w, int *code);

/* Waits until sockets are ready, libcurl's time has come, or until_ns, and serves what is ready.
 * `between` is called after each socket, so that nothing that is due waits for all of them. A
 * signal ends the wait. */
void wire_wait(struct wire_loop *l, int64_t until_ns, void (*between)(void *), void *ctx);

#endif
