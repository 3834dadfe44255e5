/* buffer.h: a growable run of bytes for building replies, with a JSON string writer.
 *
 * Why not cJSON for writing: one chunk is written for every token, and a token's text may hold a
 * NUL byte, which cJSON's strings can't carry. Zero-initialised is empty. When memory is out the
 * buffer remembers it (`failed`) and the following calls do nothing, so that a caller checks once.
 */
#ifndef SERVELAB_SERVE_BUFFER_H
#define SERVELAB_SERVE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *bytes; /* NUL-terminated after any call that added something */
    size_t n, cap;
    bool failed;
};

void buffer_add(struct buffer *b, const char *bytes, size_t n);
void buffer_puts(struct buffer *b, const char *text);
void buffer_printf(struct buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes text[0..n) as a JSON string with its quotes. What isn't UTF-8 becomes U+FFFD. */
void buffer_json(struct buffer *b, const char *text, size_t n);
void buffer_json_puts(struct buffer *b, const char *text);

/* Copies text, cut to fit between characters; what isn't UTF-8, and control bytes, become '?'. For
 * the texts of a record, which must be UTF-8 whatever a client sent. */
void text_cut(char *to, size_t cap, const char *text);

/* Empties the buffer but keeps its memory. */
void buffer_clear(struct buffer *b);
void buffer_release(struct buffer *b);

#endif
