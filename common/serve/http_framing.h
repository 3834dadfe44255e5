/* http_framing.h: says whether a request's header is clear about where the request ends. Private to
 * serve/.
 *
 * A proxy in front and this server must agree on the end of each body. Otherwise a part of a body
 * runs as a request that the proxy never saw (request smuggling, RFC 9112 section 11.2).
 */
#ifndef SERVELAB_SERVE_HTTP_FRAMING_H
#define SERVELAB_SERVE_HTTP_FRAMING_H

#include <microhttpd.h>

/* NULL when the header is clear, otherwise what is wrong with it, as text for the client: the
 * connection must then get a 400 and be closed. method and version are the pointers that the
 * library passed to its handler in its first call for the request. */
const char *framing_fault(struct MHD_Connection *c, const char *method, const char *version);

#endif
