/* http_gate.h: reads the bytes of each connection before the HTTP library does (http_recv.h), and
 * answers what the library can't. Private to serve/.
 *
 * The gate reads requests with http_framing.h and hands on only those that are clear. One at fault
 * never reaches the library, which would forgive it, or answer it with its header twice. It is
 * answered here, with OpenAI's error object, and the connection ends. Requests that came before it
 * are answered first. A body that is late is answered here too: the library waits for it, and takes
 * no reply then.
 *
 * The library's thread calls these functions, gate_late_body excepted.
 */
#ifndef SERVELAB_SERVE_HTTP_GATE_H
#define SERVELAB_SERVE_HTTP_GATE_H

#include "serve/http.h"

/* Adds a connection before the library reads from it. Removes it before its descriptor is closed.
 */
void gate_add(struct http *h, int fd);
void gate_remove(int fd);
/* The library has read a request's header: did it come through the gate? If not, memory was out
 * when the connection was added, or the library doesn't read by recv; the connection must be
 * closed. */
bool gate_passed(int fd);
/* The status with which the gate has answered the connection's last request, or 0. */
int gate_answered(int fd);
/* The exchange of a request is over. Returns the status with which the gate has answered it, or 0.
 */
int gate_exchange_over(int fd);
/* For watch_start: answers a body that is late with 408, or 503 if the server drains. */
void gate_late_body(int fd);

#endif
