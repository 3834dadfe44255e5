/* warp.c: warp operations: __syncwarp, shuffles, votes, matches, reductions, wmma.
 *
 * The lanes of a mask wait for each other; the last to arrive computes the results of all, so a
 * later operation can't overwrite a value that is still to be read. Lanes meet by their mask, not
 * by their place in the text: both sides of a branch may call the operation, as since sm_70. That
 * all of them call the same kind of operation is checked in check_warp.c.
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

/* 16 x 16 x 16 from the 32 lanes' pieces, summed in float in the order of k. A lane that isn't here
 * counts as zeros: check mode reports it. */
static void multiply(struct warp *p, uint32_t group) {
    float a[16][16] = {{0}}, bt[16][16] = {{0}};
    for (uint32_t set = group; set;) {
        uint32_t l = next_lane(&set);
        if (p->op[l] != SIMT_OP_MMA) continue;
        const struct simt_mma *m = (const struct simt_mma *)(uintptr_t)p->value[l];
        for (unsigned i = 0; i < 8; i++) {
            unsigned line = l / 2, at = l % 2 * 8 + i;
            *(m->a_by_column ? &a[at][line] : &a[line][at]) = m->a[i];
            *(m->b_by_column ? &bt[line][at] : &bt[at][line]) = m->b[i];
        }
    }
    for (uint32_t set = group; set;) {
        uint32_t l = next_lane(&set);
        if (p->op[l] != SIMT_OP_MMA) continue;
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
    case SIMT_OP_MMA_LOAD:
    case SIMT_OP_MMA_STORE:
        return;
    case SIMT_OP_SHUFFLE:
    case SIMT_OP_SHUFFLE_XOR:
    case SIMT_OP_SHUFFLE_UP:
    case SIMT_OP_SHUFFLE_DOWN:
        while (set) {
            uint32_t l = next_lane(&set);
            p->result[l] = p->value[p->argument[l] % WARP];
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
    case SIMT_OP_ANY:
    case SIMT_OP_ALL:
        while (set) {
            uint32_t l = next_lane(&set);
            if (p->value[l]) bits |= 1u << l;
        }
        break;
    case SIMT_OP_MATCH_ALL:
    case SIMT_OP_UNI:
        bits = group;
        while (set)
            if (p->value[next_lane(&set)] != p->value[first]) bits = 0;
        break;
    case SIMT_OP_MMA:
        multiply(p, group);
        return;
    default: {
        uint64_t r = reduce(p, group, op);
        while (set) p->result[next_lane(&set)] = r;
        return;
    }
    }
    for (set = group; set;) p->result[next_lane(&set)] = bits;
}

/* The lanes that wait with lane l's mask. A lane of that mask may wait with another mask first. */
static uint32_t arrived(const struct warp *p, uint32_t l) {
    uint32_t lanes = 0;
    for (uint32_t set = p->at_op & p->op_mask[l]; set;) {
        uint32_t o = next_lane(&set);
        if (p->op_mask[o] == p->op_mask[l]) lanes |= 1u << o;
    }
    return lanes;
}

/* Lane l waits. If all lanes of its mask that haven't returned wait with it, gives them their
 * results and returns them; otherwise 0. */
static uint32_t finish(struct worker *w, struct warp *p, uint32_t l) {
    uint32_t need = p->op_mask[l] & warp_lanes(w, (int)(p - w->warp)) & ~p->done;
    if ((p->at_op & need) != need || (arrived(p, l) & need) != need) return 0;
    hook_warp_op(w, p, need);
    complete(p, need);
    p->at_op &= ~need;
    return need;
}

static void meet(struct worker *w, uint32_t mask, unsigned site) {
    int number = w->thread / WARP;
    struct warp *p = &w->warp[number];
    uint32_t lane = (uint32_t)w->thread % WARP, bit = 1u << lane;
    if (__builtin_expect(!(mask & bit), 0)) hook_mask_without_self(w, site, mask);
    mask |= bit;
    if (__builtin_expect(mask != ~0u && mask & ~warp_lanes(w, number), 0))
        hook_mask_beyond_block(w, site, mask);
    p->op_mask[lane] = mask, p->op_site[lane] = site;
    p->at_op |= bit;
    uint32_t met = finish(w, p, lane);
    if (!met) {
        schedule_suspend(w);
        return;
    }
    if (met == (warp_lanes(w, number) & ~p->done)) hook_warp_met(w, number);
    if (p->op[lane] == SIMT_OP_SYNC) hook_syncwarp(w, p, met);
    p->ready |= met & ~bit;
}

void simt_syncwarp(uint32_t mask, unsigned site) {
    struct worker *w = simt_worker;
    struct warp *p = &w->warp[w->thread / WARP];
    int lane = w->thread % WARP;
    NOTE_CALLER(w);
    p->op[lane] = SIMT_OP_SYNC, p->argument[lane] = 0;
    meet(w, mask, site);
}

uint64_t simt_warp_op(enum simt_warp_op op, uint32_t mask, uint64_t value, unsigned argument,
                      unsigned site) {
    struct worker *w = simt_worker;
    struct warp *p = &w->warp[w->thread / WARP];
    int lane = w->thread % WARP;
    NOTE_CALLER(w);
    p->op[lane] = (uint8_t)op, p->argument[lane] = (uint8_t)argument;
    p->value[lane] = value;
    meet(w, mask, site);
    return p->result[lane];
}

/* A lane has returned: the lanes that waited for it go on if no other one is missing. */
void warp_release_after_exit(struct worker *w, struct warp *p) {
    for (uint32_t set = p->at_op; set;) {
        uint32_t l = next_lane(&set), met = finish(w, p, l);
        if (met && p->op[l] == SIMT_OP_SYNC) hook_syncwarp(w, p, met);
        p->ready |= met;
        set &= ~met;
    }
}

uint32_t simt_active_mask(void) {
    struct worker *w = simt_worker;
    struct warp *p = &w->warp[w->thread / WARP];
    return warp_lanes(w, w->thread / WARP) & ~p->done;
}
