/* strict.h: reads JSON objects in which every member must be known and every member must be
 * present.
 *
 * For files that work like forms (a learner's data files, an objective): a misspelt or missing
 * field is an error, and a member that does not apply is written as null. A reader calls
 * strict_members first, then one function per field. Errors name the field as `path`.`key`; the
 * caller adds the line (json_line_of). Not here: parsing JSON (base/json.h), and whether values
 * make sense.
 */
#ifndef SERVELAB_BASE_STRICT_H
#define SERVELAB_BASE_STRICT_H

#include "base/err.h"

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `obj` is an object with exactly the members known[0..], NULL at the end. 0, or -1 and *e naming
 * the member that is unknown (with the nearest known one) or missing. `path` is "" at the top. */
int strict_members(const cJSON *obj, const char *path, const char *const *known, struct err *e);

/* obj.key, which strict_members has found there; NULL when it is null. */
const cJSON *strict_at(const cJSON *obj, const char *key);

/* "path.key", "path[index]" with a NULL key; cut where it doesn't fit. */
enum { STRICT_PATH_BYTES = 96 };
const char *strict_path(char *dst, const char *path, const char *key, int index);

/* A text of `least` to cap - 1 bytes that is no blank space at its ends. */
int strict_text(const cJSON *v, const char *path, size_t least, char *dst, size_t cap,
                struct err *e);
/* One of names[0..], NULL at the end: *out is its index. */
int strict_choice(const cJSON *v, const char *path, const char *const *names, int *out,
                  struct err *e);
int strict_bool(const cJSON *v, const char *path, bool *out, struct err *e);
/* Within [lo, hi]. */
int strict_int(const cJSON *v, const char *path, int64_t lo, int64_t hi, int64_t *out,
               struct err *e);
int strict_number(const cJSON *v, const char *path, double lo, double hi, double *out,
                  struct err *e);
/* A list of lo to hi entries: *n of them. */
int strict_list(const cJSON *v, const char *path, int lo, int hi, int *n, struct err *e);

#endif
