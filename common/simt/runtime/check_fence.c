/* check_fence.c: order without a barrier: a fence and an atomic on one side, an atomic on the
 * other.
 *
 * A thread fences and then changes a place by an atomic: that releases what it did before the
 * fence, and what barriers and __syncwarp had ordered before it. A thread that later changes or
 * reads the place by an atomic acquires that. Two approximations can hide a rare race, but never
 * report one that isn't there: places are hashed to 64 bits, and the time at which a thread
 * acquired isn't kept.
 */
#include "check.h"
#include "hooks.h"

#include <stdlib.h>
#include <string.h>

/* What a block has released to others: every access before interval `cover`, and in that interval a
 * thread's accesses before a clock of its warp. */
struct block_note {
    uint32_t first; /* interval */
    uint32_t cover;
    uint64_t through; /* places */
    uint16_t thread, clock;
    uint16_t *clocks; /* of all threads, where one isn't enough */
};

/* A thread of the running block. Valid in interval `interval` only. */
struct order {
    uint32_t interval;
    uint16_t fenced, fenced_lanes;     /* clocks: own accesses, those of its warp's other lanes */
    uint16_t released, released_lanes; /* the same, published since */
    uint64_t through, acquired;        /* places */
};

static struct block_note *notes;
static uint32_t notes_room, note_count;
static struct order orders[MAX_THREADS];
static struct {
    uint32_t interval; /* of the fence */
    uint16_t clock, lanes;
} grid_fence[MAX_THREADS];
static uint32_t last_grid_fence; /* interval */
static uint64_t acquired,
    carried[64]; /* by this block; what releasers through a place had acquired */
static uint32_t acquired_by[MAX_WARPS];
static bool acquired_by_all;
static uint64_t released;           /* places through which blocks of this launch released */
static uint64_t carried_inside[64]; /* the same two between threads of the block, */
static uint64_t released_inside;
static uint32_t inside_interval; /* in this interval */

/* ---- what begins and ends ---------------------------------------------------------------------
 */
void fence_launch(void) {
    for (uint32_t i = 0; i <= note_count && notes; i++) {
        free(notes[i].clocks);
        notes[i].clocks = NULL;
    }
    note_count = 0;
    memset(carried, 0, sizeof carried);
    released = 0;
}

void fence_block(void) {
    if (note_count + 1 >= notes_room) {
        uint32_t more = notes_room * 2 + 1024;
        struct block_note *grown = realloc(notes, more * sizeof *notes);
        if (!grown) simt_trap("out of memory", "simt", 0);
        memset(grown + notes_room, 0, (more - notes_room) * sizeof *notes);
        notes = grown, notes_room = more;
    }
    notes[++note_count] = (struct block_note){.first = check.interval};
    acquired = 0, acquired_by_all = false, last_grid_fence = 0;
    memset(grid_fence, 0, sizeof grid_fence);
    memset(acquired_by, 0, sizeof acquired_by);
}

uint32_t fence_block_number(void) {
    return note_count;
}

void fence_barrier(void) {
    for (int i = 0; i < MAX_WARPS && !acquired_by_all; i++) acquired_by_all = acquired_by[i] != 0;
}

static struct order *order_of(int thread) {
    struct order *o = &orders[thread];
    if (o->interval != check.interval) *o = (struct order){.interval = check.interval};
    return o;
}

/* After a __syncwarp all lanes know what one has acquired. */
void fence_lanes_meet(int warp, uint32_t lanes) {
    uint64_t all = 0;
    if (acquired_by[warp] & lanes) acquired_by[warp] |= lanes;
    for (uint32_t set = lanes; set; set &= set - 1)
        all |= order_of(warp * WARP + __builtin_ctz(set))->acquired;
    for (uint32_t set = all ? lanes : 0; set; set &= set - 1)
        order_of(warp * WARP + __builtin_ctz(set))->acquired = all;
}

/* ---- fences -----------------------------------------------------------------------------------
 */
/* Advances the warp's clock: accesses before the fence and after it get different times. */
void simt_fence_block(void) {
    if (!check.active) return;
    int t = check.worker->thread;
    struct warp *p = &check.worker->warp[t / WARP];
    if (p->clock >= 65000) sync_new_interval(); /* the cells hold 16 bits of it */
    struct order *o = order_of(t);
    o->fenced_lanes = (uint16_t)p->all_known;
    o->fenced = (uint16_t)++p->clock;
}

void simt_fence(void) {
    if (!check.active) return;
    int t = check.worker->thread;
    simt_fence_block();
    grid_fence[t].interval = last_grid_fence = check.interval;
    grid_fence[t].clock = orders[t].fenced, grid_fence[t].lanes = orders[t].fenced_lanes;
}

