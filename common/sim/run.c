/* run.c: drives a fleet through a workload, and keeps and measures the outcomes. See run.h. */
#include "sim/run.h"

#include "base/clock.h"
#include "sched/policies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the requests and their outcomes ---- */

struct keeper {
    const struct run_spec *spec;
    struct run *run;
    struct workload *workload;
    size_t cap, ended;
};

static int keep_arrival(struct keeper *k, const struct sim_request *r, struct err *e) {
    struct run *run = k->run;
    if (run->n == k->cap) {
        size_t cap = k->cap ? k->cap * 2 : 1024;
        void *list = realloc(run->list, cap * sizeof *run->list);
        if (!list) return err_set(e, "memory is out after %zu requests; take fewer", run->n);
        run->list = list;
        k->cap = cap;
    }
    INVARIANT(r->id == (int64_t)run->n);
    if (run->n == 0) run->first_arrival_ns = run->last_completion_ns = r->arrival_ns;
    run->last_arrival_ns = r->arrival_ns;
    run->list[run->n++] = (struct point_request){
        .arrival_ns = r->arrival_ns,
        .admitted_ns = -1,
        .first_token_ns = -1,
        .end_ns = -1, /* until it ends */
        .wanted_tokens = r->wanted_tokens ? r->wanted_tokens : r->output_tokens};
    return 0;
}

static enum point_end end_of(enum sim_end end) {
    if (end == SIM_COMPLETED) return POINT_DONE;
    return end == SIM_FAILED ? POINT_FAILED : POINT_REJECTED;
}

static void keep_outcome(void *ctx, const struct sim_outcome *o) {
    struct keeper *k = ctx;
    struct run *run = k->run;
    INVARIANT(o->request.id >= 0 && (size_t)o->request.id < run->n);
    struct point_request *p = &run->list[o->request.id];
    INVARIANT(p->end_ns < 0); /* a request ends once */
    p->admitted_ns = o->start_ns;
    p->first_token_ns = o->first_token_ns;
    p->end_ns = o->completion_ns;
    p->end = end_of(o->end);
    p->output_tokens = o->output_tokens;
    run->by_policy += o->end == SIM_REJECTED_BY_POLICY;
    run->too_large += o->end == SIM_REJECTED_TOO_LARGE;
    run->queue_full += o->end == SIM_REJECTED_QUEUE_FULL;
    run->sojourn_ns += p->end_ns - p->arrival_ns;
    if (p->end_ns > run->last_end_ns) run->last_end_ns = p->end_ns;
    if (p->end == POINT_DONE) {
        run->output_tokens += p->output_tokens;
        run->prompt_tokens += o->request.prompt_tokens;
        if (p->end_ns > run->last_completion_ns) run->last_completion_ns = p->end_ns;
    }
    if (k->spec->ended) k->spec->ended(k->spec->ctx, o);
    if (++k->ended % RUN_PROGRESS_EVERY == 0 && k->spec->progress)
        k->spec->progress(k->spec->ctx, (int64_t)k->ended);
    workload_ended(k->workload, o->completion_ns);
}

static void pass_event(void *ctx, int64_t id, enum event_kind kind, int64_t t_ns) {
    const struct run_spec *spec = ((struct keeper *)ctx)->spec;
    spec->event(spec->ctx, id, kind, t_ns);
}

/* ---- the run ---- */

static struct fleet *make_fleet(const struct run_spec *spec, struct keeper *k, struct err *e) {
    const char *arg;
    const struct policy_ops *policy = policy_find(spec->policy, &arg, e);
    if (!policy) return NULL;
    struct sim_config c = {.policy = spec->watch ? spec->watch(policy) : policy,
                           .ask_always = spec->watch != NULL,
                           .cost = spec->cost,
                           .kv_blocks = spec->kv_blocks,
                           .token_budget = spec->token_budget,
                           .max_running = spec->max_running,
                           .max_in_system = spec->max_in_system,
                           .prefix_tokens = spec->prefix_tokens,
                           .each = keep_outcome,
                           .event = spec->event ? pass_event : NULL,
                           .ctx = k};
    /* the arrivals use the seed itself: the router must draw other numbers */
    uint64_t router_seed = spec->workload.seed ^ UINT64_C(0x8cb92ba72f3d8dd7);
    return fleet_create(&c, arg, spec->servers, spec->router, router_seed, e);
}

/* Runs the servers up to the next arrival. After the last arrival it does nothing: fleet_finish
 * must first tell the policies that there is no other, so that a short group doesn't wait. In a
 * closed loop every end may cause an earlier arrival: it stops at each end and asks again. */
static int run_to_arrival(struct keeper *k, struct fleet *f, struct err *e) {
    if (workload_over(k->workload)) return 0;
    if (k->spec->workload.arrivals != ARRIVALS_CLOSED) {
        int64_t t_ns = workload_peek_ns(k->workload);
        return t_ns == INT64_MAX ? 0 : fleet_run_until(f, t_ns, e);
    }
    int rc;
    do rc = fleet_run_to_end(f, workload_peek_ns(k->workload), e);
    while (rc == 1);
    return rc;
}

static int drive(struct keeper *k, struct fleet *f, struct err *e) {
    for (;;) {
        struct sim_request r;
        if (run_to_arrival(k, f, e)) return -1;
        int got = workload_next(k->workload, &r, e);
        if (got == 0) return fleet_finish(f, e);
        if (got == WORKLOAD_WAIT)
            return err_set(e, "the policy leaves requests unfinished although no client can send "
                              "another before one of them ends");
        if (got < 0) return -1;
        if (keep_arrival(k, &r, e)) return -1;
        if (fleet_push(f, &r, e)) return -1;
    }
}

