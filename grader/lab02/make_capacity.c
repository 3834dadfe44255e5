/* make_capacity.c: questions about operating points, curves and a search. See lab02.h and
 * make_records.c. */
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

static struct operating_point ordinary(struct lab02_making *a, double offered_rps) {
    struct operating_point p = {.offered_rps = offered_rps, .requests = 200, .complete = 200};
    p.good = 190;
    p.throughput_rps = offered_rps;
    p.good_rps = offered_rps * 0.95;
    p.mean_latency_ns = (double)lab02_make_between(a, 10, 400) * NS_PER_MS;
    p.mean_in_system = offered_rps * p.mean_latency_ns / NS_PER_S;
    p.queue_delay_p99 = some_percentile(lab02_make_between(a, 1, 90) * NS_PER_MS);
    p.ttft_p50 = some_percentile(lab02_make_between(a, 10, 90) * NS_PER_MS);
    p.ttft_p99 = some_percentile(lab02_make_between(a, 100, 900) * NS_PER_MS);
    p.tpot_p50 = some_percentile(lab02_make_between(a, 5, 20) * NS_PER_MS);
    p.tpot_p99 = some_percentile(lab02_make_between(a, 20, 90) * NS_PER_MS);
    p.e2e_p50 = some_percentile(lab02_make_between(a, 500, 900) * NS_PER_MS);
    p.e2e_p99 = some_percentile(lab02_make_between(a, 1000, 9000) * NS_PER_MS);
    p.stable = true;
    return p;
}

static void verdict_base(struct lab02_making *a) {
    struct lab02_case *c = a->c;
    c->fn = FN_VERDICT;
    c->n_points = 1;
    c->points[0] = ordinary(a, (double)lab02_make_between(a, 1, 40));
    c->limits = (struct point_limits){c->points[0].ttft_p99.ns + 1, c->points[0].tpot_p99.ns + 1,
                                      c->points[0].e2e_p99.ns + 1};
}

static void make_verdict_limits(struct lab02_making *a) {
    static const char *const words[] = {"p99 TTFT", "p99 TPOT", "p99 end-to-end time"};
    verdict_base(a);
    struct operating_point *p = a->c->points;
    struct percentile *all[] = {&p->ttft_p99, &p->tpot_p99, &p->e2e_p99};
    int64_t *limits[] = {&a->c->limits.ttft_below_ns, &a->c->limits.tpot_below_ns,
                         &a->c->limits.e2e_below_ns};
    int which = a->k % 3, how = a->k / 3 % 5;
    lab02_make_kind(a, "%s 1 ns below its limit, and so are the others", words[which]);
    if (how == 1) {
        all[which]->ns++;
        lab02_make_kind(a, "%s exactly at its limit", words[which]);
    } else if (how == 2) {
        *limits[which] = INT64_MAX;
        all[which]->ns = INT64_MAX - 5;
        lab02_make_kind(a, "no limit on %s, which is very long", words[which]);
    } else if (how == 3) {
        p->stable = false;
        lab02_make_kind(a, "every limit is met, but the queue isn't stable");
    } else if (how == 4) { /* the other percentiles are no business of the limits */
        p->ttft_p50.ns = p->tpot_p50.ns = p->e2e_p50.ns = p->queue_delay_p99.ns = 90 * NS_PER_S;
        all[which]->few = true;
        lab02_make_kind(a, "the other percentiles are long, and there were few observations");
    }
}

static void make_verdict_infinite(struct lab02_making *a) {
    static const char *const words[] = {"p99 TTFT", "p99 TPOT", "p99 end-to-end time"};
    verdict_base(a);
    struct operating_point *p = a->c->points;
    struct percentile *all[] = {&p->ttft_p99, &p->tpot_p99, &p->e2e_p99};
    int which = a->k % 3;
    lab02_make_kind(a, "every percentile is finite");
    if (a->k % 4 != 3) *all[which] = infinite;
    if (a->k % 4 != 3) lab02_make_kind(a, "%s is infinite", words[which]);
    if (a->k % 4 == 1) {
        a->c->limits = (struct point_limits){INT64_MAX, INT64_MAX, INT64_MAX};
        lab02_make_kind(a, "%s is infinite, and there is no limit", words[which]);
    }
}

