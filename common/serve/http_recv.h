/* http_recv.h: lets http_gate.c see each byte that the HTTP library receives. Private to serve/.
 *
 * The library reads a socket by `recv` and has no place where a program could look at the bytes. So
 * http_recv.c defines `recv` for the whole program. A function of the program comes before libc's
 * in every shared library that the program loads: in libmicrohttpd, and in libcurl, which the load
 * client uses. libc's own callers, getaddrinfo among them, keep libc's.
 *
 * It is safe for the others because it calls recvfrom without an address, which POSIX defines to be
 * the same, and because the gate changes nothing on descriptors that it was not given. A sanitizer
 * checks recvfrom in place of recv.
 *
 * It has no effect on a library that is linked with -Bsymbolic, loaded with RTLD_DEEPBIND, or reads
 * by another call (read, recvmsg, __recv_chk). If libmicrohttpd ever does, gate_has_read says no,
 * and the server closes every connection: it serves no bytes that the gate hasn't read.
 */
#ifndef SERVELAB_SERVE_HTTP_RECV_H
#define SERVELAB_SERVE_HTTP_RECV_H

#include <sys/types.h>

/* Every recv of the program calls *reader from now on, in any thread. */
void recv_through(ssize_t (*reader)(int fd, void *to, size_t n, int flags));

#endif
