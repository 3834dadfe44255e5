/* oracle.c: see oracle.h. */
#include "lab03/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t oracle_run_ns(const struct kernel_run *r) {
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

/* The times that say something, in rising order; returns how many. */
static size_t oracle_times(const struct kernel_run *runs, size_t n, int64_t *sorted) {
    size_t said = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t ns = oracle_run_ns(&runs[i]);
        if (ns >= 0) sorted[said++] = ns;
    }
    qsort(sorted, said, sizeof *sorted, rising);
    return said;
}

struct timing {
    int64_t median; /* -1: none */
    double spread;  /* NaN: none */
};

static struct timing timing_of(const struct question *q) {
    int64_t sorted[QUESTION_MAX_RUNS];
    size_t n = oracle_times(q->runs, q->n_runs, sorted);
    if (n == 0) return (struct timing){-1, NAN};
    int64_t median = sorted[(n - 1) / 2];
    return (struct timing){median, (double)(sorted[n - 1] - sorted[0]) / (double)median};
}

static double least_time(const struct question *q) {
    double move = (double)q->bytes * 1e9 / q->card.bytes_per_s;
    double compute = (double)q->operations * 1e9 / q->card.operations_per_s;
    return move > compute ? move : compute;
}

static enum kernel_verdict verdict_of(const struct question *q) {
    struct timing t = timing_of(q);
    if (t.median < 0) return KERNEL_TIME_ABSENT;
    if (t.median == 0 || least_time(q) / (double)t.median > 1.05) return KERNEL_NOT_PHYSICAL;
    return t.spread > 0.10 ? KERNEL_TOO_NOISY : KERNEL_TIMED;
}

static struct kernel_comparison comparison_of(const struct question *q) {
    struct kernel_comparison none = {COMPARE_NO_ANSWER, 0, 0}, c = {COMPARE_WRONG, 0, 0};
    double magnitude = 0, most = 0;
    for (size_t i = 0; i < q->n_values; i++) {
        if (!isfinite(q->want[i])) return none;
        if (fabs(q->want[i]) > magnitude) magnitude = fabs(q->want[i]);
    }
    if (magnitude == 0) return none;
    for (size_t i = 0; i < q->n_values; i++)
        if (!isfinite(q->got[i])) return (struct kernel_comparison){COMPARE_NOT_FINITE, i, 0};
    for (size_t i = 0; i < q->n_values; i++) {
        double off = fabs((double)q->got[i] - q->want[i]);
        if (off > most) {
            most = off;
            c.worst = i;
        }
    }
    c.error = most / magnitude;
    if (c.error <= q->tolerance) c.verdict = COMPARE_RIGHT;
    return c;
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

static void want_comparison(const struct question *q, struct want *wants) {
    static const char *const names[] = {"RIGHT", "WRONG", "NOT_FINITE", "NO_ANSWER"};
    struct kernel_comparison c = comparison_of(q);
    want_name(&wants[0], "verdict", (int)c.verdict, names, 4);
    want_int(&wants[1], "worst", (int64_t)c.worst);
    want_real(&wants[2], "error", c.error);
}

void lab03_wants(const struct question *q, struct want *w) {
    static const char *const bounds[] = {"MEMORY", "COMPUTE"};
    static const char *const verdicts[] = {"TIMED", "TIME_ABSENT", "NOT_PHYSICAL", "TOO_NOISY"};
    double bytes = (double)q->bytes, operations = (double)q->operations;
    double ridge = q->card.operations_per_s / q->card.bytes_per_s;
    double reach = q->intensity * q->card.bytes_per_s;
    switch (q->kind) {
    case Q_RUN:
        want_ns(w, "time", oracle_run_ns(&q->runs[0]));
        break;
    case Q_TIME:
        want_ns(w, "median", timing_of(q).median);
        break;
    case Q_SPREAD:
        want_real(w, "spread", timing_of(q).spread);
        break;
    case Q_BANDWIDTH:
        want_real(w, "bytes_per_s",
                  q->time_ns > 0 && q->bytes >= 0 ? bytes * 1e9 / (double)q->time_ns : NAN);
        break;
    case Q_INTENSITY:
        want_real(w, "operations_per_byte",
                  q->bytes > 0 && q->operations >= 0 ? operations / bytes : NAN);
        break;
    case Q_RIDGE:
        want_real(w, "operations_per_byte", ridge);
        break;
    case Q_LIMIT:
        want_real(w, "operations_per_s",
                  reach < q->card.operations_per_s ? reach : q->card.operations_per_s);
        break;
    case Q_BOUND:
        want_name(w, "bound", q->intensity < ridge ? KERNEL_BOUND_MEMORY : KERNEL_BOUND_COMPUTE,
                  bounds, 2);
        break;
    case Q_LEAST:
        want_real(w, "ns", least_time(q));
        break;
    case Q_FRACTION:
        want_real(w, "fraction", q->time_ns > 0 ? least_time(q) / (double)q->time_ns : NAN);
        break;
    case Q_VERDICT:
        want_name(w, "verdict", (int)verdict_of(q), verdicts, 4);
        break;
    case Q_COMPARE:
        want_comparison(q, w);
        break;
    case Q_N:
        break;
    }
}
