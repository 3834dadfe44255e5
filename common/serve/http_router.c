/* http_router.c: which route a request takes. See exchange.h for what a route is. */
#include "serve/exchange.h"
#include "serve/http_cors.h"

#include <string.h>
#include <strings.h>

#define COMPLETION                                                                                 \
    .max_body = HTTP_MAX_BODY, .begin = completion_begin, .read = completion_read,                 \
    .run = completion_start, .resumed = completion_reply, .end = completion_end

static const struct route routes[] = {
    {"POST", "/v1/chat/completions", .api = OPENAI_CHAT, COMPLETION},
    {"POST", "/v1/completions", .api = OPENAI_COMPLETIONS, COMPLETION},
    {"GET", "/v1/models", .run = models_route_list},
    {"GET", "/v1/models/", .variable = true, .run = models_route_get},
    {"GET", "/health", .run = health_route},
    {"GET", "/metrics", .run = metrics_route},
    {"GET", "/version", .run = version_route},
    {"GET", "/openapi.json", .run = openapi_route},
    {"POST", "/tokenize", .max_body = HTTP_MAX_BODY, .read = tokenize_read, .run = tokens_route},
    {"POST", "/detokenize", .max_body = HTTP_MAX_BODY, .read = detokenize_read,
     .run = tokens_route},
    {"GET", "/v1/presets", .run = presets_route},
    {"GET", "/v1/records", .run = records_route_list},
    {"POST", "/v1/records/", "/events", true, HTTP_MAX_POST, .run = records_route_post},
    {"GET", "/v1/records/", "/intervals", true, .run = records_route_intervals},
    {"GET", "/v1/records/", .variable = true, .run = records_route_get},
    {"GET", "/", .variable = true, .run = files_route}, /* last: it takes every other path */
};

static const struct route options = {"OPTIONS", "*", .run = options_route};

static const char *origin_form(const char *target);
static const char *methods_of(const struct route *r);
static bool path_fits(const struct route *r, const char *path, char *variable, size_t cap);

void route_find(struct exchange *x, const char *method, const char *target) {
    const char *path = origin_form(target);
    bool head = !strcmp(method, "HEAD"); /* as GET; the library leaves the body out */
    bool asks = !strcmp(method, "OPTIONS");
    if (asks && !strcmp(path, "*")) x->allow = "GET, HEAD, POST, OPTIONS";
    for (size_t i = 0; i < sizeof routes / sizeof *routes && !x->allow; i++) {
        const struct route *r = &routes[i];
        if (!path_fits(r, path, x->id, sizeof x->id)) continue;
        if (!strcmp(r->method, method) || (head && !strcmp(r->method, "GET"))) {
            x->route = r;
            return;
        }
        if (r->run != files_route || files_has(x)) x->allow = methods_of(r);
    }
    if (asks && x->allow) x->route = &options;
}

static const char *methods_of(const struct route *r) {
    return !strcmp(r->method, "GET") ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
}

/* The path of "http://host/path", which a server must accept too (RFC 9112, section 3.2.2). */
static const char *origin_form(const char *target) {
    size_t scheme = !strncasecmp(target, "http://", 7)    ? 7
                    : !strncasecmp(target, "https://", 8) ? 8
                                                          : 0;
    if (!scheme) return target;
    const char *path = strchr(target + scheme, '/');
    return path ? path : "/";
}

/* Does the path belong to the route? Copies its variable part, which has slashes in files and in
 * models such as "meta-llama/Llama-2-7b" only. */
static bool path_fits(const struct route *r, const char *path, char *variable, size_t cap) {
    bool file = r->run == files_route, slashes = file || r->run == models_route_get;
    if (file && !strncmp(path, "/v1/", 4)) return false; /* the API's paths are not files */
    if (!r->variable) return !strcmp(path, r->path);
    const char *more = r->more ? r->more : "";
    size_t head = strlen(r->path), tail = strlen(more), n = strlen(path);
    if (n < head + tail || strncmp(path, r->path, head) || strcmp(path + n - tail, more))
        return false;
    n -= head + tail;
    if (n >= cap || (n == 0 && !file) || (!slashes && memchr(path + head, '/', n))) return false;
    memcpy(variable, path + head, n);
    variable[n] = '\0';
    return true;
}