/* ---- atomics ----------------------------------------------------------------------------------
 */
static unsigned place_bit(uintptr_t a) {
    return (unsigned)((a / 4) * 0x9e3779b97f4a7c15ull >> 58);
}

static void publish(struct block_note *b, int thread, uint16_t clock) {
    if (!clock) return;
    if (!b->clocks && (b->clock == 0 || b->thread == thread)) {
        b->thread = (uint16_t)thread, b->clock = clock;
        return;
    }
    if (!b->clocks) {
        b->clocks = calloc(MAX_THREADS, sizeof *b->clocks);
        if (!b->clocks) simt_trap("out of memory", "simt", 0);
        b->clocks[b->thread] = b->clock;
    }
    if (clock > b->clocks[thread]) b->clocks[thread] = clock;
}

/* This thread's fence covers its own accesses and all that barriers ordered before it. Fences of
 * the other threads before a barrier cover their accesses: after the barrier all are covered. */
static void release_block(uintptr_t a) {
    struct block_note *b = &notes[note_count];
    int t = check.worker->thread, first = t & ~(WARP - 1);
    uint32_t mine = grid_fence[t].interval, cover = mine;
    bool all = last_grid_fence && last_grid_fence < check.interval && last_grid_fence >= mine;
    if (all) cover = last_grid_fence + 1;
    if (!cover) return;
    if (cover > b->cover) {
        b->cover = cover, b->clock = 0;
        if (b->clocks) memset(b->clocks, 0, MAX_THREADS * sizeof *b->clocks);
    }
    if (cover == b->cover && !all) {
        publish(b, t, grid_fence[t].clock);
        for (int l = first; grid_fence[t].lanes && l < first + WARP; l++)
            if (l != t) publish(b, l, grid_fence[t].lanes);
    }
    unsigned bit = place_bit(a);
    b->through |= (uint64_t)1 << bit;
    released |= b->through;
    carried[bit] |= acquired;
}

static void fresh_inside(void) {
    if (inside_interval == check.interval) return;
    memset(carried_inside, 0, sizeof carried_inside);
    released_inside = 0;
    inside_interval = check.interval;
}

void fence_release(uintptr_t a, bool shared) {
    struct order *o = order_of(check.worker->thread);
    unsigned bit = place_bit(a);
    if (!shared) release_block(a);
    if (!o->fenced) return;
    o->released = o->fenced, o->released_lanes = o->fenced_lanes;
    o->through |= (uint64_t)1 << bit;
    fresh_inside();
    carried_inside[bit] |= o->acquired;
    released_inside |= o->through;
}

void fence_acquire(uintptr_t a, bool shared) {
    int t = check.worker->thread;
    struct order *o = order_of(t);
    unsigned bit = place_bit(a);
    fresh_inside();
    o->acquired |= (uint64_t)1 << bit | carried_inside[bit];
    if (shared) return;
    acquired |= (uint64_t)1 << bit | carried[bit];
    acquired_by[t / WARP] |= 1u << t % WARP;
}

void fence_atomic(uintptr_t a, bool shared) {
    fence_release(a, shared);
    fence_acquire(a, shared);
}

/* ---- questions --------------------------------------------------------------------------------
 */
static bool has_acquired(void) {
    int t = check.worker->thread;
    return acquired_by_all || (acquired_by[t / WARP] >> t % WARP & 1);
}

bool fence_orders_some_block(void) {
    return has_acquired() && (acquired & released) != 0;
}

bool fence_orders_block(uint32_t interval, int thread, uint32_t clock) {
    if (!has_acquired()) return false;
    uint32_t low = 1, high = note_count;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (notes[middle].first <= interval)
            low = middle;
        else
            high = middle - 1;
    }
    const struct block_note *b = &notes[low];
    if (!(b->through & acquired)) return false;
    if (interval != b->cover) return interval < b->cover;
    return b->clocks ? clock < b->clocks[thread] : thread == b->thread && clock < b->clock;
}

bool fence_orders_some_thread(void) {
    fresh_inside();
    return (order_of(check.worker->thread)->acquired & released_inside) != 0;
}

bool fence_orders_thread(int thread, uint32_t clock) {
    uint64_t got = order_of(check.worker->thread)->acquired;
    int first = thread & ~(WARP - 1);
    if (!got) return false;
    for (int l = first; l < first + WARP; l++) {
        const struct order *o = &orders[l];
        if (o->interval == check.interval && (o->through & got) &&
            clock < (l == thread ? o->released : o->released_lanes))
            return true;
    }
    return false;
}
