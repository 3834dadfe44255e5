/* simt_abi.h: the runtime's interface for code generated from a .cu file, in C.
 *
 * cuda_runtime.h and the rewriter of simtcc make these calls; a kernel doesn't name them. `site` is
 * a number unique to a call in the text (a counter, then the line). It distinguishes two barriers
 * on two branches even where the compiler merges the calls.
 */
#ifndef SIMT_ABI_H
#define SIMT_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    unsigned x, y, z;
} simt_u3;

/* One launch. `run` runs the current thread and all threads that simt_thread_next() then names. */
struct simt_launch {
    simt_u3 grid, block;
    size_t dynamic_bytes; /* dynamic shared memory */
    void *stream;
    void (*run)(void *arg);
    void *arg;
    size_t arg_bytes;
    const void *function; /* the kernel's address, NULL where only a lambda knows it */
    const char *name, *file;
    int line;
};
void simt_launch(const struct simt_launch *launch);
int simt_thread_next(void);

/* A __shared__ variable: its place in the block's arena, one a launch. */
typedef struct {
    uint64_t launch_and_offset;
    const char *name;
} simt_shared_var;
void *simt_shared(simt_shared_var *var, size_t bytes, size_t align);
void *simt_shared_dynamic(void);

/* Barriers of the block. kind: 0 plain, 1 count, 2 and, 3 or. */
int simt_barrier(unsigned site, int kind, int predicate);
void simt_fence(void);
void simt_fence_block(void);

/* Warp operations. All lanes of `mask` that have not returned meet in one operation; the last to
 * arrive computes for all. The calls may be on several lines of the text, but every lane must pass
 * the same op, the same mask and the same SIMT_WIDE. `site` is for messages only. */
enum simt_warp_op {
    SIMT_OP_SYNC,
    SIMT_OP_SHUFFLE, /* the four shuffles: argument: source lane */
    SIMT_OP_SHUFFLE_XOR,
    SIMT_OP_SHUFFLE_UP,
    SIMT_OP_SHUFFLE_DOWN,
    SIMT_OP_BALLOT, /* these three: result: the lanes with value != 0 */
    SIMT_OP_ANY,
    SIMT_OP_ALL,
    SIMT_OP_UNI,       /* result: mask or 0 */
    SIMT_OP_MATCH_ANY, /* result: the lanes with the same value */
    SIMT_OP_MATCH_ALL, /* result: mask or 0 */
    SIMT_OP_ADD,
    SIMT_OP_MIN,
    SIMT_OP_MAX,
    SIMT_OP_UMIN,
    SIMT_OP_UMAX,
    SIMT_OP_AND,
    SIMT_OP_OR,
    SIMT_OP_XOR,
    SIMT_OP_MMA,       /* value: address of this lane's struct simt_mma */
    SIMT_OP_MMA_LOAD,  /* all lanes of the warp have loaded a fragment */
    SIMT_OP_MMA_STORE, /* all lanes of the warp have stored a fragment */
    SIMT_OPS
};
/* Flags of `argument` beside the source lane. */
enum {
    SIMT_MAYBE_ABSENT = 32, /* the source lane may be outside of the mask: its value is often
                               unused, as at a tree's end */
    SIMT_WIDE = 64,         /* 8 bytes a lane: on a GPU two operations, or one of another type */
    SIMT_BAD_WIDTH = 128    /* a shuffle's width is not 1, 2, 4, 8, 16 or 32 */
};
uint64_t simt_warp_op(enum simt_warp_op op, uint32_t mask, uint64_t value, unsigned argument,
                      unsigned site);
void simt_syncwarp(uint32_t mask, unsigned site);
uint32_t simt_active_mask(void);
void simt_early_return(void); /* check mode: this thread is about to leave the kernel by `return` */
unsigned simt_lane(void);
unsigned simt_thread_rank(void);

/* One lane's eighth of rows of D = A B + C; 8 consecutive elements of a row (or of a column where
 * the flag says so), 16 x 16 x 16. Lane l holds row l / 2, columns (l % 2) * 8 to + 7. */
struct simt_mma {
    float a[8], b[8], c[8], d[8];
    int a_by_column, b_by_column;
};

/* Check mode: the two halves of an atomic of n <= 8 bytes at p. The second one only directly after
 * the first, at the same place. */
uint64_t simt_atomic_load(const void *p, size_t n);
void simt_atomic_store(void *p, size_t n, uint64_t value);
void simt_trap(const char *what, const char *file, int line) __attribute__((noreturn));

/* Kernels and device variables register before main(). */
struct simt_kernel {
    const void *function;
    const char *name, *file;
    int line, max_threads;            /* __launch_bounds__, 0: none */
    void (*run)(void *self_and_args); /* takes a struct simt_kernel_call */
    int parameters;
    const size_t *sizes; /* (parameters) bytes of each */
    struct simt_kernel *next;
};
struct simt_kernel_call {
    const struct simt_kernel *kernel;
    void **args; /* one pointer a parameter, as for cudaLaunchKernel */
};
void simt_register_kernel(struct simt_kernel *kernel);
enum simt_symbol_kind { SIMT_SYMBOL_DEVICE, SIMT_SYMBOL_CONSTANT };
struct simt_symbol {
    void *address;
    size_t bytes;
    const char *name;
    enum simt_symbol_kind kind;
    struct simt_symbol *next;
};
void simt_register_symbol(struct simt_symbol *symbol);

#ifdef __cplusplus
}
#endif

#endif
