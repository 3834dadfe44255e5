/* report.c: makes operating points of request records and judges them (objective/report.h has the
 * rules).
 *
 * One idea: the population is fixed before anything is measured. Every user request that arrived in
 * the window stays in every denominator, whatever became of it; only then are latencies looked at.
 * Not here: reading files and printing (common/report).
 */
#include "objective/report.h"
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
// END SOLUTION
// BEGIN SOLUTION

/* ---- one attempt ----------------------------------------------------------------------------- */

static int check_interval(const struct interval *iv, enum interval_id id, struct err *e) {
    if (iv->status == INTERVAL_NEGATIVE || (iv->status == INTERVAL_OK && iv->ns < 0))
        return err_at(e, 0, interval_name(id), "is negative: its end lies before its start");
    return 0;
}

/* The last event on the clock that read *accepted. */
static int64_t server_end_ns(const struct record *r, const struct event *accepted) {
    int64_t last_ns = accepted->t_ns;
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].clock == accepted->clock && r->events[i].t_ns > last_ns)
            last_ns = r->events[i].t_ns;
    return last_ns;
}

static int64_t end_of(const struct record *r, int64_t submitted_ns) {
    const struct event *last = record_event(r, EV_FINAL_BYTE_RECEIVED);
    const struct event *accepted = record_event(r, EV_REQUEST_ACCEPTED);
    if (last) return last->t_ns;
    if (submitted_ns < 0 || !accepted) return -1;
    return submitted_ns + server_end_ns(r, accepted) - accepted->t_ns;
}
// END SOLUTION

int report_attempt(const struct record *r, int64_t scheduled_ns, enum truncation_rule truncation,
                   struct report_attempt *out, struct err *e) {
    // BEGIN SOLUTION
    //| LAB_TODO("report_attempt");
    const struct event *submitted = record_event(r, EV_REQUEST_SUBMITTED);
    const struct event *accepted = record_event(r, EV_REQUEST_ACCEPTED);
    const struct event *arrived = submitted ? submitted : accepted;
    struct classification c;
    memset(out, 0, sizeof *out);
    intervals_compute(r, &out->iv);
    if (submitted && scheduled_ns >= 0) {
        int64_t lag_ns = submitted->t_ns - scheduled_ns;
        if (out->iv.client_ttft.status == INTERVAL_OK) out->iv.client_ttft.ns += lag_ns;
        if (out->iv.e2e.status == INTERVAL_OK) out->iv.e2e.ns += lag_ns;
    }
    for (enum interval_id id = 0; id < IV_N; id++)
        if (check_interval(interval_get(&out->iv, id), id, e)) return -1;
    classify_request(&r, 1, truncation, &c);
    strcpy(out->request_id, r->request_id);
    out->attempt = r->attempt;
    out->at_server = !submitted && accepted;
    out->submitted_ns = scheduled_ns >= 0 ? scheduled_ns : arrived ? arrived->t_ns : -1;
    out->ended_ns = end_of(r, out->submitted_ns);
    out->reason = c.reason;
    out->finished_by_server = finished_by_server(r, c.reason);
    strcpy(out->check, r->quality.check);
    out->quality = c.quality;
    out->structure = c.structure;
    out->prompt_tokens = r->workload.prompt_tokens;
    out->cached_prompt_tokens = r->workload.cached_prompt_tokens;
    out->output_tokens = r->workload.output_tokens;
    out->gpu_seconds = r->resources.gpu_seconds;
    if (isnan(out->gpu_seconds) && out->iv.gpu_execution.status == INTERVAL_OK)
        out->gpu_seconds = (double)out->iv.gpu_execution.ns / 1e9;
    out->joules = r->resources.joules;
    return 0;
    // END SOLUTION
}
// BEGIN SOLUTION

