/* sim_setup.c: makes a run_spec from the flags, and describes it in words. See sim_flags.h. */
#include "base/clock.h"
#include "cli/sim_flags.h"
#include "workload/spec.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    NO_LIMIT = 1 << 28,    /* blocks, tokens, positions: more than any run here uses */
    SWEEP_REQUESTS = 5000, /* a server: a 7B model's runs then last 20 times a request, or more */
    MODEL_PROMPT = 512,
    MODEL_OUTPUT = 128,
    MODEL_BUDGET = 2048,  /* a usual chunk: prefill of this many tokens saturates a GPU */
    MODEL_POSITIONS = 256 /* a usual limit of servers of this size */
};

/* ---- the workload ---- */

/* Checks that the flags that the kind of arrivals needs are given. */
static int need(const struct sim_flags *f, const struct workload_spec *w, struct err *e) {
    bool generated = w->arrivals == ARRIVALS_POISSON || w->arrivals == ARRIVALS_GAMMA ||
                     w->arrivals == ARRIVALS_ON_OFF;
    const struct {
        const char *flag;
        bool missing;
    } all[] = {{"--rate-rps", f->mode == SIM_RUN && generated && !w->rate_rps},
               {"--requests", (generated || w->arrivals == ARRIVALS_CLOSED) && !w->requests},
               {"--cv", w->arrivals == ARRIVALS_GAMMA && !w->cv},
               {"--on-s", w->arrivals == ARRIVALS_ON_OFF && !w->on_s},
               {"--clients", w->arrivals == ARRIVALS_CLOSED && !w->clients}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].missing)
            return err_at(e, 0, all[i].flag, "is missing, and --arrivals %s needs it", f->arrivals);
    return 0;
}

int sim_workload_make(const struct sim_flags *f, struct sim_setup *s, struct err *e) {
    struct workload_spec *w = &s->run.workload;
    *w = (struct workload_spec){.requests = f->requests,
                                .rate_rps = f->rate_rps,
                                .cv = f->cv,
                                .on_s = f->on_s,
                                .off_s = f->off_s,
                                .clients = (int32_t)f->clients,
                                .think_s = f->think_s,
                                .seed = (uint64_t)f->seed,
                                .max_output_tokens = (int32_t)f->max_output_tokens,
                                .fail_rate = f->fail_rate,
                                .trace = f->trace,
                                .time_scale = f->time_scale,
                                .skip_bad_rows = f->skip_bad_rows};
    if (f->arrivals_ms) {
        w->arrivals = ARRIVALS_LIST;
        if (spec_list_ms("--arrivals-ms", f->arrivals_ms, &s->list_ns, &w->requests, e)) return -1;
        w->list_ns = s->list_ns;
    } else if (f->trace) {
        w->arrivals = ARRIVALS_TRACE;
        if (spec_trace_format("--trace-format", f->trace_format, &w->trace_format, e)) return -1;
    } else if (!f->arrivals) {
        return err_set(e, "say when requests arrive: %s--arrivals KIND, or --trace",
                       f->mode == SIM_RUN ? "--arrivals-ms, " : "");
    } else if (spec_arrivals("--arrivals", f->arrivals, &w->arrivals, e)) {
        return -1;
    }
    if (f->mode == SIM_SWEEP && w->arrivals == ARRIVALS_CLOSED)
        return err_at(e, 0, "--arrivals",
                      "a closed loop has no offered load to sweep over: the server sets its pace; "
                      "take poisson, gamma or on-off, or run `servelab sim run` with --clients");
    if (f->mode == SIM_SWEEP && !w->requests && w->arrivals != ARRIVALS_TRACE)
        w->requests = SWEEP_REQUESTS * f->servers;
    if (need(f, w, e)) return -1;
    if ((f->model || f->cost) && w->arrivals != ARRIVALS_TRACE) {
        w->prompt_tokens = (struct lengths){MODEL_PROMPT, MODEL_PROMPT};
        w->output_tokens = (struct lengths){MODEL_OUTPUT, MODEL_OUTPUT};
    }
    if (f->prompt_tokens && spec_lengths("--prompt-tokens", f->prompt_tokens, &w->prompt_tokens, e))
        return -1;
    if (f->output_tokens && spec_lengths("--output-tokens", f->output_tokens, &w->output_tokens, e))
        return -1;
    struct workload_spec probe = *w;
    /* a sweep sets the rate itself */
    if (f->mode == SIM_SWEEP && w->arrivals != ARRIVALS_TRACE) probe.rate_rps = 1;
    return spec_check(&probe, e);
}

