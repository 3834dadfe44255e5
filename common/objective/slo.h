/* slo.h: decides whether a service-level objective (SLO) is met. Lab 01 writes this interface
 * (slo.c).
 *
 * Limits are strict: a value equal to its limit misses it. "Not computable" is a third answer,
 * neither met nor missed: the data lack something that the question needs.
 */
#ifndef SERVELAB_OBJECTIVE_SLO_H
#define SERVELAB_OBJECTIVE_SLO_H

#include "objective/classify.h"
#include "objective/objective.h"
#include "objective/percentile.h"

enum slo_answer { SLO_MET, SLO_MISSED, SLO_NOT_COMPUTABLE };

/* One population limit and one percentile: not computable if the percentile is absent, missed if it
 * is infinite, otherwise met if ns < below_ns. The caller passes the percentile of the limit's
 * interval. */
enum slo_answer slo_limit(const struct latency_limit *limit, const struct percentile *p);

/* The counts of one operating point. A negative count or a NaN means "not measured". */
struct slo_counts {
    int64_t requests; /* user requests offered */
    int64_t useful;   /* useful completions */
    int64_t failed;   /* user requests that ended for one of the objective's failure reasons */
    int64_t quality_passed, quality_evaluated;
    double interval_s; /* length of the measured interval */
};

/* Failure rate: failed / requests <= max_failure_rate. Not computable if either is unknown,
 * requests is 0, or the objective states no limit (NaN). Pass rate: likewise, passed / evaluated >=
 * min_pass_rate. These two bounds may be reached. The rates are quotients of doubles, so 1 of 1000
 * equals 0.001. */
enum slo_answer slo_failure_rate(const struct objective *o, const struct slo_counts *c);
enum slo_answer slo_quality(const struct objective *o, const struct slo_counts *c);
/* useful / interval_s >= min_rps. Not computable without a count, a stated rate, or a finite
 * interval above 0. */
enum slo_answer slo_throughput(const struct objective *o, const struct slo_counts *c);

/* The objective's value: useful completions per unit of the provisioned primary resource.
 *   accelerators provisioned = accelerators used / (1 - reserve_fraction)
 *   usd = provisioned * interval_s / 3600 * usd_per_accelerator_hour
 *   accelerator_seconds = provisioned * interval_s
 * Not computable without a count of useful completions, a finite interval above 0, a number of
 * accelerators above 0, or (for usd) a price above 0; "joules" is never computable from these
 * counts. On SLO_MET *value is set and reason is "". Otherwise *value is unchanged, and reason (cap
 * >= 1 bytes, cut if too long) names everything that is missing, in one sentence. The answer is
 * never SLO_MISSED, because a value has no limit. */
enum slo_answer slo_objective_value(const struct objective *o, const struct slo_counts *c,
                                    double *value, char *reason, size_t cap);

/* The whole objective: missed if any part is missed; otherwise not computable if any required part
 * is; otherwise met. The parts are the limits of scope "population", the failure rate, quality and
 * throughput. percentiles[i] belongs to o->latency[i]; it is ignored for limits of scope "request",
 * and percentiles may be NULL if there is no limit. Parts that the objective does not state (NaN)
 * are not required. The objective's value, hard limits and recovery are not parts: there are no
 * counts for them here. */
enum slo_answer slo_verdict(const struct objective *o, const struct percentile *percentiles,
                            const struct slo_counts *c);

/* Given (objective/names.c): "met", "missed", "not_computable". */
const char *slo_answer_name(enum slo_answer a);

#endif
