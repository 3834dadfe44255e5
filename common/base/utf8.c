/* utf8.c: UTF-8 by the lead byte. See utf8.h. */
#include "base/utf8.h"

#include <string.h>

/* A lead byte gives the character's length and the range of its second byte. That range excludes
 * overlong forms, surrogates and code points above U+10FFFF (Unicode, table 3-7). Length 0: not a
 * lead byte. */
struct lead {
    uint8_t bytes, lo, hi;
};
static struct lead lead_of(unsigned char b) {
    if (b < 0x80) return (struct lead){1, 0, 0};
    if (b < 0xc2) return (struct lead){0, 0, 0};
    if (b < 0xe0) return (struct lead){2, 0x80, 0xbf};
    if (b < 0xf0) return (struct lead){3, b == 0xe0 ? 0xa0 : 0x80, b == 0xed ? 0x9f : 0xbf};
    if (b < 0xf5) return (struct lead){4, b == 0xf0 ? 0x90 : 0x80, b == 0xf4 ? 0x8f : 0xbf};
    return (struct lead){0, 0, 0};
}

/* May `byte` be number `at` (1 to 3) of the character that begins with `first`? */
static bool continues(unsigned char first, int32_t at, unsigned char byte) {
    struct lead l = lead_of(first);
    if (at == 1) return byte >= l.lo && byte <= l.hi;
    return byte >= 0x80 && byte <= 0xbf;
}

size_t utf8_char_bytes(const char *s, size_t n) {
    const unsigned char *u = (const unsigned char *)s;
    size_t len = lead_of(u[0]).bytes;
    if (len > n) return 0;
    for (size_t i = 1; i < len; i++)
        if (!continues(u[0], (int32_t)i, u[i])) return 0;
    return len;
}

uint32_t utf8_decode(const char *s, size_t n) {
    const unsigned char *u = (const unsigned char *)s;
    if (n == 1) return u[0];
    uint32_t cp = u[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) cp = cp << 6 | (u[i] & 0x3f);
    return cp;
}

bool utf8_is_plain(uint32_t cp) {
    if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0)) return false;
    if (cp == 0x2028 || cp == 0x2029 || cp == 0x200e || cp == 0x200f || cp == 0x61c) return false;
    if ((cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2060 && cp <= 0x206f)) return false;
    if (cp == 0xad || cp == 0x180e || cp == 0x200b || (cp >= 0xfff9 && cp <= 0xfffb)) return false;
    return cp != 0xfeff && !(cp >= 0xe0000 && cp <= 0xe0fff);
}

size_t utf8_encode(uint32_t cp, char out[4]) {
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    size_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, cp >>= 6) out[i] = (char)(0x80 | (cp & 0x3f));
    out[0] = (char)((0xf00u >> n & 0xff) | cp);
    return n;
}

static size_t write_replacement(char *out) {
    memcpy(out, "\xef\xbf\xbd", 3);
    return 3;
}

size_t utf8_stream(unsigned char held[4], int32_t *n_held, unsigned char byte, char *out) {
    size_t written = 0;
    if (*n_held > 0) {
        if (continues(held[0], *n_held, byte)) {
            held[(*n_held)++] = byte;
            if (*n_held < lead_of(held[0]).bytes) return 0;
            written = (size_t)*n_held;
            memcpy(out, held, written);
            *n_held = 0;
            return written;
        }
        /* The held prefix can't be finished: one replacement for all of it; `byte` begins anew. */
        written = write_replacement(out);
        *n_held = 0;
    }
    switch (lead_of(byte).bytes) {
    case 0:
        return written + write_replacement(out + written);
    case 1:
        out[written] = (char)byte;
        return written + 1;
    default:
        held[0] = byte;
        *n_held = 1;
        return written;
    }
}
