/* http_watch.h: closes connections that take too long.
 *
 * The library's own time-out restarts with every byte, so that a client which sends one byte a
 * second holds its connection for ever. Here a connection has a deadline for its header and one for
 * its body; past it, its socket is shut down, which the library then notices. A client that has
 * closed its half gets one second, unless its request is in the engine, which looks itself. Not
 * here: a stalled reader of a reply, whom the library's time-out does catch.
 */
#ifndef SERVELAB_SERVE_HTTP_WATCH_H
#define SERVELAB_SERVE_HTTP_WATCH_H

#include "base/err.h"

#include <stdint.h>

struct watch;
struct watched; /* one connection */

struct watch *watch_start(struct err *e);
/* No connection may be left. */
void watch_stop(struct watch *w);

/* A connection comes, and goes before its descriptor is closed. */
struct watched *watch_add(struct watch *w, int fd);
void watch_remove(struct watch *w, struct watched *c);
/* The next deadline, seconds from now; 0: none. */
void watch_deadline(struct watch *w, struct watched *c, int seconds);
/* The same, for the end of a body. */
void watch_body(struct watch *w, struct watched *c, int seconds);
/* The server wants to stop: from now on a body, also one that is on its way, has so long at most.
 */
void watch_hurry_bodies(struct watch *w, int seconds);

#endif
