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
};

/* CLOCK_MONOTONIC in nanoseconds. Aborts if the system has none. */
int64_t clock_monotonic_ns(void);

/* A clock over clock_monotonic_ns; the record's clock_api for it is "CLOCK_MONOTONIC". */
struct clock clock_monotonic(void);

static inline int64_t clock_now_ns(const struct clock *c) {
    return c->now_ns(c->ctx);
}

#endif
