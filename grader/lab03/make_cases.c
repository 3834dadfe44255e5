/* make_cases.c: cases for lab 03's C functions. The first ones of each kind are the edges. Values
 * at which the last bit would decide are avoided, except where the header defines the result
 * exactly there and the numbers are exact. */
#include "lab03/cases.h"
#include "lab03/lab03.h"

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
    size_t top; /* index of the greatest value */
};

static int64_t between(struct lab03_making *m, int64_t lo, int64_t hi) {
    return lo + (int64_t)rng_below(m->rng, (uint64_t)(hi - lo + 1));
}

static void say(struct lab03_making *m, const char *text) {
    snprintf(m->kind, m->cap, "%s", text);
}

/* ---- timings ----------------------------------------------------------------------------------
 */

static struct kernel_run plain_run(struct lab03_making *m, int64_t each_ns, int32_t launches) {
    int64_t start = between(m, 0, 1000000000);
    return (struct kernel_run){start,
                               start + each_ns * launches + between(m, 0, launches / 2),
                               KERNEL_CLOCK_GPU,
                               KERNEL_CLOCK_GPU,
                               launches,
                               false};
}

static void make_run(struct lab03_making *m) {
    int32_t launches = (int32_t)(m->k < 3 ? 1 + m->k : between(m, 1, 100));
    struct kernel_run r = plain_run(m, between(m, 1, 400000), launches);
    say(m, "one repetition");
    if (m->k == 1 || m->k == 3) { /* exactly a half: up */
        r.launches = 2 * (int32_t)between(m, 1, 20);
        r.end_ns = r.start_ns + between(m, 5, 900) * r.launches + r.launches / 2;
        say(m, "a half nanosecond, which is rounded up");
    }
    if (m->k == 2) {
        r.launches = 1000;
        r.end_ns = r.start_ns + 400;
        say(m, "launches of less than half a nanosecond each");
    }
    if (m->k == 4) {
        r.start_ns = 0;
        say(m, "a start at 0, which is a stamp like any other");
    }
    m->c->runs[0] = r;
}

/* Reasons why a repetition has no valid time. */
enum { FLAWS = 9 };
static const char *spoil(struct lab03_making *m, struct kernel_run *r, int flaw) {
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
        r->end_ns = r->start_ns - between(m, 1, 1000);
        if (r->end_ns < 0) r->end_ns = 0, r->start_ns = 5;
        return "an end before the start";
    default:
        r->launches = -(int32_t)between(m, 1, 9);
        return "a negative number of launches";
    }
}

static void make_not_timed(struct lab03_making *m) {
    struct kernel_run *r = &m->c->runs[0];
    make_run(m);
    *r = plain_run(m, between(m, 1, 400000), (int32_t)between(m, 1, 50));
    say(m, spoil(m, r, m->k % FLAWS));
    if (m->k >= 2 * FLAWS) { /* and some valid ones */
        *r = plain_run(m, between(m, 1, 400000), (int32_t)between(m, 1, 50));
        say(m, "a repetition that says something");
    }
}

/* Less than half a nanosecond for each launch: a time of 0, which is valid. */
static struct kernel_run no_time(struct lab03_making *m) {
    int64_t start = between(m, 0, 1000);
    return (struct kernel_run){start, start + 400, KERNEL_CLOCK_GPU, KERNEL_CLOCK_GPU, 1000, false};
}

static void fill_runs(struct lab03_making *m, size_t n, double width) {
    int64_t base = between(m, 2000, 400000);
    m->c->n_runs = n;
    for (size_t i = 0; i < n; i++)
        m->c->runs[i] = plain_run(m, base + (int64_t)((double)base * width * rng_unit(m->rng)), 10);
}

static void make_median(struct lab03_making *m) {
    static const size_t counts[] = {1, 2, 3, 4, 5, 0, 6, 7};
    size_t n = m->k < 8 ? counts[m->k] : (size_t)between(m, 8, 200);
    if (m->k == 9) n = CASE_MAX_RUNS;
    fill_runs(m, n, 0.6);
    snprintf(m->kind, m->cap, "%s number of repetitions",
             n == 0  ? "no"
             : n % 2 ? "an odd"
                     : "an even");
    if (m->k % 5 == 4 && n > 2) {
        for (size_t i = 0; i < n; i += 2) m->c->runs[i] = m->c->runs[0];
        say(m, "repetitions that took equally long");
    }
    if (m->k == 10 || m->k == 11) {
        for (size_t i = 0; i < n * (size_t)(m->k - 9) / 3; i++) m->c->runs[i] = no_time(m);
        say(m, "launches of less than half a nanosecond");
    }
}

