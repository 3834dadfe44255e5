/* check_race.h: decides whether an access races with the last accesses to its word. Inlined at
 * every access.
 *
 * Two accesses conflict when one writes, they overlap in a byte, not both are atomic, and nothing
 * orders them: no barrier of the block, no __syncwarp of their lanes, and between blocks no fence
 * with an atomic on either side.
 */
#ifndef SIMT_CHECK_RACE_H
#define SIMT_CHECK_RACE_H

#include "check.h"

/* check_race.c */
void race_uninitialised(bool shared, uintptr_t a, uint32_t site);

/* The rare cases of race_touch. */
void race_check(const struct cell *c, int access, bool shared, uint32_t site);
void race_note_reader(struct cell *c, uint32_t at, uint16_t thread, uint16_t clock);
uint32_t race_many_atomics(const struct cell *c, uint16_t thread);
/* An access to a part of a word, or across words; a whole word of which parts were accessed. */
void race_touch_parts(const struct region *r, size_t at, unsigned n, int access, bool shared,
                      uint32_t site);
void race_check_parts(const struct region *r, size_t word, int access, bool shared, uint32_t site);
/* Whether every byte was written, by the host or since that interval. Holes of structures count as
 * written. */
bool race_known(const struct region *r, size_t at, unsigned n, int access, uint32_t since);

static inline void race_note_write(struct cell *c, uint32_t at, uint16_t thread, uint16_t clock) {
    if (c->write_interval == check.interval) {
        if (c->writer == thread && c->write_clock == clock && !(c->write_at & CELL_ATOMIC))
            at &= ~(uint32_t)CELL_ATOMIC; /* the plain one races */
        if (at & c->write_at & CELL_ATOMIC) at |= race_many_atomics(c, thread);
    }
    c->write_interval = check.interval;
    c->write_at = at, c->writer = thread, c->write_clock = clock;
}

/* Whether the word's last write can be unordered with this access. Not if it came before a barrier
 * of this block, or before this launch. */
static inline bool race_write_is_near(const struct cell *c, bool shared) {
    if (c->write_interval == check.interval) return true;
    return !shared && c->write_interval < check.block_first &&
           c->write_interval >= check.launch_first;
}

static inline bool race_read_is_near(const struct cell *c, bool shared) {
    if (c->read_interval == check.interval) return true;
    return !shared && c->read_interval >= check.launch_first &&
           (c->read_interval < check.block_first || c->read_at & CELL_OTHER_BLOCK);
}

/* One word, or one byte. */
static inline __attribute__((always_inline)) void race_touch(struct cell *c, int access,
                                                             bool shared, uint32_t site) {
    const struct worker *w = check.worker;
    uint16_t thread = (uint16_t)w->thread, clock = (uint16_t)w->warp[thread / WARP].clock;
    uint32_t at = site << 8;
    if (access & ACCESS_ATOMIC || (access & ACCESS_VOLATILE && !shared)) at |= CELL_ATOMIC;
    if (access & (ACCESS_WRITE | ACCESS_ATOMIC)) {
        if (race_write_is_near(c, shared) || race_read_is_near(c, shared))
            race_check(c, access, shared, site);
        race_note_write(c, at, thread, clock);
        return;
    }
    if (race_write_is_near(c, shared)) race_check(c, access, shared, site);
    if (c->read_interval == check.interval) {
        if (!(c->read_at & CELL_MANY_WARPS) || (c->read_at & ~at & CELL_ATOMIC))
            race_note_reader(c, at, thread, clock); /* else one more adds nothing */
        return;
    }
    if (c->read_interval >= check.launch_first) {
        if (c->read_interval < check.block_first) at |= CELL_OTHER_BLOCK;
        at |= c->read_at & CELL_OTHER_BLOCK;
    }
    c->read_interval = check.interval;
    c->read_at = at, c->reader = thread, c->read_clock = clock;
}

#endif