int run_once(const struct run_spec *spec, struct run *out, struct err *e) {
    *out = (struct run){0};
    if (e) *e = (struct err){0};
    struct keeper k = {.spec = spec, .run = out};
    int rc = RUN_BAD;
    struct fleet *f = NULL;
    k.workload = workload_open(&spec->workload, e);
    if (k.workload) f = make_fleet(spec, &k, e);
    if (f && !drive(&k, f, e)) {
        fleet_counters(f, &out->counters);
        workload_facts(k.workload, &out->facts);
        rc = run_check(out, e) ? RUN_OURS : 0;
    }
    fleet_free(f);
    workload_close(k.workload);
    if (rc) run_release(out);
    if (rc && e && !e->text[0])
        err_set(e, "policy %.60s reports a fault and doesn't say which", spec->policy);
    return rc;
}

bool run_has_limits(const struct point_limits *l) {
    return l->ttft_below_ns < INT64_MAX || l->tpot_below_ns < INT64_MAX ||
           l->e2e_below_ns < INT64_MAX;
}

void run_release(struct run *r) {
    free(r->list);
    *r = (struct run){0};
}

int run_check(const struct run *r, struct err *e) {
    __int128 sojourn_ns = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->list[i].end_ns < r->list[i].arrival_ns)
            return err_set(e, "the simulator lost request %zu: it never ended", i);
        sojourn_ns += r->list[i].end_ns - r->list[i].arrival_ns;
    }
    if (r->counters.arrivals != (int64_t)r->n)
        return err_set(e, "the simulator counted %lld arrivals, and %zu were sent",
                       (long long)r->counters.arrivals, r->n);
    if (r->counters.in_system_time != sojourn_ns || r->counters.latency_sum != sojourn_ns)
        return err_set(e,
                       "Little's law is broken: the integral of the number in the system is %.17g "
                       "request-ns, the times in the system add up to %.17g",
                       (double)r->counters.in_system_time, (double)sojourn_ns);
    return 0;
}

/* ---- measurement ---- */

static double per_second(double count, int64_t interval_ns) {
    return interval_ns > 0 ? count * (double)NS_PER_S / (double)interval_ns : NAN;
}

static double quotient(double a, double b) {
    return b > 0 ? a / b : NAN;
}

static void measure_whole(const struct run *r, const struct run_spec *spec,
                          struct run_measures *m) {
    const struct sim_counters *c = &r->counters;
    double busy_ns = (double)c->busy_ns;
    m->interval_ns = r->last_completion_ns - r->first_arrival_ns;
    for (size_t i = 0; i < r->n; i++) m->completed += point_classify(&r->list[i]) == POINT_COMPLETE;
    m->throughput_rps = per_second((double)m->completed, m->interval_ns);
    m->output_tps = per_second((double)r->output_tokens, m->interval_ns);
    m->total_tps = per_second((double)(r->output_tokens + r->prompt_tokens), m->interval_ns);
    m->ips = per_second((double)c->iterations, m->interval_ns);
    int64_t span_ns = r->last_end_ns - r->first_arrival_ns;
    m->busy_share = quotient(busy_ns, (double)span_ns * spec->servers);
    m->mean_batch = quotient((double)c->batch_time, busy_ns);
    m->kv_peak_share = (double)c->kv_peak_blocks / spec->kv_blocks;
    m->kv_mean_share =
        quotient((double)c->kv_time, (double)span_ns * spec->kv_blocks * spec->servers);
    m->little_l = quotient((double)c->in_system_time, (double)span_ns);
    m->little_lambda_rps = per_second((double)r->n, span_ns);
    m->little_w_ns = (double)r->sojourn_ns / (double)r->n;
}

static void measure_waits(const struct run *r, struct run_measures *m) {
    int64_t *waits = malloc((r->n + 1) * sizeof *waits);
    INVARIANT(waits);
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct point_request *p = &r->list[i];
        if (p->arrival_ns < m->from_ns || point_classify(p) != POINT_COMPLETE) continue;
        struct point_intervals iv;
        point_intervals(p, &iv);
        sum += (double)iv.queue_delay_ns;
        waits[n++] = iv.queue_delay_ns;
    }
    m->mean_wait_ns = n ? sum / (double)n : NAN;
    size_t others = (size_t)(m->point.requests - m->point.complete);
    m->queue_delay_p50 = percentile_nearest_rank(waits, n, others, 50000);
    free(waits);
}

int run_measure(const struct run *r, const struct run_spec *spec, struct run_measures *out,
                struct err *e) {
    *out = (struct run_measures){0};
    out->from_ns = r->first_arrival_ns + spec->warm_up_ns;
    out->to_ns = r->last_arrival_ns + 1;
    out->has_rates = out->to_ns - out->from_ns > 1;
    if (out->from_ns >= out->to_ns)
        return err_at(e, 0, "--warm-up-s",
                      "after a warm-up of %g s nothing arrives: the last of %zu requests came %g s "
                      "after the first; shorten it, or send more",
                      (double)spec->warm_up_ns / (double)NS_PER_S, r->n,
                      (double)(r->last_arrival_ns - r->first_arrival_ns) / (double)NS_PER_S);
    if (point_measure(r->list, r->n, out->from_ns, out->to_ns, &spec->limits, &out->point, e))
        return -1;
    measure_whole(r, spec, out);
    measure_waits(r, out);
    return 0;
}