static void make_mixed(struct lab03_making *m) {
    fill_runs(m, (size_t)between(m, 5, 30), 0.5);
    for (size_t i = 0; i < m->c->n_runs; i++)
        if (m->k == 0 || rng_below(m->rng, 3) > 0) {
            /* repetitions that don't count have very different times, so that counting them shows
             */
            struct kernel_run *r = &m->c->runs[i];
            r->end_ns = r->start_ns + (r->end_ns - r->start_ns) * (i % 2 ? 7 : 1) / (i % 2 ? 1 : 5);
            spoil(m, r, (int)rng_below(m->rng, FLAWS));
        }
    say(m, m->k == 0 ? "no repetition that says anything"
                     : "repetitions that say nothing among others");
}

/* Spreads differ from 0.10 by at least a hundredth of it. */
static void set_spread(struct lab03_making *m, double spread) {
    struct lab03_case *c = m->c;
    int64_t base = 100000;
    c->n_runs = 2 * (size_t)between(m, 2, 12) + 1;
    for (size_t i = 0; i < c->n_runs; i++) c->runs[i] = plain_run(m, base, 1);
    for (size_t i = 0; i < c->n_runs; i++) c->runs[i].end_ns = c->runs[i].start_ns + base;
    c->runs[(size_t)between(m, 0, (int64_t)c->n_runs - 1)].end_ns +=
        (int64_t)(spread * (double)base);
}

static void make_spread(struct lab03_making *m) {
    fill_runs(m, m->k < 3 ? (size_t)m->k : (size_t)between(m, 3, 60), 0.02 * (double)(m->k + 1));
    say(m, m->c->n_runs == 0   ? "no repetition"
           : m->c->n_runs == 1 ? "one repetition"
                               : "several repetitions");
    if (m->k % 4 == 3) {
        struct kernel_run *r = &m->c->runs[between(m, 0, (int64_t)m->c->n_runs - 1)];
        r->end_ns = r->start_ns + 90000000;
        r->warm_up = true;
        say(m, "a slow warm-up among others");
    }
    if (m->k % 4 == 1 && m->k > 4) {
        m->c->runs[m->k % 8 == 1 ? 0 : m->c->n_runs - 1] = no_time(m);
        say(m, "a time of 0 among others");
    }
}

/* ---- the roofline ------------------------------------------------------------------------------
 */

/* Data sheets' sizes: an A100, an H100, a laptop's card, one with odd numbers. */
static void some_card(struct lab03_making *m) {
    static const struct kernel_card cards[] = {
        {1.555e12, 19.5e12}, {3.35e12, 67e12}, {2.56e11, 8.9e12}, {0.9e12, 312e12}};
    m->c->card = cards[between(m, 0, 3)];
    m->c->card.bytes_per_s *= 0.7 + 0.3 * rng_unit(m->rng);
}

static void some_work(struct lab03_making *m) {
    static const double intensities[] = {0, 0.08, 0.25, 1, 4, 12, 40, 200, 1000};
    m->c->bytes = between(m, 1000, 2000000000);
    m->c->operations = (int64_t)((double)m->c->bytes * intensities[(m->k + between(m, 0, 1)) % 9] *
                                 (0.9 + 0.2 * rng_unit(m->rng)));
    m->c->time_ns = between(m, 500, 9000000);
}

static void make_bandwidth(struct lab03_making *m) {
    some_work(m);
    say(m, "bytes and a time");
    if (m->k == 0) m->c->bytes = 0, say(m, "nothing moved");
    if (m->k == 1) m->c->time_ns = 0, say(m, "no time");
    if (m->k == 2) m->c->time_ns = -1, say(m, "a time that is absent");
    if (m->k == 3) m->c->bytes = -5, say(m, "negative bytes");
    if (m->k == 4) m->c->bytes = INT64_C(9000000000000), m->c->time_ns = INT64_C(4000000000);
    if (m->k == 5) m->c->time_ns = 1, say(m, "a nanosecond");
}

