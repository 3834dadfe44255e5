/* lines.c: see lines.h. */
#include "workload/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FIRST_BYTES = 1 << 16,           /* many rows of the published traces */
    MOST_BYTES = LINES_MAX_BYTES + 2 /* a line and its end */
};

void lines_init(struct lines *l, int fd) {
    *l = (struct lines){.fd = fd, .buf = malloc(FIRST_BYTES), .cap = FIRST_BYTES};
    INVARIANT(l->buf);
}

void lines_clear(struct lines *l) {
    free(l->buf);
    l->buf = NULL;
}

/* Reads more bytes after those in the buffer, which grows if it is full. 0 also at the end of the
 * file. */
static int fill(struct lines *l, struct err *e) {
    if (l->end - l->start == l->cap) {
        l->cap = l->cap * 2 < MOST_BYTES ? l->cap * 2 : MOST_BYTES;
        l->buf = realloc(l->buf, l->cap);
        INVARIANT(l->buf);
    }
    memmove(l->buf, l->buf + l->start, l->end - l->start);
    l->end -= l->start;
    l->start = 0;
    ssize_t got;
    do got = read(l->fd, l->buf + l->end, l->cap - l->end);
    while (got < 0 && errno == EINTR);
    if (got < 0) return err_set(e, "can't be read: %s", strerror(errno));
    l->eof = got == 0;
    l->end += (size_t)got;
    return 0;
}

/* The LF that ends the line at buf[start]; NULL: the file or the buffer ends before it. */
static int find_end(struct lines *l, const char **end, struct err *e) {
    size_t looked = 0;
    for (;;) {
        *end = memchr(l->buf + l->start + looked, '\n', l->end - l->start - looked);
        looked = l->end - l->start;
        if (*end || l->eof || looked == MOST_BYTES) return 0;
        if (fill(l, e)) return -1;
    }
}

/* Skips the rest of a line that is too long. */
static int skip_line(struct lines *l, struct err *e) {
    const char *end = NULL;
    while (!end) {
        l->start = l->end = 0;
        if (fill(l, e)) return -1;
        end = memchr(l->buf, '\n', l->end);
        if (l->eof) return 0;
    }
    l->start = (size_t)(end - l->buf) + 1;
    return 0;
}

enum lines_got lines_next(struct lines *l, const char **text, size_t *n, struct err *e) {
    const char *end;
    if (find_end(l, &end, e)) return LINES_ERROR;
    if (!end && l->start == l->end) return LINES_END;
    l->line++;
    *text = l->buf + l->start;
    *n = (size_t)((end ? end : l->buf + l->end) - *text);
    bool whole = end || l->eof;
    if (whole) l->start += *n + (end != NULL);
    if (*n > 0 && (*text)[*n - 1] == '\r') --*n;
    if (l->line == 1 && *n >= 3 && !memcmp(*text, "\xef\xbb\xbf", 3)) *text += 3, *n -= 3;
    if (whole && *n <= LINES_MAX_BYTES) return LINES_OK;
    if (!whole && skip_line(l, e)) return LINES_ERROR;
    return LINES_TOO_LONG;
}
