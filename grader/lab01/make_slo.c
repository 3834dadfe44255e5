/* make_slo.c: cases for percentiles and service-level objectives. See lab01.h and make_intervals.c.
 */
#include "lab01/lab01.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- percentiles ----------------------------------------------------------------------------- */

static void population(struct lab01_making *m, size_t n_ok, size_t n_failed,
                       int32_t percentile_milli) {
    struct lab01_case *c = m->c;
    c->fn = FN_RANK;
    c->n_ok = n_ok;
    c->n_failed = n_failed;
    c->percentile_milli = percentile_milli;
    free(c->obs);
    c->obs = n_ok ? calloc(n_ok, sizeof *c->obs) : NULL;
    INVARIANT(n_ok == 0 || c->obs);
    for (size_t i = 0; i < n_ok; i++)
        c->obs[i] = lab01_make_between(m, 1000000, INT64_C(30000000000));
}

static const int32_t usual[] = {50000, 90000, 95000, 99000, 99900, 100000, 1, 25000};

static void make_rank(struct lab01_making *m) {
    static const size_t sizes[] = {1, 2, 3, 4, 10, 100, 101, 200, 1000};
    m->focus = "present|infinite|ns|n";
    population(m, sizes[m->k % 9], 0, usual[m->k % 8]);
    lab01_make_kind(m, "p%g of %zu observations", usual[m->k % 8] / 1000.0, m->c->n_ok);
    if (m->k % 9 == 7) { /* the rank is a whole number here, and not with one observation more */
        population(m, 200 + (size_t)(m->k / 9 % 2), 0, 95000);
        lab01_make_kind(m, "p95 of %zu observations", m->c->n_ok);
    }
}

static void make_rank_order(struct lab01_making *m) {
    int64_t *obs;
    m->focus = "present|infinite|ns|n";
    population(m, (size_t)lab01_make_between(m, 20, 60), 0, usual[m->k % 4]);
    obs = m->c->obs;
    switch (m->k % 5) {
    case 0:
        for (size_t i = 0; i < m->c->n_ok; i++) obs[i] = (int64_t)(m->c->n_ok - i) * 1000;
        lab01_make_kind(m, "observations in falling order");
        break;
    case 1:
        for (size_t i = 0; i < m->c->n_ok; i++) obs[i] = 7000000 + (i % 3);
        lab01_make_kind(m, "many equal observations");
        break;
    case 2: /* differences that an int can't hold */
        for (size_t i = 0; i < m->c->n_ok; i++)
            obs[i] = (i % 2 ? INT64_C(9000000000000000) : 0) + lab01_make_between(m, 0, 1000);
        lab01_make_kind(m, "observations that differ by more than 2^31 ns");
        break;
    case 3:
        obs[0] = 0;
        obs[1] = 1;
        lab01_make_kind(m, "observations of 0 and 1 ns among others");
        break;
    default:
        lab01_make_kind(m, "observations in no order");
    }
}

static void make_rank_empty(struct lab01_making *m) {
    m->focus = "present|n|failed";
    if (m->k % 2) {
        population(m, 0, (size_t)lab01_make_between(m, 1, 50), usual[m->k % 8]);
        lab01_make_kind(m, "no success, only failures");
        m->focus = "present|infinite|n|failed";
    } else {
        population(m, 0, 0, usual[m->k % 8]);
        lab01_make_kind(m, "an empty population");
    }
}

static void make_infinite(struct lab01_making *m) {
    m->focus = "present|infinite|ns|n|failed";
    switch (m->k % 4) {
    case 0:
        population(m, 99, 1, 99000);
        lab01_make_kind(m, "1 of 100 failed: the rank of p99 just avoids it");
        break;
    case 1:
        population(m, 98, 2, 99000);
        lab01_make_kind(m, "2 of 100 failed: the rank of p99 falls on one");
        break;
    case 2:
        population(m, (size_t)lab01_make_between(m, 1, 60), (size_t)lab01_make_between(m, 1, 60),
                   usual[lab01_make_between(m, 0, 3)]);
        lab01_make_kind(m, "some succeeded, some failed");
        break;
    default:
        population(m, 50, 50, 50000 + (m->k / 4 % 2));
        lab01_make_kind(m, "half failed, and a percentile at or just above 50");
    }
}

static void make_few(struct lab01_making *m) {
    static const struct {
        size_t n;
        int32_t percentile_milli;
    } edges[] = {{99, 99000}, {100, 99000}, {999, 99900}, {1000, 99900}, {1, 50000}, {2, 50000},
                 {19, 95000}, {20, 95000},  {9, 90000},   {10, 90000},   {3, 66667}, {500, 100000}};
    size_t i = (size_t)m->k % (sizeof edges / sizeof *edges), failed = edges[i].n / 10;
    m->focus = "few";
    population(m, edges[i].n - failed, failed, edges[i].percentile_milli);
    lab01_make_kind(m, "p%g of %zu", edges[i].percentile_milli / 1000.0, edges[i].n);
}