static void make_intensity(struct lab03_making *m) {
    some_work(m);
    say(m, "operations and bytes");
    if (m->k == 0) m->c->bytes = 0, say(m, "no bytes");
    if (m->k == 1) m->c->operations = 0, say(m, "a copy: no operations");
    if (m->k == 2) m->c->operations = -1, say(m, "negative operations");
    if (m->k == 3) m->c->bytes = -8, say(m, "negative bytes");
    if (m->k == 4) m->c->bytes = 1, say(m, "one byte");
}

static void make_at_intensity(struct lab03_making *m) {
    static const double of_ridge[] = {0.5, 2, 0.99, 1.01, 0.01, 100};
    some_card(m);
    double ridge = m->c->card.operations_per_s / m->c->card.bytes_per_s;
    m->c->intensity =
        ridge * of_ridge[m->k % 6] * (0.995 + 0.01 * rng_unit(m->rng) * (m->k % 6 > 3));
    say(m, m->k % 2 ? "beyond the ridge" : "before the ridge");
    if (m->k % 7 == 6) { /* exact in binary: exactly at the ridge */
        m->c->card = (struct kernel_card){(double)(INT64_C(1) << between(m, 36, 41)), 0};
        m->c->intensity = (double)(INT64_C(1) << between(m, 0, 7)) * 1.5;
        m->c->card.operations_per_s = m->c->intensity * m->c->card.bytes_per_s;
        say(m, "the ridge itself");
    }
}

static void make_work_on_card(struct lab03_making *m) {
    some_card(m);
    some_work(m);
    say(m, m->c->operations > 0 ? "bytes, operations and a card" : "a copy on a card");
    if (m->k == 2) m->c->operations = 0, say(m, "a copy on a card");
    if (m->k == 3)
        m->c->bytes = 4, m->c->operations = INT64_C(8000000000000), say(m, "much computing");
    if (m->c->fn == FN_FRACTION && m->k == 4) m->c->time_ns = 1, say(m, "a nanosecond");
    if (m->c->fn == FN_FRACTION && m->k == 0) m->c->time_ns = 0, say(m, "no time");
    if (m->c->fn == FN_FRACTION && m->k == 1) m->c->time_ns = -1, say(m, "a time that is absent");
}

/* Around each limit of the verdict, and where two of its conditions hold at once. */
static void make_verdict(struct lab03_making *m) {
    static const double fractions[] = {0.5, 1.02, 1.08, 0.9, 3, 0.04};
    static const double spreads[] = {0.02, 0.08, 0.12, 0.5};
    double fraction = fractions[m->k % 6], spread = spreads[m->k / 6 % 4];
    some_card(m);
    set_spread(m, spread);
    double ns = 100000 * fraction;
    m->c->bytes = (int64_t)(m->c->card.bytes_per_s * ns * 1e-9);
    m->c->operations = (int64_t)(0.6 * m->c->card.operations_per_s * ns * 1e-9);
    if (m->k % 3 == 1) { /* limited by operations instead */
        m->c->operations = (int64_t)(m->c->card.operations_per_s * ns * 1e-9);
        m->c->bytes /= 3;
    }
    snprintf(m->kind, m->cap, "%s and %s", fraction > 1.05 ? "faster than the card" : "possible",
             spread > 0.1 ? "noisy" : "quiet");
    if (m->k == 24) {
        for (size_t i = 0; i < m->c->n_runs; i++) m->c->runs[i].warm_up = true;
        say(m, "warm-ups only");
    }
    if (m->k == 25) {
        m->c->n_runs = 0;
        say(m, "no repetition");
    }
    if (m->k == 26) {
        for (size_t i = 0; i < m->c->n_runs; i++) m->c->runs[i] = no_time(m);
        say(m, "launches of less than half a nanosecond");
    }
    if (m->k == 27) {
        set_spread(m, 0.10);
        m->c->bytes = m->c->operations = 1000;
        say(m, "a spread of exactly 0.10");
    }
}

/* ---- the comparator ----------------------------------------------------------------------------
 */

static void fill_values(struct lab03_making *m, size_t n, double magnitude) {
    m->c->n_values = n;
    for (size_t i = 0; i < n; i++) {
        double v = magnitude * (2 * rng_unit(m->rng) - 1);
        m->c->got[i] = (float)v;
        m->c->want[i] = (double)m->c->got[i];
    }
    m->top = m->k % 3 == 0 ? 0 : m->k % 3 == 1 ? n - 1 : n / 2;
    m->c->got[m->top] = (float)magnitude; /* the magnitude itself is one of the values */
    m->c->want[m->top] = (double)m->c->got[m->top];
    m->c->tolerance = 1e-4;
}