/* ---- user requests --------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b) {
    const struct report_attempt *x = *(const struct report_attempt *const *)a;
    const struct report_attempt *y = *(const struct report_attempt *const *)b;
    int ids = strcmp(x->request_id, y->request_id);
    if (ids) return ids;
    return x->attempt != y->attempt ? (x->attempt > y->attempt) - (x->attempt < y->attempt)
                                    : (x->line > y->line) - (x->line < y->line);
}

static int by_arrival(const void *a, const void *b) {
    const struct report_request *x = a, *y = b;
    if (x->arrival_ns != y->arrival_ns) return x->arrival_ns < y->arrival_ns ? -1 : 1;
    return strcmp(x->deciding->request_id, y->deciding->request_id);
}

/* From tries[0..n), the attempts of one user request by their numbers. */
static void make_request(const struct objective *o, const struct report_attempt *const *tries,
                         size_t n, struct report_request *out) {
    const struct report_attempt *last = tries[n - 1];
    int64_t before_ns = last->submitted_ns - tries[0]->submitted_ns; /* lost in earlier attempts */
    *out = (struct report_request){.deciding = last,
                                   .attempts = (int32_t)n,
                                   .arrival_ns = tries[0]->submitted_ns,
                                   .iv = last->iv};
    if (out->iv.client_ttft.status == INTERVAL_OK) out->iv.client_ttft.ns += before_ns;
    if (out->iv.e2e.status == INTERVAL_OK) out->iv.e2e.ns += before_ns;
    out->c.reason = last->reason;
    out->c.completed = last->reason == REASON_DELIVERED;
    out->c.quality = last->quality;
    out->c.structure = last->structure;
    out->c.useful =
        out->c.completed && last->quality == VERDICT_PASSED && last->structure != VERDICT_FAILED;
    out->c.attempts = (int32_t)n;
    out->good = classify_good(&out->c, &out->iv, o);
    for (size_t i = 0; i < n; i++) { /* a NaN stays one */
        out->gpu_seconds += tries[i]->gpu_seconds;
        out->joules += tries[i]->joules;
    }
}
// END SOLUTION

int report_group(const struct objective *o, const struct report_attempt *attempts, size_t n,
                 struct report_request *out, size_t *n_out, struct err *e) {
    // BEGIN SOLUTION
    //| LAB_TODO("report_group");
    const struct report_attempt **sorted = malloc((n + 1) * sizeof *sorted);
    int rc = 0;
    *n_out = 0;
    if (!sorted) return err_set(e, "no memory for %zu attempts", n);
    for (size_t i = 0; i < n; i++) sorted[i] = &attempts[i];
    qsort(sorted, n, sizeof *sorted, by_id);
    for (size_t from = 0, to; from < n && !rc; from = to) {
        for (to = from + 1; to < n; to++) {
            if (strcmp(sorted[to]->request_id, sorted[from]->request_id)) break;
            if (sorted[to]->attempt == sorted[to - 1]->attempt)
                rc = err_at(e, sorted[to]->line, "attempt",
                            "attempt %d of request '%s' is there twice; line %d has it too",
                            sorted[to]->attempt, sorted[to]->request_id, sorted[to - 1]->line);
            else if (sorted[to]->submitted_ns < sorted[to - 1]->submitted_ns)
                rc = err_at(e, sorted[to]->line, "attempt",
                            "attempt %d of request '%s' was submitted before attempt %d",
                            sorted[to]->attempt, sorted[to]->request_id, sorted[to - 1]->attempt);
        }
        if (!rc) make_request(o, sorted + from, to - from, &out[(*n_out)++]);
    }
    free(sorted);
    if (!rc) qsort(out, *n_out, sizeof *out, by_arrival);
    return rc;
    // END SOLUTION
}
// BEGIN SOLUTION

/* ---- an operating point ---------------------------------------------------------------------- */

/* Did it end for one of the objective's failure reasons? */
static bool failed(const struct objective *o, const struct report_request *q) {
    if (q->deciding->finished_by_server) return false;
    for (int32_t i = 0; i < o->reliability.n_failures; i++)
        if (!strcmp(o->reliability.failures[i], completion_reason_name(q->c.reason))) return true;
    return false;
}

/* Was its answer computed to the end, whoever knows that it arrived? */
static bool finished(const struct report_request *q) {
    return q->c.completed || q->deciding->finished_by_server;
}

/* The load of a point is lab 02's measurement. An answer that was cut is one that has fewer tokens
 * than it wanted; every other incomplete one is a refusal or a failure there. */
