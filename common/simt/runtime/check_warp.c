/* check_warp.c: what is wrong with a warp operation: its kind, its mask, the values it reads.
 *
 * CUDA's rule (C++ Programming Guide, warp functions): every lane of a mask that has not exited
 * calls the same operation with the same mask; the value of a lane that doesn't take part is
 * undefined. Not here: how the lanes meet (warp.c), the order that __syncwarp gives (check_sync.c).
 */
#include "check.h"
#include "hooks.h"

#include <stdio.h>

static void check_kinds(struct worker *w, struct warp *p, int warp, uint32_t group);
static void check_sources(struct worker *w, struct warp *p, int warp, uint32_t group);
static void check_ended(struct worker *w, struct warp *p, int warp, uint32_t group);

/* Called when the lanes of `group` have met: they are the lanes of their mask that haven't
 * returned. */
void hook_warp_op(struct worker *w, struct warp *p, uint32_t group) {
    int warp = (int)(p - w->warp), first = __builtin_ctz(group);
    check_kinds(w, p, warp, group);
    check_ended(w, p, warp, group);
    if (p->op[first] >= SIMT_OP_SHUFFLE && p->op[first] <= SIMT_OP_SHUFFLE_DOWN)
        check_sources(w, p, warp, group);
    if (p->op[first] >= SIMT_OP_MMA && group != ~0u) {
        char me[96];
        report_thread(warp * WARP + first, me, sizeof me);
        struct finding f = sync_finding("warp-mask", w, warp * WARP + first, p->op_site[first]);
        report_add(&f,
                   "%s calls an operation of nvcuda::wmma, but only the lanes %08x of its warp do: "
                   "all 32 must call it",
                   me, group);
    }
}

void hook_mask_without_self(struct worker *w, unsigned site, uint32_t mask) {
    char me[96];
    report_thread(w->thread, me, sizeof me);
    struct finding f = sync_finding("warp-mask", w, w->thread, site);
    report_add(&f, "%s, lane %d, calls a warp operation with mask %08x, which doesn't name it", me,
               w->thread % WARP, mask);
}

/* A full mask in a last warp of fewer lanes is accepted, because votes are usually written so. */
void hook_mask_beyond_block(struct worker *w, unsigned site, uint32_t mask) {
    char me[96];
    report_thread(w->thread, me, sizeof me);
    struct finding f = sync_finding("warp-mask", w, w->thread, site);
    report_add(&f,
               "%s calls a warp operation with mask %08x, but its lanes %08x don't exist in this "
               "block",
               me, mask, mask & ~warp_lanes(w, w->thread / WARP));
}

/* ---- one kind for all lanes of the mask --------------------------------------------------------
 */
static const char *const op_names[SIMT_OPS] = {
    [SIMT_OP_SYNC] = "__syncwarp",
    [SIMT_OP_SHUFFLE] = "__shfl_sync",
    [SIMT_OP_SHUFFLE_XOR] = "__shfl_xor_sync",
    [SIMT_OP_SHUFFLE_UP] = "__shfl_up_sync",
    [SIMT_OP_SHUFFLE_DOWN] = "__shfl_down_sync",
    [SIMT_OP_BALLOT] = "__ballot_sync",
    [SIMT_OP_ANY] = "__any_sync",
    [SIMT_OP_ALL] = "__all_sync",
    [SIMT_OP_MATCH_ANY] = "__match_any_sync",
    [SIMT_OP_MATCH_ALL] = "__match_all_sync",
    [SIMT_OP_UNI] = "__uni_sync",
    [SIMT_OP_ADD] = "__reduce_add_sync",
    [SIMT_OP_MIN] = "__reduce_min_sync",
    [SIMT_OP_MAX] = "__reduce_max_sync",
    [SIMT_OP_UMIN] = "__reduce_min_sync (unsigned)",
    [SIMT_OP_UMAX] = "__reduce_max_sync (unsigned)",
    [SIMT_OP_AND] = "__reduce_and_sync",
    [SIMT_OP_OR] = "__reduce_or_sync",
    [SIMT_OP_XOR] = "__reduce_xor_sync",
    [SIMT_OP_MMA] = "wmma::mma_sync",
    [SIMT_OP_MMA_LOAD] = "wmma::load_matrix_sync",
    [SIMT_OP_MMA_STORE] = "wmma::store_matrix_sync",
};

