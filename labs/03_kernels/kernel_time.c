/* kernel_time.c: event stamps, bytes and operations become time, bandwidth, intensity and a
 * fraction of the roofline. Defined in backend/kernel_time.h.
 */
#include "backend/kernel_time.h"

#include "base/lab_todo.h"

int64_t kernel_run_ns(const struct kernel_run *run) {
    LAB_TODO("kernel_run_ns");
}

int64_t kernel_time_ns(const struct kernel_run *runs, size_t n) {
    LAB_TODO("kernel_time_ns");
}

double kernel_spread(const struct kernel_run *runs, size_t n) {
    LAB_TODO("kernel_spread");
}

double effective_bandwidth(int64_t bytes, int64_t time_ns) {
    LAB_TODO("effective_bandwidth");
}

double arithmetic_intensity(int64_t operations, int64_t bytes) {
    LAB_TODO("arithmetic_intensity");
}

double roofline_ridge(const struct kernel_card *card) {
    LAB_TODO("roofline_ridge");
}

double roofline_limit(const struct kernel_card *card, double intensity) {
    LAB_TODO("roofline_limit");
}

enum kernel_bound kernel_bound(const struct kernel_card *card, double intensity) {
    LAB_TODO("kernel_bound");
}

double roofline_time_ns(const struct kernel_card *card, int64_t operations, int64_t bytes) {
    LAB_TODO("roofline_time_ns");
}

double roofline_fraction(const struct kernel_card *card, int64_t operations, int64_t bytes,
                         int64_t time_ns) {
    LAB_TODO("roofline_fraction");
}

enum kernel_verdict kernel_time_verdict(const struct kernel_card *card, int64_t operations,
                                        int64_t bytes, const struct kernel_run *runs, size_t n) {
    LAB_TODO("kernel_time_verdict");
}
