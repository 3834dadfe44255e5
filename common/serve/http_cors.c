/* http_cors.c: see http_cors.h. */
#include "serve/http_cors.h"

#include "serve/http_reply.h"

#include <string.h>

static const char host_marks[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "-._~:[]";

int cors_check(const char *origin, struct err *e) {
    if (!origin || !strcmp(origin, "*")) return 0;
    size_t scheme = !strncmp(origin, "http://", 7) ? 7 : !strncmp(origin, "https://", 8) ? 8 : 0;
    size_t host = strspn(origin + scheme, host_marks);
    if (scheme && host && !origin[scheme + host]) return 0;
    return err_at(e, 0, "--cors",
                  "'%.100s' must be * or an origin: scheme, host and port, and nothing after them, "
                  "such as http://127.0.0.1:3000",
                  origin);
}

void cors_add(const struct exchange *x, struct MHD_Response *r) {
    const char *origin = x->h->o.cors;
    if (!origin) return;
    MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
    MHD_add_response_header(r, "Access-Control-Expose-Headers",
                            "X-Request-Id, X-Attempt, Retry-After");
    if (strcmp(origin, "*")) MHD_add_response_header(r, "Vary", "Origin");
}

enum MHD_Result options_route(struct exchange *x) {
    struct MHD_Response *r = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Allow", x->allow);
    if (x->h->o.cors) {
        /* What the browser asks to send: clients have headers of their own, and * leaves out
         * Authorization. */
        const char *headers = request_header(x, "Access-Control-Request-Headers");
        MHD_add_response_header(r, "Access-Control-Allow-Methods", x->allow);
        MHD_add_response_header(r, "Access-Control-Allow-Headers",
                                headers && headers[0] ? headers : "Authorization, Content-Type");
        MHD_add_response_header(r, "Access-Control-Max-Age", "600");
    }
    return reply_queue(x, 204, r);
}
