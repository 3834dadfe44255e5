/* child/place.h: memory for a case's inputs. Each is given in memory of its own, so that a read
 * past its end is seen; with `read_only` it can't be written, and the page after it can't be
 * touched. */
#ifndef SERVELAB_GRADER_CHILD_PLACE_H
#define SERVELAB_GRADER_CHILD_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* A copy of from[0..n); NULL when n is 0. Ends the process when memory is out. */
void *place(bool read_only, const void *from, size_t n);

/* Gives back everything that was placed. */
void place_release(void);

#endif
