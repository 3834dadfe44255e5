/* check_race.h: does an access conflict with the last ones of its word? Inlined at every access.
 *
 * Two accesses conflict when one writes, they overlap in a byte, not both are atomic, and nothing
 * orders them: no barrier of the block, no __syncwarp of their lanes, and between blocks no fence
 * with an atomic on either side.
 */
#ifndef SIMT_CHECK_RACE_H
#define SIMT_CHECK_RACE_H

#include "check.h"

enum conflict { CONFLICT_NONE, CONFLICT_BLOCK, CONFLICT_OTHER_BLOCK };

/* check_race.c */
void race_report(const struct cell *c, bool with_write, bool shared, int access, uint32_t site,
                 enum conflict kind);
void race_uninitialised(bool shared, uintptr_t a, uint32_t site);

static inline bool race_lanes_ordered(const struct warp *p, int me, int other, uint32_t clock) {
    if (p->all_known > clock) return true;
    return p->partial && p->known[me % WARP][other % WARP] > clock;
}

static inline enum conflict race_between(uint32_t interval, int other, uint32_t clock,
                                         bool shared) {
    const struct worker *w = check.worker;
    if (interval == check.interval) {
        if (other == w->thread) return CONFLICT_NONE;
        if ((other ^ w->thread) / WARP) return CONFLICT_BLOCK;
        return race_lanes_ordered(&w->warp[other / WARP], w->thread, other, clock) ? CONFLICT_NONE
                                                                                   : CONFLICT_BLOCK;
    }
    if (interval >= check.block_first || interval < check.launch_first || shared)
        return CONFLICT_NONE;
    return sync_acquired(interval, other) ? CONFLICT_NONE : CONFLICT_OTHER_BLOCK;
}

/* A write after this interval's reads. */
static inline enum conflict race_with_reads(const struct cell *c, bool shared) {
    const struct worker *w = check.worker;
    if (c->read_interval < check.launch_first) return CONFLICT_NONE;
    if (!shared && (c->read_at & CELL_OTHER_BLOCK) && !sync_acquired(0, 0))
        return CONFLICT_OTHER_BLOCK;
    if (c->read_interval != check.interval || !(c->read_at & CELL_MANY))
        return race_between(c->read_interval, c->reader, c->read_clock, shared);
    if (c->read_at & CELL_MANY_WARPS) return CONFLICT_BLOCK;
    if ((c->reader ^ w->thread) / WARP) return CONFLICT_BLOCK;
    /* several lanes of this warp: the last one stands for them, or our neighbour where it is us */
    int other = c->reader == w->thread ? w->thread ^ 1 : c->reader;
    return race_lanes_ordered(&w->warp[other / WARP], w->thread, other, c->read_clock)
               ? CONFLICT_NONE
               : CONFLICT_BLOCK;
}

static inline void race_note_write(struct cell *c, uint32_t at, uint16_t thread, uint16_t clock) {
    if (c->write_interval == check.interval && c->writer == thread && c->write_clock == clock) {
        at |= c->write_at & CELL_BYTES;
        if (!(c->write_at & CELL_ATOMIC)) at &= ~(uint32_t)CELL_ATOMIC; /* the plain one races */
    }
    c->write_interval = check.interval;
    c->write_at = at, c->writer = thread, c->write_clock = clock;
}

/* Several readers of an interval share one record: the last one, and flags. An earlier read that is
 * ordered before ours needs no flag: who comes after us comes after it. */
static inline uint32_t race_merged_readers(const struct cell *c, uint16_t thread) {
    uint32_t flags = c->read_at & (CELL_BYTES | CELL_MANY | CELL_MANY_WARPS | CELL_OTHER_BLOCK);
    if (flags & CELL_MANY_WARPS) return flags;
    if ((c->reader ^ thread) / WARP) return flags | CELL_MANY | CELL_MANY_WARPS;
    if (c->reader == thread && !(flags & CELL_MANY)) return flags;
    int other = c->reader == thread ? thread ^ 1 : c->reader;
    if (race_lanes_ordered(&check.worker->warp[thread / WARP], thread, other, c->read_clock))
        return flags & CELL_OTHER_BLOCK;
    return flags | CELL_MANY;
}

static inline void race_note_read(struct cell *c, uint32_t at, uint16_t thread, uint16_t clock) {
    if (c->read_interval == check.interval) {
        at |= race_merged_readers(c, thread);
    } else if (c->read_interval >= check.launch_first) {
        if (c->read_interval < check.block_first) at |= CELL_OTHER_BLOCK;
        at |= c->read_at & CELL_OTHER_BLOCK;
    }
    c->read_interval = check.interval;
    c->read_at = at, c->reader = thread, c->read_clock = clock;
}

/* One word; bytes: which of its four. */
static inline void race_touch(struct cell *c, uint32_t bytes, int access, bool shared,
                              uint32_t site) {
    const struct worker *w = check.worker;
    uint16_t thread = (uint16_t)w->thread, clock = (uint16_t)w->warp[thread / WARP].clock;
    bool atomic = access & ACCESS_ATOMIC || (access & ACCESS_VOLATILE && !shared);
    uint32_t at = site << 8 | bytes | (atomic ? CELL_ATOMIC : 0);
    enum conflict k;
    if (c->write_interval >= check.launch_first && (c->write_at & bytes) &&
        !(atomic && (c->write_at & CELL_ATOMIC)) &&
        (k = race_between(c->write_interval, c->writer, c->write_clock, shared)) != CONFLICT_NONE)
        race_report(c, true, shared, access, site, k);
    if (access & (ACCESS_WRITE | ACCESS_ATOMIC)) {
        if ((c->read_at & bytes) && !(atomic && (c->read_at & CELL_ATOMIC)) &&
            (k = race_with_reads(c, shared)) != CONFLICT_NONE)
            race_report(c, false, shared, access, site, k);
        race_note_write(c, at, thread, clock);
    } else {
        race_note_read(c, at, thread, clock);
    }
}

#endif
