/* block.h: the state of one running block, shared by the runtime's files.
 *
 * One OS thread owns one worker and runs one block at a time. Fields are not locked unless their
 * comment names a lock.
 */
#ifndef SIMT_BLOCK_H
#define SIMT_BLOCK_H

#include "../include/simt_abi.h"
#include "fiber.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    MAX_THREADS = 1024, /* per block, as on every GPU since 2010 */
    WARP = 32,
    MAX_WARPS = MAX_THREADS / WARP,
    SHARED_DEFAULT_BYTES = 48 << 10, /* without cudaFuncSetAttribute */
    SHARED_OPTIN_BYTES = 227 << 10,  /* with it: compute capability 9.0 */
    ARENA_BYTES = 256 << 10,         /* the above, alignment and red zones */
    RED_ZONE_BYTES = 16              /* between shared arrays, so that a short overrun hits none */
};

struct warp {
    uint32_t unstarted, ready, at_barrier, at_op, done; /* one bit a lane */
    uint32_t op_mask[WARP], op_site[WARP];
    uint8_t op[WARP], argument[WARP];
    uint64_t value[WARP], result[WARP];
#ifdef SIMT_CHECK
    /* Vector clocks of the lanes. clock counts the warp's __syncwarps; known[a][b] is the clock of
     * lane b at the last __syncwarp that a and b share. all_known: the last one of all lanes. */
    uint32_t clock, all_known;
    uint32_t returned; /* lanes that left by `return`, not by coming to the kernel's end */
    bool partial;
    uint16_t known[WARP][WARP];
#endif
};

struct job {
    struct simt_launch l;
    uint64_t blocks;
    uint32_t id;
    _Atomic uint64_t next_block; /* fast mode: taken in chunks */
    _Atomic uint32_t shared_top; /* bytes of the arena in use */
    _Atomic int error;           /* a cudaError_t, the first that ended the launch */
    size_t shared_limit;         /* of the dynamic part */
    size_t shared_bytes;         /* all of it as a GPU counts it; guarded by place() */
};

struct worker {
    struct job *job;
    uint32_t shaped_for; /* the launch whose block size the fields below follow */
    void *main_sp;
    struct fiber *current, *free;
    int thread, next_thread; /* running; chosen by schedule_pick */
    int warp_turn, warps, threads, finished;
    int at_barrier; /* threads waiting at it */
    unsigned barrier_site;
    int barrier_kind, barrier_thread;
    bool dead;           /* this block was given up */
    int count, all, any; /* of the predicates at the barrier being filled */
    int last[2][3];      /* of the last two barriers */
    uint32_t barrier_serial;
    struct warp warp[MAX_WARPS];
    void *sp[MAX_THREADS];
    struct fiber *fiber_of[MAX_THREADS];
    struct fiber fibers[MAX_THREADS];
    int fiber_count;
    char *stacks, *arena;
    void *signal_stack; /* the handler's (crash.c), as long as the thread lives */
    simt_u3 index_of[MAX_THREADS], index_dim;
#ifdef SIMT_CHECK
    uintptr_t called_from[MAX_THREADS]; /* return address of the thread's last barrier or warp op */
#endif
};
#ifdef SIMT_CHECK
#define NOTE_CALLER(w) ((w)->called_from[(w)->thread] = (uintptr_t)__builtin_return_address(0))
#else
#define NOTE_CALLER(w) ((void)0)
#endif

extern __thread struct worker *simt_worker __attribute__((tls_model("initial-exec")));

/* schedule.c */
void schedule_block(struct worker *w, struct job *j, uint64_t block);
void schedule_suspend(struct worker *w); /* the running thread can't go on: run another */
void schedule_abandon(struct worker *w) __attribute__((noreturn)); /* give the launch up */
/* warp.c */
void warp_release_after_exit(struct worker *w, struct warp *p);
/* launch.c */
void launch_fail(struct job *j, int cuda_error); /* the first one sticks */
struct simt_kernel *kernel_find(const void *function, const char *name);
size_t kernel_shared_limit(const void *function);

static inline uint32_t warp_lanes(const struct worker *w, int warp) {
    int n = w->threads - warp * WARP;
    return n >= WARP ? ~0u : (1u << n) - 1;
}

#endif
