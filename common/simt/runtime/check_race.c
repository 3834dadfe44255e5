/* check_race.c: race findings and uninitialised reads, and the rare cases of race_touch. */
#include "check_race.h"

#include <stdio.h>

enum conflict { CONFLICT_NONE, CONFLICT_BLOCK, CONFLICT_OTHER_BLOCK };

static bool race_lanes_ordered(const struct warp *p, int me, int other, uint32_t clock) {
    if (p->all_known > clock) return true;
    return p->partial && p->known[me % WARP][other % WARP] > clock;
}

/* Whether lane `me` has met any other lane since. Used where a cell keeps one of several readers.
 */
static bool race_met_since(const struct warp *p, int me, uint32_t clock) {
    if (p->all_known > clock) return true;
    for (int l = 0; p->partial && l < WARP; l++)
        if (l != me % WARP && p->known[me % WARP][l] > clock) return true;
    return false;
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

/* A write after reads of this interval. */
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
    const struct warp *p = &w->warp[w->thread / WARP];
    bool ordered = c->reader == w->thread
                       ? race_met_since(p, w->thread, c->read_clock)
                       : race_lanes_ordered(p, w->thread, c->reader, c->read_clock);
    return ordered ? CONFLICT_NONE : CONFLICT_BLOCK;
}

/* A plain access after atomics of several threads of the block, the last of them by this thread. */
static enum conflict race_with_atomics(const struct cell *c) {
    const struct worker *w = check.worker;
    if (!(c->write_at & CELL_MANY_ATOMICS) || c->write_interval != check.interval ||
        c->writer != w->thread || fence_orders_some_thread())
        return CONFLICT_NONE;
    return race_met_since(&w->warp[w->thread / WARP], w->thread, c->write_clock) ? CONFLICT_NONE
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
                    (with_write ? them != w->thread : !(c->read_at & CELL_MANY_WARPS)) &&
                    other != site;
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
                   "memory starts with undefined values",
                   me, check.owner[at / 4] ? " of " : "",
                   check.owner[at / 4] ? check.names[check.owner[at / 4]] : "");
    } else {
        const struct allocation *al = memory_find(a);
        report_add(&f,
                   "%s reads byte %zu of a %zu-byte allocation that was never written: "
                   "cudaMalloc does not clear memory. Copy or cudaMemset it first",
                   me, al ? a - (uintptr_t)al->start : 0, al ? al->bytes : 0);
    }
}

void race_check(const struct cell *c, int access, bool shared, uint32_t site) {
    bool atomic = access & ACCESS_ATOMIC || (access & ACCESS_VOLATILE && !shared);
    enum conflict k;
    if (c->write_interval >= check.launch_first && !(atomic && (c->write_at & CELL_ATOMIC))) {
        k = race_between(c->write_interval, c->writer, c->write_clock, shared);
        if (k == CONFLICT_NONE) k = race_with_atomics(c);
        if (k != CONFLICT_NONE) race_report(c, true, shared, access, site, k);
    }
    if (access & (ACCESS_WRITE | ACCESS_ATOMIC) && !(atomic && (c->read_at & CELL_ATOMIC)) &&
        (k = race_with_reads(c, shared)) != CONFLICT_NONE)
        race_report(c, false, shared, access, site, k);
}

/* Several readers of an interval share one record: the first reader, and flags. An earlier read
 * that is ordered before this one needs no flag: what comes after this one comes after it. */
void race_note_reader(struct cell *c, uint32_t at, uint16_t thread, uint16_t clock) {
    const struct warp *p = &check.worker->warp[thread / WARP];
    bool before;
    c->read_at &= at | ~(uint32_t)CELL_ATOMIC;
    if (c->read_at & CELL_MANY_WARPS) return;
    if ((c->reader ^ thread) / WARP) {
        c->read_at |= CELL_MANY | CELL_MANY_WARPS;
        return;
    }
    if (c->reader != thread)
        before = race_lanes_ordered(p, thread, c->reader, c->read_clock);
    else
        before = !(c->read_at & CELL_MANY) || race_met_since(p, thread, c->read_clock);
    if (!before) {
        c->read_at |= CELL_MANY;
        return;
    }
    c->read_at = (at & ~(uint32_t)CELL_ATOMIC) | (c->read_at & (CELL_OTHER_BLOCK | CELL_ATOMIC));
    c->reader = thread, c->read_clock = clock;
}

