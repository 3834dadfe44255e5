/* json_scan.h: checks that a text is exactly one JSON value within servelab's limits (json.h lists
 * them).
 *
 * One pass with a fixed stack, without recursion and without a tree. json.c and the readers in
 * record/ use it; other code calls json_parse.
 */
#ifndef SERVELAB_BASE_JSON_SCAN_H
#define SERVELAB_BASE_JSON_SCAN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that a double changes in a way that matters to an integer: an integer beyond 2^53, or a
 * fraction so small that the double looks whole. `ordinal` is its index among the numbers of the
 * text. */
struct json_literal {
    size_t ordinal;
    size_t offset; /* in the text */
    size_t length;
};

struct json_scan_result {
    struct json_literal *literals; /* in text order; owned, free() them; NULL when there are none */
    size_t n_literals;
    bool cut_off; /* on failure: the text is valid but ends inside the value */
};

/* Scans text[0..n); its first byte is on line `first_line`. 0, or -1 with *e (the line, and the
 * path of the member where known). *out is always set; on failure it owns nothing. Memory: 32 bytes
 * for each key of the open objects, plus the decoded bytes of keys with escapes. */
int json_scan(const char *text, size_t n, int first_line, struct json_scan_result *out,
              struct err *e);

/* The same; with takes_nul, \u0000 is a character of a string like any other, but not of a key. */
int json_scan_strings(const char *text, size_t n, int first_line, bool takes_nul,
                      struct json_scan_result *out, struct err *e);

/* The integer value of an RFC 8259 number literal, computed in integers. *out is set only for
 * LITERAL_INT. */
enum literal_kind { LITERAL_INT, LITERAL_FRACTION, LITERAL_BEYOND /* past +-2^53 */ };
enum literal_kind json_literal_int(const char *text, size_t n, int64_t *out);

/* The double nearest to a number literal of at most JSON_MAX_NUMBER_CHARS bytes, in any locale. May
 * be infinite. */
double json_literal_double(const char *text, size_t n);

enum { JSON_MAX_NUMBER_CHARS = 63 }; /* cJSON copies a number into 64 bytes */

#endif
