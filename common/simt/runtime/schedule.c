/* schedule.c: runs the threads of one block on fibers.
 *
 * A fiber runs one thread after another. It is suspended only where a thread waits at a barrier or
 * in a warp operation. The lanes of a warp run lowest first until all of them wait or have ended,
 * then comes the next warp, so the order is the same in every run. Not here: the choice of blocks
 * (launch.c), the results of warp operations (warp.c).
 */
#include "block.h"
#include "hooks.h"

#include <stdlib.h>
#include <string.h>

#ifdef SIMT_CHECK
/* in one section: clang traces reads of them, and check_access.c accepts this section */
#define TOGETHER __attribute__((section("simt_built_in")))
simt_u3 threadIdx TOGETHER, blockIdx TOGETHER, blockDim TOGETHER, gridDim TOGETHER;
#else
#define EARLY __attribute__((tls_model("initial-exec")))
__thread simt_u3 threadIdx EARLY, blockIdx EARLY, blockDim EARLY, gridDim EARLY;
#endif
__thread struct worker *simt_worker;

enum pick { PICK_START, PICK_RESUME, PICK_FINISHED, PICK_STUCK };

static void barrier_release(struct worker *w) {
    int *r = w->last[w->barrier_serial & 1];
    r[0] = w->count, r[1] = w->all, r[2] = w->any;
    w->barrier_serial++;
    w->count = w->any = 0, w->all = 1;
    w->at_barrier = 0, w->warp_turn = 0;
    for (int i = 0; i < w->warps; i++) {
        struct warp *p = &w->warp[i];
        p->ready = p->at_barrier;
        p->at_barrier = 0;
    }
    hook_barrier(w);
}

static enum pick schedule_pick(struct worker *w) {
    for (;;) {
        while (w->warp_turn < w->warps) {
            struct warp *p = &w->warp[w->warp_turn];
            uint32_t *from = p->ready ? &p->ready : &p->unstarted;
            if (*from) {
                enum pick kind = from == &p->ready ? PICK_RESUME : PICK_START;
                int lane = __builtin_ctz(*from);
                *from &= *from - 1;
                w->next_thread = w->warp_turn * WARP + lane;
                return kind;
            }
            hook_warp_stuck(w, w->warp_turn);
            w->warp_turn++;
        }
        if (w->finished == w->threads) return PICK_FINISHED;
        if (w->at_barrier == 0 || w->at_barrier + w->finished != w->threads) return PICK_STUCK;
        if (w->finished) hook_barrier_after_exit(w);
        barrier_release(w);
    }
}

static inline void set_thread(struct worker *w, int t) {
    w->thread = t;
    threadIdx = w->index_of[t];
}

static struct fiber *fiber_take(struct worker *w) {
    struct fiber *f = w->free;
    w->free = f->next;
    return f;
}

static void fiber_main(void) {
    for (;;) {
        struct job *j = simt_worker->job;
        j->l.run(j->l.arg);
    }
}

static void reset_fibers(struct worker *w) {
    w->free = NULL;
    for (int i = w->fiber_count - 1; i >= 0; i--) {
        struct fiber *f = &w->fibers[i];
        fiber_reset(f, fiber_main);
        f->next = w->free;
        w->free = f;
    }
}

/* Leaves the running context and never returns; its fiber is reset before its next use. */
static void leave_block(struct worker *w, void **save) {
    w->current = NULL;
    fiber_switch(save, w->main_sp);
}

void schedule_suspend(struct worker *w) {
    int mine = w->thread;
    w->fiber_of[mine] = w->current;
    struct warp *p = &w->warp[mine / WARP];
    if (p->ready) { /* the straight path from barrier to barrier: the next lane of this warp */
        int t = (mine & ~(WARP - 1)) + __builtin_ctz(p->ready);
        p->ready &= p->ready - 1;
        set_thread(w, t);
        w->current = w->fiber_of[t];
        fiber_switch(&w->sp[mine], w->sp[t]);
        return;
    }
    switch (schedule_pick(w)) {
    case PICK_RESUME:
        set_thread(w, w->next_thread);
        if (w->thread == mine) return;
        w->current = w->fiber_of[w->thread];
        fiber_switch(&w->sp[mine], w->sp[w->thread]);
        return;
    case PICK_START:
        set_thread(w, w->next_thread);
        w->current = fiber_take(w);
        fiber_switch(&w->sp[mine], w->current->sp);
        return;
    case PICK_FINISHED:
    case PICK_STUCK:
        hook_block_stuck(w);
        schedule_abandon(w);
    }
}

void schedule_abandon(struct worker *w) {
    void *nowhere;
    w->dead = true;
    leave_block(w, &nowhere);
    __builtin_unreachable();
}

