/* http_bypass.h: the two errors that are written straight to a connection's socket, because the
 * library has no reply for them or a broken one. Private to serve/.
 *
 *   408, 503   A body that is late. The library waits for it and can't be given a reply then.
 *   400, 413   A Content-Length that is no number, or too large. The library answers by itself,
 *              before it calls us. Version 0.9.75 sends the header of that answer twice.
 *
 * Each is OpenAI's JSON object, and the connection ends with it. The library sends nothing more on
 * it: our side is shut, so its own writes fail.
 */
#ifndef SERVELAB_SERVE_HTTP_BYPASS_H
#define SERVELAB_SERVE_HTTP_BYPASS_H

#include "serve/exchange.h"

#include <stdarg.h>

/* For watch_start: answers a body that is late with 408, or 503 if the server drains. Returns the
 * status. */
int bypass_late_body(void *http, int fd);

/* For MHD_OPTION_EXTERNAL_LOGGER. The library logs each error reply before it sends it, but not for
 * which connection. So each connection that is in its header is looked at, and gets our reply if
 * its Content-Length is one that the library refuses. */
void bypass_library_error(void *http, const char *format, va_list ap);

#endif
