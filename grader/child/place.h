/* child/place.h: memory for a case's inputs. Every input lies at the end of a page, before one that
 * can't be accessed, in every build and for every check: its address says nothing. With `read_only`
 * it can't be written. */
#ifndef SERVELAB_GRADER_CHILD_PLACE_H
#define SERVELAB_GRADER_CHILD_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* A copy of from[0..n); NULL when n is 0. Ends the process when out of memory. */
void *place(bool read_only, const void *from, size_t n);

/* Frees everything that was placed. Ends the process by abort() if any of it was changed. */
void place_release(void);

#endif
