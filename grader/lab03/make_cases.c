/* make_cases.c: questions to lab 03's C functions. The first ones of each kind are the edges.
 * Whatever is drawn keeps clear of values at which a last bit would decide (except where the
 * header says what happens exactly there, and the numbers are exact).
 */
#include "lab03/lab03.h"
#include "lab03/cases.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct lab03_making {
    struct rng *rng;
    int k;
    struct lab03_case *c;
    char *kind;
    size_t cap;
    size_t top; /* where the greatest of the values stands */
};

static int64_t between(struct lab03_making *a, int64_t lo, int64_t hi) {
    return lo + (int64_t)rng_below(a->rng, (uint64_t)(hi - lo + 1));
}

static void say(struct lab03_making *a, const char *text) {
    snprintf(a->kind, a->cap, "%s", text);
}

/* ---- timings ----------------------------------------------------------------------------------
 */

static struct kernel_run plain_run(struct lab03_making *a, int64_t each_ns, int32_t launches) {
    int64_t start = between(a, 0, 1000000000);
    return (struct kernel_run){start,
                               start + each_ns * launches + between(a, 0, launches / 2),
                               KERNEL_CLOCK_GPU,
                               KERNEL_CLOCK_GPU,
                               launches,
                               false};
}

static void ask_run(struct lab03_making *a) {
    int32_t launches = (int32_t)(a->k < 3 ? 1 + a->k : between(a, 1, 100));
    struct kernel_run r = plain_run(a, between(a, 1, 400000), launches);
    say(a, "one repetition");
    if (a->k == 1 || a->k == 3) { /* exactly a half: up */
        r.launches = 2 * (int32_t)between(a, 1, 20);
        r.end_ns = r.start_ns + between(a, 5, 900) * r.launches + r.launches / 2;
        say(a, "a half nanosecond, which is rounded up");
    }
    if (a->k == 2) {
        r.launches = 1000;
        r.end_ns = r.start_ns + 400;
        say(a, "launches of less than half a nanosecond each");
    }
    if (a->k == 4) {
        r.start_ns = 0;
        say(a, "a start at 0, which is a stamp like any other");
    }
    a->c->runs[0] = r;
}

/* What makes a repetition say nothing. */
enum { FLAWS = 9 };
static const char *spoil(struct lab03_making *a, struct kernel_run *r, int flaw) {
    switch (flaw) {
    case 0:
        r->warm_up = true;
        return "a warm-up";
    case 1:
        r->start_clock = KERNEL_CLOCK_HOST;
        return "a start by the host's clock";
    case 2:
        r->end_clock = KERNEL_CLOCK_HOST;
        return "an end by the host's clock";
    case 3:
        r->start_ns = -1;
        return "an event that was never reached";
    case 4:
        r->end_ns = -1;
        return "an event that was never reached";
    case 5:
        r->launches = 0;
        return "no launch between the stamps";
    case 6:
        r->end_ns = r->start_ns;
        return "an end at the start";
    case 7:
        r->end_ns = r->start_ns - between(a, 1, 1000);
        if (r->end_ns < 0) r->end_ns = 0, r->start_ns = 5;
        return "an end before the start";
    default:
        r->launches = -(int32_t)between(a, 1, 9);
        return "a negative number of launches";
    }
}

static void ask_not_timed(struct lab03_making *a) {
    struct kernel_run *r = &a->c->runs[0];
    ask_run(a);
    *r = plain_run(a, between(a, 1, 400000), (int32_t)between(a, 1, 50));
    say(a, spoil(a, r, a->k % FLAWS));
    if (a->k >= 2 * FLAWS) { /* and some that do say something */
        *r = plain_run(a, between(a, 1, 400000), (int32_t)between(a, 1, 50));
        say(a, "a repetition that says something");
    }
}

/* Less than half a nanosecond a launch: a time of 0, which is a time. */
static struct kernel_run no_time(struct lab03_making *a) {
    int64_t start = between(a, 0, 1000);
    return (struct kernel_run){start, start + 400, KERNEL_CLOCK_GPU, KERNEL_CLOCK_GPU, 1000, false};
}

static void fill_runs(struct lab03_making *a, size_t n, double width) {
    int64_t base = between(a, 2000, 400000);
    a->c->n_runs = n;
    for (size_t i = 0; i < n; i++)
        a->c->runs[i] = plain_run(a, base + (int64_t)((double)base * width * rng_unit(a->rng)), 10);
}