static int measure_load(const struct report_request *requests, size_t n,
                        const struct report_window *w, struct operating_point *out, struct err *e) {
    const struct point_limits none = {INT64_MAX, INT64_MAX, INT64_MAX};
    struct point_request *list = calloc(n, sizeof *list);
    int64_t last_ns = w->to_ns, zero_ns = w->from_ns;
    if (!list) return err_set(e, "no memory for %zu requests", n);
    for (size_t i = 0; i < n; i++) {
        const struct report_request *q = &requests[i];
        if (q->arrival_ns > last_ns) last_ns = q->arrival_ns;
        if (q->deciding->ended_ns > last_ns) last_ns = q->deciding->ended_ns;
        if (q->arrival_ns < zero_ns) zero_ns = q->arrival_ns;
    }
    for (size_t i = 0; i < n; i++) {
        const struct report_request *q = &requests[i];
        bool truncated = q->c.reason == REASON_TRUNCATED;
        int64_t end_ns = q->deciding->ended_ns < 0 ? last_ns + 1 : q->deciding->ended_ns;
        list[i] = (struct point_request){.arrival_ns = q->arrival_ns - zero_ns,
                                         .admitted_ns = -1,
                                         .first_token_ns = -1,
                                         .end_ns = end_ns - zero_ns,
                                         .wanted_tokens = truncated,
                                         .end = POINT_FAILED};
        if (finished(q) || truncated) list[i].end = POINT_DONE;
        if (q->c.reason == REASON_REJECTED) list[i].end = POINT_REJECTED;
    }
    int rc = point_measure(list, n, w->from_ns - zero_ns, w->to_ns - zero_ns + 1, &none, out, e);
    free(list);
    return rc;
}

static bool is_evaluated(enum verdict v) {
    return v == VERDICT_PASSED || v == VERDICT_FAILED;
}

/* An unknown number makes the sum unknown. */
static void add_tokens(int64_t *sum, int32_t tokens) {
    *sum = *sum < 0 || tokens < 0 ? -1 : *sum + tokens;
}

static void count(const struct objective *o, const struct report_request *q,
                  struct report_point *p) {
    p->requests++;
    p->retried += q->attempts > 1;
    p->attempts += q->attempts;
    p->completed += q->c.completed;
    p->useful += q->c.useful;
    p->good += q->good;
    p->finished_by_server += q->deciding->finished_by_server;
    p->by_reason[q->c.reason] += !q->deciding->finished_by_server;
    p->quality[q->c.quality]++;
    p->structure[q->c.structure]++;
    p->unjudged += q->c.completed && !is_evaluated(q->c.quality);
    p->other_check += is_evaluated(q->c.quality) && o->quality.check[0] &&
                      strcmp(o->quality.check, q->deciding->check) != 0;
    p->counts.failed += failed(o, q);
    add_tokens(&p->prompt_tokens, q->deciding->prompt_tokens);
    add_tokens(&p->cached_prompt_tokens, q->deciding->cached_prompt_tokens);
    add_tokens(&p->output_tokens, q->deciding->output_tokens);
    p->gpu_seconds += q->gpu_seconds;
    p->joules += q->joules;
}

static void finish_counts(struct report_point *p) {
    p->counts.requests = p->requests;
    p->counts.useful = p->useful;
    p->counts.quality_passed = p->quality[VERDICT_PASSED];
    p->counts.quality_evaluated = p->quality[VERDICT_PASSED] + p->quality[VERDICT_FAILED];
    p->counts.interval_s = (double)(p->window.to_ns - p->window.from_ns) / 1e9;
    bool unjudged = p->completed > 0 && p->counts.quality_evaluated == 0;
    bool unseen = p->completed == 0 && p->finished_by_server > 0;
    if (unjudged || unseen) p->counts.useful = -1;
}

/* Observations of one interval: of finished requests, which have it or are left out. */
static void take_percentiles(const struct objective *o, const struct report_request *const *in,
                             size_t n, int64_t *obs, struct report_point *p) {
    int64_t unmeasured = p->finished_by_server + p->window.unplaced;
    size_t n_failed = (size_t)(p->requests - p->completed - p->finished_by_server);
    for (int32_t i = 0; i < o->n_latency; i++) {
        const struct latency_limit *limit = &o->latency[i];
        bool clients = limit->interval == IV_CLIENT_TTFT || limit->interval == IV_E2E;
        size_t n_ok = 0;
        if (limit->scope != SCOPE_POPULATION || (clients && unmeasured > 0)) continue;
        for (size_t k = 0; k < n; k++) {
            const struct interval *iv = interval_get(&in[k]->iv, limit->interval);
            if (finished(in[k]) && iv->status == INTERVAL_OK) obs[n_ok++] = iv->ns;
        }
        p->limit[i] = percentile_nearest_rank(obs, n_ok, n_failed, limit->percentile_milli);
        p->limit_of_ok[i] = percentile_nearest_rank(obs, n_ok, 0, limit->percentile_milli);
    }
}

static int by_end(const void *a, const void *b) {
    const struct report_request *x = *(const struct report_request *const *)a;
    const struct report_request *y = *(const struct report_request *const *)b;
    int64_t ex = x->deciding->ended_ns, ey = y->deciding->ended_ns;
    return (ex > ey) - (ex < ey);
}

