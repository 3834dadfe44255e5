/* child/place.h: memory for a case's inputs. Each input has its own allocation, so that a read
 * beyond its end is detected. With `read_only` it can't be written, and the page after it can't be
 * accessed. */
#ifndef SERVELAB_GRADER_CHILD_PLACE_H
#define SERVELAB_GRADER_CHILD_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* A copy of from[0..n); NULL when n is 0. Ends the process when out of memory. */
void *place(bool read_only, const void *from, size_t n);

/* The same at the end of a page that can be written, before one that can't be accessed. `from` must
 * stay as it is until place_release. */
void *place_at_end(bool read_only, const void *from, size_t n);

/* Whether what place_at_end placed is still equal to `from`. */
bool place_unchanged(void);

/* Frees everything that was placed. */
void place_release(void);

#endif