static void ask_median(struct lab03_making *a) {
    static const size_t counts[] = {1, 2, 3, 4, 5, 0, 6, 7};
    size_t n = a->k < 8 ? counts[a->k] : (size_t)between(a, 8, 200);
    if (a->k == 9) n = CASE_MAX_RUNS;
    fill_runs(a, n, 0.6);
    snprintf(a->kind, a->cap, "%s number of repetitions",
             n == 0  ? "no"
             : n % 2 ? "an odd"
                     : "an even");
    if (a->k % 5 == 4 && n > 2) {
        for (size_t i = 0; i < n; i += 2) a->c->runs[i] = a->c->runs[0];
        say(a, "repetitions that took equally long");
    }
    if (a->k == 10 || a->k == 11) {
        for (size_t i = 0; i < n * (size_t)(a->k - 9) / 3; i++) a->c->runs[i] = no_time(a);
        say(a, "launches of less than half a nanosecond");
    }
}

static void ask_mixed(struct lab03_making *a) {
    fill_runs(a, (size_t)between(a, 5, 30), 0.5);
    for (size_t i = 0; i < a->c->n_runs; i++)
        if (a->k == 0 || rng_below(a->rng, 3) > 0) {
            /* what doesn't count is far off, so that counting it shows */
            struct kernel_run *r = &a->c->runs[i];
            r->end_ns = r->start_ns + (r->end_ns - r->start_ns) * (i % 2 ? 7 : 1) / (i % 2 ? 1 : 5);
            spoil(a, r, (int)rng_below(a->rng, FLAWS));
        }
    say(a, a->k == 0 ? "no repetition that says anything"
                     : "repetitions that say nothing among others");
}

/* Spreads stay clear of 0.10 by a hundredth of it. */
static void set_spread(struct lab03_making *a, double spread) {
    struct lab03_case *c = a->c;
    int64_t base = 100000;
    c->n_runs = 2 * (size_t)between(a, 2, 12) + 1;
    for (size_t i = 0; i < c->n_runs; i++) c->runs[i] = plain_run(a, base, 1);
    for (size_t i = 0; i < c->n_runs; i++) c->runs[i].end_ns = c->runs[i].start_ns + base;
    c->runs[(size_t)between(a, 0, (int64_t)c->n_runs - 1)].end_ns +=
        (int64_t)(spread * (double)base);
}

static void ask_spread(struct lab03_making *a) {
    fill_runs(a, a->k < 3 ? (size_t)a->k : (size_t)between(a, 3, 60), 0.02 * (double)(a->k + 1));
    say(a, a->c->n_runs == 0   ? "no repetition"
           : a->c->n_runs == 1 ? "one repetition"
                               : "several repetitions");
    if (a->k % 4 == 3) {
        struct kernel_run *r = &a->c->runs[between(a, 0, (int64_t)a->c->n_runs - 1)];
        r->end_ns = r->start_ns + 90000000;
        r->warm_up = true;
        say(a, "a slow warm-up among others");
    }
    if (a->k % 4 == 1 && a->k > 4) {
        a->c->runs[a->k % 8 == 1 ? 0 : a->c->n_runs - 1] = no_time(a);
        say(a, "a time of 0 among others");
    }
}

/* ---- the roofline ------------------------------------------------------------------------------
 */

/* Data sheets' sizes: an A100, an H100, a laptop's card, one with odd numbers. */
static void some_card(struct lab03_making *a) {
    static const struct kernel_card cards[] = {
        {1.555e12, 19.5e12}, {3.35e12, 67e12}, {2.56e11, 8.9e12}, {0.9e12, 312e12}};
    a->c->card = cards[between(a, 0, 3)];
    a->c->card.bytes_per_s *= 0.7 + 0.3 * rng_unit(a->rng);
}

static void some_work(struct lab03_making *a) {
    static const double intensities[] = {0, 0.08, 0.25, 1, 4, 12, 40, 200, 1000};
    a->c->bytes = between(a, 1000, 2000000000);
    a->c->operations = (int64_t)((double)a->c->bytes * intensities[(a->k + between(a, 0, 1)) % 9] *
                                 (0.9 + 0.2 * rng_unit(a->rng)));
    a->c->time_ns = between(a, 500, 9000000);
}

