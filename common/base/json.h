/* json.h: strict reading of JSON on top of cJSON.
 *
 * cJSON parses; this file refuses what cJSON lets through and we can't accept: duplicate keys,
 * bytes after the value, NaN and Infinity, nesting deeper than JSON_MAX_DEPTH, NUL bytes, invalid
 * UTF-8, and inputs over JSON_MAX_BYTES. Errors carry the line and, where one is known, the path of
 * the field. Refuses nothing that RFC 8259 asks a reader to accept, except for those limits.
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
 * file). */
cJSON *json_parse(const char *text, size_t n, int first_line, struct err *e);

/* Reads a whole regular file of at most JSON_MAX_BYTES and parses it. NULL and *e set otherwise. */
cJSON *json_parse_file(const char *path, struct err *e);

/* Member access with types checked. Each returns 0, or -1 with *e naming `path`.`key`. `path` may
 * be "". A missing member is an error, unless the name ends in _opt: then *found tells. */
int json_get_string(const cJSON *obj, const char *path, const char *key, const char **out,
                    struct err *e);
int json_get_bool(const cJSON *obj, const char *path, const char *key, bool *out, struct err *e);
/* An integer literal within [lo, hi] and within +-2^53: fractions, exponents that leave a fraction
 * and strings are refused. */
int json_get_int(const cJSON *obj, const char *path, const char *key, int64_t lo, int64_t hi,
                 int64_t *out, struct err *e);
/* A finite number. */
int json_get_number(const cJSON *obj, const char *path, const char *key, double *out,
                    struct err *e);

#endif