/* A few successes and very many failures, with a percentile so small that its rank is among the
 * first observations: only then does a large population show whether the rank is right. */
static void make_large(struct lab01_making *m) {
    enum { OK = 5 };
    int32_t p = (int32_t)lab01_make_between(m, 1, 4);
    int64_t rank = lab01_make_between(m, 1, OK + 1);
    int64_t n = lab01_make_between(m, (rank - 1) * 100000 / p + 1, rank * 100000 / p);
    if (m->k % 3 == 2) {
        p = usual[m->k % 4];
        n = lab01_make_between(m, INT64_C(100000000), INT64_C(1000000000000));
    }
    population(m, OK, (size_t)(n > OK ? n - OK : 1), p);
    lab01_make_kind(m, "few successes among very many failures");
}

/* ---- limits ---------------------------------------------------------------------------------- */

static struct latency_limit *limit(struct lab01_making *m, enum limit_scope scope,
                                   int64_t below_ns) {
    struct objective *o = &m->c->obj;
    enum interval_id id = (enum interval_id)lab01_make_between(m, 0, IV_N - 1);
    int32_t p = scope == SCOPE_POPULATION ? 99000 : 0;
    o->latency[o->n_latency] = (struct latency_limit){id, scope, p, below_ns};
    m->c->n_pct = (size_t)o->n_latency + 1;
    return &o->latency[o->n_latency++];
}

static struct percentile finite_percentile(int64_t ns) {
    return (struct percentile){true, false, ns, 1000, 0, false};
}

static void make_strict(struct lab01_making *m) {
    int64_t below = lab01_make_between(m, 1000000, INT64_C(10000000000));
    static const char *const words[] = {"1 ns below", "exactly at", "1 ns above"};
    lab01_make_objective(m->c);
    m->c->fn = FN_LIMIT;
    limit(m, SCOPE_POPULATION, below);
    m->c->pct[0] = finite_percentile(below - 1 + m->k % 3);
    if (m->k % 2) m->c->pct[0].few = true;
    lab01_make_kind(m, "a percentile %s its limit", words[m->k % 3]);
}

static void make_limit_absent(struct lab01_making *m) {
    lab01_make_objective(m->c);
    m->c->fn = FN_LIMIT;
    limit(m, SCOPE_POPULATION, lab01_make_between(m, 1000000, 1000000000));
    if (m->k % 2) {
        m->c->pct[0] = (struct percentile){true, true, 0, 100, 40, false};
        lab01_make_kind(m, "a percentile that is infinite");
    } else {
        m->c->pct[0] = (struct percentile){false, false, 0, 0, 0, true};
        lab01_make_kind(m, "a percentile of an empty population");
    }
}

/* ---- rates ----------------------------------------------------------------------------------- */

/* k/n next to a bound of b/n, for which dividing and multiplying agree. */
static void make_failure_rate(struct lab01_making *m) {
    static const int64_t bounds[][2] = {{1, 1000}, {1, 100}, {5, 100}, {0, 1}, {1, 4}, {2, 2000}};
    struct lab01_case *c = m->c;
    lab01_make_objective(c);
    c->fn = FN_FAILURES;
    const int64_t *b = bounds[m->k % 6];
    c->obj.reliability.max_failure_rate = (double)b[0] / (double)b[1];
    c->counts.requests = b[1];
    c->counts.failed = b[0] + m->k / 6 % 2;
    lab01_make_kind(m, "a failure rate %s its bound", m->k / 6 % 2 ? "above" : "exactly at");
    switch (m->k % 10) {
    case 6:
        c->counts.failed = -1;
        lab01_make_kind(m, "an unknown number of failures");
        break;
    case 7:
        c->counts.requests = m->k % 20 == 7 ? 0 : -1;
        c->counts.failed = 0;
        lab01_make_kind(m, "no request, or an unknown number of requests");
        break;
    case 8:
        c->obj.reliability.max_failure_rate = (double)NAN;
        lab01_make_kind(m, "an objective that states no failure rate");
        break;
    default:
        break;
    }
}

