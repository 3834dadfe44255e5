/* text.c: see text.h. */
#include "base/text.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static char *clean(char *dst, size_t cap, const char *src, size_t n, bool lines) {
    static const char cut[] = "...";
    size_t len = 0, keep = 0; /* keep: where "..." still fits */
    for (size_t i = 0; i < n;) {
        char out[20];
        size_t used = utf8_char_bytes(src + i, n - i), put = 0;
        if (used > 0 && utf8_is_plain(utf8_decode(src + i, used))) {
            memcpy(out, src + i, put = used);
        } else if (src[i] == '\n' && lines) {
            out[0] = '\n';
            put = used = 1;
        } else if (src[i] == '\n') {
            memcpy(out, "\\n", put = 2);
            used = 1;
        } else {
            if (used == 0) used = 1;
            for (size_t k = 0; k < used; k++)
                put += (size_t)snprintf(out + put, sizeof out - put, "\\x%02x",
                                        (unsigned char)src[i + k]);
        }
        if (len + put + 1 > cap) {
            if (cap >= keep + sizeof cut)
                memcpy(dst + keep, cut, sizeof cut);
            else if (cap > 0)
                dst[keep < cap ? keep : cap - 1] = '\0';
            return dst;
        }
        memcpy(dst + len, out, put);
        len += put;
        i += used;
        if (len + sizeof cut <= cap) keep = len;
    }
    if (cap > 0) dst[len] = '\0';
    return dst;
}

char *text_clean(char *dst, size_t cap, const char *src, size_t n) {
    return clean(dst, cap, src, n, false);
}

char *text_clean_lines(char *dst, size_t cap, const char *src, size_t n) {
    return clean(dst, cap, src, n, true);
}

char *text_first_line(char *dst, size_t cap, const char *src, size_t n) {
    size_t start = 0;
    while (start < n && (src[start] == '\n' || src[start] == '\r')) start++;
    const char *end = n > start ? memchr(src + start, '\n', n - start) : NULL;
    return text_clean(dst, cap, src + start, end ? (size_t)(end - (src + start)) : n - start);
}

char *text_append(char *dst, size_t cap, const char *fmt, ...) {
    size_t len = strnlen(dst, cap);
    if (len >= cap) return dst;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(dst + len, cap - len, fmt, ap);
    va_end(ap);
    return dst;
}

char *text_ns(char *dst, size_t cap, long long ns) {
    char digits[24], out[40];
    snprintf(digits, sizeof digits, "%llu",
             ns < 0 ? 0ULL - (unsigned long long)ns : (unsigned long long)ns);
    size_t n = strlen(digits), at = 0;
    if (ns < 0) out[at++] = '-';
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) out[at++] = ' ';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    snprintf(dst, cap, "%s ns", out);
    return dst;
}
