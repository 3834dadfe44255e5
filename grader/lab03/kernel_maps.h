/* kernel_maps.h: compares what a launch did with the maps of what was counted of it
 * (kernel_wire.h). A launch that was counted whole has written every byte that changed, and its
 * result does not depend on a byte that it has not read. */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_MAPS_H
#define SERVELAB_GRADER_LAB03_KERNEL_MAPS_H

#include "lab03/kernel_wire.h"

/* Whether a byte changed that was not counted as written. `answer` is the answer to a question with
 * `counted`. */
bool lab03_maps_unwritten(const struct lab03_launch *launch, const int64_t *answer);

/* The second question: changes every byte of the inputs that was not counted as read, in copies
 * that launch->param then points to, and takes `counted` back. `expected` gets the answer of a
 * kernel that was counted whole. Returns the copies, for the caller to free; NULL when every byte
 * was read, or when memory runs out. */
void *lab03_maps_change_unread(struct lab03_launch *launch, const int64_t *answer,
                               int64_t *expected);

#endif
