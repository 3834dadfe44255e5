/* check_race.c: a race in words. */
#include "check_race.h"

#include <stdio.h>

enum conflict { CONFLICT_NONE, CONFLICT_BLOCK, CONFLICT_OTHER_BLOCK };

static bool race_lanes_ordered(const struct warp *p, int me, int other, uint32_t clock) {
    if (p->all_known > clock) return true;
    return p->partial && p->known[me % WARP][other % WARP] > clock;
}

static enum conflict race_between(uint32_t interval, int other, uint32_t clock, bool shared) {
    const struct worker *w = check.worker;
    if (interval == check.interval) {
        if (other == w->thread) return CONFLICT_NONE;
        if ((other ^ w->thread) / WARP == 0 &&
            race_lanes_ordered(&w->warp[other / WARP], w->thread, other, clock))
            return CONFLICT_NONE;
        return fence_orders_thread(other, clock) ? CONFLICT_NONE : CONFLICT_BLOCK;
    }
    if (interval >= check.block_first || interval < check.launch_first || shared)
        return CONFLICT_NONE;
    return fence_orders_block(interval, other, clock) ? CONFLICT_NONE : CONFLICT_OTHER_BLOCK;
}

/* A write after this interval's reads. */
static enum conflict race_with_reads(const struct cell *c, bool shared) {
    const struct worker *w = check.worker;
    if (c->read_interval < check.launch_first) return CONFLICT_NONE;
    if (!shared && (c->read_at & CELL_OTHER_BLOCK) && !fence_orders_some_block())
        return CONFLICT_OTHER_BLOCK;
    if (c->read_interval != check.interval || !(c->read_at & CELL_MANY))
        return race_between(c->read_interval, c->reader, c->read_clock, shared);
    if (fence_orders_some_thread()) return CONFLICT_NONE;
    if (c->read_at & CELL_MANY_WARPS) return CONFLICT_BLOCK;
    if ((c->reader ^ w->thread) / WARP) return CONFLICT_BLOCK;
    /* several lanes of this warp: the last one stands for them, or our neighbour where it is us */
    int other = c->reader == w->thread ? w->thread ^ 1 : c->reader;
    return race_lanes_ordered(&w->warp[other / WARP], w->thread, other, c->read_clock)
               ? CONFLICT_NONE
               : CONFLICT_BLOCK;
}

static const char *verb(int access) {
    return access & ACCESS_ATOMIC  ? "atomically changes"
           : access & ACCESS_WRITE ? "writes"
                                   : "reads";
}

static void thread_name(int thread, char *buf, size_t cap) {
    simt_u3 t = check.worker->index_of[thread];
    snprintf(buf, cap, "thread (%u,%u,%u)", t.x, t.y, t.z);
}

static void race_report(const struct cell *c, bool with_write, bool shared, int access,
                        uint32_t site, enum conflict kind) {
    uint32_t other = (with_write ? c->write_at : c->read_at) >> 8;
    int them = with_write ? c->writer : c->reader;
    const struct worker *w = check.worker;
    const char *did = with_write ? "wrote" : "read", *memory = shared ? "shared" : "global";
    bool one_warp = kind == CONFLICT_BLOCK && (them ^ w->thread) / WARP == 0 &&
                    (with_write || !(c->read_at & CELL_MANY_WARPS)) && other != site;
    const char *name = one_warp ? "warp-race" : shared ? "shared-race" : "global-race";
    if (!report_is_new(name, site)) return;
    char me[96], you[48];
    report_thread(w->thread, me, sizeof me);
    thread_name(them, you, sizeof you);
    if (them == w->thread) snprintf(you, sizeof you, "another thread");
    struct finding f = {.kind = name, .site = site, .other = other, .thread = w->thread};
    if (kind == CONFLICT_OTHER_BLOCK) {
        report_add(&f,
                   "%s %s global memory that another block %s at %%s: blocks run in no order. "
                   "Use an atomic, a fence with an atomic on both sides, or a second launch",
                   me, verb(access), did);
    } else if (one_warp) {
        report_add(&f,
                   "%s %s %s memory that %s, a lane of the same warp, %s at %%s: lanes run in no "
                   "order until they meet. Put __syncwarp() between",
                   me, verb(access), memory, you, did);
    } else {
        report_add(&f,
                   "%s %s %s memory that %s of the same block %s at %%s, with no "
                   "__syncthreads() between",
                   me, verb(access), memory, you, did);
    }
}

void race_uninitialised(bool shared, uintptr_t a, uint32_t site) {
    char me[96];
    struct finding f = {.kind = "uninitialised", .site = site, .thread = check.worker->thread};
    if (!report_is_new(f.kind, site)) return;
    report_thread(check.worker->thread, me, sizeof me);
    if (shared) {
        size_t at = a - (uintptr_t)check.worker->arena;
        report_add(&f,
                   "%s reads shared memory%s%s that no thread of its block has written: shared "
                   "memory starts with any values",
                   me, check.owner[at / 4] ? " of " : "",
                   check.owner[at / 4] ? check.names[check.owner[at / 4]] : "");
    } else {
        const struct allocation *al = memory_find(a);
        report_add(&f,
                   "%s reads byte %zu of a %zu-byte allocation that nobody has written: "
                   "cudaMalloc does not clear memory. Copy or cudaMemset it first",
                   me, al ? a - (uintptr_t)al->start : 0, al ? al->bytes : 0);
    }
}

void race_check(const struct cell *c, uint32_t bytes, int access, bool shared, uint32_t site) {
    bool atomic = access & ACCESS_ATOMIC || (access & ACCESS_VOLATILE && !shared);
    enum conflict k;
    if (c->write_interval >= check.launch_first && (c->write_at & bytes) &&
        !(atomic && (c->write_at & CELL_ATOMIC)) &&
        (k = race_between(c->write_interval, c->writer, c->write_clock, shared)) != CONFLICT_NONE)
        race_report(c, true, shared, access, site, k);
    if (access & (ACCESS_WRITE | ACCESS_ATOMIC) && (c->read_at & bytes) &&
        !(atomic && (c->read_at & CELL_ATOMIC)) &&
        (k = race_with_reads(c, shared)) != CONFLICT_NONE)
        race_report(c, false, shared, access, site, k);
}

/* Several readers of an interval share one record: the last one, and flags. An earlier read that is
 * ordered before ours needs no flag: who comes after us comes after it. */
static uint32_t merged_readers(const struct cell *c, uint16_t thread) {
    uint32_t flags = c->read_at & (CELL_BYTES | CELL_MANY | CELL_MANY_WARPS | CELL_OTHER_BLOCK);
    if (flags & CELL_MANY_WARPS) return flags;
    if ((c->reader ^ thread) / WARP) return flags | CELL_MANY | CELL_MANY_WARPS;
    if (c->reader == thread && !(flags & CELL_MANY)) return flags;
    int other = c->reader == thread ? thread ^ 1 : c->reader;
    if (race_lanes_ordered(&check.worker->warp[thread / WARP], thread, other, c->read_clock))
        return flags & CELL_OTHER_BLOCK;
    return flags | CELL_MANY;
}

void race_note_reader(struct cell *c, uint32_t at, uint16_t thread, uint16_t clock) {
    c->read_at = at | merged_readers(c, thread);
    c->reader = thread, c->read_clock = clock;
}
