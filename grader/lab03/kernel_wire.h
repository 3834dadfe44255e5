/* kernel_wire.h: one launch as a question to the process that runs a kernel, and the shape of its
 * answer. Grader and child include it.
 *
 * The question has the launch shape, the sizes and scalars, and the contents of the input tensors.
 * The answer is the launch's error number and then every tensor, inputs too, as it was afterwards;
 * each tensor takes its bytes rounded up to whole slots. Where the question asks for `counted`,
 * each tensor is followed by two maps of a bit a byte: what was counted as read, and as written.
 * The checking runtime sends its report when the process ends.
 */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_WIRE_H
#define SERVELAB_GRADER_LAB03_KERNEL_WIRE_H

#include "core/wire.h"

enum {
    KERNEL_WIRE_PARAMS = 16,
    KERNEL_WIRE_REPORT_BYTES = 1 << 20,
    KERNEL_WIRE_SLOTS = WIRE_MAX_PAYLOAD / 8 / 4 * 5 /* of an answer with its maps */
};

enum kernel_wire_kind {
    KWIRE_INPUT,  /* a tensor with contents */
    KWIRE_OUTPUT, /* a tensor without contents */
    KWIRE_SIZE,
    KWIRE_SCALAR
};

struct kernel_wire_param {
    int32_t kind;
    int32_t size;     /* KWIRE_SIZE; a scalar's bits */
    size_t bytes;     /* of a tensor */
    const void *data; /* of KWIRE_INPUT; when reading, a place in the question's bytes */
};

struct lab03_launch {
    char kernel[32];
    int32_t grid[3], block[3], shared_bytes, n_params;
    bool counted; /* the answer has maps of what was read and written */
    struct kernel_wire_param param[KERNEL_WIRE_PARAMS];
};

/* Writes or reads, as w says; w->bad afterwards when it did not fit or is not a launch. */
void lab03_launch_codec(struct wire *w, struct lab03_launch *launch);

static inline size_t kernel_wire_slots(size_t bytes) {
    return (bytes + 7) / 8;
}
static inline size_t kernel_wire_map_slots(size_t bytes) {
    return (bytes + 63) / 64;
}
/* The number of slots of the answer. */
size_t lab03_launch_slots(const struct lab03_launch *launch);

#endif
