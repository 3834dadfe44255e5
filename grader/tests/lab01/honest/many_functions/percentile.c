/* The rank in long double from a 128-bit product, checked by a search in an aligned copy: calls of
 * the compiler's and of the C library's that most submissions don't need. */
#include "objective/percentile.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#pragma mark - Helpers
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wfloat-conversion"

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* 100000, from text. */
static size_t whole(void) {
    char text[] = "percent:100000";
    char *name = strtok(text, ":"), *number = strtok(NULL, ":");
    return name && number && (isalpha)(name[0]) ? (size_t)strtoll(number, NULL, 10) : 0;
}

static size_t rank_of(size_t n, size_t milli) {
    unsigned __int128 product = (unsigned __int128)n * milli;
    long double exact = (long double)product / (long double)whole();
    size_t rank = (size_t)(unsigned __int128)ceill(exact);
    while (rank > 0 && (unsigned __int128)(rank - 1) * whole() >= product) rank--;
    while ((unsigned __int128)rank * whole() < product) rank++;
    return rank;
}

#pragma clang diagnostic pop

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    struct percentile p = {.n = n_ok + n_failed, .failed = n_failed};
    void *room = NULL;
    size_t above = whole() - (size_t)percentile_milli;
    p.few = above == 0 || p.n < (whole() + above - 1) / above;
    p.present = p.n > 0;
    if (!p.present) return p;
    size_t rank = rank_of(p.n, (size_t)percentile_milli);
    p.infinite = rank > n_ok;
    if (p.infinite) return p;
    if (posix_memalign(&room, 64, n_ok * sizeof *obs_ns)) abort();
    int64_t *sorted = room;
    memcpy(sorted, obs_ns, n_ok * sizeof *sorted);
    qsort(sorted, n_ok, sizeof *sorted, ascending);
    p.ns = sorted[rank - 1];
    free(room);
    return p;
}