static void ask_bandwidth(struct lab03_making *a) {
    some_work(a);
    say(a, "bytes and a time");
    if (a->k == 0) a->c->bytes = 0, say(a, "nothing moved");
    if (a->k == 1) a->c->time_ns = 0, say(a, "no time");
    if (a->k == 2) a->c->time_ns = -1, say(a, "a time that is absent");
    if (a->k == 3) a->c->bytes = -5, say(a, "negative bytes");
    if (a->k == 4) a->c->bytes = INT64_C(9000000000000), a->c->time_ns = INT64_C(4000000000);
    if (a->k == 5) a->c->time_ns = 1, say(a, "a nanosecond");
}

static void ask_intensity(struct lab03_making *a) {
    some_work(a);
    say(a, "operations and bytes");
    if (a->k == 0) a->c->bytes = 0, say(a, "no bytes");
    if (a->k == 1) a->c->operations = 0, say(a, "a copy: no operations");
    if (a->k == 2) a->c->operations = -1, say(a, "negative operations");
    if (a->k == 3) a->c->bytes = -8, say(a, "negative bytes");
    if (a->k == 4) a->c->bytes = 1, say(a, "one byte");
}

static void ask_at_intensity(struct lab03_making *a) {
    static const double of_ridge[] = {0.5, 2, 0.99, 1.01, 0.01, 100};
    some_card(a);
    double ridge = a->c->card.operations_per_s / a->c->card.bytes_per_s;
    a->c->intensity =
        ridge * of_ridge[a->k % 6] * (0.995 + 0.01 * rng_unit(a->rng) * (a->k % 6 > 3));
    say(a, a->k % 2 ? "beyond the ridge" : "before the ridge");
    if (a->k % 7 == 6) { /* exact in binary: the ridge itself */
        a->c->card = (struct kernel_card){(double)(INT64_C(1) << between(a, 36, 41)), 0};
        a->c->intensity = (double)(INT64_C(1) << between(a, 0, 7)) * 1.5;
        a->c->card.operations_per_s = a->c->intensity * a->c->card.bytes_per_s;
        say(a, "the ridge itself");
    }
}

static void ask_work_on_card(struct lab03_making *a) {
    some_card(a);
    some_work(a);
    say(a, a->c->operations > 0 ? "bytes, operations and a card" : "a copy on a card");
    if (a->k == 2) a->c->operations = 0, say(a, "a copy on a card");
    if (a->k == 3)
        a->c->bytes = 4, a->c->operations = INT64_C(8000000000000), say(a, "much computing");
    if (a->c->fn == FN_FRACTION && a->k == 4) a->c->time_ns = 1, say(a, "a nanosecond");
    if (a->c->fn == FN_FRACTION && a->k == 0) a->c->time_ns = 0, say(a, "no time");
    if (a->c->fn == FN_FRACTION && a->k == 1) a->c->time_ns = -1, say(a, "a time that is absent");
}

/* Around each limit of the verdict, and where two of its conditions hold at once. */
static void ask_verdict(struct lab03_making *a) {
    static const double fractions[] = {0.5, 1.02, 1.08, 0.9, 3, 0.04};
    static const double spreads[] = {0.02, 0.08, 0.12, 0.5};
    double fraction = fractions[a->k % 6], spread = spreads[a->k / 6 % 4];
    some_card(a);
    set_spread(a, spread);
    double ns = 100000 * fraction;
    a->c->bytes = (int64_t)(a->c->card.bytes_per_s * ns * 1e-9);
    a->c->operations = (int64_t)(0.6 * a->c->card.operations_per_s * ns * 1e-9);
    if (a->k % 3 == 1) { /* held back by operations instead */
        a->c->operations = (int64_t)(a->c->card.operations_per_s * ns * 1e-9);
        a->c->bytes /= 3;
    }
    snprintf(a->kind, a->cap, "%s and %s", fraction > 1.05 ? "faster than the card" : "possible",
             spread > 0.1 ? "noisy" : "quiet");
    if (a->k == 24) {
        for (size_t i = 0; i < a->c->n_runs; i++) a->c->runs[i].warm_up = true;
        say(a, "warm-ups only");
    }
    if (a->k == 25) {
        a->c->n_runs = 0;
        say(a, "no repetition");
    }
    if (a->k == 26) {
        for (size_t i = 0; i < a->c->n_runs; i++) a->c->runs[i] = no_time(a);
        say(a, "launches of less than half a nanosecond");
    }
    if (a->k == 27) {
        set_spread(a, 0.10);
        a->c->bytes = a->c->operations = 1000;
        say(a, "a spread of exactly 0.10");
    }
}