static double some_magnitude(struct lab03_making *m) {
    static const double sizes[] = {1, 1e-6, 300, 1e5, 0.02};
    return sizes[m->k % 5] * (1 + rng_unit(m->rng));
}

/* Moves one wanted value so that the error is exactly `error` of the magnitude. */
static size_t put_off(struct lab03_making *m, double error) {
    struct lab03_case *c = m->c;
    size_t at = (size_t)between(m, 0, (int64_t)c->n_values - 1);
    double magnitude = fabs(c->want[m->top]);
    if (at == m->top) at = at ? at - 1 : c->n_values - 1;
    if (c->n_values > 1) c->want[at] += (c->want[at] > 0 ? -1 : 1) * error * magnitude;
    return at;
}

static void make_tolerance(struct lab03_making *m) {
    static const double of_tolerance[] = {0, 0.5, 0.98, 1.02, 2, 100};
    size_t n = m->k < 3 ? 2 + (size_t)m->k : (size_t)between(m, 5, CASE_MAX_VALUES);
    fill_values(m, n, some_magnitude(m));
    double of = of_tolerance[m->k % 6];
    put_off(m, of * m->c->tolerance);
    say(m, of > 1 ? "an error above the tolerance" : "an error within the tolerance");
    if (m->k % 6 == 4) { /* one small value: a large error relative to itself, a small one relative
                            to the magnitude */
        fill_values(m, n, some_magnitude(m));
        size_t at = m->top ? 0 : n - 1;
        m->c->want[at] = 1e-7 * fabs(m->c->want[m->top]);
        m->c->got[at] = 0;
        say(m, "a small value among large ones");
    }
    if (m->k % 6 == 0) { /* exact in binary: exactly at the tolerance */
        m->c->n_values = 3;
        for (size_t i = 0; i < 3; i++) m->c->got[i] = 0, m->c->want[i] = 0;
        m->c->got[1] = 2, m->c->want[1] = 2;
        m->c->tolerance = 0.0009765625;
        m->c->got[2] = 0.001953125f;
        say(m, "an error of exactly the tolerance");
    }
}

static void make_worst(struct lab03_making *m) {
    fill_values(m, (size_t)between(m, 8, 600), some_magnitude(m));
    for (int i = 0; i < 5; i++) put_off(m, 1e-5 * (double)(1 << i));
    say(m, "errors at several places");
    if (m->k % 3 == 1) { /* a tie: two values off by 1 */
        m->c->n_values = 9;
        for (size_t i = 0; i < 9; i++) m->c->got[i] = (float)i, m->c->want[i] = (double)i;
        m->c->want[2] += 1, m->c->want[(size_t)between(m, 3, 8)] -= 1;
        say(m, "two errors of the same size");
    }
    if (m->k % 3 == 2) {
        size_t n = m->c->n_values;
        m->c->got[n - 1] = (float)(m->c->want[n - 1] + fabs(m->c->want[m->top]) * 0.3);
        say(m, "the last value off");
    }
    if (m->k == 0) {
        fill_values(m, 7, 1);
        say(m, "nothing off");
    }
}

static float from_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void make_finite(struct lab03_making *m) {
    static const uint32_t odd[] = {0x7fc00000, 0x7f800000, 0xff800000, 0xffc00001,
                                   0x7f800001, 0x7f7fffff, 0x00000001, 0x80000000};
    static const char *const words[] = {"a NaN",          "an infinity",       "minus infinity",
                                        "a negative NaN", "a signalling NaN",  "the largest float",
                                        "a denormal",     "a zero with a sign"};
    size_t n = (size_t)between(m, 3, 300), at = (size_t)between(m, 0, (int64_t)n - 1);
    fill_values(m, n, some_magnitude(m));
    m->c->got[at] = from_bits(odd[m->k % 8]);
    if (m->k % 8 >= 6) m->c->want[at] = 0;
    if (m->k % 8 < 5 && m->k >= 8) m->c->got[n - 1] = from_bits(0x7fc00000);
    if (m->k % 8 < 5 && m->k >= 16) m->c->want[at] = 0;
    say(m, words[m->k % 8]);
}