/* ---- the server ---- */

/* Turns the name of a field (weight_bits) in *e into that of the flag (--weight-bits). Returns -1.
 */
static int name_flag(struct err *e) {
    char flag[sizeof e->field];
    if (!e->field[0] || e->field[0] == '-') return -1;
    snprintf(flag, sizeof flag, "--%.*s", (int)sizeof flag - 3, e->field);
    for (char *c = flag; *c; c++)
        if (*c == '_') *c = '-';
    strcpy(e->field, flag);
    return -1;
}

static int make_model(const struct sim_flags *f, struct sim_setup *s, struct err *e) {
    struct deployment *d = &s->deployment;
    if (deployment_find(f->model, f->gpu, d, e)) return -1;
    d->weight_bits = (int)f->weight_bits;
    d->kv_bits = (int)f->kv_bits;
    d->draft_tokens = (int)f->draft_tokens;
    if (f->draft_tokens > 0 && isnan(f->acceptance))
        return err_at(e, 0, "--draft-tokens", "needs --acceptance, which decides what it is worth");
    if (f->draft_tokens > 0) d->acceptance = f->acceptance, d->draft_cost = f->draft_cost;
    d->fused = !f->no_fusion;
    if (deployment_cost(d, &s->run.cost, e)) return name_flag(e);
    int64_t blocks = f->kv_blocks ? f->kv_blocks : deployment_kv_blocks(d, e);
    if (blocks < 0) return name_flag(e);
    s->run.kv_blocks = (int32_t)(blocks < NO_LIMIT ? blocks : NO_LIMIT);
    s->run.token_budget = MODEL_BUDGET;
    s->run.max_running = MODEL_POSITIONS;
    return 0;
}

static int make_fitted(const struct sim_flags *f, struct sim_setup *s, struct err *e) {
    struct err why;
    if (cost_file_read(&s->fitted, f->cost, &why))
        return err_at(e, 0, "--cost", "%.200s%s%s: %s", f->cost, why.field[0] ? ": " : "",
                      why.field, why.text);
    s->run.cost = s->fitted.cost;
    s->run.kv_blocks = f->kv_blocks ? (int32_t)f->kv_blocks : s->fitted.kv_blocks;
    s->run.token_budget = s->fitted.token_budget;
    s->run.max_running = s->fitted.max_batch;
    return 0;
}

/* After --token-budget and --kv-blocks. */
static int check_fitted(const struct sim_setup *s, struct err *e) {
    if (!cost_overflows(&s->run.cost, s->run.token_budget, s->run.kv_blocks)) return 0;
    return err_at(e, 0, "--cost",
                  "makes a step of %d tokens with %d KV blocks last more than 100 days; take fewer "
                  "(--token-budget, --kv-blocks)",
                  s->run.token_budget, s->run.kv_blocks);
}

static void make_plain(const struct sim_flags *f, struct sim_setup *s) {
    s->run.cost =
        (struct cost_model){.kind = COST_PER_REQUEST,
                            .setup_ns = llround(f->setup_ms * (double)NS_PER_MS),
                            .per_request_ns = llround(f->per_request_ms * (double)NS_PER_MS)};
    s->run.kv_blocks = f->kv_blocks ? (int32_t)f->kv_blocks : NO_LIMIT;
    s->run.token_budget = s->run.max_running = NO_LIMIT;
}