uint32_t race_many_atomics(const struct cell *c, uint16_t thread) {
    const struct warp *p = &check.worker->warp[thread / WARP];
    if (c->writer == thread) return c->write_at & CELL_MANY_ATOMICS;
    bool before = (c->writer ^ thread) / WARP == 0 &&
                  race_lanes_ordered(p, thread, c->writer, c->write_clock);
    return before ? 0 : CELL_MANY_ATOMICS;
}

/* ---- parts of words ---------------------------------------------------------------------------
 * Whole words and bytes have separate cells, and each access is compared with both. */
static void touch_part(const struct region *r, size_t word, uint32_t bytes, int access, bool shared,
                       uint32_t site) {
    struct cell *c = &r->cells[word], *split = place_split(r) + word * 4;
    if (race_write_is_near(c, shared) || race_read_is_near(c, shared))
        race_check(c, access, shared, site);
    c->write_at |= CELL_SPLIT;
    for (int i = 0; i < 4; i++)
        if (bytes >> i & 1) race_touch(&split[i], access, shared, site);
}

void race_check_parts(const struct region *r, size_t word, int access, bool shared, uint32_t site) {
    const struct cell *split = place_split(r) + word * 4;
    for (int i = 0; i < 4; i++)
        if (race_write_is_near(&split[i], shared) || race_read_is_near(&split[i], shared))
            race_check(&split[i], access, shared, site);
}

static uint32_t bytes_of(size_t word, size_t at, unsigned n) {
    uint32_t bytes = 0;
    for (size_t i = 0; i < 4; i++)
        if (word * 4 + i >= at && word * 4 + i < at + n) bytes |= 1u << i;
    return bytes;
}

void race_touch_parts(const struct region *r, size_t at, unsigned n, int access, bool shared,
                      uint32_t site) {
    for (size_t word = at / 4; word <= (at + n - 1) / 4; word++)
        touch_part(r, word, bytes_of(word, at, n), access, shared, site);
}

/* ---- uninitialised reads -----------------------------------------------------------------------
 */
static uint32_t known_bytes(const struct region *r, size_t word, uint32_t since) {
    struct cell *c = &r->cells[word];
    uint32_t known = 0;
    if (c->write_interval >= since) return 15;
    if (since == INTERVAL_HOST) known = r->known ? r->known[word / 2] >> word % 2 * 4 & 15 : 15;
    for (uint32_t i = 0; i < 4 && *r->split; i++)
        if ((*r->split)[word * 4 + i].write_interval >= since) known |= 1u << i;
    if (known == 15 && since == INTERVAL_HOST) c->write_interval = INTERVAL_HOST;
    return known;
}

/* A structure has holes that are never written, and compilers copy them too. So a word counts as
 * known when one of its bytes is; the second word of 8 bytes when the first is; in a copy of a
 * whole structure, when one of 16 bytes is. */
bool race_known(const struct region *r, size_t at, unsigned n, int access, uint32_t since) {
    for (size_t word = at / 4; word <= (at + n - 1) / 4; word++) {
        uint32_t known = known_bytes(r, word, since), need = bytes_of(word, at, n);
        if (n < 4 && !(access & ACCESS_COPY) ? (known & need) == need : known != 0) continue;
        if (n >= 8 && word % 2 && known_bytes(r, word - 1, since)) continue;
        bool some = false;
        for (size_t i = word & ~(size_t)3; access & ACCESS_COPY && i <= (word | 3); i++)
            some |= i < (r->bytes + 3) / 4 && known_bytes(r, i, since);
        if (!some) return false;
    }
    return true;
}
