/* err.c: fills struct err. See err.h. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy_clean(char *dst, size_t cap, const char *src) {
    size_t i = 0;
    for (; src[i] && i + 1 < cap; i++) {
        unsigned char c = (unsigned char)src[i];
        dst[i] = (c < 0x20 || c == 0x7f) ? '?' : (char)c;
    }
    dst[i] = '\0';
}

static int fill(struct err *e, int line, const char *field, const char *fmt, va_list ap) {
    if (!e) return -1;
    char raw[sizeof e->text];
    vsnprintf(raw, sizeof raw, fmt, ap);
    e->line = line;
    copy_clean(e->field, sizeof e->field, field ? field : "");
    copy_clean(e->text, sizeof e->text, raw);
    return -1;
}

int err_set(struct err *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fill(e, 0, NULL, fmt, ap);
    va_end(ap);
    return -1;
}

int err_at(struct err *e, int line, const char *field, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fill(e, line, field, fmt, ap);
    va_end(ap);
    return -1;
}

const char *err_format(const struct err *e, const char *name, char *buf, unsigned long cap) {
    char line[16] = "";
    if (e->line > 0) snprintf(line, sizeof line, ":%d", e->line);
    snprintf(buf, cap, "%s%s%s%s%s%s", name ? name : "", name ? line : "", name ? ": " : "",
             e->field, e->field[0] ? ": " : "", e->text);
    return buf;
}

void err_bug(const char *file, int line, const char *invariant) {
    fprintf(stderr, "%s:%d: bug in servelab, invariant broken: %s\n", file, line, invariant);
    abort();
}
