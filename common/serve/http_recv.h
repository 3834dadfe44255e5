/* http_recv.h: lets http_gate.c see each byte that the HTTP library receives. Private to serve/.
 *
 * The library reads a socket by `recv` and has no place where a program could look at the bytes. So
 * http_recv.c defines `recv` for the whole program: a program's own function comes before libc's in
 * every library that it loads. Without a reader it does what libc's does.
 */
#ifndef SERVELAB_SERVE_HTTP_RECV_H
#define SERVELAB_SERVE_HTTP_RECV_H

#include <sys/types.h>

/* Every recv of the program calls *reader from now on, in any thread. */
void recv_through(ssize_t (*reader)(int fd, void *to, size_t n, int flags));

#endif
