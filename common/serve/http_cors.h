/* http_cors.h: lets a page of another origin use the server (--cors ORIGIN). Private to serve/.
 *
 * Without the flag no reply has an Access-Control header, so browsers keep other origins out. With
 * it every reply has them, errors and streams too. The library's own errors would have none, but
 * none is reached (http.h).
 */
#ifndef SERVELAB_SERVE_HTTP_CORS_H
#define SERVELAB_SERVE_HTTP_CORS_H

#include "serve/exchange.h"

/* -1 and *e when the flag's value is neither "*" nor an origin such as "http://127.0.0.1:3000";
 * NULL is the flag left out. */
int cors_check(const char *origin, struct err *e);
/* The headers that every reply has: fills names and values and returns how many; 0 without --cors.
 */
enum { CORS_HEADERS = 3 };
int cors_headers(const char *origin, const char *headers[CORS_HEADERS][2]);
/* Adds them to *r. */
void cors_add(const struct exchange *x, struct MHD_Response *r);
/* OPTIONS: the path's methods, and with --cors the answer to a browser's preflight. */
enum MHD_Result options_route(struct exchange *x);

#endif
