/* kernel_time.h: computes a kernel's time, bandwidth and fraction of the roofline from event
 * stamps, bytes and operations. Lab 03 writes kernel_time.c; `servelab grade 03` and the GPU check
 * use it.
 *
 * A timing is a set of repetitions. Each is a pair of events around a number of equal launches. A
 * time alone isn't a result: bytes over time are a bandwidth, operations over time a rate, and both
 * are compared with the limits of the card (Williams, Waterman, Patterson, "Roofline", CACM 52(4),
 * 2009).
 *
 * Bytes and operations are the closed forms of kernel_spec.h: what the task needs, not what the
 * kernel did. A kernel that moves everything twice has half the bandwidth.
 */
#ifndef SERVELAB_BACKEND_KERNEL_TIME_H
#define SERVELAB_BACKEND_KERNEL_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kernel_clock {
    KERNEL_CLOCK_GPU, /* an event, stamped by the GPU when it reached it */
    KERNEL_CLOCK_HOST /* the CPU's clock: when the launch was requested */
};

struct kernel_run {
    int64_t start_ns, end_ns; /* -1: the event was never reached */
    enum kernel_clock start_clock, end_clock;
    int32_t launches; /* of the kernel, between the two stamps */
    bool warm_up;     /* made to bring clocks and caches into their usual state */
};

/* One launch's time in one repetition: (end - start) / launches, rounded to the nearest nanosecond,
 * halves up. -1 if the repetition isn't valid: a warm-up, a missing stamp, a stamp of the host's
 * clock, fewer than one launch, an end that isn't after the start. */
int64_t kernel_run_ns(const struct kernel_run *run);

/* The median over the valid repetitions: the smallest of their times with at least half of them at
 * or below it (lab 01's nearest rank, p50). -1 if no repetition is valid. The array isn't changed
 * and may have any length. */
int64_t kernel_time_ns(const struct kernel_run *runs, size_t n);

/* (greatest - smallest) / median over the valid repetitions; NaN if there are none. */
double kernel_spread(const struct kernel_run *runs, size_t n);

/* Bytes per second; NaN if the time isn't positive or bytes are negative. */
double effective_bandwidth(int64_t bytes, int64_t time_ns);

/* Operations per byte; NaN if bytes aren't positive or operations are negative. */
double arithmetic_intensity(int64_t operations, int64_t bytes);

struct kernel_card {
    double bytes_per_s;      /* measured copy bandwidth, or the data sheet's */
    double operations_per_s; /* of the unit that the kernel uses */
};

/* The intensity at which the card's two limits meet: operations_per_s / bytes_per_s. */
double roofline_ridge(const struct kernel_card *card);

/* The most that the card allows at an intensity: the smaller of intensity * bytes_per_s and
 * operations_per_s, in operations per second. */
double roofline_limit(const struct kernel_card *card, double intensity);

enum kernel_bound { KERNEL_BOUND_MEMORY, KERNEL_BOUND_COMPUTE };

/* The limit that applies at an intensity. At the ridge itself: compute. */
enum kernel_bound kernel_bound(const struct kernel_card *card, double intensity);

/* The least time that the card needs for that work: the longer of bytes / bytes_per_s and
 * operations / operations_per_s, in nanoseconds, not rounded. */
double roofline_time_ns(const struct kernel_card *card, int64_t operations, int64_t bytes);

/* roofline_time_ns / time_ns: 1 is the card's limit. For a kernel without operations, such as a
 * copy, it is the fraction of the bandwidth. NaN if the time isn't positive. */
double roofline_fraction(const struct kernel_card *card, int64_t operations, int64_t bytes,
                         int64_t time_ns);

enum kernel_verdict {
    KERNEL_TIMED,
    KERNEL_TIME_ABSENT,  /* no repetition is valid */
    KERNEL_NOT_PHYSICAL, /* faster than the card: some work wasn't done, or wasn't timed */
    KERNEL_TOO_NOISY     /* the spread is too large */
};

/* Whether the timing is usable, tested in the order of the enumeration: absent; then not physical,
 * if the median is 0 or its fraction is above 1.05; then too noisy, if the spread is above 0.10. */
enum kernel_verdict kernel_time_verdict(const struct kernel_card *card, int64_t operations,
                                        int64_t bytes, const struct kernel_run *runs, size_t n);

#endif
