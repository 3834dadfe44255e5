/* buffer.c: growable bytes and JSON strings. See buffer.h. */
#include "base/buffer.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct buffer *b, size_t more) {
    if (b->failed || more > SIZE_MAX / 4 - b->n) return !(b->failed = true);
    size_t need = b->n + more + 1, cap = b->cap ? b->cap : 256;
    while (cap < need) cap *= 2;
    if (cap == b->cap) return true;
    char *bytes = realloc(b->bytes, cap);
    if (!bytes) return !(b->failed = true);
    b->bytes = bytes;
    b->cap = cap;
    return true;
}

void buffer_add(struct buffer *b, const char *bytes, size_t n) {
    if (!make_room(b, n)) return;
    if (n > 0) memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
    b->bytes[b->n] = '\0';
}

void buffer_puts(struct buffer *b, const char *text) {
    buffer_add(b, text, strlen(text));
}

void buffer_printf(struct buffer *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !make_room(b, (size_t)n)) {
        b->failed = true;
        return;
    }
    va_start(ap, fmt);
    vsnprintf(b->bytes + b->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->n += (size_t)n;
}

static const char *escape_of(unsigned char c) {
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    default:
        return NULL;
    }
}

void buffer_json(struct buffer *b, const char *text, size_t n) {
    buffer_add(b, "\"", 1);
    size_t plain = 0; /* where the run of bytes that need no escape began */
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)text[i];
        size_t length = utf8_char_bytes(text + i, n - i);
        const char *escape = length == 0 ? "\xef\xbf\xbd" : escape_of(c);
        if (escape || c < 0x20 || c == 0x7f) {
            buffer_add(b, text + plain, i - plain);
            plain = i + 1;
            if (escape)
                buffer_puts(b, escape);
            else
                buffer_printf(b, "\\u%04x", c);
        }
        i += length ? length : 1;
    }
    buffer_add(b, text + plain, n - plain);
    buffer_add(b, "\"", 1);
}

void buffer_json_puts(struct buffer *b, const char *text) {
    buffer_json(b, text, strlen(text));
}

void text_cut(char *to, size_t cap, const char *text) {
    size_t n = strlen(text), at = 0;
    while (n > 0) {
        size_t length = utf8_char_bytes(text, n);
        bool bad = length == 0 || (unsigned char)text[0] < 0x20 || text[0] == 0x7f;
        if (bad) length = 1;
        if (at + length + 1 > cap) break;
        if (bad)
            to[at] = '?';
        else
            memcpy(to + at, text, length);
        at += length;
        text += length;
        n -= length;
    }
    to[at] = '\0';
}

void buffer_clear(struct buffer *b) {
    b->n = 0;
    b->failed = false;
}

void buffer_release(struct buffer *b) {
    free(b->bytes);
    *b = (struct buffer){0};
}