static void make_verdict_computable(struct lab02_making *a) {
    verdict_base(a);
    struct operating_point *p = a->c->points;
    switch (a->k % 7) {
    case 5:
        p->tpot_p50 = p->tpot_p99 = absent;
        a->c->limits.tpot_below_ns = 0;
        lab02_make_kind(a, "no TPOT, and a limit that none could meet");
        break;
    case 6:
        p->requests = p->complete = p->good = 1;
        lab02_make_kind(a, "one request, and everything within its limit");
        break;
    case 0:
        *p = (struct operating_point){.mean_latency_ns = (double)NAN, .stable = true};
        p->queue_delay_p99 = p->ttft_p50 = p->ttft_p99 = absent;
        p->tpot_p50 = p->tpot_p99 = p->e2e_p50 = p->e2e_p99 = absent;
        lab02_make_kind(a, "no request at all");
        if (a->k / 7 % 2) {
            p->stable = false;
            lab02_make_kind(a, "no request at all, and a queue that isn't stable");
        }
        break;
    case 1:
        p->tpot_p50 = p->tpot_p99 = absent;
        lab02_make_kind(a, "answers of one token only: no TPOT, and so no limit on it");
        break;
    case 2:
        p->tpot_p50 = p->tpot_p99 = absent;
        p->ttft_p99.ns = a->c->limits.ttft_below_ns;
        lab02_make_kind(a, "no TPOT, and p99 TTFT exactly at its limit");
        break;
    case 3:
        p->ttft_p50 = p->ttft_p99 = absent;
        lab02_make_kind(a, "p99 TTFT is absent");
        break;
    default:
        lab02_make_kind(a, "everything is there and within its limit");
    }
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* n loads, each served up to a ceiling, with latencies that grow towards it. In the order of their
 * load, or not. */
static void curve(struct lab02_making *a, size_t n, bool shuffled) {
    struct lab02_case *c = a->c;
    double ceiling = (double)lab02_make_between(a, 12, 30);
    c->n_points = n;
    for (size_t i = 0; i < n; i++) {
        double offered = (double)(i + 1) * 2 + (double)lab02_make_between(a, 0, 100) / 128;
        struct operating_point *p = &c->points[i];
        *p = ordinary(a, offered);
        p->throughput_rps =
            offered < ceiling ? offered : ceiling - (double)lab02_make_between(a, 0, 100) / 64;
        double load = offered / (ceiling + 1);
        p->mean_latency_ns = load < 0.95 ? 1e8 / (1 - load) : 2e9 * (1 + load);
        p->stable = offered <= ceiling || lab02_make_chance(a, 15);
    }
    for (size_t i = n; shuffled && i > 1; i--) {
        size_t k = (size_t)lab02_make_between(a, 0, (int64_t)i - 1);
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

static void make_knee(struct lab02_making *a) {
    struct lab02_case *c = a->c;
    c->fn = FN_KNEE;
    curve(a, (size_t)lab02_make_between(a, 2, CASE_MAX_POINTS), a->k % 2);
    lab02_make_kind(a, "a curve with its points %s", a->k % 2 ? "in no order" : "in order of load");
    size_t best = lab02_oracle_knee(c->points, c->n_points);
    switch (a->k % 7) {
    case 1: /* the best once more, behind and before it */
        c->points[c->n_points - 1] = c->points[best];
        if (best > 0 && a->k % 2) c->points[0] = c->points[best];
        lab02_make_kind(a, "two points of equal power");
        break;
    case 2:
        for (size_t i = 0; i < c->n_points; i++) none_complete(&c->points[i]);
        lab02_make_kind(a, "no point has a latency");
        break;
    case 3:
        none_complete(&c->points[0]);
        none_complete(&c->points[best]);
        if (a->k / 7 % 2) c->points[0].mean_latency_ns = 0, c->points[0].throughput_rps = 5;
        lab02_make_kind(a, "some points have no latency");
        break;
    case 4:
        c->n_points = 1;
        if (a->k % 2) none_complete(c->points);
        lab02_make_kind(a, "a curve of one point");
        break;
    case 5:
        c->n_points = 0;
        lab02_make_kind(a, "a curve without points");
        break;
    case 6: /* a point that serves nothing has a power of 0, which is still the only one */
        for (size_t i = 0; i < c->n_points; i++) none_complete(&c->points[i]);
        c->points[c->n_points - 1].mean_latency_ns = 5e9;
        lab02_make_kind(a, "only the last point has a latency, and its throughput is 0");
        break;
    default:
        break;
    }
}

static void make_saturation(struct lab02_making *a) {
    struct lab02_case *c = a->c;
    c->fn = FN_SATURATION;
    curve(a, (size_t)lab02_make_between(a, 2, CASE_MAX_POINTS), a->k % 2);
    lab02_make_kind(a, "a curve with its points %s", a->k % 2 ? "in no order" : "in order of load");
    size_t best = lab02_oracle_saturation(c->points, c->n_points);
    switch (a->k % 6) {
    case 1:
        c->points[c->n_points - 1] = c->points[0] = c->points[best % c->n_points];
        lab02_make_kind(a, "two stable points of equal throughput");
        break;
    case 2:
        for (size_t i = 0; i < c->n_points; i++) c->points[i].stable = false;
        lab02_make_kind(a, "no point is stable");
        break;
    case 3:
        c->points[best % c->n_points].stable = false;
        lab02_make_kind(a, "the highest throughput is not stable");
        break;
    case 4:
        for (size_t i = 0; i < c->n_points; i++) c->points[i].stable = false;
        none_complete(&c->points[c->n_points - 1]);
        c->points[c->n_points - 1].stable = true;
        lab02_make_kind(a, "only the last point is stable, and its throughput is 0");
        break;
    case 5:
        c->n_points = a->k % 2 ? 0 : 1;
        lab02_make_kind(a, "a curve of at most one point");
        break;
    default:
        break;
    }
}

static void make_region(struct lab02_making *a) {
    struct lab02_case *c = a->c;
    c->fn = FN_REGION;
    curve(a, (size_t)lab02_make_between(a, 4, CASE_MAX_POINTS), a->k % 2);
    size_t n = c->n_points, knee = lab02_oracle_knee(c->points, n),
           top = lab02_oracle_saturation(c->points, n);
    c->at = (size_t)lab02_make_between(a, 0, (int64_t)n - 1);
    lab02_make_kind(a, "one point of a curve");
    switch (a->k % 8) {
    case 0:
        c->at = knee;
        lab02_make_kind(a, "the knee itself");
        break;
    case 1:
        c->at = top % n;
        lab02_make_kind(a, "saturation itself");
        break;
    case 2:
        c->points[c->at].stable = false;
        lab02_make_kind(a, "a point that isn't stable");
        break;
    case 3:
        for (size_t i = 0; i < n; i++) none_complete(&c->points[i]);
        c->points[c->at].stable = true;
        lab02_make_kind(a, "no point has a latency, one is stable");
        break;
    case 4: /* saturated before the knee's load: overloaded comes first */
        for (size_t i = 0; i < n; i++) c->points[i].stable = false;
        c->points[0].stable = c->points[c->at].stable = true;
        c->points[0].throughput_rps = 1000;
        c->points[0].mean_latency_ns = 1e15;
        lab02_make_kind(a, "a low load has the highest stable throughput");
        break;
    case 5: /* of the loads below the knee */
        for (size_t i = 0; i < n; i++)
            if (c->points[i].offered_rps < c->points[knee].offered_rps) c->at = i;
        lab02_make_kind(a, "a load below the knee's");
        break;
    case 6:
        for (size_t i = 0; i < n; i++)
            if (c->points[i].offered_rps > c->points[top % n].offered_rps) c->at = i;
        c->points[c->at].stable = true;
        c->points[c->at].throughput_rps /= 2;
        lab02_make_kind(a, "a stable load above saturation's");
        break;
    default:
        break;
    }
}

/* ---- a search that the child serves by itself ------------------------------------------------ */

static void make_search(struct lab02_making *a) {
    struct lab02_case *c = a->c;
    c->fn = FN_CAPACITY;
    c->lo_rps = (double)lab02_make_between(a, 1, 4);
    c->hi_rps = c->lo_rps * (double)lab02_make_between(a, 2, 40);
    c->resolution = (double)lab02_make_between(a, 1, 100) / 1000;
    c->limits = (struct point_limits){NS_PER_S, NS_PER_S, INT64_MAX};
    c->local_rps = c->lo_rps * (double)lab02_make_between(a, 50, 4500) / 100;
    lab02_make_kind(a, "a search over loads");
    if (a->k % 4 == 1) {
        c->local_rps = c->lo_rps / 2000;
        lab02_make_kind(a, "a search whose first probe fails");
    } else if (a->k % 8 == 2) {
        c->hi_rps = c->lo_rps;
        lab02_make_kind(a, "a search between equal loads");
    } else if (a->k % 8 == 6) {
        c->hi_rps = (double)NAN;
        lab02_make_kind(a, "a search up to NaN");
    }
}

void lab02_make_capacity(struct lab02_making *a, enum lab02_maker which) {
    static void (*const makers[])(struct lab02_making *) = {
        [MAKE_VERDICT_LIMITS] = make_verdict_limits,
        [MAKE_VERDICT_INFINITE] = make_verdict_infinite,
        [MAKE_VERDICT_COMPUTABLE] = make_verdict_computable,
        [MAKE_KNEE] = make_knee,
        [MAKE_SATURATION] = make_saturation,
        [MAKE_REGION] = make_region,
        [MAKE_SEARCH] = make_search,
    };
    makers[which](a);
}