/* ---- the comparator ----------------------------------------------------------------------------
 */

static void fill_values(struct lab03_making *a, size_t n, double magnitude) {
    a->c->n_values = n;
    for (size_t i = 0; i < n; i++) {
        double v = magnitude * (2 * rng_unit(a->rng) - 1);
        a->c->got[i] = (float)v;
        a->c->want[i] = (double)a->c->got[i];
    }
    a->top = a->k % 3 == 0 ? 0 : a->k % 3 == 1 ? n - 1 : n / 2;
    a->c->got[a->top] = (float)magnitude; /* the magnitude itself is among them */
    a->c->want[a->top] = (double)a->c->got[a->top];
    a->c->tolerance = 1e-4;
}

static double some_magnitude(struct lab03_making *a) {
    static const double sizes[] = {1, 1e-6, 300, 1e5, 0.02};
    return sizes[a->k % 5] * (1 + rng_unit(a->rng));
}

/* Moves one wanted value so that the error is `error` of the magnitude, exactly enough. */
static size_t put_off(struct lab03_making *a, double error) {
    struct lab03_case *c = a->c;
    size_t at = (size_t)between(a, 0, (int64_t)c->n_values - 1);
    double magnitude = fabs(c->want[a->top]);
    if (at == a->top) at = at ? at - 1 : c->n_values - 1;
    if (c->n_values > 1) c->want[at] += (c->want[at] > 0 ? -1 : 1) * error * magnitude;
    return at;
}

static void ask_tolerance(struct lab03_making *a) {
    static const double of_tolerance[] = {0, 0.5, 0.98, 1.02, 2, 100};
    size_t n = a->k < 3 ? 2 + (size_t)a->k : (size_t)between(a, 5, CASE_MAX_VALUES);
    fill_values(a, n, some_magnitude(a));
    double of = of_tolerance[a->k % 6];
    put_off(a, of * a->c->tolerance);
    say(a, of > 1 ? "an error above the tolerance" : "an error within the tolerance");
    if (a->k % 6 == 4) { /* one small value, far off by its own size, near by the magnitude's */
        fill_values(a, n, some_magnitude(a));
        size_t at = a->top ? 0 : n - 1;
        a->c->want[at] = 1e-7 * fabs(a->c->want[a->top]);
        a->c->got[at] = 0;
        say(a, "a small value among large ones");
    }
    if (a->k % 6 == 0) { /* exact in binary: the tolerance itself */
        a->c->n_values = 3;
        for (size_t i = 0; i < 3; i++) a->c->got[i] = 0, a->c->want[i] = 0;
        a->c->got[1] = 2, a->c->want[1] = 2;
        a->c->tolerance = 0.0009765625;
        a->c->got[2] = 0.001953125f;
        say(a, "an error of exactly the tolerance");
    }
}

static void ask_worst(struct lab03_making *a) {
    fill_values(a, (size_t)between(a, 8, 600), some_magnitude(a));
    for (int i = 0; i < 5; i++) put_off(a, 1e-5 * (double)(1 << i));
    say(a, "errors at several places");
    if (a->k % 3 == 1) { /* a tie: 1 off, twice */
        a->c->n_values = 9;
        for (size_t i = 0; i < 9; i++) a->c->got[i] = (float)i, a->c->want[i] = (double)i;
        a->c->want[2] += 1, a->c->want[(size_t)between(a, 3, 8)] -= 1;
        say(a, "two errors of the same size");
    }
    if (a->k % 3 == 2) {
        size_t n = a->c->n_values;
        a->c->got[n - 1] = (float)(a->c->want[n - 1] + fabs(a->c->want[a->top]) * 0.3);
        say(a, "the last value off");
    }
    if (a->k == 0) {
        fill_values(a, 7, 1);
        say(a, "nothing off");
    }
}

static float from_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void ask_finite(struct lab03_making *a) {
    static const uint32_t odd[] = {0x7fc00000, 0x7f800000, 0xff800000, 0xffc00001,
                                   0x7f800001, 0x7f7fffff, 0x00000001, 0x80000000};
    static const char *const words[] = {"a NaN",          "an infinity",       "minus infinity",
                                        "a negative NaN", "a signalling NaN",  "the largest float",
                                        "a denormal",     "a zero with a sign"};
    size_t n = (size_t)between(a, 3, 300), at = (size_t)between(a, 0, (int64_t)n - 1);
    fill_values(a, n, some_magnitude(a));
    a->c->got[at] = from_bits(odd[a->k % 8]);
    if (a->k % 8 >= 6) a->c->want[at] = 0;
    if (a->k % 8 < 5 && a->k >= 8) a->c->got[n - 1] = from_bits(0x7fc00000);
    if (a->k % 8 < 5 && a->k >= 16) a->c->want[at] = 0;
    say(a, words[a->k % 8]);
}

