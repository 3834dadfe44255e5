/* check_guard.c: finds a host that touches a copy's memory before it has waited for the copy.
 *
 * A copy from page-locked memory keeps a sum of its bytes: the host changed them if the sum is
 * another one when the copy runs. The target of a copy to the host is filled with GUARD bytes, so
 * that a value that is read too early is no plausible one, and a value that is written is found.
 */
#include "check.h"
#include "hooks.h"

#include <string.h>

enum { GUARD = 0xff }; /* a NaN, and -1 */

static uint64_t sum_of(const void *p, size_t bytes) {
    const unsigned char *b = p;
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < bytes; i++) h = (h ^ b[i]) * 0x100000001b3u;
    return h;
}

void hook_guard(struct host_guard *g, void *output, const void *input, size_t bytes,
                uintptr_t caller) {
    *g = (struct host_guard){output, input, bytes, 0, caller};
    if (output) memset(output, GUARD, bytes);
    if (output && bytes) g->sum = sum_of(output, bytes);
    if (input) g->sum = sum_of(input, bytes);
}

void hook_guard_check(const struct host_guard *g) {
    const void *p = g->input ? g->input : g->output;
    if (!p || sum_of(p, g->bytes) == g->sum) return;
    struct finding f = {.kind = "async-copy", .site = site_of(g->caller), .thread = -1};
    if (report_is_new(f.kind, f.site))
        report_add(&f,
                   "the host changed the %zu bytes that this cudaMemcpyAsync %s before it had "
                   "waited for the copy: call cudaStreamSynchronize or wait for an event first",
                   g->bytes, g->input ? "reads" : "writes");
    report_launch_end();
}
