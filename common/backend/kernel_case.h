/* kernel_case.h: one launch's data: seeded inputs, expected outputs, the verdict on what came back.
 *
 * Offers: buffers in the kernel's own types, filled from a seed with values that tell mistakes
 * apart (logits of several hundred, blocks out of order, large numbers in the slots that hold no
 * key); the reference's outputs in double; a comparison for each output. A grader keeps the case
 * outside and hands only the buffers in. Refuses to launch anything.
 */
#ifndef SERVELAB_BACKEND_KERNEL_CASE_H
#define SERVELAB_BACKEND_KERNEL_CASE_H

#include "backend/kernel_spec.h"
#include "base/compare.h"

struct kernel_tensor {
    void *data;   /* as it stands before the launch; an output's is poison: NaN, or -1 */
    int64_t n;    /* elements; 0 for a parameter that is no tensor */
    size_t bytes; /* of data */
    double *want; /* (n) of an output, else NULL */
};

struct kernel_case {
    const struct kernel_spec *spec;
    struct kernel_sizes sizes;
    struct kernel_tensor tensor[KERNEL_MAX_PARAMS]; /* by parameter */
    int32_t size[KERNEL_MAX_PARAMS];                /* value of a KERNEL_SIZE parameter */
    float scalar[KERNEL_MAX_PARAMS];                /* value of a KERNEL_SCALAR parameter */
};

/* Sizes from "rows=5 d=576"; those of the data that are left out get what the others need: stride =
 * cols + 16, positions = tokens + 40, vocab = 97, max_blocks and pool_blocks a few more than
 * necessary, keys as kernel_case_init will make them. pos0 and top_k are 0 when left out. Checked.
 * 0, or -1 and *e. */
int kernel_sizes_parse(const struct kernel_spec *k, const char *text, struct kernel_sizes *out,
                       struct err *e);

/* A sequence's length in attention_decode: the first one has `context` tokens, each following one
 * 17 fewer, down to 1. */
static inline int64_t kernel_case_length(int64_t context, int64_t seq) {
    return context - 17 * seq > 1 ? context - 17 * seq : 1;
}

/* Sizes are checked by the caller. Everything depends on sizes and seed alone. 0, or -1 and *e when
 * memory is out. kernel_case_release after success. */
int kernel_case_init(struct kernel_case *c, const struct kernel_sizes *s, uint64_t seed,
                     struct err *e);
/* The same without the expected outputs, whose computation in double is slow for large shapes. */
int kernel_case_fill(struct kernel_case *c, const struct kernel_sizes *s, uint64_t seed,
                     struct err *e);
void kernel_case_release(struct kernel_case *c);

/* Computes every `want` again, for a caller that put its own inputs or scalars in. */
void kernel_case_compute(struct kernel_case *c);

/* The verdict on output `param` as it came back in its own type: tensor[param].n elements. */
struct comparison kernel_case_check(const struct kernel_case *c, int param, const void *got);

/* Did an input come back with other bytes than it went in with? */
bool kernel_case_input_changed(const struct kernel_case *c, int param, const void *got);

/* Fills args[0 .. kernel_param_count) for a launch (cudaLaunchKernel, cuLaunchKernel): pointers to
 * pointer[param] for tensors, which the caller sets to device addresses, and to sizes and scalars
 * of the case. */
void kernel_case_args(struct kernel_case *c, void *pointer[KERNEL_MAX_PARAMS],
                      void *args[KERNEL_MAX_PARAMS]);

#endif
