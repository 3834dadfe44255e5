/* sweep.c: the stages of a sweep, each a set of jobs: estimates, points, searches. See sweep.h. */
#include "sim/sweep.h"

#include "base/clock.h"
#include "sim/jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shares of the estimated saturation, closer together where the curve bends. */
static const double SWEEP_SHARES[] = {.1, .25, .4, .5, .6, .7, .8, .9, .95, 1, 1.1, 1.25};
enum { N_SHARES = sizeof SWEEP_SHARES / sizeof *SWEEP_SHARES };
static const double AT_ONCE_RPS = 1e6; /* for the estimate: all arrive before the first is served */

struct task {
    size_t policy;
    double rate_rps; /* points only */
};

union answer {
    double guess_rps;
    struct sweep_point point;
    struct capacity capacity;
};
_Static_assert(sizeof(union answer) <= JOBS_MAX_ANSWER, "fits a job's answer");

struct sweeping {
    const struct sweep_spec *spec;
    struct sweep *out;
    struct task *tasks;
    size_t n_tasks, done;
    const char *stage; /* for the progress bar */
};

static int run_stages(struct sweeping *s, struct err *e);

int sweep_run(const struct sweep_spec *spec, struct sweep *out, struct err *e) {
    *out = (struct sweep){.n_policies = spec->n_policies};
    for (size_t i = 0; i < spec->n_policies; i++)
        snprintf(out->policies[i].name, sizeof out->policies[i].name, "%s", spec->policies[i]);
    struct sweeping s = {.spec = spec, .out = out};
    int64_t began_ns = clock_monotonic_ns();
    int rc = run_stages(&s, e);
    free(s.tasks);
    out->seconds = (double)(clock_monotonic_ns() - began_ns) / (double)NS_PER_S;
    out->complete = rc == 0;
    if (rc < 0) {
        sweep_release(out);
        return rc;
    }
    for (size_t i = 0; i < out->n_policies; i++) {
        struct sweep_policy *p = &out->policies[i];
        struct operating_point *points = sweep_points(p);
        p->knee = curve_knee(points, p->n);
        p->saturation = curve_saturation(points, p->n);
        free(points);
    }
    return rc;
}

struct operating_point *sweep_points(const struct sweep_policy *p) {
    struct operating_point *points = malloc((p->n + 1) * sizeof *points);
    INVARIANT(points);
    for (size_t i = 0; i < p->n; i++) points[i] = p->points[i].point;
    return points;
}

void sweep_release(struct sweep *s) {
    for (size_t i = 0; i < s->n_policies; i++) free(s->policies[i].points);
    *s = (struct sweep){0};
}

/* ---- progress ---- */

static void show(const struct sweeping *s) {
    enum { WIDTH = 30 };
    char bar[WIDTH + 1];
    if (!s->spec->progress) return;
    size_t filled = s->n_tasks ? s->done * WIDTH / s->n_tasks : 0;
    memset(bar, '.', WIDTH);
    memset(bar, '#', filled);
    bar[WIDTH] = 0;
    fprintf(s->spec->progress, "\r\033[K  %-28s [%s] %zu of %zu", s->stage, bar, s->done,
            s->n_tasks);
    fflush(s->spec->progress);
}

static void clear(const struct sweeping *s) {
    if (s->spec->progress) fprintf(s->spec->progress, "\r\033[K");
}

/* ---- one run ---- */

static int measure(const struct run_spec *spec, struct sweep_point *out, struct err *e) {
    struct run run;
    struct run_measures m;
    int rc = run_once(spec, &run, e);
    if (rc) return rc;
    rc = run_measure(&run, spec, &m, e) ? RUN_BAD : 0;
    if (!rc && !m.has_rates)
        rc = err_set(e, "a sweep needs requests that arrive at two instants at least");
    *out = (struct sweep_point){.rate_rps = spec->workload.rate_rps,
                                .point = m.point,
                                .window_s = (double)(m.to_ns - m.from_ns) / (double)NS_PER_S,
                                .output_tps = m.output_tps,
                                .ips = m.ips,
                                .busy_share = m.busy_share,
                                .mean_batch = m.mean_batch,
                                .kv_peak_share = m.kv_peak_share,
                                .kv_mean_share = m.kv_mean_share,
                                .preemptions = run.counters.preemptions};
    run_release(&run);
    return rc;
}

