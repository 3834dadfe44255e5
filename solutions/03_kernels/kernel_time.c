/* kernel_time.c: event stamps, bytes and operations become time, bandwidth, intensity and a
 * fraction of the roofline. Defined in backend/kernel_time.h.
 */
#include "backend/kernel_time.h"

// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include <math.h>
// END SOLUTION

int64_t kernel_run_ns(const struct kernel_run *run) {
    // BEGIN SOLUTION
    //| LAB_TODO("kernel_run_ns");
    if (run->warm_up || run->launches < 1) return -1;
    if (run->start_clock != KERNEL_CLOCK_GPU || run->end_clock != KERNEL_CLOCK_GPU) return -1;
    if (run->start_ns < 0 || run->end_ns <= run->start_ns) return -1;
    int64_t ns = run->end_ns - run->start_ns, launches = run->launches;
    return ns / launches + (ns % launches * 2 >= launches);
    // END SOLUTION
}

// BEGIN SOLUTION
/* How many of the times are below t, and how many at or below it. */
static void count_below(const struct kernel_run *runs, size_t n, int64_t t, size_t *below,
                        size_t *up_to) {
    *below = *up_to = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t ns = kernel_run_ns(&runs[i]);
        if (ns < 0) continue;
        *below += ns < t;
        *up_to += ns <= t;
    }
}

static size_t count_valid(const struct kernel_run *runs, size_t n) {
    size_t valid = 0;
    for (size_t i = 0; i < n; i++) valid += kernel_run_ns(&runs[i]) >= 0;
    return valid;
}
// END SOLUTION

int64_t kernel_time_ns(const struct kernel_run *runs, size_t n) {
    // BEGIN SOLUTION
    //| LAB_TODO("kernel_time_ns");
    /* Repetitions are few: looking at each without sorting needs no memory. */
    size_t rank = (count_valid(runs, n) + 1) / 2, below, up_to;
    for (size_t i = 0; i < n; i++) {
        int64_t ns = kernel_run_ns(&runs[i]); /* -1 is below every rank */
        count_below(runs, n, ns, &below, &up_to);
        if (below < rank && up_to >= rank) return ns;
    }
    return -1;
    // END SOLUTION
}

double kernel_spread(const struct kernel_run *runs, size_t n) {
    // BEGIN SOLUTION
    //| LAB_TODO("kernel_spread");
    int64_t least = -1, greatest = -1;
    for (size_t i = 0; i < n; i++) {
        int64_t ns = kernel_run_ns(&runs[i]);
        if (ns < 0) continue;
        if (least < 0 || ns < least) least = ns;
        if (ns > greatest) greatest = ns;
    }
    if (greatest < 0) return NAN;
    return (double)(greatest - least) / (double)kernel_time_ns(runs, n);
    // END SOLUTION
}

double effective_bandwidth(int64_t bytes, int64_t time_ns) {
    // BEGIN SOLUTION
    //| LAB_TODO("effective_bandwidth");
    if (time_ns <= 0 || bytes < 0) return NAN;
    return (double)bytes / ((double)time_ns * 1e-9);
    // END SOLUTION
}

double arithmetic_intensity(int64_t operations, int64_t bytes) {
    // BEGIN SOLUTION
    //| LAB_TODO("arithmetic_intensity");
    if (bytes <= 0 || operations < 0) return NAN;
    return (double)operations / (double)bytes;
    // END SOLUTION
}

double roofline_ridge(const struct kernel_card *card) {
    // BEGIN SOLUTION
    //| LAB_TODO("roofline_ridge");
    return card->operations_per_s / card->bytes_per_s;
    // END SOLUTION
}

double roofline_limit(const struct kernel_card *card, double intensity) {
    // BEGIN SOLUTION
    //| LAB_TODO("roofline_limit");
    return fmin(intensity * card->bytes_per_s, card->operations_per_s);
    // END SOLUTION
}

enum kernel_bound kernel_bound(const struct kernel_card *card, double intensity) {
    // BEGIN SOLUTION
    //| LAB_TODO("kernel_bound");
    return intensity < roofline_ridge(card) ? KERNEL_BOUND_MEMORY : KERNEL_BOUND_COMPUTE;
    // END SOLUTION
}

double roofline_time_ns(const struct kernel_card *card, int64_t operations, int64_t bytes) {
    // BEGIN SOLUTION
    //| LAB_TODO("roofline_time_ns");
    return 1e9 *
           fmax((double)bytes / card->bytes_per_s, (double)operations / card->operations_per_s);
    // END SOLUTION
}

double roofline_fraction(const struct kernel_card *card, int64_t operations, int64_t bytes,
                         int64_t time_ns) {
    // BEGIN SOLUTION
    //| LAB_TODO("roofline_fraction");
    if (time_ns <= 0) return NAN;
    return roofline_time_ns(card, operations, bytes) / (double)time_ns;
    // END SOLUTION
}

enum kernel_verdict kernel_time_verdict(const struct kernel_card *card, int64_t operations,
                                        int64_t bytes, const struct kernel_run *runs, size_t n) {
    // BEGIN SOLUTION
    //| LAB_TODO("kernel_time_verdict");
    int64_t ns = kernel_time_ns(runs, n);
    if (ns < 0) return KERNEL_TIME_ABSENT;
    if (ns == 0 || roofline_fraction(card, operations, bytes, ns) > 1.05)
        return KERNEL_NOT_PHYSICAL;
    return kernel_spread(runs, n) > 0.10 ? KERNEL_TOO_NOISY : KERNEL_TIMED;
    // END SOLUTION
}