static void make_zeros(struct lab03_making *m) {
    static const double sizes[] = {1e-3, 1e-5, 1e-8, 1e-20, 1, 1e-30};
    size_t n = (size_t)between(m, 1, 200);
    fill_values(m, n, sizes[m->k % 6]);
    bool zeros = m->k % 3 != 2;
    for (size_t i = 0; i < n && zeros; i++) m->c->got[i] = 0;
    say(m, zeros ? "zeros where small numbers are wanted" : "small numbers, and right");
}

static void make_no_answer(struct lab03_making *m) {
    size_t n = (size_t)between(m, 2, 100);
    size_t at = m->k < 8 ? 0 : m->k < 16 ? n - 1 : (size_t)between(m, 0, (int64_t)n - 1);
    fill_values(m, n, 1);
    switch (m->k % 8) {
    case 0:
        m->c->n_values = 0;
        say(m, "no values");
        break;
    case 1:
        for (size_t i = 0; i < n; i++) m->c->got[i] = 0, m->c->want[i] = 0;
        say(m, "all wanted values are zero");
        break;
    case 2:
        m->c->want[at] = NAN;
        say(m, "a wanted value is NaN");
        break;
    case 3:
        m->c->want[at] = m->k / 8 % 2 ? INFINITY : -INFINITY;
        m->c->got[at] = (float)m->c->want[at];
        say(m, "a wanted value is infinite");
        break;
    case 4:
        m->c->want[at] = INFINITY;
        m->c->got[at == 0] = from_bits(0x7fc00000);
        say(m, "neither is finite");
        break;
    case 5: /* can decide */
        for (size_t i = 0; i < n; i++) m->c->got[i] = 0, m->c->want[i] = 0;
        m->c->want[at] = ldexp(1, -(int)between(m, 60, 90));
        m->c->got[n - 1 - at] = (float)ldexp(1, -(int)between(m, 60, 90));
        say(m, "one wanted value isn't zero");
        break;
    case 6: /* can decide */
        put_off(m, 1e-3 * (double)between(m, 1, 900));
        say(m, "wanted values that decide");
        break;
    default:
        for (size_t i = 0; i < n; i++) m->c->want[i] = -0.0;
        say(m, "all wanted values are zero, with a sign");
    }
}

/* ---- which -------------------------------------------------------------------------------------
 */

void lab03_make_case(struct rng *rng, enum lab03_maker which, int k, struct lab03_case *c,
                     char *kind, size_t cap) {
    static const struct {
        enum lab03_fn kind;
        void (*make)(struct lab03_making *m);
    } makers[MAKE_N] = {
        [MAKE_RUN] = {FN_RUN, make_run},
        [MAKE_RUN_EMPTY] = {FN_RUN, make_not_timed},
        [MAKE_TIME] = {FN_TIME, make_median},
        [MAKE_TIME_FEW] = {FN_TIME, make_mixed},
        [MAKE_SPREAD] = {FN_SPREAD, make_spread},
        [MAKE_BANDWIDTH] = {FN_BANDWIDTH, make_bandwidth},
        [MAKE_INTENSITY] = {FN_INTENSITY, make_intensity},
        [MAKE_RIDGE] = {FN_RIDGE, some_card},
        [MAKE_LIMIT] = {FN_LIMIT, make_at_intensity},
        [MAKE_BOUND] = {FN_BOUND, make_at_intensity},
        [MAKE_LEAST_TIME] = {FN_LEAST, make_work_on_card},
        [MAKE_FRACTION] = {FN_FRACTION, make_work_on_card},
        [MAKE_VERDICT] = {FN_VERDICT, make_verdict},
        [MAKE_COMPARE] = {FN_COMPARE, make_tolerance},
        [MAKE_COMPARE_WORST] = {FN_COMPARE, make_worst},
        [MAKE_COMPARE_FINITE] = {FN_COMPARE, make_finite},
        [MAKE_COMPARE_ZEROS] = {FN_COMPARE, make_zeros},
        [MAKE_COMPARE_NO_ANSWER] = {FN_COMPARE, make_no_answer},
    };
    struct lab03_making m = {rng, k, c, kind, cap, 0};
    memset(c, 0, sizeof *c);
    c->fn = makers[which].kind;
    c->card = (struct kernel_card){1e12, 1e13};
    c->n_runs = c->fn == FN_RUN;
    say(&m, "a card");
    makers[which].make(&m);
    c->read_only = rng_below(rng, 2);
}
