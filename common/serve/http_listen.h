/* http_listen.h: opens the listening socket of the server, and removes a Unix socket's file.
 * Private to serve/.
 *
 * The HTTP library could open it, too, but doesn't say why it failed.
 */
#ifndef SERVELAB_SERVE_HTTP_LISTEN_H
#define SERVELAB_SERVE_HTTP_LISTEN_H

#include "serve/http.h"

#include <stdbool.h>
#include <sys/types.h>

/* The file of a Unix socket. Another server may have put its own in this place since. */
struct socket_file {
    dev_t device;
    ino_t inode; /* 0: there is no file */
};

/* A non-blocking socket that listens on o->host and o->port, or, where o->host begins with '/', on
 * the Unix socket of that path, which must not exist; then *file is set. -1 and *e, which names the
 * flag. */
int http_listen(const struct http_options *o, bool *ipv6, struct socket_file *file, struct err *e);
/* Removes the Unix socket's file, if it is still this one. */
void http_remove_socket(const struct http_options *o, const struct socket_file *file);

#endif