/* The current thread has returned. 1: threadIdx now names another thread, which this fiber runs. 0:
 * this fiber waited and continues in a new launch. */
int simt_thread_next(void) {
    struct worker *w = simt_worker;
    struct warp *p = &w->warp[w->thread / WARP];
    p->done |= 1u << (w->thread % WARP);
    w->finished++;
    if (p->at_op) warp_release_after_exit(w, p);
    if (!p->ready && p->unstarted) { /* the straight path of kernels that never wait */
        int lane = __builtin_ctz(p->unstarted);
        p->unstarted &= p->unstarted - 1;
        set_thread(w, (w->thread & ~(WARP - 1)) + lane);
        return 1;
    }
    enum pick k = schedule_pick(w);
    if (k == PICK_START) {
        set_thread(w, w->next_thread);
        return 1;
    }
    struct fiber *self = w->current;
    uint32_t launch = w->job->id;
    self->next = w->free;
    w->free = self;
    if (k == PICK_RESUME) {
        set_thread(w, w->next_thread);
        w->current = w->fiber_of[w->thread];
        fiber_switch(&self->sp, w->sp[w->thread]);
    } else {
        if (k == PICK_STUCK) {
            hook_block_stuck(w);
            w->dead = true;
        }
        leave_block(w, &self->sp);
    }
    return simt_worker->job->id == launch;
}

static void need_fibers(struct worker *w, int n) {
    if (!w->stacks) {
        w->stacks = fiber_stacks_create(MAX_THREADS);
        w->arena = aligned_alloc(4096, ARENA_BYTES);
        if (!w->stacks || !w->arena) simt_trap("no memory for the stacks of a block", "simt", 0);
    }
    if (n <= w->fiber_count) return;
    for (int i = w->fiber_count; i < n; i++) fiber_place(&w->fibers[i], w->stacks, i);
    w->fiber_count = n;
    reset_fibers(w);
}

static void worker_shape(struct worker *w, struct job *j) {
    simt_u3 b = j->l.block;
    w->job = j;
    w->shaped_for = j->id;
    w->threads = (int)(b.x * b.y * b.z);
    w->warps = (w->threads + WARP - 1) / WARP;
    blockDim = b, gridDim = j->l.grid;
    if (memcmp(&w->index_dim, &b, sizeof b) != 0) {
        int t = 0;
        for (unsigned z = 0; z < b.z; z++)
            for (unsigned y = 0; y < b.y; y++)
                for (unsigned x = 0; x < b.x; x++) w->index_of[t++] = (simt_u3){x, y, z};
        w->index_dim = b;
    }
    need_fibers(w, w->threads);
}

void schedule_block(struct worker *w, struct job *j, uint64_t block) {
    simt_u3 g = j->l.grid;
    if (w->shaped_for != j->id) worker_shape(w, j);
    blockIdx.x = (unsigned)(block % g.x);
    blockIdx.y = (unsigned)(block / g.x % g.y);
    blockIdx.z = (unsigned)(block / g.x / g.y);
    w->warp_turn = w->finished = w->at_barrier = 0;
    w->dead = false;
    w->count = w->any = 0, w->all = 1;
    for (int i = 0; i < w->warps; i++) {
        struct warp *p = &w->warp[i];
        p->unstarted = warp_lanes(w, i);
        p->ready = p->at_barrier = p->at_op = p->done = 0;
    }
    hook_block(w);
    schedule_pick(w); /* thread 0 */
    set_thread(w, w->next_thread);
    w->current = fiber_take(w);
    fiber_switch(&w->main_sp, w->current->sp);
    if (w->dead) reset_fibers(w);
}

int simt_barrier(unsigned site, int kind, int predicate) {
    struct worker *w = simt_worker;
    uint32_t serial = w->barrier_serial;
    NOTE_CALLER(w);
    if (w->at_barrier == 0)
        w->barrier_site = site, w->barrier_kind = kind, w->barrier_thread = w->thread;
    else if (__builtin_expect(w->barrier_site != site, 0))
        hook_barriers_differ(w, site);
    w->count += predicate, w->all &= predicate, w->any |= predicate;
    w->at_barrier++;
    w->warp[w->thread / WARP].at_barrier |= 1u << (w->thread % WARP);
    schedule_suspend(w);
    int *r = w->last[serial & 1];
    return r[kind == 0 ? 0 : kind - 1];
}

unsigned simt_thread_rank(void) {
    return (unsigned)simt_worker->thread;
}
unsigned simt_lane(void) {
    return (unsigned)simt_worker->thread % WARP;
}
