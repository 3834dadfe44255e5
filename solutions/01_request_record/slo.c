/* slo.c: is the objective met? objective/slo.h has the rules.
 *
 * Three answers: met, missed, and "not computable" if the data lack something that the question
 * needs. A missing number never becomes a zero, and throughput never counts as success while a
 * latency limit is missed.
 */
#include "objective/slo.h"
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum slo_answer met_if(bool met) {
    return met ? SLO_MET : SLO_MISSED;
}

/* Is the interval a finite length above 0? */
static bool usable_interval(const struct slo_counts *c) {
    return isfinite(c->interval_s) && c->interval_s > 0;
}
// END SOLUTION

enum slo_answer slo_limit(const struct latency_limit *limit, const struct percentile *p) {
    // BEGIN SOLUTION
    //| LAB_TODO("slo_limit");
    if (!p->present) return SLO_NOT_COMPUTABLE;
    return met_if(!p->infinite && p->ns < limit->below_ns);
    // END SOLUTION
}

enum slo_answer slo_failure_rate(const struct objective *o, const struct slo_counts *c) {
    // BEGIN SOLUTION
    //| LAB_TODO("slo_failure_rate");
    if (isnan(o->reliability.max_failure_rate) || c->failed < 0 || c->requests <= 0)
        return SLO_NOT_COMPUTABLE;
    return met_if((double)c->failed / (double)c->requests <= o->reliability.max_failure_rate);
    // END SOLUTION
}

enum slo_answer slo_quality(const struct objective *o, const struct slo_counts *c) {
    // BEGIN SOLUTION
    //| LAB_TODO("slo_quality");
    if (isnan(o->quality.min_pass_rate) || c->quality_passed < 0 || c->quality_evaluated <= 0)
        return SLO_NOT_COMPUTABLE;
    return met_if((double)c->quality_passed / (double)c->quality_evaluated >=
                  o->quality.min_pass_rate);
    // END SOLUTION
}

enum slo_answer slo_throughput(const struct objective *o, const struct slo_counts *c) {
    // BEGIN SOLUTION
    //| LAB_TODO("slo_throughput");
    if (isnan(o->throughput.min_rps) || c->useful < 0 || !usable_interval(c))
        return SLO_NOT_COMPUTABLE;
    return met_if((double)c->useful / c->interval_s >= o->throughput.min_rps);
    // END SOLUTION
}

enum slo_answer slo_objective_value(const struct objective *o, const struct slo_counts *c,
                                    double *value, char *reason, size_t cap) {
    // BEGIN SOLUTION
    //| LAB_TODO("slo_objective_value");
    bool usd = !strcmp(o->resource.primary, "usd");
    bool seconds = !strcmp(o->resource.primary, "accelerator_seconds");
    double price = o->resource.usd_per_accelerator_hour;
    double provisioned = o->resource.accelerators / (1 - o->resource.reserve_fraction);
    const char *missing[5];
    int n = 0;
    if (!usd && !seconds) missing[n++] = "a resource that can be computed from counts";
    if (c->useful < 0) missing[n++] = "a count of useful completions";
    if (!usable_interval(c)) missing[n++] = "the length of the measured interval";
    if (!isfinite(provisioned) || provisioned <= 0) missing[n++] = "the number of accelerators";
    if (usd && !(isfinite(price) && price > 0)) missing[n++] = "a price per accelerator hour";

    reason[0] = '\0';
    for (int i = 0, at = 0; i < n && at >= 0 && (size_t)at < cap; i++)
        at += snprintf(reason + at, cap - (size_t)at, "%s%s",
                       i == 0      ? "not computable without "
                       : i + 1 < n ? ", "
                                   : " and ",
                       missing[i]);
    if (n > 0) return SLO_NOT_COMPUTABLE;

    double units = provisioned * c->interval_s;
    if (usd) units *= price / 3600;
    *value = (double)c->useful / units;
    return SLO_MET;
    // END SOLUTION
}
// BEGIN SOLUTION

/* Combines a part's answer with the answer so far: missed has precedence over not computable, and
 * that over met. */
static void combine(enum slo_answer *all, enum slo_answer part) {
    if (part == SLO_MISSED || *all == SLO_MET) *all = part;
}
// END SOLUTION

enum slo_answer slo_verdict(const struct objective *o, const struct percentile *percentiles,
                            const struct slo_counts *c) {
    // BEGIN SOLUTION
    //| LAB_TODO("slo_verdict");
    enum slo_answer all = SLO_MET;
    for (int32_t i = 0; i < o->n_latency; i++)
        if (o->latency[i].scope == SCOPE_POPULATION)
            combine(&all, slo_limit(&o->latency[i], &percentiles[i]));
    if (!isnan(o->reliability.max_failure_rate)) combine(&all, slo_failure_rate(o, c));
    if (!isnan(o->quality.min_pass_rate)) combine(&all, slo_quality(o, c));
    if (!isnan(o->throughput.min_rps)) combine(&all, slo_throughput(o, c));
    return all;
    // END SOLUTION
}
