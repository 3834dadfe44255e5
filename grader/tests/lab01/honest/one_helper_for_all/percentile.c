/* A helper that isn't static, and that another file of the submission uses. */
#include "objective/percentile.h"

#include <stdlib.h>

int64_t round_up_div(int64_t n, int64_t d);
int64_t round_up_div(int64_t n, int64_t d) {
    return n / d + (n % d != 0);
}

int percentile_calls; /* nor is this */

static int by_size(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    if (*x < *y) return -1;
    return *x > *y;
}

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    struct percentile p = {0};
    percentile_calls++;
    p.n = n_ok + n_failed;
    p.failed = n_failed;
    p.few = percentile_milli == 100000 ||
            (int64_t)p.n < round_up_div(100000, 100000 - percentile_milli);
    if (p.n == 0) return p;
    p.present = true;
    size_t rank = (size_t)round_up_div((int64_t)p.n * percentile_milli, 100000);
    if (rank > n_ok) {
        p.infinite = true;
        return p;
    }
    int64_t *copy = calloc(n_ok, sizeof(int64_t));
    if (copy == NULL) abort();
    for (size_t i = 0; i < n_ok; i++) copy[i] = obs_ns[i];
    qsort(copy, n_ok, sizeof copy[0], by_size);
    p.ns = copy[rank - 1];
    free(copy);
    return p;
}
