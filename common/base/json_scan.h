/* json_scan.h: the strict pass over JSON text that stands in front of cJSON (see json.h).
 *
 * One pass, a fixed stack instead of recursion, no tree. Offers: whether the bytes are exactly one
 * RFC 8259 value within our limits, and if not, where and why. Inside servelab it is used by json.c
 * and by the readers in record/; everyone else calls json_parse.
 */
#ifndef SERVELAB_BASE_JSON_SCAN_H
#define SERVELAB_BASE_JSON_SCAN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number whose exact value a double loses in a way that matters to an integer: an integer beyond
 * 2^53, or a fraction so small that the double looks whole. `ordinal` counts the numbers of the
 * text from 0. */
struct json_literal {
    size_t ordinal;
    size_t offset; /* in the text */
    size_t length;
};

struct json_scan_result {
    struct json_literal *literals; /* in text order; owned, free() them; NULL when there are none */
    size_t n_literals;
    bool cut_off; /* on failure: the text is good as far as it goes, but ends inside the value */
};

/* Scans text[0..n), whose first byte stands on line `first_line`. 0, or -1 with *e set (line, and
 * the path of the member where one is known). *out is always set; on failure it owns nothing.
 * Memory: 32 bytes for each key of the objects that are open, plus the decoded bytes of keys with
 * escapes. */
int json_scan(const char *text, size_t n, int first_line, struct json_scan_result *out,
              struct err *e);

/* What an RFC 8259 number literal is as an integer, computed in integers. *out is set only for
 * LITERAL_INT. */
enum literal_kind { LITERAL_INT, LITERAL_FRACTION, LITERAL_BEYOND /* past +-2^53 */ };
enum literal_kind json_literal_int(const char *text, size_t n, int64_t *out);

/* The double nearest to a number literal of at most JSON_MAX_NUMBER_CHARS bytes, whatever the
 * locale's decimal point. May be infinite. */
double json_literal_double(const char *text, size_t n);

enum { JSON_MAX_NUMBER_CHARS = 63 }; /* cJSON copies a number into 64 bytes */

#endif
