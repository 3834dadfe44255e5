/* make_capacity.c: cases for capacity.c: operating points, curves and a search. See lab02.h and
 * make_analysis.c. */
#include "lab02/lab02.h"
#include "lab02/oracle.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

/* ---- points ---------------------------------------------------------------------------------- */

static struct percentile some_percentile(int64_t ns) {
    return (struct percentile){true, false, ns, 200, 0, false};
}

static const struct percentile absent = {false, false, 0, 0, 0, true};
static const struct percentile infinite = {true, true, 0, 200, 90, false};

static struct operating_point ordinary(struct lab02_making *m, double offered_rps) {
    struct operating_point p = {.offered_rps = offered_rps, .requests = 200, .complete = 200};
    p.good = 190;
    p.throughput_rps = offered_rps;
    p.good_rps = offered_rps * 0.95;
    p.mean_latency_ns = (double)lab02_make_between(m, 10, 400) * NS_PER_MS;
    p.mean_in_system = offered_rps * p.mean_latency_ns / NS_PER_S;
    p.queue_delay_p99 = some_percentile(lab02_make_between(m, 1, 90) * NS_PER_MS);
    p.ttft_p50 = some_percentile(lab02_make_between(m, 10, 90) * NS_PER_MS);
    p.ttft_p99 = some_percentile(lab02_make_between(m, 100, 900) * NS_PER_MS);
    p.tpot_p50 = some_percentile(lab02_make_between(m, 5, 20) * NS_PER_MS);
    p.tpot_p99 = some_percentile(lab02_make_between(m, 20, 90) * NS_PER_MS);
    p.e2e_p50 = some_percentile(lab02_make_between(m, 500, 900) * NS_PER_MS);
    p.e2e_p99 = some_percentile(lab02_make_between(m, 1000, 9000) * NS_PER_MS);
    p.stable = true;
    return p;
}

static void verdict_base(struct lab02_making *m) {
    struct lab02_case *c = m->c;
    c->fn = FN_VERDICT;
    c->n_points = 1;
    c->points[0] = ordinary(m, (double)lab02_make_between(m, 1, 40));
    c->limits = (struct point_limits){c->points[0].ttft_p99.ns + 1, c->points[0].tpot_p99.ns + 1,
                                      c->points[0].e2e_p99.ns + 1};
}

static void make_verdict_limits(struct lab02_making *m) {
    static const char *const words[] = {"p99 TTFT", "p99 TPOT", "p99 end-to-end time"};
    verdict_base(m);
    struct operating_point *p = m->c->points;
    struct percentile *all[] = {&p->ttft_p99, &p->tpot_p99, &p->e2e_p99};
    int64_t *limits[] = {&m->c->limits.ttft_below_ns, &m->c->limits.tpot_below_ns,
                         &m->c->limits.e2e_below_ns};
    int which = m->k % 3, how = m->k / 3 % 5;
    lab02_make_kind(m, "%s 1 ns below its limit, and so are the others", words[which]);
    if (how == 1) {
        all[which]->ns++;
        lab02_make_kind(m, "%s exactly at its limit", words[which]);
    } else if (how == 2) {
        *limits[which] = INT64_MAX;
        all[which]->ns = INT64_MAX - 5;
        lab02_make_kind(m, "no limit on %s, which is very long", words[which]);
    } else if (how == 3) {
        p->stable = false;
        lab02_make_kind(m, "every limit is met, but the queue isn't stable");
    } else if (how == 4) { /* the limits don't apply to the other percentiles */
        p->ttft_p50.ns = p->tpot_p50.ns = p->e2e_p50.ns = p->queue_delay_p99.ns = 90 * NS_PER_S;
        all[which]->few = true;
        lab02_make_kind(m, "the other percentiles are long, and there were few observations");
    }
}

static void make_verdict_infinite(struct lab02_making *m) {
    static const char *const words[] = {"p99 TTFT", "p99 TPOT", "p99 end-to-end time"};
    verdict_base(m);
    struct operating_point *p = m->c->points;
    struct percentile *all[] = {&p->ttft_p99, &p->tpot_p99, &p->e2e_p99};
    int which = m->k % 3;
    lab02_make_kind(m, "every percentile is finite");
    if (m->k % 4 != 3) *all[which] = infinite;
    if (m->k % 4 != 3) lab02_make_kind(m, "%s is infinite", words[which]);
    if (m->k % 4 == 1) {
        m->c->limits = (struct point_limits){INT64_MAX, INT64_MAX, INT64_MAX};
        lab02_make_kind(m, "%s is infinite, and there is no limit", words[which]);
    }
}

