/* text.c: see text.h. */
#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Length of the valid UTF-8 character at s[0..n), or 0; *code gets its number. Overlong forms,
 * surrogates and numbers past U+10FFFF are not valid. */
static size_t utf8_char(const unsigned char *s, size_t n, uint32_t *code) {
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
    if (len == 0 || len > n || s[0] > 0xf4) return 0;
    uint32_t c = len == 1 ? s[0] : s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (len > 1 && c < least[len]) return 0;
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return 0;
    *code = c;
    return len;
}

/* Characters that change how others are shown: C0, DEL, C1, line separators, bidi controls. */
static bool shows_plainly(uint32_t c) {
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) return false;
    if (c == 0x2028 || c == 0x2029 || c == 0x200e || c == 0x200f || c == 0x61c) return false;
    if ((c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069)) return false;
    return c != 0xfeff;
}

char *text_clean(char *dst, size_t cap, const char *src, size_t n) {
    static const char cut[] = "...";
    size_t len = 0, keep = 0; /* keep: where "..." still fits */
    const unsigned char *s = (const unsigned char *)src;
    for (size_t i = 0; i < n;) {
        char out[20];
        uint32_t code = 0;
        size_t used = utf8_char(s + i, n - i, &code), put = 0;
        if (used > 0 && shows_plainly(code)) {
            memcpy(out, s + i, put = used);
        } else if (s[i] == '\n') {
            memcpy(out, "\\n", put = 2);
            used = 1;
        } else {
            if (used == 0) used = 1;
            for (size_t k = 0; k < used; k++)
                put += (size_t)snprintf(out + put, sizeof out - put, "\\x%02x", s[i + k]);
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