static struct run_spec spec_at(const struct sweeping *s, size_t policy, double rate_rps) {
    struct run_spec spec = s->spec->run;
    spec.policy = s->spec->policies[policy];
    spec.workload.rate_rps = rate_rps;
    return spec;
}

static const char *task_name(void *ctx, size_t job, char *buf, size_t cap) {
    const struct sweeping *s = ctx;
    const struct task *t = &s->tasks[job];
    const char *policy = s->spec->policies[t->policy];
    if (t->rate_rps > 0)
        snprintf(buf, cap, "policy %s at %g requests/s", policy, t->rate_rps);
    else
        snprintf(buf, cap, "policy %s", policy);
    return buf;
}

/* ---- the three kinds of jobs ---- */

/* Only the lengths of the requests matter here, so that any arrivals can be replaced by Poisson. */
static int guess(void *ctx, size_t job, void *answer, struct err *e) {
    const struct sweeping *s = ctx;
    struct run_spec spec = spec_at(s, s->tasks[job].policy, AT_ONCE_RPS);
    struct workload_spec *w = &spec.workload;
    struct run run;
    if (w->arrivals != ARRIVALS_TRACE) w->arrivals = ARRIVALS_POISSON;
    w->cv = w->on_s = w->off_s = 0;
    int64_t most = (int64_t)SWEEP_GUESS_REQUESTS * spec.servers;
    if (w->requests == 0 || w->requests > most) w->requests = most;
    int rc = run_once(&spec, &run, e);
    if (rc) return rc;
    int64_t done = 0, ns = run.last_completion_ns - run.first_arrival_ns;
    for (size_t i = 0; i < run.n; i++) done += run.list[i].end == POINT_DONE;
    run_release(&run);
    if (done == 0 || ns <= 0)
        return err_at(e, 0, "--rates",
                      "no load can be found by itself: policy %.60s completes nothing of this "
                      "workload; state the loads",
                      spec.policy);
    ((union answer *)answer)->guess_rps = (double)done * (double)NS_PER_S / (double)ns;
    return 0;
}

static void guess_done(void *ctx, size_t job, const void *answer) {
    struct sweeping *s = ctx;
    s->out->policies[s->tasks[job].policy].guess_rps = ((const union answer *)answer)->guess_rps;
    s->done++;
    show(s);
}

static int point(void *ctx, size_t job, void *answer, struct err *e) {
    const struct sweeping *s = ctx;
    const struct task *t = &s->tasks[job];
    struct run_spec spec = spec_at(s, t->policy, t->rate_rps);
    return measure(&spec, &((union answer *)answer)->point, e);
}

static void point_done(void *ctx, size_t job, const void *answer) {
    struct sweeping *s = ctx;
    struct sweep_policy *p = &s->out->policies[s->tasks[job].policy];
    p->points = realloc(p->points, (p->n + 1) * sizeof *p->points);
    INVARIANT(p->points);
    size_t at = p->n++; /* sorted by rate */
    for (; at > 0 && p->points[at - 1].rate_rps > s->tasks[job].rate_rps; at--)
        p->points[at] = p->points[at - 1];
    p->points[at] = ((const union answer *)answer)->point;
    s->done++;
    show(s);
}

struct probing {
    const struct sweeping *s;
    size_t policy;
    int rc; /* of the failed probe: capacity_find returns -1 for every kind of failure */
};

/* Takes the point of a load that the sweep has measured; runs any other. */
static int probe(void *ctx, double offered_rps, struct operating_point *out, struct err *e) {
    struct probing *p = ctx;
    const struct sweep_policy *known = &p->s->out->policies[p->policy];
    for (size_t i = 0; i < known->n; i++)
        if (known->points[i].rate_rps == offered_rps) return *out = known->points[i].point, 0;
    struct run_spec spec = spec_at(p->s, p->policy, offered_rps);
    struct sweep_point measured;
    p->rc = measure(&spec, &measured, e);
    if (!p->rc) *out = measured.point;
    return p->rc;
}