static void ask_zeros(struct lab03_making *a) {
    static const double sizes[] = {1e-3, 1e-5, 1e-8, 1e-20, 1, 1e-30};
    size_t n = (size_t)between(a, 1, 200);
    fill_values(a, n, sizes[a->k % 6]);
    bool zeros = a->k % 3 != 2;
    for (size_t i = 0; i < n && zeros; i++) a->c->got[i] = 0;
    say(a, zeros ? "zeros where small numbers are wanted" : "small numbers, and right");
}

static void ask_no_answer(struct lab03_making *a) {
    size_t n = (size_t)between(a, 2, 100);
    size_t at = a->k < 6 ? 0 : a->k < 12 ? n - 1 : (size_t)between(a, 0, (int64_t)n - 1);
    fill_values(a, n, 1);
    switch (a->k % 6) {
    case 0:
        a->c->n_values = 0;
        say(a, "no values");
        break;
    case 1:
        for (size_t i = 0; i < n; i++) a->c->got[i] = 0, a->c->want[i] = 0;
        say(a, "all wanted values are zero");
        break;
    case 2:
        a->c->want[at] = NAN;
        say(a, "a wanted value is NaN");
        break;
    case 3:
        a->c->want[at] = a->k % 2 ? INFINITY : -INFINITY;
        a->c->got[at] = (float)a->c->want[at];
        say(a, "a wanted value is infinite");
        break;
    case 4:
        a->c->want[at] = INFINITY;
        a->c->got[at == 0] = from_bits(0x7fc00000);
        say(a, "neither is finite");
        break;
    default:
        for (size_t i = 0; i < n; i++) a->c->want[i] = -0.0;
        say(a, "all wanted values are zero, with a sign");
    }
}

/* ---- which -------------------------------------------------------------------------------------
 */

void lab03_make_case(struct rng *rng, enum lab03_maker which, int k, struct lab03_case *c,
                     char *kind, size_t cap) {
    static const struct {
        enum lab03_fn kind;
        void (*make)(struct lab03_making *a);
    } makers[MAKE_N] = {
        [MAKE_RUN] = {FN_RUN, ask_run},
        [MAKE_RUN_EMPTY] = {FN_RUN, ask_not_timed},
        [MAKE_TIME] = {FN_TIME, ask_median},
        [MAKE_TIME_FEW] = {FN_TIME, ask_mixed},
        [MAKE_SPREAD] = {FN_SPREAD, ask_spread},
        [MAKE_BANDWIDTH] = {FN_BANDWIDTH, ask_bandwidth},
        [MAKE_INTENSITY] = {FN_INTENSITY, ask_intensity},
        [MAKE_RIDGE] = {FN_RIDGE, some_card},
        [MAKE_LIMIT] = {FN_LIMIT, ask_at_intensity},
        [MAKE_BOUND] = {FN_BOUND, ask_at_intensity},
        [MAKE_LEAST_TIME] = {FN_LEAST, ask_work_on_card},
        [MAKE_FRACTION] = {FN_FRACTION, ask_work_on_card},
        [MAKE_VERDICT] = {FN_VERDICT, ask_verdict},
        [MAKE_COMPARE] = {FN_COMPARE, ask_tolerance},
        [MAKE_COMPARE_WORST] = {FN_COMPARE, ask_worst},
        [MAKE_COMPARE_FINITE] = {FN_COMPARE, ask_finite},
        [MAKE_COMPARE_ZEROS] = {FN_COMPARE, ask_zeros},
        [MAKE_COMPARE_NO_ANSWER] = {FN_COMPARE, ask_no_answer},
    };
    struct lab03_making a = {rng, k, c, kind, cap, 0};
    memset(c, 0, sizeof *c);
    c->fn = makers[which].kind;
    c->card = (struct kernel_card){1e12, 1e13};
    c->n_runs = c->fn == FN_RUN;
    say(&a, "a card");
    makers[which].make(&a);
    c->read_only = k % 2 == 1;
}
