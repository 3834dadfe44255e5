/* check_count.c: the tables of counts of each kernel's call sites, and the lanes' traces.
 *
 * Each lane leaves a trace of its accesses and basic blocks. check_merge.c merges the traces of a
 * warp into requests, and check_request.c counts each request.
 */
#include "check_count.h"

#include <stdlib.h>
#include <string.h>

enum { TRACE_MOST = 1 << 21 }; /* records a lane may leave between two barriers: 32 MiB */

struct trace count_traces[WARP];
struct count_kernel *count_kernels, *count_now;
int count_kernel_count;

void count_grow(struct trace *t) {
    uint32_t room = t->room ? t->room * 2 : 256;
    struct record *grown = room <= TRACE_MOST ? realloc(t->list, room * sizeof *grown) : NULL;
    if (!grown) { /* start over: the lane's past records are lost, and reported as dropped */
        count_now->dropped += t->count;
        t->count = 0;
        return;
    }
    t->list = grown, t->room = room;
}

/* ---- kernels and sites ------------------------------------------------------------------------
 */
void count_launch(const struct job *j) {
    int i = 0;
    while (i < count_kernel_count && strcmp(count_kernels[i].name, j->l.name) != 0) i++;
    if (i == count_kernel_count) {
        struct count_kernel *grown = realloc(count_kernels, (size_t)(i + 1) * sizeof *grown);
        if (!grown) simt_trap("out of memory", "simt", 0);
        count_kernels = grown;
        count_kernels[count_kernel_count++] =
            (struct count_kernel){.name = strdup(j->l.name), .file = j->l.file, .line = j->l.line};
    }
    count_now = &count_kernels[i];
    count_now->launches++, count_now->last_launch = j->id;
    count_now->threads += j->blocks * j->l.block.x * j->l.block.y * j->l.block.z;
    for (int l = 0; l < WARP; l++) count_traces[l].count = 0;
}

void count_launch_end(const struct job *j) {
    (void)j;
}

static uint32_t slot_of(const struct count_kernel *k, uint32_t key) {
    return (key * 0x9e3779b1u >> 8) & (k->room - 1);
}

static uint32_t key_of(uint32_t pc, enum count_kind kind, bool shared) {
    return pc << 3 | (uint32_t)kind << 1 | shared;
}

static void grow_sites(struct count_kernel *k) {
    struct count_site *old = k->sites;
    uint32_t room = k->room;
    k->room = room ? room * 2 : 256;
    k->sites = calloc(k->room, sizeof *k->sites);
    if (!k->sites) simt_trap("out of memory", "simt", 0);
    for (uint32_t i = 0; i < room; i++) {
        if (!old[i].used) continue;
        uint32_t at = slot_of(k, key_of(old[i].pc, old[i].kind, old[i].shared));
        while (k->sites[at].used) at = (at + 1) & (k->room - 1);
        k->sites[at] = old[i];
    }
    free(old);
}

struct count_site *count_site(uint32_t pc, enum count_kind kind, bool shared) {
    struct count_kernel *k = count_now;
    if (k->filled * 2 >= k->room) grow_sites(k);
    uint32_t at = slot_of(k, key_of(pc, kind, shared));
    for (;; at = (at + 1) & (k->room - 1)) {
        struct count_site *s = &k->sites[at];
        if (s->used && s->pc == pc && s->kind == kind && s->shared == shared) return s;
        if (s->used) continue;
        k->filled++;
        *s = (struct count_site){.pc = pc, .kind = (uint8_t)kind, .shared = shared, .used = true};
        return s;
    }
}

void count_barrier(uint32_t site, int line) {
    struct count_site *s = count_site(site, COUNT_KINDS, true);
    s->barriers++;
    s->line = line;
}

/* ---- which threads have accessed memory --------------------------------------------------------
 */
static bool worked[MAX_THREADS];

void count_block(void) {
    memset(worked, 0, sizeof worked);
}

bool count_lane_worked(int thread) {
    const struct trace *t = &count_traces[thread % WARP];
    for (uint32_t i = 0; i < t->count && !worked[thread]; i++)
        worked[thread] = t->list[i].address != 0;
    return worked[thread];
}
