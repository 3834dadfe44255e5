/* slo.h: is a service-level objective met? Lab 01 writes this interface (slo.c).
 *
 * Limits are strict: a value equal to its limit misses it. "Not computable" is a third answer,
 * neither met nor missed: the data don't contain what the question needs.
 */
#ifndef SERVELAB_OBJECTIVE_SLO_H
#define SERVELAB_OBJECTIVE_SLO_H

#include "objective/classify.h"
#include "objective/objective.h"
#include "objective/percentile.h"

enum slo_answer { SLO_MET, SLO_MISSED, SLO_NOT_COMPUTABLE };

/* One population limit against one percentile: absent percentile -> not computable; infinite ->
 * missed; otherwise met when ns < below_ns. (Whose percentile it is, the caller knows.) */
enum slo_answer slo_limit(const struct latency_limit *limit, const struct percentile *p);

/* What was counted at one operating point. A negative count or a NaN says "not measured". */
struct slo_counts {
    int64_t requests; /* user requests offered */
    int64_t useful;   /* useful completions */
    int64_t failed;   /* user requests that ended in one of the objective's failure reasons */
    int64_t quality_passed, quality_evaluated;
    double interval_s; /* length of the measured interval */
};

/* Failure rate limit: failed / requests <= max_failure_rate. Not computable when either is unknown
 * or requests is 0, or when the objective states no limit (NaN). The same for the pass rate: passed
 * / evaluated >= min_pass_rate. Rates are bounds that may be reached. They are quotients of
 * doubles, so that 1 of 1000 equals 0.001. */
enum slo_answer slo_failure_rate(const struct objective *o, const struct slo_counts *c);
enum slo_answer slo_quality(const struct objective *o, const struct slo_counts *c);
/* useful / interval_s >= min_rps. Not computable without a count, a stated rate, or a finite
 * interval above 0. */
enum slo_answer slo_throughput(const struct objective *o, const struct slo_counts *c);

/* The objective's value: useful completions per unit of the provisioned primary resource.
 *   accelerators provisioned = accelerators used / (1 - reserve_fraction)
 *   usd = provisioned * interval_s / 3600 * usd_per_accelerator_hour
 *   accelerator_seconds = provisioned * interval_s
 * Not computable without a count of useful completions, a finite positive interval, a number of
 * accelerators above 0, or (for usd) a price above 0; "joules" is not computable from these counts.
 * On SLO_MET *value holds useful completions per unit, and reason is "". Otherwise *value is
 * untouched and reason (cap >= 1 bytes, cut where it is too long) names everything that is missing
 * in one sentence. The answer is never SLO_MISSED: a value is no limit. */
enum slo_answer slo_objective_value(const struct objective *o, const struct slo_counts *c,
                                    double *value, char *reason, size_t cap);

/* All together: missed when any part is missed, else not computable when any required part is, else
 * met. The parts: the limits of scope "population", failure rate, quality, throughput.
 * percentiles[i] belongs to o->latency[i] (ignored for SCOPE_REQUEST limits, and may be NULL when
 * there is no limit). Parts the objective doesn't state (NaN) are not required. The objective's
 * value plays no part, nor do hard limits and recovery, for which there are no counts here. */
enum slo_answer slo_verdict(const struct objective *o, const struct percentile *percentiles,
                            const struct slo_counts *c);

/* Given by us (objective/names.c): "met", "missed", "not_computable". */
const char *slo_answer_name(enum slo_answer a);

#endif
