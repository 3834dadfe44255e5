/* utf8.h: checks, decodes and repairs UTF-8, one character at a time or as a stream of bytes.
 *
 * The stream holds back an unfinished character and turns each maximal ill-formed part into one
 * U+FFFD, as in Unicode 3.9 (table 3-7, "U+FFFD substitution of maximal subparts"), WHATWG Encoding
 * and Python's errors="replace".
 */
#ifndef SERVELAB_MODEL_UTF8_H
#define SERVELAB_MODEL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed character that starts at s[0], n >= 1: 1 to 4, or 0 when there is none
 * (ill-formed, or cut off by n). */
size_t utf8_char_bytes(const char *s, size_t n);

/* The code point of the well-formed character of n bytes at s. */
uint32_t utf8_decode(const char *s, size_t n);
/* Writes a code point (a scalar value) to out; returns 1 to 4. */
size_t utf8_encode(uint32_t cp, char out[4]);

/* Takes one byte after the held ones: *n_held (0 to 3) bytes that begin a well-formed character.
 * Writes the characters that are complete now, at most 6 bytes, and returns the number of bytes. */
size_t utf8_stream(unsigned char held[4], int32_t *n_held, unsigned char byte, char *out);

#endif
