/* kernel_shapes.h: the sizes with which lab 03's kernels are asked, drawn from a seed. */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_SHAPES_H
#define SERVELAB_GRADER_LAB03_KERNEL_SHAPES_H

#include "backend/kernel_spec.h"

#include <stdbool.h>

struct shape {
    char text[120];   /* "rows=5 d=576", for kernel_sizes_parse */
    const char *kind; /* in words that give no size away */
    uint64_t seed;    /* of its data */
};

/* Shape k of a kernel: 0, 1, ... The last one is the one whose counts are judged: large enough that
 * what happens at the edges doesn't matter. False when there is no such shape. */
bool lab03_shape_draw(const struct kernel_spec *kernel, uint64_t seed, int k, struct shape *out);
int lab03_shape_count(const struct kernel_spec *kernel);

#endif
