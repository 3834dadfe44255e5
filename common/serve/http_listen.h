/* http_listen.h: opens the listening socket of the server. Private to serve/.
 *
 * The HTTP library could open it, too, but doesn't say why it failed.
 */
#ifndef SERVELAB_SERVE_HTTP_LISTEN_H
#define SERVELAB_SERVE_HTTP_LISTEN_H

#include "serve/http.h"

#include <stdbool.h>

/* A non-blocking socket that listens on o->host and o->port, or, where o->host begins with '/', on
 * the Unix socket of that path, which must not exist. -1 and *e, which names the flag. */
int http_listen(const struct http_options *o, bool *ipv6, struct err *e);

#endif