static int64_t limit_ns(double ms) {
    return ms > 0 ? llround(ms * (double)NS_PER_MS) : INT64_MAX;
}

static void make_limits(const struct sim_flags *f, struct sim_setup *s) {
    s->run.limits = (struct point_limits){limit_ns(f->ttft_below_ms), limit_ns(f->tpot_below_ms),
                                          limit_ns(f->e2e_below_ms)};
    s->default_limits =
        (f->model || f->cost) && !f->ttft_below_ms && !f->tpot_below_ms && !f->e2e_below_ms;
    if (!s->default_limits) return;
    s->run.limits.ttft_below_ns = limit_ns(SIM_DEFAULT_TTFT_MS);
    s->run.limits.tpot_below_ns = limit_ns(SIM_DEFAULT_TPOT_MS);
}

/* Refuses a run that needs more memory than the machine has, because the kernel would kill it, or
 * another process, in the middle. A run keeps each request's outcome (twice while its array grows)
 * and up to five latencies. */
static int check_memory(const struct sim_flags *f, const struct sim_setup *s, struct err *e) {
    const double each = 2 * (double)sizeof(struct point_request) + 5 * sizeof(int64_t);
    double at_once = f->mode == SIM_RUN ? 1
                     : f->jobs          ? (double)f->jobs
                                        : (double)sysconf(_SC_NPROCESSORS_ONLN);
    double need = (double)s->run.workload.requests * each * at_once;
    double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
        have = fmin(have, (double)limit.rlim_cur);
    if (s->run.workload.arrivals == ARRIVALS_TRACE || need <= have) return 0;
    return err_at(e, 0, "--requests",
                  "%lld requests need %.3g GiB of memory, %d bytes each, but there are %.3g GiB; "
                  "take fewer",
                  (long long)s->run.workload.requests, need / 0x1.0p30, (int)each, have / 0x1.0p30);
}

int sim_setup_make(const struct sim_flags *f, struct sim_setup *out, struct err *e) {
    *out = (struct sim_setup){.run = {.policy = f->policy,
                                      .max_in_system = f->max_in_system,
                                      .prefix_tokens = f->prefix_tokens,
                                      .servers = (int32_t)f->servers,
                                      .router = f->router,
                                      .warm_up_ns = llround(f->warm_up_s * (double)NS_PER_S)}};
    int rc = sim_workload_make(f, out, e);
    if (!rc && f->model) rc = make_model(f, out, e);
    if (!rc && f->cost) rc = make_fitted(f, out, e);
    if (!rc && !f->model && !f->cost) make_plain(f, out);
    if (!rc && f->token_budget) out->run.token_budget = (int32_t)f->token_budget;
    if (!rc && f->max_running) out->run.max_running = (int32_t)f->max_running;
    if (!rc && f->cost) rc = check_fitted(out, e);
    make_limits(f, out);
    if (!rc) rc = check_memory(f, out, e);
    if (rc) sim_setup_release(out);
    return rc;
}

void sim_setup_release(struct sim_setup *s) {
    free(s->list_ns);
    s->list_ns = NULL;
}

/* ---- in words ---- */

/* Appends to the text in buf, cut to cap. */
static void append(char *buf, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void append(char *buf, size_t cap, const char *fmt, ...) {
    size_t n = strlen(buf);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf + n, cap - n, fmt, ap);
    va_end(ap);
}

static void append_lengths(char *buf, size_t cap, const char *what, struct lengths l) {
    if (l.lo == l.hi)
        append(buf, cap, ", %d %s tokens", l.lo, what);
    else
        append(buf, cap, ", %d to %d %s tokens", l.lo, l.hi, what);
}

