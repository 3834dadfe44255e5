/* clock.c: CLOCK_MONOTONIC and virtual time behind struct clock. */
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

/* A signal cuts a sleep short; the absolute time makes it safe to sleep again. */
static void sleep_until(void *ctx, int64_t t_ns) {
    (void)ctx;
    struct timespec t = {.tv_sec = t_ns / NS_PER_S, .tv_nsec = t_ns % NS_PER_S};
    while (clock_monotonic_ns() < t_ns) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

struct clock clock_monotonic(void) {
    return (struct clock){monotonic, NULL, sleep_until, "CLOCK_MONOTONIC"};
}

static int64_t virtual_now(void *ctx) {
    return ((const struct virtual_clock *)ctx)->now_ns;
}

static void virtual_wait(void *ctx, int64_t t_ns) {
    struct virtual_clock *v = ctx;
    if (v->now_ns < t_ns) v->now_ns = t_ns;
}

struct clock clock_virtual(struct virtual_clock *v) {
    return (struct clock){virtual_now, v, virtual_wait, "virtual"};
}