static void make_verdict_computable(struct lab02_making *m) {
    verdict_base(m);
    struct operating_point *p = m->c->points;
    switch (m->k % 7) {
    case 5:
        p->tpot_p50 = p->tpot_p99 = absent;
        m->c->limits.tpot_below_ns = 0;
        lab02_make_kind(m, "no TPOT, and a limit that none could meet");
        break;
    case 6:
        p->requests = p->complete = p->good = 1;
        lab02_make_kind(m, "one request, and everything within its limit");
        break;
    case 0:
        *p = (struct operating_point){.mean_latency_ns = (double)NAN, .stable = true};
        p->queue_delay_p99 = p->ttft_p50 = p->ttft_p99 = absent;
        p->tpot_p50 = p->tpot_p99 = p->e2e_p50 = p->e2e_p99 = absent;
        lab02_make_kind(m, "no request at all");
        if (m->k / 7 % 2) {
            p->stable = false;
            lab02_make_kind(m, "no request at all, and a queue that isn't stable");
        }
        break;
    case 1:
        p->tpot_p50 = p->tpot_p99 = absent;
        lab02_make_kind(m, "answers of one token only: no TPOT, and so no limit on it");
        break;
    case 2:
        p->tpot_p50 = p->tpot_p99 = absent;
        p->ttft_p99.ns = m->c->limits.ttft_below_ns;
        lab02_make_kind(m, "no TPOT, and p99 TTFT exactly at its limit");
        break;
    case 3:
        p->ttft_p50 = p->ttft_p99 = absent;
        lab02_make_kind(m, "p99 TTFT is absent");
        break;
    default:
        lab02_make_kind(m, "everything is there and within its limit");
    }
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* n loads with latencies that grow towards a ceiling of throughput; in the order of their load, or
 * shuffled. */
static void curve(struct lab02_making *m, size_t n, bool shuffled) {
    struct lab02_case *c = m->c;
    double ceiling = (double)lab02_make_between(m, 12, 30);
    c->n_points = n;
    for (size_t i = 0; i < n; i++) {
        double offered = (double)(i + 1) * 2 + (double)lab02_make_between(m, 0, 100) / 128;
        struct operating_point *p = &c->points[i];
        *p = ordinary(m, offered);
        p->throughput_rps =
            offered < ceiling ? offered : ceiling - (double)lab02_make_between(m, 0, 100) / 64;
        double load = offered / (ceiling + 1);
        p->mean_latency_ns = load < 0.95 ? 1e8 / (1 - load) : 2e9 * (1 + load);
        p->stable = offered <= ceiling || lab02_make_chance(m, 15);
    }
    for (size_t i = n; shuffled && i > 1; i--) {
        size_t k = (size_t)lab02_make_between(m, 0, (int64_t)i - 1);
        struct operating_point t = c->points[i - 1];
        c->points[i - 1] = c->points[k];
        c->points[k] = t;
    }
}

static void none_complete(struct operating_point *p) {
    p->complete = 0;
    p->throughput_rps = 0;
    p->mean_latency_ns = (double)NAN;
    p->stable = false;
}

static void make_knee(struct lab02_making *m) {
    struct lab02_case *c = m->c;
    c->fn = FN_KNEE;
    curve(m, (size_t)lab02_make_between(m, 2, CASE_MAX_POINTS), m->k % 2);
    lab02_make_kind(m, "a curve with its points %s", m->k % 2 ? "in no order" : "in order of load");
    size_t best = lab02_oracle_knee(c->points, c->n_points);
    switch (m->k % 7) {
    case 1: /* the best point twice, after and before it */
        c->points[c->n_points - 1] = c->points[best];
        if (best > 0 && m->k % 2) c->points[0] = c->points[best];
        lab02_make_kind(m, "two points of equal power");
        break;
    case 2:
        for (size_t i = 0; i < c->n_points; i++) none_complete(&c->points[i]);
        lab02_make_kind(m, "no point has a latency");
        break;
    case 3:
        none_complete(&c->points[0]);
        none_complete(&c->points[best]);
        if (m->k / 7 % 2) c->points[0].mean_latency_ns = 0, c->points[0].throughput_rps = 5;
        lab02_make_kind(m, "some points have no latency");
        break;
    case 4:
        c->n_points = 1;
        if (m->k % 2) none_complete(c->points);
        lab02_make_kind(m, "a curve of one point");
        break;
    case 5:
        c->n_points = 0;
        lab02_make_kind(m, "a curve without points");
        break;
    case 6: /* a single point that serves nothing has a power of 0 */
        for (size_t i = 0; i < c->n_points; i++) none_complete(&c->points[i]);
        c->points[c->n_points - 1].mean_latency_ns = 5e9;
        lab02_make_kind(m, "only the last point has a latency, and its throughput is 0");
        break;
    default:
        break;
    }
}

static void make_saturation(struct lab02_making *m) {
    struct lab02_case *c = m->c;
    c->fn = FN_SATURATION;
    curve(m, (size_t)lab02_make_between(m, 2, CASE_MAX_POINTS), m->k % 2);
    lab02_make_kind(m, "a curve with its points %s", m->k % 2 ? "in no order" : "in order of load");
    size_t best = lab02_oracle_saturation(c->points, c->n_points);
    switch (m->k % 6) {
    case 1:
        c->points[c->n_points - 1] = c->points[0] = c->points[best % c->n_points];
        lab02_make_kind(m, "two stable points of equal throughput");
        break;
    case 2:
        for (size_t i = 0; i < c->n_points; i++) c->points[i].stable = false;
        lab02_make_kind(m, "no point is stable");
        break;
    case 3:
        c->points[best % c->n_points].stable = false;
        lab02_make_kind(m, "the highest throughput is not stable");
        break;
    case 4:
        for (size_t i = 0; i < c->n_points; i++) c->points[i].stable = false;
        none_complete(&c->points[c->n_points - 1]);
        c->points[c->n_points - 1].stable = true;
        lab02_make_kind(m, "only the last point is stable, and its throughput is 0");
        break;
    case 5:
        c->n_points = m->k % 2 ? 0 : 1;
        lab02_make_kind(m, "a curve of at most one point");
        break;
    default:
        break;
    }
}

static void make_region(struct lab02_making *m) {
    struct lab02_case *c = m->c;
    c->fn = FN_REGION;
    curve(m, (size_t)lab02_make_between(m, 4, CASE_MAX_POINTS), m->k % 2);
    size_t n = c->n_points, knee = lab02_oracle_knee(c->points, n),
           top = lab02_oracle_saturation(c->points, n);
    c->at = (size_t)lab02_make_between(m, 0, (int64_t)n - 1);
    lab02_make_kind(m, "one point of a curve");
    switch (m->k % 8) {
    case 0:
        c->at = knee;
        lab02_make_kind(m, "the knee itself");
        break;
    case 1:
        c->at = top % n;
        lab02_make_kind(m, "saturation itself");
        break;
    case 2:
        c->points[c->at].stable = false;
        lab02_make_kind(m, "a point that isn't stable");
        break;
    case 3:
        for (size_t i = 0; i < n; i++) none_complete(&c->points[i]);
        c->points[c->at].stable = true;
        lab02_make_kind(m, "no point has a latency, one is stable");
        break;
    case 4: /* saturated below the knee's load: overloaded comes first */
        for (size_t i = 0; i < n; i++) c->points[i].stable = false;
        c->points[0].stable = c->points[c->at].stable = true;
        c->points[0].throughput_rps = 1000;
        c->points[0].mean_latency_ns = 1e15;
        lab02_make_kind(m, "a low load has the highest stable throughput");
        break;
    case 5: /* of the loads below the knee */
        for (size_t i = 0; i < n; i++)
            if (c->points[i].offered_rps < c->points[knee].offered_rps) c->at = i;
        lab02_make_kind(m, "a load below the knee's");
        break;
    case 6:
        for (size_t i = 0; i < n; i++)
            if (c->points[i].offered_rps > c->points[top % n].offered_rps) c->at = i;
        c->points[c->at].stable = true;
        c->points[c->at].throughput_rps /= 2;
        lab02_make_kind(m, "a stable load above saturation's");
        break;
    default:
        break;
    }
}

/* ---- a search that the child serves by itself ------------------------------------------------ */

static void make_search(struct lab02_making *m) {
    struct lab02_case *c = m->c;
    c->fn = FN_CAPACITY;
    /* as in the checks of the search (curve_case in judge_search.c) */
    static const double resolutions[] = {0.01, 0.05, 0.002, 0.1, 0.001, 0.02};
    c->lo_rps = 0.2 + 3.8 * rng_unit(&m->rng);
    c->hi_rps = c->lo_rps * (2 + 58 * rng_unit(&m->rng));
    c->resolution = resolutions[m->k % 6];
    c->limits = (struct point_limits){800 * NS_PER_MS, 80 * NS_PER_MS, 20000 * NS_PER_MS};
    c->local_rps = c->lo_rps * pow(c->hi_rps / c->lo_rps, rng_unit(&m->rng));
    if (m->k % 8 == 4) c->local_rps = c->lo_rps * (m->k % 16 == 4 ? 0.5 : 100);
    lab02_make_kind(m, "a search over loads");
    if (m->k % 4 == 1) {
        c->local_rps = c->lo_rps / 2000;
        lab02_make_kind(m, "a search whose first probe fails");
    } else if (m->k % 8 == 2) {
        c->hi_rps = c->lo_rps;
        lab02_make_kind(m, "a search between equal loads");
    } else if (m->k % 8 == 6) {
        c->hi_rps = (double)NAN;
        lab02_make_kind(m, "a search up to NaN");
    }
}

void lab02_make_capacity(struct lab02_making *m, enum lab02_maker which) {
    static void (*const makers[])(struct lab02_making *) = {
        [MAKE_VERDICT_LIMITS] = make_verdict_limits,
        [MAKE_VERDICT_INFINITE] = make_verdict_infinite,
        [MAKE_VERDICT_COMPUTABLE] = make_verdict_computable,
        [MAKE_KNEE] = make_knee,
        [MAKE_SATURATION] = make_saturation,
        [MAKE_REGION] = make_region,
        [MAKE_SEARCH] = make_search,
    };
    makers[which](m);
}
