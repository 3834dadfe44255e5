/* report_parts.c: each part of a point's verdict with its own answer and figures. See
 * report_tree.h. The whole verdict is lab 04's report_verdict. */
#include "report/report_tree.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* Returns the part. */
static cJSON *add_part(cJSON *list, const char *part, enum slo_answer answer, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static cJSON *add_part(cJSON *list, const char *part, enum slo_answer answer, const char *fmt,
                       ...) {
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "part", part);
    cJSON_AddStringToObject(o, "answer", slo_answer_name(answer));
    cJSON_AddStringToObject(o, "text", text);
    cJSON_AddItemToArray(list, o);
    return o;
}

static enum slo_answer yes(bool met) {
    return met ? SLO_MET : SLO_MISSED;
}

static void add_limit(cJSON *list, const struct latency_limit *limit, const struct report_point *p,
                      const struct percentile *all, const struct percentile *ok) {
    char part[64], value[80], of_ok[64] = "";
    snprintf(part, sizeof part, "%s p%g", interval_name(limit->interval),
             limit->percentile_milli / 1000.0);
    int64_t unmeasured = p->finished_by_server + p->window.unplaced;
    if (!all->present && unmeasured > 0)
        snprintf(value, sizeof value, "no client measured %lld of the requests",
                 (long long)unmeasured);
    else if (!all->present)
        snprintf(value, sizeof value, "no completed request has this interval");
    else if (all->infinite)
        snprintf(value, sizeof value, "infinite: %zu of %zu requests were not completed",
                 all->failed, all->n);
    else
        snprintf(value, sizeof value, "%.3f ms of %zu requests", (double)all->ns / 1e6, all->n);
    if (ok->present && all->failed > 0)
        snprintf(of_ok, sizeof of_ok, "; %.3f ms of the completed ones alone",
                 (double)ok->ns / 1e6);
    cJSON *o = add_part(list, part, slo_limit(limit, all), "%s%s; the limit is below %g ms%s",
                        value, of_ok, (double)limit->below_ns / 1e6,
                        all->few ? "; too few requests for this percentile" : "");
    cJSON_AddBoolToObject(o, "too_few", all->few);
}

static void add_rates(cJSON *list, const struct objective *o, const struct report_point *p) {
    const struct slo_counts *c = &p->counts;
    enum slo_answer failures = slo_failure_rate(o, c);
    char unknown[80] = "";
    if (p->window.unplaced > 0) {
        if (failures == SLO_MET) failures = SLO_NOT_COMPUTABLE;
        snprintf(unknown, sizeof unknown, "; of %lld more it is not known",
                 (long long)p->window.unplaced);
    }
    if (c->useful == 0)
        add_part(list, "useful work", SLO_MISSED, "no request of the window was useful");
    if (!isnan(o->reliability.max_failure_rate))
        add_part(list, "failure rate", failures,
                 "%lld of %lld requests failed%s; at most %g are allowed", (long long)c->failed,
                 (long long)c->requests, unknown, o->reliability.max_failure_rate);
    if (!isnan(o->quality.min_pass_rate))
        add_part(list, "quality", slo_quality(o, c),
                 "%lld of %lld evaluated answers passed; the pass rate must be at least %g",
                 (long long)c->quality_passed, (long long)c->quality_evaluated,
                 o->quality.min_pass_rate);
    if (!isnan(o->throughput.min_rps)) {
        if (c->useful < 0)
            add_part(list, "throughput", slo_throughput(o, c),
                     "%s, so useful completions are not known",
                     c->quality_evaluated > 0 ? "no client says which answers arrived"
                                              : "no answer of the window was evaluated");
        else
            add_part(list, "throughput", slo_throughput(o, c),
                     "%.4g useful completions a second; at least %g are asked for",
                     (double)c->useful / c->interval_s, o->throughput.min_rps);
    }
}

static void add_recovery(cJSON *list, const struct objective *o, const struct report_point *p) {
    const struct report_recovery *r = &p->recovery;
    double limit_s = o->reliability.max_recovery_s;
    if (isnan(limit_s)) return;
    if (r->unended)
        add_part(list, "recovery", SLO_MISSED,
                 "no request was completed that arrived after the last failure began an outage");
    else if (r->outages == 0)
        add_part(list, "recovery", SLO_MET, "no failure was seen, so nothing had to recover");
    else
        add_part(list, "recovery", yes((double)r->longest_ns < limit_s * 1e9),
                 "outages: %lld, the longest %.3f s; the limit is below %g s",
                 (long long)r->outages, (double)r->longest_ns / 1e9, limit_s);
}

static void add_hard_limits(cJSON *list, const struct objective *o, const struct report_point *p) {
    double joules = o->hard_limits.joules_per_response;
    if (!isnan(o->hard_limits.gpu_memory_gib))
        add_part(list, "GPU memory", SLO_NOT_COMPUTABLE,
                 "records don't state how much memory was used; the limit is %g GiB",
                 o->hard_limits.gpu_memory_gib);
    if (isnan(joules)) return;
    if (isnan(p->joules) || p->counts.useful <= 0)
        add_part(list, "energy", SLO_NOT_COMPUTABLE, "%s",
                 isnan(p->joules) ? "not every record states its joules"
                                  : "there is no useful completion to divide by");
    else if (isinf(p->joules))
        add_part(list, "energy", SLO_MISSED,
                 "the joules add up to more than a number can hold; the limit is below %g", joules);
    else
        add_part(list, "energy", yes(p->joules / (double)p->useful < joules),
                 "%.4g joules a useful completion; the limit is below %g",
                 p->joules / (double)p->useful, joules);
}

bool report_states_limit(const struct objective *o) {
    for (int32_t i = 0; i < o->n_latency; i++)
        if (o->latency[i].scope == SCOPE_POPULATION) return true;
    return !isnan(o->quality.min_pass_rate) || !isnan(o->throughput.min_rps) ||
           !isnan(o->reliability.max_failure_rate) || !isnan(o->reliability.max_recovery_s) ||
           !isnan(o->hard_limits.gpu_memory_gib) || !isnan(o->hard_limits.joules_per_response);
}

cJSON *report_parts(const struct objective *o, const struct report_point *p) {
    cJSON *list = cJSON_CreateArray();
    add_part(list, "stability", yes(p->load.stable), "%s",
             p->load.stable ? "the queue keeps up with the arrivals"
                            : "ends do not keep up with arrivals: a queue grows, or a burst waits. "
                              "A window without a warm-up, or shorter than ten answers, looks "
                              "so, too");
    for (int32_t i = 0; i < o->n_latency; i++)
        if (o->latency[i].scope == SCOPE_POPULATION)
            add_limit(list, &o->latency[i], p, &p->limit[i], &p->limit_of_ok[i]);
    add_rates(list, o, p);
    add_recovery(list, o, p);
    add_hard_limits(list, o, p);
    if (!report_states_limit(o)) add_part(list, "limits", SLO_MET, "no limit stated");
    return list;
}
