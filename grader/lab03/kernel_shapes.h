/* kernel_shapes.h: draws the sizes for the runs of lab 03's kernels from a seed. */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_SHAPES_H
#define SERVELAB_GRADER_LAB03_KERNEL_SHAPES_H

#include "backend/kernel_spec.h"

#include <stdbool.h>

struct shape {
    char text[120];   /* "rows=5 d=576", for kernel_sizes_parse */
    const char *kind; /* in words, without sizes */
    uint64_t seed;    /* of its data */
};

/* Shape k of a kernel: 0, 1, ... The counts of the last shape are judged: it is so large that the
 * edges don't matter. False when there is no such shape. */
bool lab03_shape_draw(const struct kernel_spec *kernel, uint64_t seed, int k, struct shape *out);
int lab03_shape_count(const struct kernel_spec *kernel);

#endif