/* By walking the requests in the order in which they ended. */
static void find_outages(const struct objective *o, const struct report_request **by_their_end,
                         size_t n, struct report_recovery *out) {
    int64_t began_ns = -1;
    qsort(by_their_end, n, sizeof *by_their_end, by_end);
    for (size_t i = 0; i < n; i++) {
        const struct report_request *q = by_their_end[i];
        int64_t ended_ns = q->deciding->ended_ns;
        if (ended_ns < 0) continue;
        if (began_ns < 0 && failed(o, q)) {
            began_ns = ended_ns;
            out->outages++;
        } else if (began_ns >= 0 && finished(q) && q->arrival_ns > began_ns) {
            if (ended_ns - began_ns > out->longest_ns) out->longest_ns = ended_ns - began_ns;
            began_ns = -1;
        }
    }
    out->unended = began_ns >= 0;
}
// END SOLUTION

int report_measure(const struct objective *o, const struct report_request *requests, size_t n,
                   const struct report_window *window, struct report_point *out, struct err *e) {
    // BEGIN SOLUTION
    //| LAB_TODO("report_measure");
    const struct report_request **in = malloc((n + 1) * sizeof *in);
    int64_t *obs = malloc((n + 1) * sizeof *obs);
    size_t n_in = 0;
    int rc = 0;
    memset(out, 0, sizeof *out);
    out->window = *window;
    for (size_t i = 0; in && i < n; i++) {
        bool inside =
            requests[i].arrival_ns >= window->from_ns && requests[i].arrival_ns <= window->to_ns;
        if (!inside) continue;
        in[n_in++] = &requests[i];
        count(o, &requests[i], out);
    }
    if (!in || !obs)
        rc = err_set(e, "no memory for %zu requests", n);
    else if (window->from_ns >= window->to_ns || n_in == 0)
        rc = err_set(e, "no request arrived in the measured window");
    else
        rc = measure_load(requests, n, window, &out->load, e);
    if (!rc) {
        finish_counts(out);
        take_percentiles(o, in, n_in, obs, out);
        for (size_t i = 0; i < n; i++) in[i] = &requests[i];
        find_outages(o, in, n, &out->recovery);
    }
    free(in);
    free(obs);
    return rc;
    // END SOLUTION
}

enum slo_answer report_verdict(const struct objective *o, const struct report_point *p) {
    // BEGIN SOLUTION
    //| LAB_TODO("report_verdict");
    enum slo_answer slo = slo_verdict(o, p->limit, &p->counts);
    double recovery_s = o->reliability.max_recovery_s, joules = o->hard_limits.joules_per_response;
    bool recovered = isnan(recovery_s) ||
                     (!p->recovery.unended && (double)p->recovery.longest_ns < recovery_s * 1e9);
    bool hidden = p->window.unplaced > 0 && !isnan(o->reliability.max_failure_rate);
    bool energy_known = !isnan(p->joules) && p->counts.useful > 0;
    if (!p->load.stable || slo == SLO_MISSED || !recovered || p->counts.useful == 0)
        return SLO_MISSED;
    if (!isnan(joules) && energy_known && !(p->joules / (double)p->useful < joules))
        return SLO_MISSED;
    bool lacking = hidden || !isnan(o->hard_limits.gpu_memory_gib);
    if (slo == SLO_NOT_COMPUTABLE || lacking || (!isnan(joules) && !energy_known))
        return SLO_NOT_COMPUTABLE;
    return SLO_MET;
    // END SOLUTION
}

int report_regions(const struct objective *o, const struct report_point *points, size_t n,
                   struct report_regions *out, struct err *e) {
    // BEGIN SOLUTION
    //| LAB_TODO("report_regions");
    struct operating_point *loads = calloc(n + 1, sizeof *loads);
    double most = -1;
    *out = (struct report_regions){-1, -1, -1};
    if (!loads) return err_set(e, "no memory for %zu points", n);
    for (size_t i = 0; i < n; i++) {
        double rate = (double)points[i].useful / points[i].counts.interval_s;
        loads[i] = points[i].load;
        if (report_verdict(o, &points[i]) != SLO_MET || rate <= most) continue;
        out->best_valid = (int)i;
        most = rate;
    }
    size_t knee = curve_knee(loads, n), saturation = curve_saturation(loads, n);
    if (knee < n) out->knee = (int)knee;
    if (saturation < n) out->saturation = (int)saturation;
    free(loads);
    return 0;
    // END SOLUTION
}
