/* kernel_spec.h: the table of the kernels in kernels.h: shapes, bytes, operations, versions,
 * budgets.
 *
 * For each kernel: its parameters in the prototype's order, with type and shape; its sizes and
 * their limits; the bytes it must move and the operations it must do, as closed forms of the sizes;
 * its versions from naive to fast, and the counted budgets that define each version. Handout,
 * autograder, tests and `make gpu-check` read this table, so that they agree. Not here: input data
 * and expected values (kernel_case.h), the mathematics (kernel_reference.h).
 *
 * A budget is a limit on one counter of one launch. A file has reached version v when it is right
 * and every budget of the versions 2..v holds, each with KERNEL_BUDGET_SLACK. A right file has
 * reached version 1.
 *
 * Count at a shape that is large enough: rows of a few hundred elements, 16 or more rows or tokens,
 * several query heads a KV head, contexts of 64 or more, top_k given. At smaller shapes remainders
 * may exceed the slack, and versions that differ only in what is shared have equal counts (one
 * query head a KV head, one tile of queries).
 */
#ifndef SERVELAB_BACKEND_KERNEL_SPEC_H
#define SERVELAB_BACKEND_KERNEL_SPEC_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KERNEL_MAX_PARAMS = 16,
    KERNEL_MAX_SIZES = 10,
    KERNEL_MAX_VERSIONS = 5,
    KERNEL_MAX_BUDGETS = 6
};

/* The count may be up to 11/10 of the limit, so that another way to compute an index doesn't cost a
 * version. */
enum { KERNEL_BUDGET_SLACK_NUM = 11, KERNEL_BUDGET_SLACK_DEN = 10 };

enum kernel_dtype { KERNEL_F32, KERNEL_BF16, KERNEL_I32, KERNEL_I8 };
enum kernel_role {
    KERNEL_IN,
    KERNEL_OUT,   /* every element is written */
    KERNEL_INOUT, /* elements that aren't written keep their values */
    KERNEL_SIZE,  /* an int32_t, one of the sizes */
    KERNEL_SCALAR /* a float */
};

struct kernel_param {
    const char *name;
    enum kernel_role role;
    enum kernel_dtype dtype; /* of a tensor */
    const char *shape;       /* of a tensor: "(tokens, q_heads, head_dim)"; its elements are
                                kernel_param_count() */
    double tolerance;        /* of an output, relative to its greatest magnitude; 0: exact */
};

/* A size is a parameter of the kernel, or belongs to the data only (a vocabulary, a pool). */
struct kernel_size {
    const char *name;
    bool passed;         /* to the kernel; launch.json may use only these */
    int32_t multiple_of; /* 1: any */
    int32_t max;         /* 0: what an int32_t element index allows */
};

enum kernel_counter {
    KERNEL_BYTES,      /* 32 times the sectors that global loads and stores asked for */
    KERNEL_REQUESTS,   /* global loads and stores, one a warp and instruction */
    KERNEL_WAVEFRONTS, /* passes over shared memory */
    KERNEL_CONFLICTS,  /* passes beyond those that the same requests need at least */
    KERNEL_BARRIERS,   /* __syncthreads, one a block that passes it */
    KERNEL_COUNTERS
};

struct kernel_budget {
    int version;
    enum kernel_counter counter;
    const char *limit; /* an expression (launch.h) over all sizes */
};

struct kernel_spec {
    const char *name;  /* of the function, of its .cu and of its entry in launch.json */
    const char *title; /* "RMSNorm with the residual added" */
    struct kernel_param param[KERNEL_MAX_PARAMS]; /* up to the first without a name */
    struct kernel_size size[KERNEL_MAX_SIZES];    /* the same */
    const char *bytes_min;  /* read or written at least once each, tensors' elements only */
    const char *operations; /* additions, multiplications, divisions and functions, one each */
    const char *version[KERNEL_MAX_VERSIONS]; /* the idea of each, naive first */
    struct kernel_budget budget[KERNEL_MAX_BUDGETS];
};

/* The table, and its length. */
extern const struct kernel_spec kernel_specs[];
extern const int kernel_spec_count;

/* NULL if no kernel has that name. */
const struct kernel_spec *kernel_spec_find(const char *name);

int kernel_param_count(const struct kernel_spec *k);   /* parameters of the function */
int kernel_size_count(const struct kernel_spec *k);    /* sizes, those of the data included */
int kernel_version_count(const struct kernel_spec *k); /* >= 2 */
int kernel_budget_count(const struct kernel_spec *k);
/* Index of a size; -1 if the kernel has none of that name. */
int kernel_size_index(const struct kernel_spec *k, const char *name);

/* The sizes of one launch, in the order of spec->size. */
struct kernel_sizes {
    const struct kernel_spec *spec;
    int64_t value[KERNEL_MAX_SIZES];
};

/* Checks every size: at least 1 (pos0 and top_k: 0), at most its maximum, a multiple of
 * multiple_of, and consistent with the others. 0, or -1 and *e naming the size. */
int kernel_sizes_check(const struct kernel_sizes *s, struct err *e);

/* An expression over all sizes; the table's own expressions always have a value for checked sizes.
 */
int kernel_eval(const struct kernel_sizes *s, const char *expression, int64_t *out, struct err *e);

int64_t kernel_bytes_min(const struct kernel_sizes *s);
int64_t kernel_operations(const struct kernel_sizes *s);
/* Elements of tensor `param`. */
int64_t kernel_elements(const struct kernel_sizes *s, int param);
size_t kernel_dtype_bytes(enum kernel_dtype t);

/* The sizes that are passed to the kernel: the names that launch.json may use. */
struct launch_names;
struct kernel_names {
    const char *name[KERNEL_MAX_SIZES];
    int64_t value[KERNEL_MAX_SIZES];
    int n;
};
void kernel_launch_names(const struct kernel_sizes *s, struct kernel_names *out);

/* "bytes", "requests", "wavefronts", "bank_conflicts", "barriers". */
const char *kernel_counter_name(enum kernel_counter c);
/* The same as text for people: "shared wavefronts", "bank conflicts". */
const char *kernel_counter_words(enum kernel_counter c);

/* The counts of one launch. */
struct kernel_counts {
    int64_t value[KERNEL_COUNTERS];
};
/* Reads the counts of `kernel` from the report of a checked program (SIMT_REPORT), which must have
 * launched it once. 0, or -1 and *e. */
int kernel_counts_read(const char *report_path, const char *kernel, struct kernel_counts *out,
                       struct err *e);

/* The version that the counts reach, 1 .. kernel_version_count; *missed (may be NULL) is the first
 * budget that doesn't hold, NULL if all do. */
int kernel_version_reached(const struct kernel_sizes *s, const struct kernel_counts *counts,
                           const struct kernel_budget **missed);

/* Whether the source still has a LAB_TODO_KERNEL outside of comments and strings. */
bool kernel_not_attempted(const char *text, size_t n);

#endif
