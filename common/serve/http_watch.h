/* http_watch.h: closes connections that take too long.
 *
 * The library's own time-out restarts with every byte, so a client that sends one byte a second
 * would keep its connection for ever. Here a connection has a deadline for its header and one for
 * its body. Past it, its socket is shut down, and the library closes the connection. A late body is
 * answered before, and the connection lingers (http_gate.h). A client that has closed its half gets
 * one second and no answer; while its request is in the engine, the engine checks for that
 * (stream_client_gone). Not here: a client that doesn't read its reply, which the library's
 * time-out closes.
 */
#ifndef SERVELAB_SERVE_HTTP_WATCH_H
#define SERVELAB_SERVE_HTTP_WATCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct watch;
struct watched; /* one connection */

/* What a connection does now. */
enum watch_phase { WATCH_HEADER, WATCH_BODY, WATCH_REPLY, WATCH_LINGER };

/* late_body(fd) answers a connection whose body is late, and returns for how many seconds it
 * lingers (0: not at all); the watch's thread calls it. */
struct watch *watch_start(int (*late_body)(int fd), struct err *e);
/* Ends the thread and frees *w; NULL is allowed. No connection may be left. */
void watch_stop(struct watch *w);

/* Adds a connection, NULL when memory is out; removes it, which must come before its descriptor is
 * closed. The functions below take NULL, too. */
struct watched *watch_add(struct watch *w, int fd);
void watch_remove(struct watch *w, struct watched *c);
/* It is in this phase now, which may last so many seconds; 0: for ever. */
void watch_enter(struct watch *w, struct watched *c, enum watch_phase phase, int seconds);
/* For a server that stops: from now on each body and each lingering connection has at most so many
 * seconds, also one that has begun. */
void watch_hurry(struct watch *w, int seconds);
/* Does any connection linger? */
bool watch_lingers(struct watch *w);

#endif
