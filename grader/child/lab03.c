/* child/lab03.c: one question to lab 03's C functions becomes one call. See child.h. Kernels run in
 * another program (lab03_kernel.c).
 */
#include "child/child.h"
#include "child/place.h"
#include "lab03/questions.h"

#include <string.h>

static int64_t bits_of(double d) {
    int64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

/* The output is poisoned, so that one left untouched is never right by luck. */
static void compare(const struct question *q, int64_t *slots) {
    struct kernel_comparison out;
    const float *got = place(q->read_only, q->got, q->n_values * sizeof *q->got);
    const double *want = place(q->read_only, q->want, q->n_values * sizeof *q->want);
    memset(&out, 0xa5, sizeof out);
    kernel_compare(got, want, q->n_values, q->tolerance, &out);
    slots[0] = (int)out.verdict;
    slots[1] = (int64_t)out.worst;
    slots[2] = bits_of(out.error);
}

static int64_t call(const struct question *q) {
    const struct kernel_run *runs = place(q->read_only, q->runs, q->n_runs * sizeof *q->runs);
    const struct kernel_card *card = place(q->read_only, &q->card, sizeof q->card);
    switch (q->kind) {
    case Q_RUN:
        return kernel_run_ns(runs);
    case Q_TIME:
        return kernel_time_ns(runs, q->n_runs);
    case Q_SPREAD:
        return bits_of(kernel_spread(runs, q->n_runs));
    case Q_BANDWIDTH:
        return bits_of(effective_bandwidth(q->bytes, q->time_ns));
    case Q_INTENSITY:
        return bits_of(arithmetic_intensity(q->operations, q->bytes));
    case Q_RIDGE:
        return bits_of(roofline_ridge(card));
    case Q_LIMIT:
        return bits_of(roofline_limit(card, q->intensity));
    case Q_BOUND:
        return (int)kernel_bound(card, q->intensity);
    case Q_LEAST:
        return bits_of(roofline_time_ns(card, q->operations, q->bytes));
    case Q_FRACTION:
        return bits_of(roofline_fraction(card, q->operations, q->bytes, q->time_ns));
    case Q_VERDICT:
        return (int)kernel_time_verdict(card, q->operations, q->bytes, runs, q->n_runs);
    case Q_COMPARE:
    case Q_N:
        break;
    }
    return 0;
}

int child_answer(const void *bytes, size_t n, int64_t *slots, size_t cap) {
    static struct question q;
    struct wire w = wire_reader(bytes, n);
    if (lab03_question_codec(&w, &q) || lab03_question_slots(&q) > cap) return -1;
    if (q.kind == Q_COMPARE)
        compare(&q, slots);
    else
        slots[0] = call(&q);
    place_release();
    return (int)lab03_question_slots(&q);
}
