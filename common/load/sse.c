/* sse.c: server-sent events, one byte at a time. See sse.h. */
#include "load/sse.h"

#include <stdlib.h>
#include <string.h>

static int add(char **to, size_t *n, size_t *cap, const char *bytes, size_t more, struct err *e) {
    if (*n + more > SSE_MAX_EVENT_BYTES)
        return err_set(e, "an event of the stream is larger than %d bytes", SSE_MAX_EVENT_BYTES);
    if (*n + more > *cap) {
        size_t bigger = 2 * (*n + more) + 64;
        char *p = realloc(*to, bigger);
        if (!p) return err_set(e, "no memory for an event of the stream");
        *to = p;
        *cap = bigger;
    }
    if (more > 0) memcpy(*to + *n, bytes, more);
    *n += more;
    return 0;
}

/* A blank line ends the event. Its data is handed out without the last LF. */
static int dispatch(struct sse *s, sse_event_fn *each, void *ctx) {
    int rc = s->any_data && !s->ping ? each(ctx, s->data, s->n_data - 1) : 0;
    s->n_data = 0;
    s->any_data = s->ping = false;
    return rc;
}

static bool is_ping(const char *line, size_t n) {
    static const char ping[] = "event:ping";
    size_t blank = n > 6 && line[6] == ' '; /* one blank after the colon isn't part of the value */
    return n == 10 + blank && !memcmp(line, ping, 6) && !memcmp(line + 6 + blank, ping + 6, 4);
}

static int end_line(struct sse *s, sse_event_fn *each, void *ctx, struct err *e) {
    size_t n = s->n_line;
    s->n_line = 0;
    if (n == 0) return dispatch(s, each, ctx);
    const char *colon = memchr(s->line, ':', n);
    size_t name = colon ? (size_t)(colon - s->line) : n;
    if (is_ping(s->line, n)) s->ping = true;
    if (name != 4 || memcmp(s->line, "data", 4)) return 0; /* a comment, or another field */
    size_t from = colon ? 5 : 4;
    if (from < n && s->line[from] == ' ') from++;
    if (add(&s->data, &s->n_data, &s->cap_data, s->line + from, n - from, e) ||
        add(&s->data, &s->n_data, &s->cap_data, "\n", 1, e))
        return -1;
    s->any_data = true;
    return 0;
}

/* Is the byte part of a byte order mark at the very beginning? If the bytes after its beginning
 * don't complete it, the beginning is put back as text. */
static int pass_mark(struct sse *s, char c, bool *taken, struct err *e) {
    static const char mark[3] = {'\xef', '\xbb', '\xbf'};
    *taken = c == mark[s->bom];
    if (*taken) {
        s->bom++;
        return 0;
    }
    size_t seen = s->bom;
    s->bom = 3;
    return add(&s->line, &s->n_line, &s->cap_line, mark, seen, e);
}

int sse_feed(struct sse *s, const char *bytes, size_t n, sse_event_fn *each, void *ctx,
             struct err *e) {
    for (size_t i = 0; i < n; i++) {
        char c = bytes[i];
        bool taken = false;
        if (s->bom < 3 && pass_mark(s, c, &taken, e)) return -1;
        if (taken) continue;
        bool belongs = s->skip_lf && c == '\n';
        s->skip_lf = c == '\r';
        if (belongs) continue;
        int rc = c == '\n' || c == '\r' ? end_line(s, each, ctx, e)
                                        : add(&s->line, &s->n_line, &s->cap_line, &c, 1, e);
        if (rc) return rc;
    }
    return 0;
}

bool sse_end(const struct sse *s) {
    return s->n_line > 0 || s->any_data;
}

void sse_release(struct sse *s) {
    free(s->line);
    free(s->data);
    *s = (struct sse){0};
}