/* Searches between the two neighbouring loads of the sweep where the verdict changes. */
static int search(void *ctx, size_t job, void *answer, struct err *e) {
    const struct sweeping *s = ctx;
    struct probing probing = {s, s->tasks[job].policy, 0};
    const struct sweep_policy *p = &s->out->policies[probing.policy];
    const struct point_limits *limits = &s->spec->run.limits;
    size_t met = p->n;
    for (size_t i = 0; i < p->n; i++)
        if (point_verdict(&p->points[i].point, limits) == SLO_MET) met = i;
    double lo_rps = p->points[0].rate_rps / 64, hi_rps = p->points[0].rate_rps;
    if (met < p->n) {
        lo_rps = p->points[met].rate_rps;
        hi_rps = met + 1 < p->n ? p->points[met + 1].rate_rps : lo_rps * 2;
    }
    int rc = capacity_find(probe, &probing, lo_rps, hi_rps, SWEEP_RESOLUTION, limits,
                           &((union answer *)answer)->capacity, e);
    return probing.rc ? probing.rc : rc;
}

static void search_done(void *ctx, size_t job, const void *answer) {
    struct sweeping *s = ctx;
    struct sweep_policy *p = &s->out->policies[s->tasks[job].policy];
    p->capacity = ((const union answer *)answer)->capacity;
    p->has_capacity = true;
    s->done++;
    show(s);
}

/* ---- the stages ---- */

static int run_stage(struct sweeping *s, const char *stage, job_fn *run, job_done_fn *done,
                     struct err *e) {
    s->stage = stage;
    s->done = 0;
    show(s);
    struct jobs j = {run, done, task_name, s, sizeof(union answer), s->spec->jobs};
    int rc = jobs_run(&j, s->n_tasks, e);
    s->out->runs += (int64_t)s->done;
    clear(s);
    return rc;
}

static void add_task(struct sweeping *s, size_t policy, double rate_rps) {
    s->tasks = realloc(s->tasks, (s->n_tasks + 1) * sizeof *s->tasks);
    INVARIANT(s->tasks);
    s->tasks[s->n_tasks++] = (struct task){policy, rate_rps};
}

static void a_task_each(struct sweeping *s) {
    s->n_tasks = 0;
    for (size_t i = 0; i < s->out->n_policies; i++) add_task(s, i, 0);
}

static void tasks_of_loads(struct sweeping *s) {
    const struct sweep_spec *spec = s->spec;
    size_t n = spec->n_rates ? spec->n_rates : N_SHARES;
    s->n_tasks = 0;
    /* the highest loads take longest: first, so that all cores are busy to the end */
    for (size_t k = n; k-- > 0;)
        for (size_t i = 0; i < spec->n_policies; i++)
            add_task(s, i,
                     spec->n_rates ? spec->rates_rps[k]
                                   : SWEEP_SHARES[k] * s->out->policies[i].guess_rps);
}

/* One higher load for each policy that still serves its highest. */
static void tasks_beyond(struct sweeping *s) {
    s->n_tasks = 0;
    for (size_t i = 0; i < s->out->n_policies; i++) {
        const struct sweep_policy *p = &s->out->policies[i];
        const struct sweep_point *top = &p->points[p->n - 1];
        if (top->point.stable) add_task(s, i, top->rate_rps * 1.25);
    }
}

static int run_stages(struct sweeping *s, struct err *e) {
    int rc = 0;
    if (!s->spec->n_rates) {
        a_task_each(s);
        rc = run_stage(s, "guessing the saturation", guess, guess_done, e);
    }
    if (!rc) {
        tasks_of_loads(s);
        rc = run_stage(s, "measuring loads", point, point_done, e);
    }
    for (int more = 0; !rc && !s->spec->n_rates && more < SWEEP_MORE; more++) {
        tasks_beyond(s);
        if (s->n_tasks == 0) break;
        rc = run_stage(s, "measuring higher loads", point, point_done, e);
    }
    if (!rc && run_has_limits(&s->spec->run.limits)) {
        a_task_each(s);
        rc = run_stage(s, "searching the highest load", search, search_done, e);
    }
    return rc;
}
