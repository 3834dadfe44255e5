/* check_sync.c: launches, blocks and barriers in check mode; the order that __syncthreads and
 * __syncwarp give to accesses. Not here: faults of warp operations (check_warp.c), fences with
 * atomics (check_fence.c). */
#include "check.h"
#include "hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int simt_checking(void) {
    return 1;
}

/* ---- launches and blocks ----------------------------------------------------------------------
 */
void sync_new_interval(void) {
    check.interval++;
    for (int i = 0; i < check.worker->warps; i++) {
        struct warp *p = &check.worker->warp[i];
        p->clock = p->all_known = 0;
        if (p->partial) memset(p->known, 0, sizeof p->known);
        p->partial = false;
    }
}

void hook_launch(struct job *j) {
    check.job = j;
    check.launch_first = check.interval + 1;
    if (!check.shared_cells) {
        check.shared_cells = calloc(ARENA_BYTES / 4 + 4, sizeof *check.shared_cells);
        if (!check.shared_cells) simt_trap("out of memory", "simt", 0);
    }
    memset(check.owner, 0, sizeof check.owner);
    check.owners = 0;
    fence_launch();
    if (j->l.dynamic_bytes) {
        check.owners = 1;
        check.ends[1] = (uint32_t)j->l.dynamic_bytes;
        check.names[1] = "the dynamic shared memory";
        for (size_t i = 0; i < (j->l.dynamic_bytes + 3) / 4; i++) check.owner[i] = 1;
    }
    count_launch(j);
}

void hook_launch_end(struct job *j) {
    check.active = false;
    count_launch_end(j);
    report_launch_end();
    check.job = NULL; /* it is a local variable of the launch */
}

void hook_launch_refused(const struct simt_launch *l, const char *why) {
    bool was = check.active;
    struct finding f = {.kind = "illegal-launch", .file = l->file, .line = l->line, .thread = -1};
    check.active = false;
    struct job j = {.l = *l}, *before = check.job;
    check.job = &j;
    report_add(&f, "the launch is refused: %s", why);
    check.job = before;
    check.active = was;
    if (!was) report_launch_end();
}

void hook_shared_var(struct job *j, const simt_shared_var *var, uint32_t offset, size_t bytes) {
    (void)j;
    if (check.owners + 1 >= (int)(sizeof check.ends / sizeof *check.ends)) return;
    int n = ++check.owners;
    check.ends[n] = offset + (uint32_t)bytes;
    check.names[n] = var->name;
    for (size_t i = offset / 4; i < (offset + bytes + 3) / 4; i++) check.owner[i] = (uint16_t)n;
}

void hook_block(struct worker *w) {
    check.worker = w, check.active = true;
    sync_new_interval();
    check.block_first = check.interval;
    for (int i = 0; i < w->warps; i++) w->warp[i].returned = 0;
    fence_block();
    count_block();
}

/* ---- barriers ----------------------------------------------------------------------------------
 */
void hook_barrier(struct worker *w) {
    fence_barrier();
    count_barrier(site_of(w->called_from[w->barrier_thread]), sync_line(w->barrier_site));
    sync_new_interval();
}

/* Once threads have missed each other, the block's later barriers no longer pair up: only the first
 * finding is reported. */
static bool diverged_before(void) {
    static uint32_t in_block; /* its first interval */
    bool before = in_block == check.block_first;
    in_block = check.block_first;
    return before;
}

void hook_barrier_after_exit(struct worker *w) {
    if (diverged_before()) return;
    char me[96];
    report_thread(w->barrier_thread, me, sizeof me);
    struct finding f = sync_finding("barrier-divergence", w, w->barrier_thread, w->barrier_site);
    report_add(&f,
               "%s waits at __syncthreads(), but %d of the block's %d threads have returned: every "
               "thread must reach a barrier. Put the work under the condition, not the return",
               me, w->finished, w->threads);
}

void hook_barriers_differ(struct worker *w, unsigned site) {
    if (diverged_before()) return;
    char me[96];
    report_thread(w->thread, me, sizeof me);
    simt_u3 o = w->index_of[w->barrier_thread];
    struct finding f = sync_finding("barrier-divergence", w, w->thread, site);
    report_add(&f,
               "%s reaches this __syncthreads() while thread (%u,%u,%u) waits at the one in line "
               "%d: all threads of a block must reach the same barrier",
               me, o.x, o.y, o.z, sync_line(w->barrier_site));
}

void hook_block_stuck(struct worker *w) {
    int lane = -1;
    for (int i = 0; i < w->warps; i++) {
        if (w->warp[i].at_op && lane < 0) lane = i * WARP + __builtin_ctz(w->warp[i].at_op);
    }
    struct warp *p = lane >= 0 ? &w->warp[lane / WARP] : NULL;
    unsigned site = p ? p->op_site[lane % WARP] : w->barrier_site;
    int thread = p ? lane : w->barrier_thread;
    char me[96];
    report_thread(thread, me, sizeof me);
    struct finding f = sync_finding(p ? "warp-mask" : "barrier-divergence", w, thread, site);
    if (p)
        report_add(&f,
                   "%s waits in a warp operation whose mask %08x names lanes that never come to "
                   "it (%d threads wait at __syncthreads()): the mask must name exactly the lanes "
                   "that call",
                   me, p->op_mask[lane % WARP], w->at_barrier);
    else
        report_add(&f, "%s waits at __syncthreads() for threads that never come", me);
    launch_fail(w->job, cudaErrorLaunchFailure);
}

/* ---- warps -------------------------------------------------------------------------------------
 */
void hook_syncwarp(struct worker *w, struct warp *p, uint32_t group) {
    uint32_t all = warp_lanes(w, (int)(p - w->warp)) & ~p->done;
    if (p->clock >= 65000) sync_new_interval(); /* the cells hold 16 bits of it */
    p->clock++;
    fence_lanes_meet((int)(p - w->warp), group);
    if (group == all) {
        p->all_known = p->clock;
        return;
    }
    if (!p->partial) memset(p->known, 0, sizeof p->known);
    p->partial = true;
    uint16_t best[WARP] = {0};
    for (uint32_t set = group; set; set &= set - 1)
        for (int x = 0, l = __builtin_ctz(set); x < WARP; x++)
            if (p->known[l][x] > best[x]) best[x] = p->known[l][x];
    for (uint32_t set = group; set; set &= set - 1) best[__builtin_ctz(set)] = (uint16_t)p->clock;
    for (uint32_t set = group; set; set &= set - 1)
        memcpy(p->known[__builtin_ctz(set)], best, sizeof best);
}
