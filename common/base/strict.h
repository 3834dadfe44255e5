/* strict.h: reads JSON objects whose members must all be known, field by field, within bounds.
 *
 * For files that people write (a learner's data files, an objective): a misspelt field is an error
 * that names the nearest known one. In a form (strict_members) every member must be there, and one
 * that does not apply is null; elsewhere (strict_known) null means the same as leaving it out. A
 * reader calls one of the two first, then one function per field; each returns 0, or -1 with *e
 * naming `path`. The caller adds the line (json_line_of). Not here: parsing JSON (base/json.h).
 */
#ifndef SERVELAB_BASE_STRICT_H
#define SERVELAB_BASE_STRICT_H

#include "base/err.h"

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `obj` is an object that has no members but known[0..], NULL at the end. `path` is "" at the top.
 */
int strict_known(const cJSON *obj, const char *path, const char *const *known, struct err *e);
/* The same, and none of them is missing. */
int strict_members(const cJSON *obj, const char *path, const char *const *known, struct err *e);

/* obj.key; NULL when it is missing or null. */
const cJSON *strict_at(const cJSON *obj, const char *key);

/* Writes "path.key", or "path[index]" with a NULL key, into dst, cut to its size. Returns dst. */
enum { STRICT_PATH_BYTES = 96 };
const char *strict_path(char *dst, const char *path, const char *key, int index);

/* A text of `least` to cap - 1 bytes, copied into dst. */
int strict_string(const cJSON *v, const char *path, size_t least, char *dst, size_t cap,
                  struct err *e);
/* The same, without blank space at its ends. */
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
