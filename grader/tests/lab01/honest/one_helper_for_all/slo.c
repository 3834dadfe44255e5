/* Uses the helper of percentile.c, and states reasons in other words than the reference. */
#include "objective/slo.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

extern int64_t round_up_div(int64_t n, int64_t d);

enum slo_answer slo_limit(const struct latency_limit *limit, const struct percentile *p) {
    if (p->present == false) return SLO_NOT_COMPUTABLE;
    if (p->infinite) return SLO_MISSED;
    return p->ns >= limit->below_ns ? SLO_MISSED : SLO_MET;
}

static enum slo_answer ratio(int64_t part, int64_t whole, double bound, int at_most) {
    if (part < 0 || whole < 1 || bound != bound) return SLO_NOT_COMPUTABLE;
    double q = (double)part / (double)whole;
    if (at_most) return q > bound ? SLO_MISSED : SLO_MET;
    return q < bound ? SLO_MISSED : SLO_MET;
}

enum slo_answer slo_failure_rate(const struct objective *o, const struct slo_counts *c) {
    return ratio(c->failed, c->requests, o->reliability.max_failure_rate, 1);
}

enum slo_answer slo_quality(const struct objective *o, const struct slo_counts *c) {
    return ratio(c->quality_passed, c->quality_evaluated, o->quality.min_pass_rate, 0);
}

static int positive(double x) {
    return isfinite(x) && x > 0;
}

enum slo_answer slo_throughput(const struct objective *o, const struct slo_counts *c) {
    if (isnan(o->throughput.min_rps) || c->useful < 0 || !positive(c->interval_s))
        return SLO_NOT_COMPUTABLE;
    if ((double)c->useful / c->interval_s < o->throughput.min_rps) return SLO_MISSED;
    return SLO_MET;
}

enum slo_answer slo_objective_value(const struct objective *o, const struct slo_counts *c,
                                    double *value, char *reason, size_t cap) {
    char why[256] = "";
    int money = strcmp(o->resource.primary, "usd") == 0;
    int time = strcmp(o->resource.primary, "accelerator_seconds") == 0;
    assert(round_up_div(7, 2) == 4);
    if (c->useful < 0) strcat(why, "the number of useful answers is not known; ");
    if (!positive(c->interval_s)) strcat(why, "the interval has no length; ");
    if (!positive(o->resource.accelerators)) strcat(why, "no accelerators are declared; ");
    if (money && !positive(o->resource.usd_per_accelerator_hour))
        strcat(why, "there is no price; ");
    if (!money && !time) strcat(why, "that resource was not measured; ");
    snprintf(reason, cap, "%s", why);
    if (why[0]) return SLO_NOT_COMPUTABLE;
    double hours =
        o->resource.accelerators * c->interval_s / 3600 / (1 - o->resource.reserve_fraction);
    double cost = money ? hours * o->resource.usd_per_accelerator_hour : hours * 3600;
    *value = (double)c->useful / cost;
    return SLO_MET;
}

enum slo_answer slo_verdict(const struct objective *o, const struct percentile *percentiles,
                            const struct slo_counts *c) {
    int missed = 0, unknown = 0;
    enum slo_answer a;
#define PART(x)                                                                                    \
    do {                                                                                           \
        a = (x);                                                                                   \
        missed += a == SLO_MISSED;                                                                 \
        unknown += a == SLO_NOT_COMPUTABLE;                                                        \
    } while (0)
    for (int i = 0; i < o->n_latency; i++)
        if (o->latency[i].scope != SCOPE_REQUEST) PART(slo_limit(o->latency + i, percentiles + i));
    if (!isnan(o->reliability.max_failure_rate)) PART(slo_failure_rate(o, c));
    if (!isnan(o->quality.min_pass_rate)) PART(slo_quality(o, c));
    if (!isnan(o->throughput.min_rps)) PART(slo_throughput(o, c));
    if (missed) return SLO_MISSED;
    return unknown ? SLO_NOT_COMPUTABLE : SLO_MET;
}
