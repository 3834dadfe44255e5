/* kernel_case.h: makes the data of one launch from a seed: the inputs and the expected outputs; and
 * compares results with them.
 *
 * The buffers have the kernel's types. Their values make mistakes visible: logits of several
 * hundred, blocks out of order, large numbers in the slots that hold no key. Expected outputs are
 * in double. A grader keeps the case and gives only the buffers to the child. Not here: the launch.
 */
#ifndef SERVELAB_BACKEND_KERNEL_CASE_H
#define SERVELAB_BACKEND_KERNEL_CASE_H

#include "backend/kernel_spec.h"
#include "base/compare.h"

struct kernel_tensor {
    void *data;   /* the values before the launch; an output's are poison: NaN, or -1 */
    int64_t n;    /* elements; 0 for a parameter that isn't a tensor */
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

/* Reads sizes such as "rows=5 d=576" and checks them. Defaults of omitted sizes of the data: stride
 * = cols + 16, positions = tokens + 40, vocab = 97, max_blocks and pool_blocks a few more than
 * needed, keys as kernel_case_init makes them; of pos0 and top_k: 0. 0, or -1 and *e. */
int kernel_sizes_parse(const struct kernel_spec *k, const char *text, struct kernel_sizes *out,
                       struct err *e);

/* A sequence's length in attention_decode: the first one has `context` tokens, each following one
 * 17 fewer, down to 1. */
static inline int64_t kernel_case_length(int64_t context, int64_t seq) {
    return context - 17 * seq > 1 ? context - 17 * seq : 1;
}

/* The caller has checked the sizes. All values depend on sizes and seed only. 0, or -1 and *e if
 * memory runs out. kernel_case_release after success. */
int kernel_case_init(struct kernel_case *c, const struct kernel_sizes *s, uint64_t seed,
                     struct err *e);
/* The same without the expected outputs, whose computation in double is slow for large shapes. */
int kernel_case_fill(struct kernel_case *c, const struct kernel_sizes *s, uint64_t seed,
                     struct err *e);
void kernel_case_release(struct kernel_case *c);

/* Recomputes every `want`, for a caller that has changed inputs or scalars. */
void kernel_case_compute(struct kernel_case *c);

/* Compares output `param`, tensor[param].n elements in the kernel's type, with the expected values.
 */
struct comparison kernel_case_check(const struct kernel_case *c, int param, const void *got);

/* Whether the bytes of an input differ from those before the launch. */
bool kernel_case_input_changed(const struct kernel_case *c, int param, const void *got);

/* Fills args[0 .. kernel_param_count) for a launch (cudaLaunchKernel, cuLaunchKernel): pointers to
 * pointer[param] for tensors, which the caller sets to device addresses, and to sizes and scalars
 * of the case. */
void kernel_case_args(struct kernel_case *c, void *pointer[KERNEL_MAX_PARAMS],
                      void *args[KERNEL_MAX_PARAMS]);

#endif
