/* describe.c: a question in words, for someone who reruns it with a practice seed. See lab03.h. */
#include "lab03/lab03.h"
#include "lab03/questions.h"

#include "text.h"

#define SAY(...) text_append(out, cap, __VA_ARGS__)

static void say_runs(const struct question *q, char *out, size_t cap) {
    enum { SHOWN = 12 };
    for (size_t i = 0; i < q->n_runs && i < SHOWN; i++) {
        const struct kernel_run *r = &q->runs[i];
        SAY("\n  start %lld%s, end %lld%s, launches %d%s", (long long)r->start_ns,
            r->start_clock == KERNEL_CLOCK_HOST ? " (host)" : "", (long long)r->end_ns,
            r->end_clock == KERNEL_CLOCK_HOST ? " (host)" : "", (int)r->launches,
            r->warm_up ? ", warm-up" : "");
    }
    if (q->n_runs > SHOWN) SAY("\n  and %zu more", q->n_runs - SHOWN);
}

static void say_values(const struct question *q, char *out, size_t cap) {
    enum { SHOWN = 10 };
    SAY("tolerance %g, n %zu", q->tolerance, q->n_values);
    for (size_t i = 0; i < q->n_values && i < SHOWN; i++)
        SAY("\n  got %.9g, want %.17g", (double)q->got[i], q->want[i]);
    if (q->n_values > SHOWN) SAY("\n  and %zu more", q->n_values - SHOWN);
}

void lab03_describe(const struct question *q, char *out, size_t cap) {
    out[0] = '\0';
    if (q->kind == Q_COMPARE) {
        say_values(q, out, cap);
        return;
    }
    bool works = q->kind == Q_BANDWIDTH || q->kind == Q_INTENSITY || q->kind >= Q_LEAST;
    if (works) SAY("bytes %lld, operations %lld", (long long)q->bytes, (long long)q->operations);
    if (q->kind == Q_BANDWIDTH || q->kind == Q_FRACTION)
        SAY(", time %lld ns", (long long)q->time_ns);
    if (q->kind == Q_LIMIT || q->kind == Q_BOUND) SAY("intensity %.17g", q->intensity);
    if (q->kind >= Q_RIDGE)
        SAY("%scard: %.17g bytes/s, %.17g operations/s", out[0] ? ", " : "", q->card.bytes_per_s,
            q->card.operations_per_s);
    say_runs(q, out, cap);
}