static void append_facts(char *buf, size_t cap, const struct workload_facts *f) {
    if (!f->rows) return;
    append(buf, cap, ", %lld rows", (long long)f->rows);
    if (f->recorded_rps > 0) append(buf, cap, " recorded at %.3g requests/s", f->recorded_rps);
    if (f->skipped)
        append(buf, cap, ", %lld bad ones left out (the first on line %lld)", (long long)f->skipped,
               (long long)f->first_skipped_line);
    if (f->zero_token_rows)
        append(buf, cap, ", %lld without an output token simulated with one",
               (long long)f->zero_token_rows);
    if (f->unsorted) append(buf, cap, ", sorted by time");
}

const char *sim_workload_text(const struct sim_flags *f, const struct sim_setup *s, char *buf,
                              size_t cap) {
    const struct workload_spec *w = &s->run.workload;
    buf[0] = 0;
    if (w->arrivals == ARRIVALS_TRACE) {
        const char *slash = strrchr(w->trace, '/');
        append(buf, cap, "trace %s", slash ? slash + 1 : w->trace);
        err_clean(buf);
        append_facts(buf, cap, &s->facts);
        if (w->requests) append(buf, cap, ", at most %lld requests of it", (long long)w->requests);
    } else if (w->arrivals == ARRIVALS_LIST) {
        append(buf, cap, "%lld arrivals at given times", (long long)w->requests);
    } else {
        append(buf, cap, "%s arrivals, %lld requests", spec_arrivals_name(w->arrivals),
               (long long)w->requests);
    }
    if (w->rate_rps > 0) append(buf, cap, ", %g requests/s offered", w->rate_rps);
    if (w->cv > 0) append(buf, cap, ", cv %g", w->cv);
    if (w->on_s > 0) append(buf, cap, ", on %g s, off %g s", w->on_s, w->off_s);
    if (w->clients > 0) append(buf, cap, ", %d clients, think %g s", w->clients, w->think_s);
    if (w->time_scale > 0) append(buf, cap, ", gaps times %g", w->time_scale);
    if (w->prompt_tokens.hi) append_lengths(buf, cap, "prompt", w->prompt_tokens);
    if (w->output_tokens.hi) append_lengths(buf, cap, "output", w->output_tokens);
    if (w->max_output_tokens) append(buf, cap, ", cut at %d", w->max_output_tokens);
    if (w->fail_rate > 0) append(buf, cap, ", %g %% break", w->fail_rate * 100);
    if (w->arrivals != ARRIVALS_LIST && w->arrivals != ARRIVALS_TRACE)
        append(buf, cap, ", seed %lld", f->seed);
    return buf;
}

const char *sim_machine_text(const struct sim_flags *f, const struct sim_setup *s, char *buf,
                             size_t cap) {
    const struct deployment *d = &s->deployment;
    buf[0] = 0;
    if (f->servers > 1) append(buf, cap, "%lld servers behind %s, each ", f->servers, f->router);
    if (f->cost) {
        append(buf, cap, "%s (measured)", s->fitted.machine);
        err_clean(buf);
    } else if (!d->model) {
        append(buf, cap, "setup %g ms a group, %g ms a request", f->setup_ms, f->per_request_ms);
    } else {
        append(buf, cap, "%s on one %s, weights %d bit, KV %d bit", d->model->name, d->gpu->name,
               d->weight_bits, d->kv_bits);
        if (d->draft_tokens)
            append(buf, cap, ", %d drafted at %g of a step, %g accepted", d->draft_tokens,
                   d->draft_cost, d->acceptance);
        if (!d->fused) append(buf, cap, ", operators not fused");
    }
    if (s->run.kv_blocks < NO_LIMIT) append(buf, cap, ", %d KV blocks", s->run.kv_blocks);
    if (s->run.token_budget < NO_LIMIT)
        append(buf, cap, ", at most %d tokens an iteration", s->run.token_budget);
    if (s->run.max_running < NO_LIMIT) append(buf, cap, ", %d positions", s->run.max_running);
    if (f->max_in_system < INT64_MAX) append(buf, cap, ", at most %lld in it", f->max_in_system);
    if (f->prefix_tokens) append(buf, cap, ", store of %lld prefix tokens", f->prefix_tokens);
    return buf;
}
