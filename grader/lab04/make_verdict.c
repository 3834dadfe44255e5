/* make_verdict.c: operating points for report_verdict and report_regions. */
#include "lab04/lab04.h"

#include <math.h>
#include <string.h>

static void make_objective(struct lab04_making *m) {
    struct objective *o = &m->c->o;
    struct rng *rng = &m->rng;
    o->quality.min_pass_rate = lab04_chance(rng, 40) ? 0.9 : NAN;
    o->throughput.min_rps = lab04_chance(rng, 30) ? 3 : NAN;
    o->throughput.offered_rps = NAN;
    o->reliability.max_failure_rate = lab04_chance(rng, 50) ? 0.05 : NAN;
    o->reliability.max_recovery_s = lab04_chance(rng, 60) ? 2 : NAN;
    o->hard_limits.gpu_memory_gib = lab04_chance(rng, 10) ? 80 : NAN;
    o->hard_limits.joules_per_response = lab04_chance(rng, 50) ? 5 : NAN;
    o->n_latency = (int32_t)lab04_between(rng, 0, 3);
    for (int32_t i = 0; i < o->n_latency; i++)
        o->latency[i] = (struct latency_limit){.interval = i ? IV_E2E : IV_CLIENT_TTFT,
                                               .scope = lab04_chance(rng, 85),
                                               .percentile_milli = 99000,
                                               .below_ns = 1000};
}

/* Most of a point is within every limit; `edge` picks what is at or over one. */
static void make_point(struct lab04_making *m, struct report_point *p, int edge) {
    struct rng *rng = &m->rng;
    memset(p, 0, sizeof *p);
    p->counts.interval_s = 10;
    p->requests = p->counts.requests = lab04_between(rng, 60, 100);
    p->useful = p->counts.useful = lab04_between(rng, 40, 60);
    p->counts.quality_evaluated = 50;
    p->counts.quality_passed = edge == 1 ? 45 - lab04_between(rng, 0, 1) : 50;
    p->counts.failed = edge == 2 ? lab04_between(rng, 4, 9) : 0;
    if (edge == 3) p->useful = p->counts.useful = lab04_between(rng, 29, 31);
    p->load.stable = edge != 4;
    p->load.offered_rps = (double)lab04_between(rng, 1, 400) / 8;
    p->load.throughput_rps = (double)lab04_between(rng, 1, 300) / 8;
    p->load.mean_latency_ns = edge == 5 ? NAN : (double)lab04_between(rng, 1, 50) * 1e6;
    for (int i = 0; i < OBJECTIVE_MAX_LIMITS; i++)
        p->limit[i] = (struct percentile){.present = true, .ns = lab04_between(rng, 100, 999)};
    if (edge == 6) p->limit[rng_below(rng, 3)].ns = lab04_between(rng, 999, 1001);
    if (edge == 7) p->limit[rng_below(rng, 3)].infinite = true;
    if (edge == 8) p->limit[rng_below(rng, 3)].present = false;
    p->recovery.outages = edge >= 9 && edge <= 10;
    if (edge == 9) p->recovery.longest_ns = 2000000000 - lab04_between(rng, -1, 1);
    p->recovery.unended = edge == 10;
    p->joules = (double)p->useful * (edge == 11 ? (double)lab04_between(rng, 4, 6) : 2);
    if (edge == 12) p->joules = NAN;
    if (edge == 16) {
        m->c->o.hard_limits.joules_per_response = 5;
        m->c->o.hard_limits.gpu_memory_gib = 80;
        p->joules = (double)p->useful * 7;
    }
    if (edge == 13) p->useful = p->counts.useful = 0;
    if (edge == 14) p->counts.useful = -1;
    p->window.unplaced = edge == 15;
}

/* slo_verdict, from its definition. */
static enum slo_answer slo_part(const struct objective *o, const struct report_point *p) {
    bool missed = false, unknown = false;
    for (int32_t i = 0; i < o->n_latency; i++) {
        const struct percentile *l = &p->limit[i];
        if (o->latency[i].scope != SCOPE_POPULATION) continue;
        if (!l->present)
            unknown = true;
        else if (l->infinite || l->ns >= o->latency[i].below_ns)
            missed = true;
    }
    if (!isnan(o->reliability.max_failure_rate))
        missed |=
            (double)p->counts.failed / (double)p->counts.requests > o->reliability.max_failure_rate;
    if (!isnan(o->quality.min_pass_rate))
        missed |= (double)p->counts.quality_passed / (double)p->counts.quality_evaluated <
                  o->quality.min_pass_rate;
    if (!isnan(o->throughput.min_rps) && p->counts.useful < 0) unknown = true;
    if (!isnan(o->throughput.min_rps) && p->counts.useful >= 0)
        missed |= (double)p->counts.useful / p->counts.interval_s < o->throughput.min_rps;
    return missed ? SLO_MISSED : unknown ? SLO_NOT_COMPUTABLE : SLO_MET;
}

