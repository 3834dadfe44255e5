/* buffer.h: a growable byte string with a JSON string writer.
 *
 * A zero-initialised buffer is empty. When memory runs out, `failed` is set and all further calls
 * do nothing, so a caller checks once, at the end. The server writes its chunks with this and not
 * with cJSON: a token's text may contain a NUL byte, which a cJSON string can't hold.
 */
#ifndef SERVELAB_BASE_BUFFER_H
#define SERVELAB_BASE_BUFFER_H

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

/* Appends text[0..n) as a JSON string with quotes. Each byte that isn't UTF-8 becomes U+FFFD. */
void buffer_json(struct buffer *b, const char *text, size_t n);
void buffer_json_puts(struct buffer *b, const char *text);

/* Copies text into to[0..cap) with a NUL at its end; text that is too long is cut at a character
 * boundary. Control bytes and bytes that aren't UTF-8 become '?'. For the texts of a record, which
 * must be UTF-8. */
void text_cut(char *to, size_t cap, const char *text);

/* Empties the buffer but keeps its memory. */
void buffer_clear(struct buffer *b);
void buffer_release(struct buffer *b);

#endif
