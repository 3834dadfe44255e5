/* child/lab03_stubs.c: supplies functions of a file that is missing or was refused, so that the
 * other files are graded. Weak symbols: a submission's own function always replaces them. */
#include "backend/kernel_compare.h"
#include "backend/kernel_time.h"

#include "base/lab_todo.h"

#define STUB __attribute__((weak))

STUB int64_t kernel_run_ns(const struct kernel_run *run) {
    LAB_TODO("kernel_run_ns");
}
STUB int64_t kernel_time_ns(const struct kernel_run *runs, size_t n) {
    LAB_TODO("kernel_time_ns");
}
STUB double kernel_spread(const struct kernel_run *runs, size_t n) {
    LAB_TODO("kernel_spread");
}
STUB double effective_bandwidth(int64_t bytes, int64_t time_ns) {
    LAB_TODO("effective_bandwidth");
}
STUB double arithmetic_intensity(int64_t operations, int64_t bytes) {
    LAB_TODO("arithmetic_intensity");
}
STUB double roofline_ridge(const struct kernel_card *card) {
    LAB_TODO("roofline_ridge");
}
STUB double roofline_limit(const struct kernel_card *card, double intensity) {
    LAB_TODO("roofline_limit");
}
STUB enum kernel_bound kernel_bound(const struct kernel_card *card, double intensity) {
    LAB_TODO("kernel_bound");
}
STUB double roofline_time_ns(const struct kernel_card *card, int64_t operations, int64_t bytes) {
    LAB_TODO("roofline_time_ns");
}
STUB double roofline_fraction(const struct kernel_card *card, int64_t operations, int64_t bytes,
                              int64_t time_ns) {
    LAB_TODO("roofline_fraction");
}
STUB enum kernel_verdict kernel_time_verdict(const struct kernel_card *card, int64_t operations,
                                             int64_t bytes, const struct kernel_run *runs,
                                             size_t n) {
    LAB_TODO("kernel_time_verdict");
}
STUB void kernel_compare(const float *got, const double *want, size_t n, double tolerance,
                         struct kernel_comparison *out) {
    LAB_TODO("kernel_compare");
}
