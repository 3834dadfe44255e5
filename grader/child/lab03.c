/* child/lab03.c: turns one case into one call of lab 03's C functions. See child.h. Kernels run in
 * another program (lab03_kernel.c). */
#include "child/child.h"
#include "child/place.h"
#include "lab03/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void); /* of libasan */
#endif

static int64_t bits_of(double d) {
    int64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

/* The output is poisoned, so that an output that is not written is never right by accident. */
static void compare(const struct lab03_case *c, int64_t *slots) {
    struct kernel_comparison out;
    const float *got = place(c->read_only, c->got, c->n_values * sizeof *c->got);
    const double *want = place(c->read_only, c->want, c->n_values * sizeof *c->want);
    memset(&out, 0xa5, sizeof out);
    kernel_compare(got, want, c->n_values, c->tolerance, &out);
    slots[0] = (int)out.verdict;
    slots[1] = (int64_t)out.worst;
    slots[2] = bits_of(out.error);
}

static int64_t call(const struct lab03_case *c) {
    const struct kernel_run *runs = place(c->read_only, c->runs, c->n_runs * sizeof *c->runs);
    const struct kernel_card *card = place(c->read_only, &c->card, sizeof c->card);
    switch (c->fn) {
    case FN_RUN:
        return kernel_run_ns(runs);
    case FN_TIME:
        return kernel_time_ns(runs, c->n_runs);
    case FN_SPREAD:
        return bits_of(kernel_spread(runs, c->n_runs));
    case FN_BANDWIDTH:
        return bits_of(effective_bandwidth(c->bytes, c->time_ns));
    case FN_INTENSITY:
        return bits_of(arithmetic_intensity(c->operations, c->bytes));
    case FN_RIDGE:
        return bits_of(roofline_ridge(card));
    case FN_LIMIT:
        return bits_of(roofline_limit(card, c->intensity));
    case FN_BOUND:
        return (int)kernel_bound(card, c->intensity);
    case FN_LEAST:
        return bits_of(roofline_time_ns(card, c->operations, c->bytes));
    case FN_FRACTION:
        return bits_of(roofline_fraction(card, c->operations, c->bytes, c->time_ns));
    case FN_VERDICT:
        return (int)kernel_time_verdict(card, c->operations, c->bytes, runs, c->n_runs);
    case FN_COMPARE:
    case FN_N:
        break;
    }
    return 0;
}

static void answer(const struct lab03_case *c, int64_t *slots) {
    if (c->fn == FN_COMPARE)
        compare(c, slots);
    else
        slots[0] = call(c);
    place_release();
}

#ifdef __SANITIZE_ADDRESS__
static size_t heap_bytes(void) {
    return __sanitizer_get_current_allocated_bytes();
}
#else
static size_t heap_bytes(void) {
    return 0;
}
#endif

/* Which function leaks, if the heap grows in the case's function: the first one of the interface
 * that leaks with the same data, since later functions call earlier ones. */
static enum lab03_fn culprit(const struct lab03_case *c) {
    static struct lab03_case twin;
    int64_t slots[CASE_COMPARE_SLOTS];
    twin = *c;
    for (int fn = FN_RUN; fn < (int)c->fn && c->fn != FN_COMPARE; fn++) {
        if (fn <= FN_SPREAD && c->n_runs == 0) continue;
        twin.fn = (enum lab03_fn)fn;
        answer(&twin, slots); /* what it keeps */
        size_t before = heap_bytes();
        answer(&twin, slots);
        if (heap_bytes() > before) return twin.fn;
    }
    return c->fn;
}

/* Answers a case. Under the sanitizers the heap may grow once in a function, for what it keeps; the
 * second time ends the program like a finding of theirs. */
static void answer_watched(const struct lab03_case *c, int64_t *slots) {
    static const char *const names[FN_N] = {
        "kernel_run_ns",        "kernel_time_ns",    "kernel_spread",       "effective_bandwidth",
        "arithmetic_intensity", "roofline_ridge",    "roofline_limit",      "kernel_bound",
        "roofline_time_ns",     "roofline_fraction", "kernel_time_verdict", "kernel_compare"};
    static int grown[FN_N];
    size_t before = heap_bytes();
    answer(c, slots);
    size_t after = heap_bytes();
    if (after <= before || grown[c->fn]++ == 0) return;
    enum lab03_fn fn = culprit(c);
    fprintf(stderr,
            "runtime error: %s in %s.c, or a function that it calls, doesn't give back what it "
            "allocates: %zu bytes a call\n",
            names[fn], fn == FN_COMPARE ? "kernel_compare" : "kernel_time", after - before);
    _exit(86); /* as ASAN_OPTIONS exitcode */
}

/* Each case is asked again when others have been between, in every check: what a function does
 * with data must not depend on when it sees them. */
int child_answer(const void *bytes, size_t n, int64_t *slots, size_t cap) {
    enum { OLD = 8 };
    static struct lab03_case c, old[OLD];
    static unsigned asked;
    static int64_t first[OLD][CASE_COMPARE_SLOTS], again[CASE_COMPARE_SLOTS];
    struct wire w = wire_reader(bytes, n);
    if (lab03_case_codec(&w, &c) || lab03_case_slots(&c) > cap) return -1;
    size_t n_slots = lab03_case_slots(&c), at = asked++ % OLD;
    answer_watched(&c, slots);
    if (asked > OLD) {
        size_t n_old = lab03_case_slots(&old[at]);
        answer_watched(&old[at], again);
        if (memcmp(again, first[at], n_old * sizeof *again) != 0) {
            fprintf(stderr, "the same data have another answer when they are asked again\n");
            abort();
        }
    }
    old[at] = c;
    memcpy(first[at], slots, n_slots * sizeof *slots);
    return (int)n_slots;
}