static void make_pass_rate(struct lab01_making *m) {
    static const int64_t bounds[][2] = {{19, 20}, {1, 2}, {95, 100}, {3, 4}, {1, 1}, {0, 20}};
    struct lab01_case *c = m->c;
    lab01_make_objective(c);
    c->fn = FN_PASSES;
    const int64_t *b = bounds[m->k % 6];
    bool below = m->k / 6 % 2 && b[0] > 0;
    c->obj.quality.min_pass_rate = (double)b[0] / (double)b[1];
    c->counts.quality_evaluated = b[1];
    c->counts.quality_passed = b[0] - below;
    lab01_make_kind(m, "a pass rate %s its bound", below ? "below" : "exactly at");
    switch (m->k % 10) {
    case 6:
        c->counts.quality_passed = -1;
        lab01_make_kind(m, "an unknown number of passes");
        break;
    case 7:
        c->counts.quality_evaluated = m->k % 20 == 7 ? 0 : -1;
        c->counts.quality_passed = 0;
        lab01_make_kind(m, "nothing evaluated, or an unknown number");
        break;
    case 8:
        c->obj.quality.min_pass_rate = (double)NAN;
        lab01_make_kind(m, "an objective that states no pass rate");
        break;
    default:
        break;
    }
}

static void make_throughput(struct lab01_making *m) {
    static const double bad_intervals[] = {0, -4, (double)NAN, (double)INFINITY};
    struct lab01_case *c = m->c;
    lab01_make_objective(c);
    c->fn = FN_RATE;
    int64_t rps = lab01_make_between(m, 1, 20), seconds = lab01_make_between(m, 5, 300);
    int off = m->k % 3 - 1; /* one completion too few, exactly enough, one more */
    c->obj.throughput.min_rps = (double)rps;
    c->counts.interval_s = (double)seconds;
    c->counts.useful = rps * seconds + off;
    lab01_make_kind(m, "a rate %s the required one",
                    off < 0 ? "below"
                    : off   ? "above"
                            : "exactly at");
    switch (m->k % 10) {
    case 5:
        c->counts.useful = -1;
        lab01_make_kind(m, "an unknown number of useful completions");
        break;
    case 6:
        c->counts.interval_s = bad_intervals[m->k / 10 % 4];
        lab01_make_kind(m, "an interval that is not a finite number above 0");
        break;
    case 7:
        c->obj.throughput.min_rps = (double)NAN;
        lab01_make_kind(m, "an objective that states no rate");
        break;
    case 8:
        c->counts.useful = 0;
        lab01_make_kind(m, "no useful completion at all");
        break;
    case 9:
        c->counts.interval_s = 0.5;
        c->counts.useful = rps / 2 + 1;
        lab01_make_kind(m, "an interval of half a second");
        break;
    default:
        break;
    }
}

/* ---- the objective's value ------------------------------------------------------------------- */

static void value_base(struct lab01_making *m) {
    static const double reserves[] = {0, 0.35, 0.5, 0.2};
    struct lab01_case *c = m->c;
    lab01_make_objective(c);
    c->fn = FN_VALUE;
    c->cap = CASE_REASON;
    c->obj.resource.accelerators = (double)lab01_make_between(m, 1, 16);
    c->obj.resource.usd_per_accelerator_hour = (double)lab01_make_between(m, 50, 400) / 100;
    c->obj.resource.reserve_fraction = reserves[m->k % 4];
    c->counts.useful = lab01_make_between(m, 1, 100000);
    c->counts.interval_s = (double)lab01_make_between(m, 10, 7200);
}

static void primary(struct lab01_making *m, const char *name) {
    struct objective *o = &m->c->obj;
    memset(o->resource.primary, 0, sizeof o->resource.primary);
    snprintf(o->resource.primary, sizeof o->resource.primary, "%s", name);
}

static void make_value(struct lab01_making *m) {
    value_base(m);
    lab01_make_kind(m, "useful completions per dollar");
    if (m->k % 3 == 1) {
        primary(m, "accelerator_seconds");
        m->c->obj.resource.usd_per_accelerator_hour = (double)NAN;
        lab01_make_kind(m, "useful completions per accelerator-second");
    }
    if (m->k % 5 == 4) {
        m->c->counts.useful = 0;
        lab01_make_kind(m, "no useful completion at all: a value of 0");
    }
    if (m->k % 5 == 3) {
        m->c->obj.resource.accelerators = m->k % 2 ? 1 : 0.5;
        m->c->obj.resource.reserve_fraction = 0;
        m->c->counts.interval_s = m->k % 4 < 2 ? 1 : 0.5;
        lab01_make_kind(m, "one accelerator or half of one, one second or half of one");
    }
}

