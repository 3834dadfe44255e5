/* json.h: strict reading of JSON on top of cJSON.
 *
 * cJSON parses; json_scan.c, in front of it, refuses what cJSON lets through and we can't accept:
 * duplicate keys, bytes after the value, NaN and Infinity, nesting deeper than JSON_MAX_DEPTH, NUL
 * (as a byte or as \u0000), unpaired surrogates, invalid UTF-8, numbers longer than 63 characters
 * or beyond a double, and inputs over JSON_MAX_BYTES. Errors carry the line and, where one is
 * known, the path of the field. Refuses nothing else that RFC 8259 asks a reader to accept; one
 * leading byte order mark is passed over.
 */
#ifndef SERVELAB_BASE_JSON_H
#define SERVELAB_BASE_JSON_H

#include "base/err.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

enum {
    JSON_MAX_DEPTH = 64, /* our deepest document has 6 levels; cJSON itself recurses */
    JSON_MAX_BYTES =
        64 * 1024 *
        1024 /* one record with a million token_sent events is about 100 MB: refuse it */
};
#define JSON_MAX_INT                                                                               \
    INT64_C(9007199254740992) /* 2^53: above it a double no longer holds every integer */

/* Parses exactly one value from text[0..n). Returns a tree the caller frees with cJSON_Delete, or
 * NULL and *e set. `first_line` is the number of the line on which the text starts (1 for a whole
 * file).
 *
 * A number that a double can't hold although an integer could be meant (9007199254740993, or
 * 1.00000000000000000001) keeps its literal in the node's valuestring, so that json_get_int refuses
 * it and json_print writes back what was read. */
cJSON *json_parse(const char *text, size_t n, int first_line, struct err *e);

/* Reads a whole regular file of at most JSON_MAX_BYTES and parses it. NULL and *e set otherwise. */
cJSON *json_parse_file(const char *path, struct err *e);

/* The bytes of such a file, with a NUL after them; *n doesn't count it. The caller frees them. NULL
 * and *e set when there is no such regular file, when it is empty, too large or can't be read. */
char *json_read_file(const char *path, size_t *n, struct err *e);

/* The line on which the value at `path` ("events[2].t_ns") begins in text that json_parse accepts,
 * or that of the innermost value on the way to it; `first_line` when nothing of it is there. For
 * the errors found in a tree: a tree has no lines. Linear, allocates nothing. */
int json_line_of(const char *text, size_t n, int first_line, const char *path);

/* Compact text of a tree, one line, to be freed with cJSON_free; NULL when memory is out. Integers
 * made by json_add_int and literals kept by json_parse come out digit for digit. */
char *json_print(const cJSON *tree);

/* Member access with types checked. Each returns 0, or -1 with *e naming `path`.`key`. `path` may
 * be "". A missing member is an error, unless the name ends in _opt: then a member that is missing
 * or null leaves *out alone and *found tells. e->line is 0: see json_line_of. */
int json_get_string(const cJSON *obj, const char *path, const char *key, const char **out,
                    struct err *e);
int json_get_string_opt(const cJSON *obj, const char *path, const char *key, const char **out,
                        bool *found, struct err *e);
int json_get_bool(const cJSON *obj, const char *path, const char *key, bool *out, struct err *e);
/* An integer literal within [lo, hi] and within +-2^53: fractions, exponents that leave a fraction
 * and strings are refused. */
int json_get_int(const cJSON *obj, const char *path, const char *key, int64_t lo, int64_t hi,
                 int64_t *out, struct err *e);
int json_get_int_opt(const cJSON *obj, const char *path, const char *key, int64_t lo, int64_t hi,
                     int64_t *out, bool *found, struct err *e);
/* A finite number. */
int json_get_number(const cJSON *obj, const char *path, const char *key, double *out,
                    struct err *e);
int json_get_number_opt(const cJSON *obj, const char *path, const char *key, double *out,
                        bool *found, struct err *e);
/* A member that is an object. The tree keeps it. */
int json_get_object(const cJSON *obj, const char *path, const char *key, const cJSON **out,
                    struct err *e);
int json_get_array(const cJSON *obj, const char *path, const char *key, const cJSON **out,
                   struct err *e);

/* Adds an integer whose digits json_print writes out whatever its size (cJSON alone would write
 * 1e+15). NULL when memory is out. */
cJSON *json_add_int(cJSON *obj, const char *key, int64_t value);

#endif
