/* warp.c: what the lanes of a warp do together.
 *
 * The lanes of a mask meet; the last to arrive computes every lane's result, so results never
 * depend on slots that a later operation overwrites.
 */
#include "block.h"
#include "hooks.h"

#include <string.h>

static uint32_t next_lane(uint32_t *set) {
    uint32_t lane = (uint32_t)__builtin_ctz(*set);
    *set &= *set - 1;
    return lane;
}

static uint64_t reduce(const struct warp *p, uint32_t group, int op) {
    uint32_t set = group;
    uint64_t r = p->value[next_lane(&set)];
    while (set) {
        uint64_t v = p->value[next_lane(&set)];
        switch (op) {
        case SIMT_OP_ADD:
            r += v;
            break;
        case SIMT_OP_MIN:
            r = (int64_t)v < (int64_t)r ? v : r;
            break;
        case SIMT_OP_MAX:
            r = (int64_t)v > (int64_t)r ? v : r;
            break;
        case SIMT_OP_UMIN:
            r = v < r ? v : r;
            break;
        case SIMT_OP_UMAX:
            r = v > r ? v : r;
            break;
        case SIMT_OP_AND:
            r &= v;
            break;
        case SIMT_OP_OR:
            r |= v;
            break;
        case SIMT_OP_XOR:
            r ^= v;
            break;
        default:
            break;
        }
    }
    return r;
}

/* 16 x 16 x 16 from the 32 lanes' pieces, summed in float in the order of k. */
static void multiply(struct warp *p) {
    float a[16][16], bt[16][16];
    for (unsigned l = 0; l < WARP; l++) {
        const struct simt_mma *m = (const struct simt_mma *)(uintptr_t)p->value[l];
        for (unsigned i = 0; i < 8; i++) {
            unsigned line = l / 2, at = l % 2 * 8 + i;
            *(m->a_by_column ? &a[at][line] : &a[line][at]) = m->a[i];
            *(m->b_by_column ? &bt[line][at] : &bt[at][line]) = m->b[i];
        }
    }
    for (unsigned l = 0; l < WARP; l++) {
        struct simt_mma *m = (struct simt_mma *)(uintptr_t)p->value[l];
        for (unsigned i = 0; i < 8; i++) {
            const float *row = a[l / 2], *column = bt[l % 2 * 8 + i];
            float sum = 0;
            for (unsigned k = 0; k < 16; k++) sum += row[k] * column[k];
            m->d[i] = m->c[i] + sum;
        }
    }
}

static void complete(struct warp *p, uint32_t group) {
    uint32_t first = (uint32_t)__builtin_ctz(group), set = group, bits = 0;
    int op = p->op[first];
    switch (op) {
    case SIMT_OP_SYNC:
        return;
    case SIMT_OP_SHUFFLE:
        while (set) {
            uint32_t l = next_lane(&set);
            p->result[l] = p->value[p->argument[l]];
        }
        return;
    case SIMT_OP_MATCH_ANY:
        while (set) {
            uint32_t l = next_lane(&set), rest = group, same = 0;
            while (rest) {
                uint32_t o = next_lane(&rest);
                if (p->value[o] == p->value[l]) same |= 1u << o;
            }
            p->result[l] = same;
        }
        return;
    case SIMT_OP_BALLOT:
        while (set) {
            uint32_t l = next_lane(&set);
            if (p->value[l]) bits |= 1u << l;
        }
        break;
    case SIMT_OP_MATCH_ALL:
        bits = group;
        while (set)
            if (p->value[next_lane(&set)] != p->value[first]) bits = 0;
        break;
    case SIMT_OP_MMA:
        multiply(p);
        return;
    default: {
        uint64_t r = reduce(p, group, op);
        while (set) p->result[next_lane(&set)] = r;
        return;
    }
    }
    for (set = group; set;) p->result[next_lane(&set)] = bits;
}

/* The lanes that wait in the operation which lane l waits in. A lane may wait in another one first.
 */
static uint32_t arrived(const struct warp *p, uint32_t l) {
    uint32_t lanes = 0;
    for (uint32_t set = p->at_op & p->op_mask[l]; set;) {
        uint32_t o = next_lane(&set);
        if (p->op_mask[o] == p->op_mask[l]) lanes |= 1u << o;
    }
    return lanes;
}

static void meet(struct worker *w, uint32_t mask, unsigned site, bool memory) {
    struct warp *p = &w->warp[w->thread / WARP];
    uint32_t lane = (uint32_t)w->thread % WARP, bit = 1u << lane;
    if (__builtin_expect(!(mask & bit), 0)) hook_mask_without_self(w, site, mask);
    mask |= bit;
    uint32_t need = mask & warp_lanes(w, w->thread / WARP) & ~p->done;
    if (__builtin_expect(need != mask, 0)) hook_mask_absent(w, site, mask);
    p->op_mask[lane] = mask, p->op_site[lane] = site;
    uint32_t waiting = p->at_op & need;
    if (waiting) {
        uint32_t other = (uint32_t)__builtin_ctz(waiting);
        if (__builtin_expect(p->op_site[other] != site && p->op_mask[other] == mask, 0))
            hook_ops_differ(w, (int)other, site, mask);
    }
    p->at_op |= bit;
    if ((p->at_op & need) != need || (arrived(p, lane) & need) != need) {
        schedule_suspend(w);
        return;
    }
    complete(p, need);
    if (need == (warp_lanes(w, w->thread / WARP) & ~p->done)) hook_warp_met(w, w->thread / WARP);
    if (memory) hook_syncwarp(w, p, need);
    p->ready |= need & ~bit;
    p->at_op &= ~need;
}

void simt_syncwarp(uint32_t mask, unsigned site) {
    struct worker *w = simt_worker;
    struct warp *p = &w->warp[w->thread / WARP];
    NOTE_CALLER(w);
    p->op[w->thread % WARP] = SIMT_OP_SYNC;
    meet(w, mask, site, true);
}

uint64_t simt_warp_op(enum simt_warp_op op, uint32_t mask, uint64_t value, unsigned argument,
                      unsigned site) {
    struct worker *w = simt_worker;
    struct warp *p = &w->warp[w->thread / WARP];
    int lane = w->thread % WARP;
    NOTE_CALLER(w);
    p->op[lane] = (uint8_t)op, p->argument[lane] = (uint8_t)(argument % WARP);
    p->value[lane] = value;
    if (op == SIMT_OP_SHUFFLE && argument < WARP && __builtin_expect(!(mask >> argument & 1), 0))
        hook_source_outside(w, site, mask, argument);
    meet(w, mask, site, false);
    return p->result[lane];
}

/* A lane that others wait for has returned: let them go on if it was the last one missing. */
void warp_release_after_exit(struct worker *w, struct warp *p) {
    for (uint32_t set = p->at_op; set;) {
        uint32_t l = next_lane(&set), need = p->op_mask[l] & ~p->done;
        need &= warp_lanes(w, (int)(p - w->warp));
        if ((p->at_op & need) != need || (arrived(p, l) & need) != need) continue;
        hook_lane_left(w, p, (int)l);
        complete(p, need);
        if (p->op[l] == SIMT_OP_SYNC) hook_syncwarp(w, p, need);
        p->ready |= need;
        p->at_op &= ~need;
        set &= ~need;
    }
}

uint32_t simt_active_mask(void) {
    struct worker *w = simt_worker;
    struct warp *p = &w->warp[w->thread / WARP];
    return warp_lanes(w, w->thread / WARP) & ~p->done;
}
