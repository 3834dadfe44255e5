/* utf8.h: well-formed UTF-8, one character at a time and as a stream.
 *
 * Well-formed means Unicode's table 3-7: no overlong forms, no surrogates, nothing past U+10FFFF.
 * The stream decoder holds back an unfinished character and turns each maximal ill-formed part into
 * one U+FFFD, as Unicode 3.9 ("U+FFFD substitution of maximal subparts"), WHATWG Encoding and
 * Python's errors="replace" do.
 */
#ifndef SERVELAB_BASE_UTF8_H
#define SERVELAB_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes the well-formed character at s[0] has, 1 to 4; 0 if the bytes there are ill-formed
 * or cut off by n. n >= 1. */
size_t utf8_char_bytes(const char *s, size_t n);

/* false for characters that change how the text around them is shown: control characters (C0, DEL,
 * C1), line separators, direction marks and overrides, and the byte order mark; and for those that
 * aren't shown at all, as blanks of no width and tags. Joiners, which scripts need, are plain. */
bool utf8_is_plain(uint32_t cp);

/* The code point of the well-formed character of n bytes at s. */
uint32_t utf8_decode(const char *s, size_t n);
/* Writes a code point (a scalar value) to out; returns 1 to 4. */
size_t utf8_encode(uint32_t cp, char out[4]);

/* Feeds one byte after the held ones, of which there are *n_held (0 to 3), the prefix of a
 * well-formed character. Writes what is complete now, at most 6 bytes, and returns how many. */
size_t utf8_stream(unsigned char held[4], int32_t *n_held, unsigned char byte, char *out);

#endif
