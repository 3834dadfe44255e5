/* http_cors.c: see http_cors.h. */
#include "serve/http_cors.h"

#include "serve/http_framing.h"
#include "serve/http_reply.h"

#include <string.h>

static const char host_marks[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "-._~:[]";

/* A scheme, a name of DNS and a port have less. Each reply has it in its header, which must fit
 * into HTTP_CONNECTION_BYTES. */
enum { MAX_ORIGIN = 300 };

int cors_check(const char *origin, struct err *e) {
    if (!origin || !strcmp(origin, "*")) return 0;
    if (strlen(origin) > MAX_ORIGIN)
        return err_at(e, 0, "--cors", "'%.100s...' has more than %d bytes; no origin has", origin,
                      MAX_ORIGIN);
    size_t scheme = !strncmp(origin, "http://", 7) ? 7 : !strncmp(origin, "https://", 8) ? 8 : 0;
    size_t host = strspn(origin + scheme, host_marks);
    if (scheme && host && !origin[scheme + host]) return 0;
    return err_at(e, 0, "--cors",
                  "'%.100s' must be * or an origin: scheme, host and port, and nothing after them, "
                  "such as http://127.0.0.1:3000",
                  origin);
}

int cors_headers(const char *origin, const char *headers[CORS_HEADERS][2]) {
    const char *all[CORS_HEADERS][2] = {
        {"Access-Control-Allow-Origin", origin},
        {"Access-Control-Expose-Headers", "X-Request-Id, X-Attempt, Retry-After"},
        {"Vary", "Origin"}};
    if (!origin) return 0;
    memcpy(headers, all, sizeof all);
    return strcmp(origin, "*") ? 3 : 2;
}

void cors_add(const struct exchange *x, struct MHD_Response *r) {
    const char *headers[CORS_HEADERS][2];
    for (int i = 0, n = cors_headers(x->h->o.cors, headers); i < n; i++)
        MHD_add_response_header(r, headers[i][0], headers[i][1]);
}

/* They come back in the reply's header, which must fit into HTTP_CONNECTION_BYTES with the
 * request's. */
enum { MAX_REQUESTED = FRAMING_MAX_HEADER / 2 };

enum MHD_Result options_route(struct exchange *x) {
    struct MHD_Response *r = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Allow", x->allow);
    if (x->h->o.cors) {
        /* What the browser asks to send: clients have headers of their own, and * leaves out
         * Authorization. */
        const char *headers = request_header(x, "Access-Control-Request-Headers");
        if (headers && strlen(headers) > MAX_REQUESTED) {
            MHD_destroy_response(r);
            return reply_error(x, 431, "Access-Control-Request-Headers", NULL,
                               "Access-Control-Request-Headers may have at most %d bytes",
                               MAX_REQUESTED);
        }
        MHD_add_response_header(r, "Access-Control-Allow-Methods", x->allow);
        MHD_add_response_header(r, "Access-Control-Allow-Headers",
                                headers && headers[0] ? headers : "Authorization, Content-Type");
        MHD_add_response_header(r, "Access-Control-Max-Age", "600");
    }
    return reply_queue(x, 204, r);
}
