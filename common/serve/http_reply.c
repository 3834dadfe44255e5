/* http_reply.c: replies, and what is read of a request. See http_reply.h. */
#include "serve/http_reply.h"

#include "base/json.h"
#include "serve/http_cors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum MHD_Result reply_queue(struct exchange *x, int status, struct MHD_Response *r) {
    if (!r) return MHD_NO;
    if (x->live) {
        char attempt[16];
        snprintf(attempt, sizeof attempt, "%d", x->live->attempt);
        MHD_add_response_header(r, "X-Request-Id", x->live->id);
        MHD_add_response_header(r, "X-Attempt", attempt);
        pthread_mutex_lock(&x->live->lock);
        x->live->record.outcome.http_status = status;
        pthread_mutex_unlock(&x->live->lock);
    }
    if (status == 429 || status == 503) MHD_add_response_header(r, "Retry-After", "1");
    if (status == 405 && x->allow) MHD_add_response_header(r, "Allow", x->allow);
    cors_add(x, r);
    x->replied = true;
    x->status = status;
    enum MHD_Result rc = MHD_queue_response(x->connection, (unsigned)status, r);
    MHD_destroy_response(r);
    return rc;
}

enum MHD_Result reply_bytes(struct exchange *x, int status, const char *type, struct buffer *b) {
    if (b->failed) {
        buffer_release(b);
        return MHD_NO;
    }
    struct MHD_Response *r = MHD_create_response_from_buffer(b->n, b->bytes, MHD_RESPMEM_MUST_FREE);
    if (!r) buffer_release(b);
    *b = (struct buffer){0};
    if (r) MHD_add_response_header(r, "Content-Type", type);
    if (r) MHD_add_response_header(r, "Cache-Control", "no-store");
    return reply_queue(x, status, r);
}

const char *reply_error_type(int status) {
    if (status == 429) return "rate_limit_error";
    return status >= 500 ? "server_error" : "invalid_request_error";
}

enum MHD_Result reply_error(struct exchange *x, int status, const char *field, const char *code,
                            const char *fmt, ...) {
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct buffer b = {0};
    openai_error(&b, reply_error_type(status), text, field, code);
    buffer_puts(&b, "\n");
    return reply_bytes(x, status, "application/json", &b);
}

enum MHD_Result reply_err(struct exchange *x, int status, const struct err *e) {
    char text[600], line[40] = "";
    if (e->line > 0) snprintf(line, sizeof line, "line %d of the body: ", e->line);
    return reply_error(x, status, e->field, NULL, "%s%s", line,
                       err_format(e, NULL, text, sizeof text));
}

enum MHD_Result reply_tree(struct exchange *x, int status, cJSON *tree) {
    char *text = tree ? json_print(tree) : NULL;
    cJSON_Delete(tree);
    if (!text) return reply_error(x, 500, NULL, NULL, "no memory for this reply");
    struct buffer b = {0};
    buffer_puts(&b, text);
    buffer_puts(&b, "\n");
    cJSON_free(text);
    return reply_bytes(x, status, "application/json", &b);
}

const char *request_header(const struct exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

const char *request_query(const struct exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, name);
}

bool read_attempt(const char *text, int32_t *out) {
    size_t n = strlen(text);
    if (n < 1 || n > 7 || strspn(text, "0123456789") != n) return false;
    long v = strtol(text, NULL, 10);
    *out = (int32_t)v;
    return v >= 1 && v <= 1000000;
}