static enum slo_answer verdict(const struct objective *o, const struct report_point *p) {
    enum slo_answer slo = slo_part(o, p);
    double recovery = o->reliability.max_recovery_s, joules = o->hard_limits.joules_per_response;
    bool slow = !isnan(recovery) &&
                (p->recovery.unended || (double)p->recovery.longest_ns / 1e9 >= recovery);
    bool wasteful = !isnan(joules) && p->counts.useful > 0 &&
                    p->joules / (double)p->useful >= joules; /* false for unknown joules */
    if (!p->load.stable || slo == SLO_MISSED || slow || p->counts.useful == 0 || wasteful)
        return SLO_MISSED;
    bool unknown = slo == SLO_NOT_COMPUTABLE || !isnan(o->hard_limits.gpu_memory_gib);
    unknown |= p->window.unplaced > 0 && !isnan(o->reliability.max_failure_rate);
    unknown |= !isnan(joules) && (isnan(p->joules) || p->counts.useful < 0);
    return unknown ? SLO_NOT_COMPUTABLE : SLO_MET;
}

void lab04_make_verdict(struct lab04_making *m, enum lab04_maker which) {
    static const char *const answers[] = {"met", "missed", "not_computable"};
    static const char *const edges[] = {"within everything",
                                        "at the pass rate",
                                        "failures",
                                        "at the throughput",
                                        "not stable",
                                        "no mean latency",
                                        "at a latency limit",
                                        "an infinite percentile",
                                        "an absent percentile",
                                        "at the recovery limit",
                                        "an outage that did not end",
                                        "at the joules' limit",
                                        "unknown joules",
                                        "nothing useful",
                                        "usefulness not measured",
                                        "some can't be placed",
                                        "over the joules' limit, while its memory is not known"};
    struct lab04_case *c = m->c;
    int edge = (int)rng_below(&m->rng, 17), n = (int)lab04_between(&m->rng, 1, CASE_MAX_POINTS);
    make_objective(m);
    if (which == MAKE_VERDICT) {
        c->fn = FN_VERDICT;
        c->n_points = 1;
        make_point(m, &c->points[0], edge);
        lab04_kind(m, "a point that is %s", edges[edge]);
        lab04_want(m, "verdict", verdict(&c->o, &c->points[0]));
        m->wants[0].names = answers;
        m->wants[0].n_names = 3;
        return;
    }
    c->fn = FN_REGIONS;
    c->n_points = (size_t)n;
    int knee = -1, saturation = -1, best = -1;
    for (int i = 0; i < n; i++) {
        struct report_point *p = &c->points[i];
        make_point(m, p, lab04_chance(&m->rng, 50) ? 0 : (int)rng_below(&m->rng, 14));
        if (m->k % 8 == 7) p->load.mean_latency_ns = NAN; /* no knee */
        if (m->k % 8 == 6) p->load.stable = false;        /* no saturation, none valid */
        if (i > 0 && lab04_chance(&m->rng, 20)) {         /* equal ones: the first counts */
            p->load = c->points[i - 1].load;
            p->useful = c->points[i - 1].useful;
            p->counts.useful = p->useful;
        }
    }
    for (int i = 0; i < n; i++) {
        const struct report_point *p = c->points, *q = &p[i];
        double power = q->load.throughput_rps / q->load.mean_latency_ns;
        if (!isnan(power) &&
            (knee < 0 || power > p[knee].load.throughput_rps / p[knee].load.mean_latency_ns))
            knee = i;
        if (q->load.stable &&
            (saturation < 0 || q->load.throughput_rps > p[saturation].load.throughput_rps))
            saturation = i;
        if (verdict(&c->o, q) == SLO_MET && (best < 0 || q->useful > p[best].useful)) best = i;
    }
    lab04_kind(m, "%d operating points", n);
    lab04_want(m, "rc", 0);
    lab04_want(m, "knee", knee);
    lab04_want(m, "saturation", saturation);
    lab04_want(m, "best_valid", best);
}
