/* check_race.c: a race in words. */
#include "check_race.h"

#include <stdio.h>

static const char *verb(int access) {
    return access & ACCESS_ATOMIC  ? "atomically changes"
           : access & ACCESS_WRITE ? "writes"
                                   : "reads";
}

static void thread_name(int thread, char *buf, size_t cap) {
    simt_u3 t = check.worker->index_of[thread];
    snprintf(buf, cap, "thread (%u,%u,%u)", t.x, t.y, t.z);
}

void race_report(const struct cell *c, bool with_write, bool shared, int access, uint32_t site,
                 enum conflict kind) {
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
