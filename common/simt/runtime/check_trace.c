/* check_trace.c: writes every lane's accesses to a file, so that another program can count them.
 *
 * SIMT_TRACE=FILE. Binary, native byte order: the text "simt-trace 1\n", then one piece whenever a
 * warp comes to a barrier, a full warp operation or its end:
 *   uint32 length of the kernel's name, the name; uint32 launch, warp (counted over the launch's
 *   blocks), lanes; for each lane uint32 n and n records: uint64 address (of shared memory: from
 *   its start), uint32 call site, uint8 bytes (0: a basic block), access (1 write, 2 atomic, 4
 *   volatile), shared, 0.
 * Large: for small kernels only.
 */
#include "check_count.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *out;

__attribute__((constructor)) static void open_trace(void) {
    const char *path = getenv("SIMT_TRACE");
    if (!path || !*path) return;
    out = fopen(path, "wb");
    if (!out) {
        fprintf(stderr, "simt: can't write SIMT_TRACE=%s\n", path);
        exit(2);
    }
    fputs("simt-trace 1\n", out);
}

static void put(const void *p, size_t n) {
    fwrite(p, 1, n, out);
}

static void put32(uint32_t v) {
    put(&v, sizeof v);
}

void count_trace(const struct worker *w, int warp, int lanes) {
    if (!out) return;
    uint32_t name = (uint32_t)strlen(check.job->l.name);
    put32(name);
    put(check.job->l.name, name);
    put32(check.job->id);
    put32(fence_block_number() * MAX_WARPS + (uint32_t)warp);
    put32((uint32_t)lanes);
    for (int l = 0; l < lanes; l++) {
        const struct trace *t = &count_traces[l];
        put32(t->count);
        for (uint32_t i = 0; i < t->count; i++) {
            struct record r = t->list[i];
            if (r.shared) r.address -= (uintptr_t)w->arena;
            put(&r, sizeof r);
        }
    }
}
