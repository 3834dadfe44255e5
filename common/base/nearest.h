/* nearest.h: what someone who mistyped a name probably meant. */
#ifndef SERVELAB_BASE_NEAREST_H
#define SERVELAB_BASE_NEAREST_H

#include <stddef.h>

/* The one of names[0..n) with the least edit distance to `text` (Levenshtein: insert, delete,
 * change), upper and lower case being equal; of equal ones the first. NULL when n is 0. Meant for
 * short names: beyond 63 characters the first one is returned. */
const char *nearest_name(const char *text, const char *const *names, size_t n);

/* Writes "a, b, c" into buf, cut to cap. Returns buf. */
const char *list_names(const char *const *names, size_t n, char *buf, size_t cap);

#endif