static unsigned kind_of(const struct warp *p, int lane) {
    return p->op[lane] | (p->argument[lane] & SIMT_WIDE) << 8;
}

static void check_kinds(struct worker *w, struct warp *p, int warp, uint32_t group) {
    int first = __builtin_ctz(group), other = -1;
    for (uint32_t set = group; set && other < 0; set &= set - 1)
        if (kind_of(p, __builtin_ctz(set)) != kind_of(p, first)) other = __builtin_ctz(set);
    if (other < 0) return;
    int thread = warp * WARP + other;
    char me[96];
    report_thread(thread, me, sizeof me);
    struct finding f = sync_finding("warp-mask", w, thread, p->op_site[other]);
    report_add(&f,
               "%s calls %s%s with mask %08x, but lane %d of this mask calls %s%s in line %d: all "
               "lanes of a mask must call the same operation, on one line or on several",
               me, op_names[p->op[other]], p->argument[other] & SIMT_WIDE ? " of 8 bytes" : "",
               p->op_mask[other], first, op_names[p->op[first]],
               p->argument[first] & SIMT_WIDE ? " of 8 bytes" : "", sync_line(p->op_site[first]));
}

/* ---- values of lanes that aren't here ----------------------------------------------------------
 */
static void check_sources(struct worker *w, struct warp *p, int warp, uint32_t group) {
    for (uint32_t set = group; set; set &= set - 1) {
        int lane = __builtin_ctz(set), thread = warp * WARP + lane;
        uint32_t source = p->argument[lane] % WARP, mask = p->op_mask[lane];
        bool named = mask >> source & 1;
        if (group >> source & 1 || (!named && p->argument[lane] & SIMT_MAYBE_ABSENT)) continue;
        bool exists = warp_lanes(w, warp) >> source & 1;
        char me[96];
        report_thread(thread, me, sizeof me);
        struct finding f = sync_finding("warp-mask", w, thread, p->op_site[lane]);
        report_add(&f, "%s asks for the value of lane %u, which %s: such a value is undefined", me,
                   source,
                   !named   ? "its mask doesn't name"
                   : exists ? "has returned"
                            : "doesn't exist in this block");
        return;
    }
}

/* ---- lanes that have ended ---------------------------------------------------------------------
 * CUDA ignores lanes that have exited, so a full mask is right after a part of the warp has left by
 * `return`. A lane that comes to the end of the kernel without the operation has gone past it: the
 * operation is in a branch that this lane didn't take. Of a vote or a __syncwarp that is accepted
 * if the lane has touched no memory, as the lanes beyond the end of the data.
 */
void simt_early_return(void) {
    struct worker *w = simt_worker;
    w->warp[w->thread / WARP].returned |= 1u << (w->thread % WARP);
}

static bool carries_no_value(int op) {
    return op == SIMT_OP_SYNC || (op >= SIMT_OP_BALLOT && op <= SIMT_OP_UNI);
}

static void check_ended(struct worker *w, struct warp *p, int warp, uint32_t group) {
    int lane = __builtin_ctz(group), thread = warp * WARP + lane;
    uint32_t mask = p->op_mask[lane], past = mask & p->done & ~p->returned;
    if (mask == ~0u && carries_no_value(p->op[lane]))
        for (uint32_t set = past; set; set &= set - 1)
            if (!count_lane_worked(warp * WARP + __builtin_ctz(set))) past &= ~(set & -set);
    if (!past) return;
    char me[96];
    report_thread(thread, me, sizeof me);
    struct finding f = sync_finding("warp-mask", w, thread, p->op_site[lane]);
    report_add(&f,
               "%s calls a warp operation with mask %08x, but its lanes %08x came to the kernel's "
               "end without it: every lane of a mask must call it, unless it left by a return",
               me, mask, past);
}

void hook_warp_stuck(struct worker *w, int warp) {
    count_flush(w, warp);
}

void hook_warp_met(struct worker *w, int warp) {
    count_flush(w, warp);
}
