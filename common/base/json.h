/* json.h: strict reading of JSON with cJSON, and typed access to members.
 *
 * json_scan.c checks the text first and refuses what cJSON would accept: duplicate keys, bytes
 * after the value, NaN and Infinity, nesting deeper than JSON_MAX_DEPTH, NUL (as a byte or as
 * \u0000), unpaired surrogates, invalid UTF-8, numbers longer than 63 characters or beyond a
 * double, and inputs over JSON_MAX_BYTES. Everything else that RFC 8259 requires a reader to accept
 * is accepted; one leading byte order mark is skipped. Errors carry the line and, where known, the
 * path of the field.
 */
#ifndef SERVELAB_BASE_JSON_H
#define SERVELAB_BASE_JSON_H

#include "base/err.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

enum {
    JSON_MAX_DEPTH = 64, /* servelab's deepest document has 6 levels; cJSON recurses */
    JSON_MAX_BYTES =
        64 * 1024 *
        1024 /* a record with a million token_sent events has about 100 MB and is refused */
};
#define JSON_MAX_INT                                                                               \
    INT64_C(9007199254740992) /* 2^53: above it a double can't hold every integer */

/* Parses exactly one value from text[0..n). Returns a tree that the caller frees with cJSON_Delete,
 * or NULL and *e. `first_line` is the number of the line on which the text starts (1 for a whole
 * file).
 *
 * If a number may mean an integer that a double can't hold (9007199254740993, or
 * 1.00000000000000000001), the node's valuestring keeps its digits: json_get_int refuses it and
 * json_print writes back the same digits.
 */
cJSON *json_parse(const char *text, size_t n, int first_line, struct err *e);

/* The same, for texts that may hold NUL. A string value (not a key) may contain \u0000, which the
 * tree has as the two bytes JSON_NUL, as Java does; they are in no valid UTF-8. */
#define JSON_NUL "\xc0\x80"
cJSON *json_parse_with_nul(const char *text, size_t n, int first_line, struct err *e);
/* Whether a string of such a tree holds NUL. */
bool json_has_nul(const char *string);
/* Turns each JSON_NUL of the string into a NUL byte, in place. Returns the string's length, those
 * NULs counted. */
size_t json_restore_nul(char *string);

/* Reads a whole regular file of at most JSON_MAX_BYTES and parses it. NULL and *e set otherwise. */
cJSON *json_parse_file(const char *path, struct err *e);

/* The bytes of such a file, with a NUL after them that *n does not count. The caller frees them.
 * NULL and *e when it is not a regular file, is empty or too large, or can't be read. */
char *json_read_file(const char *path, size_t *n, struct err *e);

/* The line on which the value at `path` ("events[2].t_ns") begins in a text that json_parse
 * accepts. If the value is missing, the line of the innermost container on the way to it, at least
 * `first_line`. A tree has no lines: use this for errors found in one. Linear, allocates nothing.
 */
int json_line_of(const char *text, size_t n, int first_line, const char *path);

/* The compact text of a tree, one line; the caller frees it with cJSON_free. NULL when memory is
 * out. Integers made by json_add_int and digits kept by json_parse are written exactly. */
char *json_print(const cJSON *tree);

/* Typed access to members. Each returns 0, or -1 with *e naming `path`.`key`; `path` may be "". A
 * missing member is an error, except for names ending in _opt: there a member that is missing or
 * null leaves *out as it is and sets *found to false. e->line is 0: see json_line_of. */
int json_get_string(const cJSON *obj, const char *path, const char *key, const char **out,
                    struct err *e);
int json_get_string_opt(const cJSON *obj, const char *path, const char *key, const char **out,
                        bool *found, struct err *e);
int json_get_bool(const cJSON *obj, const char *path, const char *key, bool *out, struct err *e);
/* An integer within [lo, hi] and within +-2^53. Fractions, exponents that leave a fraction, and
 * strings are refused. */
int json_get_int(const cJSON *obj, const char *path, const char *key, int64_t lo, int64_t hi,
                 int64_t *out, struct err *e);
int json_get_int_opt(const cJSON *obj, const char *path, const char *key, int64_t lo, int64_t hi,
                     int64_t *out, bool *found, struct err *e);
/* A finite number. */
int json_get_number(const cJSON *obj, const char *path, const char *key, double *out,
                    struct err *e);
int json_get_number_opt(const cJSON *obj, const char *path, const char *key, double *out,
                        bool *found, struct err *e);
/* A member that is an object; it stays part of the tree. */
int json_get_object(const cJSON *obj, const char *path, const char *key, const cJSON **out,
                    struct err *e);
int json_get_array(const cJSON *obj, const char *path, const char *key, const cJSON **out,
                   struct err *e);

/* Adds an integer that json_print writes with all its digits (cJSON alone would write 1e+15). NULL
 * when memory is out. */
cJSON *json_add_int(cJSON *obj, const char *key, int64_t value);

#endif
