/* Right by the definition alone: no sorting, no memory. */
#include "objective/percentile.h"

/* Inside of a string such words mean nothing, and these pragmas change nothing. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
static const char *const how = "asm (fast), no_sanitize; #pragma GCC optimize";
#pragma GCC diagnostic pop

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    struct percentile p;
    uint64_t n = n_ok + n_failed, milli = (uint64_t)percentile_milli, best = n_ok;
    p.n = n_ok + n_failed;
    p.failed = n_failed;
    p.few = n * (100000 - milli) < 100000;
    p.present = n != 0;
    p.infinite = false;
    p.ns = 0;
    if (!p.present) return p;
    uint64_t rank = (n * milli + 99999) / 100000;
    for (size_t i = 0; i < n_ok; i++) {
        uint64_t at_or_below = 0;
        for (size_t k = 0; k < n_ok; k++) at_or_below += obs_ns[k] <= obs_ns[i];
        if (at_or_below >= rank && (best == n_ok || obs_ns[i] < obs_ns[best])) best = i;
    }
    if (best == n_ok)
        p.infinite = true;
    else
        p.ns = obs_ns[best];
    return p;
}
