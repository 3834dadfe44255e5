/* http_gate.h: reads the bytes of each connection before the HTTP library does (http_recv.h), and
 * answers what the library can't. Private to serve/.
 *
 * The gate reads requests with http_framing.h and hands on only those that are clear. One at fault
 * never reaches the library, which would forgive it, or answer it with its header twice. It is
 * answered here, with OpenAI's error object, and the connection ends. Requests that came before it
 * are answered first. A body that is late or too large is answered here too: the library waits for
 * it, and takes no reply then.
 *
 * After an answer of the gate the connection lingers: its end is sent, and what the client still
 * sends is read and thrown away. A close with unread bytes would be a reset, which may overtake the
 * answer. It lingers until the client closes, but at most for HTTP_LINGER_S and HTTP_LINGER_BYTES;
 * then it is cut. It takes no thread: the library's reads a part whenever some has come, and serves
 * the other connections in between.
 *
 * A connection that the library closes after its answer ("Connection: close") lingers, too. The
 * library would close its descriptor at once, so the gate gives it a copy, as a new connection.
 *
 * The library's thread calls these functions, gate_late_body excepted.
 */
#ifndef SERVELAB_SERVE_HTTP_GATE_H
#define SERVELAB_SERVE_HTTP_GATE_H

#include "serve/exchange.h"

#include <sys/socket.h>

/* Adds a connection before the library reads from it; one whose client's address has the family
 * LINGERING is a copy that lingers. Removes it before its descriptor is closed. */
enum { LINGERING = AF_UNSPEC };
void gate_add(struct http *h, int fd, struct watched *watched, sa_family_t family);
void gate_remove(int fd, struct MHD_Connection *c);
/* Has the gate read bytes of this connection? If not when the library has read a header, memory was
 * out when the connection was added, or the library doesn't read by recv; the connection must be
 * closed. */
bool gate_has_read(int fd);
/* The header was read, and its record is open: what the gate answers until gate_exchange_over is
 * for this request, and in its record at once. It refuses chunks of more than the route's max_body.
 * A fault of the body that has come with the header is answered now, and x->replied set. */
void gate_exchange_begins(struct exchange *x, bool head);
/* Answers it before its body is there; the connection lingers. The library must get no reply. */
void gate_refuse(struct exchange *x, int status, const char *text);
/* The status with which the gate has answered the connection's last request, or 0. */
int gate_answered(int fd);
/* The library is done with the request. delivered: its reply went out whole. */
void gate_exchange_over(int fd, bool delivered);
/* For watch_start: answers a body that is late with 408, or 503 if the server drains. Returns for
 * how many seconds the connection lingers. */
int gate_late_body(int fd);

#endif
