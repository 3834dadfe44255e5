/* err.c: fills struct err. See err.h. */
#include "base/err.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *err_clean(char *text) {
    char *to = text;
    for (size_t left = strlen(text), at = 0, n; left > 0; left -= n, at += n) {
        n = utf8_char_bytes(text + at, left);
        bool plain = n > 0 && utf8_is_plain(utf8_decode(text + at, n));
        n += n == 0; /* an ill-formed byte alone */
        if (plain)
            memmove(to, text + at, n);
        else
            *to = '?';
        to += plain ? n : 1;
    }
    *to = '\0';
    return text;
}

static int fill(struct err *e, int line, const char *field, const char *fmt, va_list ap) {
    if (!e) return -1;
    char raw[sizeof e->text]; /* an argument may point into *e */
    vsnprintf(raw, sizeof raw, fmt, ap);
    e->line = line;
    snprintf(e->field, sizeof e->field, "%s", field ? field : "");
    memcpy(e->text, raw, sizeof raw);
    err_clean(e->field);
    err_clean(e->text);
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
    return err_clean(buf);
}

void err_bug(const char *file, int line, const char *invariant) {
    fprintf(stderr, "%s:%d: bug in servelab, invariant broken: %s\n", file, line, invariant);
    abort();
}
