/* nearest.h: suggests the known name nearest to a mistyped one. */
#ifndef SERVELAB_BASE_NEAREST_H
#define SERVELAB_BASE_NEAREST_H

#include <stddef.h>

/* The name in names[0..n) with the least edit distance to `text` (Levenshtein: insert, delete,
 * change); upper and lower case are equal; if several names are equally near, the first of them.
 * NULL when n is 0. For short names: with more than 63 characters it returns the first name. */
const char *nearest_name(const char *text, const char *const *names, size_t n);

/* Writes "a, b, c" into buf, cut to cap. Returns buf. */
const char *list_names(const char *const *names, size_t n, char *buf, size_t cap);

#endif
