/* clock.h: reads monotonic time in nanoseconds, directly or through a clock that a test can
 * replace.
 *
 * Time inside servelab is int64_t nanoseconds of a monotonic clock. The server reads it through a
 * `struct clock`, so that the simulator and tests can supply their own; this is one of the three
 * interfaces with several implementations (policy, backend, clock). Wall-clock time is used only
 * for file names, never for an interval.
 */
#ifndef SERVELAB_BASE_CLOCK_H
#define SERVELAB_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

struct clock {
    int64_t (*now_ns)(void *ctx);
    void *ctx;
    /* Returns when now_ns is at least t_ns. NULL: nothing of this clock can wait. */
    void (*wait_until)(void *ctx, int64_t t_ns);
    const char *api; /* an event's clock_api (record/record.h): "CLOCK_MONOTONIC", "virtual" */
};

/* CLOCK_MONOTONIC in nanoseconds. Aborts if the system has none. */
int64_t clock_monotonic_ns(void);

/* A clock over clock_monotonic_ns; the record's clock_api for it is "CLOCK_MONOTONIC". */
struct clock clock_monotonic(void);

/* A clock that moves only by calls: its wait_until sets the time and returns at once. One thread.
 * *v outlives the clock. */
struct virtual_clock {
    int64_t now_ns;
};
struct clock clock_virtual(struct virtual_clock *v);

static inline int64_t clock_now_ns(const struct clock *c) {
    return c->now_ns(c->ctx);
}

/* t_ns may lie in the past: then it returns at once. */
static inline void clock_wait_until(const struct clock *c, int64_t t_ns) {
    c->wait_until(c->ctx, t_ns);
}

#endif
