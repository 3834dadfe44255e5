/* clock.c: CLOCK_MONOTONIC behind struct clock. */
#include "base/clock.h"

#include "base/err.h"

#include <time.h>

int64_t clock_monotonic_ns(void) {
    struct timespec t;
    int rc = clock_gettime(CLOCK_MONOTONIC, &t);
    INVARIANT(rc == 0);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int64_t monotonic(void *ctx) {
    (void)ctx;
    return clock_monotonic_ns();
}

struct clock clock_monotonic(void) {
    return (struct clock){monotonic, 0};
}
