/* http_reply.h: how a route reads its request and queues its reply. Private to serve/.
 *
 * Each reply_* queues one reply for the exchange and returns what the library's call returns. Every
 * reply carries X-Request-Id and X-Attempt where the exchange has a record.
 */
#ifndef SERVELAB_SERVE_HTTP_REPLY_H
#define SERVELAB_SERVE_HTTP_REPLY_H

#include "serve/exchange.h"

#include <cjson/cJSON.h>

/* Replies with *b's bytes, which it takes over. */
enum MHD_Result reply_bytes(struct exchange *x, int status, const char *type, struct buffer *b);
const char *reply_error_type(int status);
/* OpenAI's error object. Its type follows from the status; field and code may be NULL. */
enum MHD_Result reply_error(struct exchange *x, int status, const char *field, const char *code,
                            const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The same from *e, with its line and field. */
enum MHD_Result reply_err(struct exchange *x, int status, const struct err *e);
/* A JSON tree, which it takes over; NULL (memory is out) is answered with 500. */
enum MHD_Result reply_tree(struct exchange *x, int status, cJSON *tree);
/* Adds the headers that every reply has and queues *r, which it takes over; NULL closes the
 * connection. */
enum MHD_Result reply_queue(struct exchange *x, int status, struct MHD_Response *r);

/* NULL when the request has none of this name. */
const char *request_header(const struct exchange *x, const char *name);
const char *request_query(const struct exchange *x, const char *name);
/* Reads a decimal number of 1 .. 1,000,000; false for anything else. */
bool read_attempt(const char *text, int32_t *out);

#endif
