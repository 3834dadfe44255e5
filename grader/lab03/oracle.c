/* oracle.c: see oracle.h. */
#include "lab03/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t lab03_oracle_run_ns(const struct kernel_run *r) {
    bool gpu = r->start_clock == KERNEL_CLOCK_GPU && r->end_clock == KERNEL_CLOCK_GPU;
    bool stamped = r->start_ns != -1 && r->end_ns != -1;
    if (r->warm_up || !gpu || !stamped || r->launches < 1 || r->end_ns <= r->start_ns) return -1;
    /* nearest, halves up: floor((2 ns + launches) / (2 launches)) */
    __int128 twice = 2 * (__int128)(r->end_ns - r->start_ns) + r->launches;
    return (int64_t)(twice / (2 * (__int128)r->launches));
}

static int rising(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The valid times in rising order; returns how many. */
static size_t oracle_times(const struct kernel_run *runs, size_t n, int64_t *sorted) {
    size_t valid = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t ns = lab03_oracle_run_ns(&runs[i]);
        if (ns >= 0) sorted[valid++] = ns;
    }
    qsort(sorted, valid, sizeof *sorted, rising);
    return valid;
}

struct timing {
    int64_t median; /* -1: none */
    double spread;  /* NaN: none */
};

static struct timing timing_of(const struct lab03_case *c) {
    int64_t sorted[CASE_MAX_RUNS];
    size_t n = oracle_times(c->runs, c->n_runs, sorted);
    if (n == 0) return (struct timing){-1, NAN};
    int64_t median = sorted[(n - 1) / 2];
    return (struct timing){median, (double)(sorted[n - 1] - sorted[0]) / (double)median};
}

static double least_time(const struct lab03_case *c) {
    double move = (double)c->bytes * 1e9 / c->card.bytes_per_s;
    double compute = (double)c->operations * 1e9 / c->card.operations_per_s;
    return move > compute ? move : compute;
}

static enum kernel_verdict verdict_of(const struct lab03_case *c) {
    struct timing t = timing_of(c);
    if (t.median < 0) return KERNEL_TIME_ABSENT;
    if (t.median == 0 || least_time(c) / (double)t.median > 1.05) return KERNEL_NOT_PHYSICAL;
    return t.spread > 0.10 ? KERNEL_TOO_NOISY : KERNEL_TIMED;
}

static struct kernel_comparison comparison_of(const struct lab03_case *c) {
    struct kernel_comparison none = {COMPARE_NO_ANSWER, 0, 0}, found = {COMPARE_WRONG, 0, 0};
    double magnitude = 0, most = 0;
    for (size_t i = 0; i < c->n_values; i++) {
        if (!isfinite(c->want[i])) return none;
        if (fabs(c->want[i]) > magnitude) magnitude = fabs(c->want[i]);
    }
    if (magnitude == 0) return none;
    for (size_t i = 0; i < c->n_values; i++)
        if (!isfinite(c->got[i])) return (struct kernel_comparison){COMPARE_NOT_FINITE, i, 0};
    for (size_t i = 0; i < c->n_values; i++) {
        double off = fabs((double)c->got[i] - c->want[i]);
        if (off > most) {
            most = off;
            found.worst = i;
        }
    }
    found.error = most / magnitude;
    if (found.error <= c->tolerance) found.verdict = COMPARE_RIGHT;
    return found;
}

/* ---- wants ----------------------------------------------------------------------------------- */

static void want_int(struct want *w, const char *name, int64_t value) {
    *w = (struct want){.name = name, .kind = SLOT_INT, .value = value, .care = true};
}

static void want_ns(struct want *w, const char *name, int64_t ns) {
    want_int(w, name, ns);
    w->is_ns = ns >= 0;
}

static void want_real(struct want *w, const char *name, double d) {
    *w = (struct want){.name = name, .kind = isnan(d) ? SLOT_NAN : SLOT_REAL, .care = true};
    memcpy(&w->value, &d, sizeof w->value);
}

static void want_name(struct want *w, const char *name, int value, const char *const *names,
                      int n) {
    want_int(w, name, value);
    w->names = names;
    w->n_names = n;
}

static void want_comparison(const struct lab03_case *c, struct want *wants) {
    static const char *const names[] = {"RIGHT", "WRONG", "NOT_FINITE", "NO_ANSWER"};
    struct kernel_comparison found = comparison_of(c);
    want_name(&wants[0], "verdict", (int)found.verdict, names, 4);
    want_int(&wants[1], "worst", (int64_t)found.worst);
    want_real(&wants[2], "error", found.error);
}

void lab03_oracle(const struct lab03_case *c, struct want *w) {
    static const char *const bounds[] = {"MEMORY", "COMPUTE"};
    static const char *const verdicts[] = {"TIMED", "TIME_ABSENT", "NOT_PHYSICAL", "TOO_NOISY"};
    double bytes = (double)c->bytes, operations = (double)c->operations;
    double ridge = c->card.operations_per_s / c->card.bytes_per_s;
    double reach = c->intensity * c->card.bytes_per_s;
    switch (c->fn) {
    case FN_RUN:
        want_ns(w, "time", lab03_oracle_run_ns(&c->runs[0]));
        break;
    case FN_TIME:
        want_ns(w, "median", timing_of(c).median);
        break;
    case FN_SPREAD:
        want_real(w, "spread", timing_of(c).spread);
        break;
    case FN_BANDWIDTH:
        want_real(w, "bytes_per_s",
                  c->time_ns > 0 && c->bytes >= 0 ? bytes * 1e9 / (double)c->time_ns : NAN);
        break;
    case FN_INTENSITY:
        want_real(w, "operations_per_byte",
                  c->bytes > 0 && c->operations >= 0 ? operations / bytes : NAN);
        break;
    case FN_RIDGE:
        want_real(w, "operations_per_byte", ridge);
        break;
    case FN_LIMIT:
        want_real(w, "operations_per_s",
                  reach < c->card.operations_per_s ? reach : c->card.operations_per_s);
        break;
    case FN_BOUND:
        want_name(w, "bound", c->intensity < ridge ? KERNEL_BOUND_MEMORY : KERNEL_BOUND_COMPUTE,
                  bounds, 2);
        break;
    case FN_LEAST:
        want_real(w, "ns", least_time(c));
        break;
    case FN_FRACTION:
        want_real(w, "fraction", c->time_ns > 0 ? least_time(c) / (double)c->time_ns : NAN);
        break;
    case FN_VERDICT:
        want_name(w, "verdict", (int)verdict_of(c), verdicts, 4);
        break;
    case FN_COMPARE:
        want_comparison(c, w);
        break;
    case FN_N:
        break;
    }
}
