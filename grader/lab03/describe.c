/* describe.c: a case as text, for a practice seed. See lab03.h. */
#include "lab03/cases.h"
#include "lab03/lab03.h"

#include "base/text.h"

#define SAY(...) text_append(out, cap, __VA_ARGS__)

static void say_runs(const struct lab03_case *c, char *out, size_t cap) {
    enum { SHOWN = 12 };
    for (size_t i = 0; i < c->n_runs && i < SHOWN; i++) {
        const struct kernel_run *r = &c->runs[i];
        SAY("\n  start %lld%s, end %lld%s, launches %d%s", (long long)r->start_ns,
            r->start_clock == KERNEL_CLOCK_HOST ? " (host)" : "", (long long)r->end_ns,
            r->end_clock == KERNEL_CLOCK_HOST ? " (host)" : "", (int)r->launches,
            r->warm_up ? ", warm-up" : "");
    }
    if (c->n_runs > SHOWN) SAY("\n  and %zu more", c->n_runs - SHOWN);
}

static void say_values(const struct lab03_case *c, char *out, size_t cap) {
    enum { SHOWN = 10 };
    SAY("tolerance %g, n %zu", c->tolerance, c->n_values);
    for (size_t i = 0; i < c->n_values && i < SHOWN; i++)
        SAY("\n  got %.9g, want %.17g", (double)c->got[i], c->want[i]);
    if (c->n_values > SHOWN) SAY("\n  and %zu more", c->n_values - SHOWN);
}

void lab03_describe(const struct lab03_case *c, char *out, size_t cap) {
    out[0] = '\0';
    if (c->fn == FN_COMPARE) {
        say_values(c, out, cap);
        return;
    }
    bool works = c->fn == FN_BANDWIDTH || c->fn == FN_INTENSITY || c->fn >= FN_LEAST;
    if (works) SAY("bytes %lld, operations %lld", (long long)c->bytes, (long long)c->operations);
    if (c->fn == FN_BANDWIDTH || c->fn == FN_FRACTION) SAY(", time %lld ns", (long long)c->time_ns);
    if (c->fn == FN_LIMIT || c->fn == FN_BOUND) SAY("intensity %.17g", c->intensity);
    if (c->fn >= FN_RIDGE)
        SAY("%scard: %.17g bytes/s, %.17g operations/s", out[0] ? ", " : "", c->card.bytes_per_s,
            c->card.operations_per_s);
    if (c->n_runs > 0) SAY("%sruns:", out[0] ? ", " : "");
    say_runs(c, out, cap);
}