static void make_no_value(struct lab01_making *m) {
    struct lab01_case *c = m->c;
    if (m->k % 11 == 10) { /* no constant earns the check */
        make_value(m);
        return;
    }
    value_base(m);
    int k = m->k % 10;
    const double bad = (double[]){(double)NAN, 0, -3}[m->k / 10 % 3];
    if (k == 0) c->counts.useful = -1;
    if (k == 1) c->obj.resource.usd_per_accelerator_hour = bad;
    if (k == 2) c->counts.interval_s = bad;
    if (k == 3) primary(m, "joules");
    if (k == 4) c->obj.resource.accelerators = bad;
    if (k == 5) c->counts.interval_s = (double)INFINITY;
    if (k >= 6) { /* several members are missing, and the room for the reason is small */
        c->counts.useful = -1;
        c->obj.resource.usd_per_accelerator_hour = (double)NAN;
        c->cap = m->k / 10 % 2 ? (size_t[]){30, 55, 60, 70}[k - 6]
                               : (size_t[]){1, 2, 12, CASE_REASON}[k - 6];
    }
    static const char *const kinds[] = {
        "no count of useful completions",    "no price",        "no interval",
        "joules, which no count here holds", "no accelerators", "an infinite interval"};
    if (k < 6)
        lab01_make_kind(m, "%s", kinds[k]);
    else
        lab01_make_kind(m, "no count and no price; room for %zu bytes of reason", c->cap);
}

/* ---- the whole verdict ----------------------------------------------------------------------- */

static struct percentile any_percentile(struct lab01_making *m, int64_t below) {
    switch (lab01_make_between(m, 0, 5)) {
    case 0:
        return (struct percentile){false, false, 0, 0, 0, true};
    case 1:
        return (struct percentile){true, true, 0, 10, 9, true};
    case 2:
        return finite_percentile(below);
    default:
        return finite_percentile(below - 1);
    }
}

/* Makes each part met, missed, not computable or not stated. */
static void verdict_parts(struct lab01_making *m, const int part[3]) {
    struct lab01_case *c = m->c;
    if (part[0] != 3) c->obj.reliability.max_failure_rate = 0.25;
    if (part[0] != 2) c->counts.requests = 4;
    c->counts.failed = part[0] == 1 ? 2 : 1;
    if (part[1] != 3) c->obj.quality.min_pass_rate = 0.5;
    if (part[1] != 2) c->counts.quality_evaluated = 4;
    c->counts.quality_passed = part[1] == 1 ? 1 : 2;
    if (part[2] != 3) c->obj.throughput.min_rps = 2;
    if (part[2] != 2) c->counts.interval_s = 10;
    c->counts.useful = part[2] == 1 ? 19 : 20;
}

static void make_verdict(struct lab01_making *m) {
    struct lab01_case *c = m->c;
    int part[3] = {0, 0, 0}; /* failure rate, quality, throughput */
    lab01_make_objective(c);
    c->fn = FN_VERDICT;
    if (m->k % 16 < 9) { /* one part decides */
        part[m->k % 3] = 1 + m->k % 16 / 3;
        lab01_make_kind(m, "one part is missed, not computable or not stated");
    } else if (m->k % 16 == 9) {
        part[0] = part[1] = part[2] = 3;
        lab01_make_kind(m, "an objective that states nothing");
    } else if (m->k % 16 == 10) {
        part[0] = 1;
        part[2] = 2;
        lab01_make_kind(m, "one part missed, another not computable");
    } else {
        for (int i = 0; i < 3; i++)
            part[i] = lab01_make_chance(m, 70) ? 0 : (int)lab01_make_between(m, 1, 3);
        lab01_make_kind(m, "latency limits and other parts together");
    }
    verdict_parts(m, part);
    int limits = m->k % 16 > 10 ? (int)lab01_make_between(m, 1, 4) : m->k % 2;
    for (int i = 0; i < limits; i++) {
        bool request = m->k % 16 > 10 && lab01_make_chance(m, 30);
        struct latency_limit *l = limit(m, request ? SCOPE_REQUEST : SCOPE_POPULATION,
                                        lab01_make_between(m, 1000000, 900000000));
        c->pct[i] = m->k % 16 > 10 ? any_percentile(m, l->below_ns) : finite_percentile(5);
        if (request) c->pct[i] = finite_percentile(l->below_ns + 9); /* not compared here */
    }
}

void lab01_make_slo(struct lab01_making *m, enum lab01_maker which) {
    static void (*const makers[])(struct lab01_making *) = {
        [MAKE_RANK] = make_rank,
        [MAKE_RANK_ORDER] = make_rank_order,
        [MAKE_RANK_EMPTY] = make_rank_empty,
        [MAKE_INFINITE] = make_infinite,
        [MAKE_FEW] = make_few,
        [MAKE_LARGE] = make_large,
        [MAKE_STRICT] = make_strict,
        [MAKE_LIMIT_ABSENT] = make_limit_absent,
        [MAKE_FAILURE_RATE] = make_failure_rate,
        [MAKE_PASS_RATE] = make_pass_rate,
        [MAKE_THROUGHPUT] = make_throughput,
        [MAKE_VALUE] = make_value,
        [MAKE_NO_VALUE] = make_no_value,
        [MAKE_VERDICT] = make_verdict,
    };
    INVARIANT(which < sizeof makers / sizeof *makers && makers[which]);
    makers[which](m);
}
