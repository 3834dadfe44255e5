/* metrics.c: counts attempts, and prints the counts as Prometheus text. See metrics.h. */
#include "serve/metrics.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Upper bounds of the buckets, in milliseconds: vLLM 0.33.0, vllm/v1/metrics/buckets.py. */
static const int32_t ttft_ms[] = {1,     5,     10,    20,     40,     60,     80,   100,
                                  250,   500,   750,   1000,   2500,   5000,   7500, 10000,
                                  20000, 40000, 80000, 160000, 640000, 2560000};
static const int32_t itl_ms[] = {10,  25,   50,   75,   100,  150,   200,   300,   400,  500,
                                 750, 1000, 2500, 5000, 7500, 10000, 20000, 40000, 80000};
static const int32_t request_ms[] = {300,   500,    800,    1000,   1500,   2000,    2500,
                                     5000,  10000,  15000,  20000,  30000,  40000,   50000,
                                     60000, 120000, 240000, 480000, 960000, 1920000, 7680000};

#define BOUNDS(a) a, sizeof(a) / sizeof *(a)
static const struct {
    const int32_t *ms;
    size_t n;
} bounds[MH_N] = {
    [MH_TTFT] = {BOUNDS(ttft_ms)},     [MH_ITL] = {BOUNDS(itl_ms)},
    [MH_TPOT] = {BOUNDS(itl_ms)},      [MH_E2E] = {BOUNDS(request_ms)},
    [MH_QUEUE] = {BOUNDS(request_ms)},
};

/* ---- counting -------------------------------------------------------------------------------- */

/* The events of one record that matter here: the first of each kind, or NULL. */
struct seen {
    const struct event *first[EV_N];
    const struct event *last_sent; /* with tokens, as is first[EV_TOKEN_SENT] */
    int64_t preemptions;
};

static void observe(struct metrics *m, enum metrics_histogram h, int64_t ns);
static void observe_between(struct metrics *m, enum metrics_histogram h, const struct event *start,
                            const struct event *end);
static void look(struct metrics *m, const struct record *r, struct seen *s);
static enum metrics_end how_it_ended(const struct record *r, const struct seen *s);

void metrics_add(struct metrics *m, const struct record *r) {
    struct seen s;
    look(m, r, &s);
    observe_between(m, MH_TTFT, s.first[EV_REQUEST_ACCEPTED], s.first[EV_FIRST_TOKEN]);
    observe_between(m, MH_QUEUE, s.first[EV_TOKENIZATION_FINISHED], s.first[EV_REQUEST_ADMITTED]);
    m->preemptions += s.preemptions;
    if (r->workload.output_tokens > 0) m->output_tokens += r->workload.output_tokens;
    if (s.first[EV_FIRST_TOKEN] || r->outcome.finish_reason[0])
        m->prompt_tokens += r->workload.prompt_tokens;
    if (r->workload.cached_prompt_tokens >= 0) {
        m->queried_tokens += r->workload.prompt_tokens;
        m->cached_tokens += r->workload.cached_prompt_tokens;
    }
    if (r->workload.draft_steps > 0) {
        m->draft_steps += r->workload.draft_steps;
        m->draft_tokens += r->workload.draft_tokens;
        m->accepted_tokens += r->workload.accepted_draft_tokens;
    }
    if (s.first[EV_REQUEST_REJECTED]) {
        m->refused++;
        m->queue_full += r->outcome.http_status == 429;
        return;
    }
    enum metrics_end end = how_it_ended(r, &s);
    m->ended[end]++;
    if (end != ME_STOP && end != ME_LENGTH) return;
    observe_between(m, MH_E2E, s.first[EV_REQUEST_ACCEPTED], s.first[EV_RESPONSE_FINISHED]);
    int64_t gaps = r->workload.output_tokens - 1;
    if (s.last_sent == s.first[EV_TOKEN_SENT] || gaps < 1) return;
    int64_t span_ns = s.last_sent->t_ns - s.first[EV_TOKEN_SENT]->t_ns;
    observe(m, MH_TPOT, (2 * span_ns + gaps) / (2 * gaps)); /* to nearest, halves up */
}

/* Notes the record's events and counts the gaps between its tokens. */
static void look(struct metrics *m, const struct record *r, struct seen *s) {
    *s = (struct seen){0};
    for (size_t i = 0; i < r->n_events; i++) {
        const struct event *ev = &r->events[i];
        s->preemptions += ev->kind == EV_REQUEST_PREEMPTED;
        if (ev->kind == EV_TOKEN_SENT && ev->tokens == 0) continue;
        if (!s->first[ev->kind]) s->first[ev->kind] = ev;
        if (ev->kind != EV_TOKEN_SENT) continue;
        observe_between(m, MH_ITL, s->last_sent, ev);
        s->last_sent = ev;
    }
}

static enum metrics_end how_it_ended(const struct record *r, const struct seen *s) {
    if (s->first[EV_REQUEST_CANCELLED]) return ME_ABORT;
    if (s->first[EV_REQUEST_FAILED] || r->outcome.error[0]) return ME_ERROR;
    if (!s->first[EV_RESPONSE_FINISHED]) return ME_ABORT;
    return !strcmp(r->outcome.finish_reason, "length") ? ME_LENGTH : ME_STOP;
}

static void observe(struct metrics *m, enum metrics_histogram h, int64_t ns) {
    size_t i = 0;
    if (ns < 0) return; /* a stamp is wrong; `record check` names it */
    while (i < bounds[h].n && ns > bounds[h].ms[i] * NS_PER_MS) i++;
    m->histogram[h].in[i]++;
    m->histogram[h].count++;
    m->histogram[h].sum_ns += ns;
}

static void observe_between(struct metrics *m, enum metrics_histogram h, const struct event *start,
                            const struct event *end) {
    if (start && end) observe(m, h, end->t_ns - start->t_ns);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void put_labels(struct buffer *b, const struct metrics_now *now);
static void put_head(struct buffer *b, const char *name, const char *type, const char *help);
static void put_count(struct buffer *b, const char *name, const char *help, const char *labels,
                      int64_t n);
static void put_histogram(struct buffer *b, const char *name, const char *help, const char *labels,
                          const struct metrics *m, enum metrics_histogram h);

static void put_gauges(struct buffer *b, const char *labels, const struct metrics_now *now) {
    put_head(b, "vllm:num_requests_running", "gauge", "Requests in the engine's batch.");
    buffer_printf(b, "vllm:num_requests_running{%s} %d\n", labels, now->running);
    put_head(b, "vllm:num_requests_waiting", "gauge", "Requests that wait for the engine.");
    buffer_printf(b, "vllm:num_requests_waiting{%s} %d\n", labels, now->waiting);
    put_head(b, "vllm:kv_cache_usage_perc", "gauge", "KV blocks in use: 1 means all of them.");
    double used = now->kv_blocks - now->free_kv_blocks;
    buffer_printf(b, "vllm:kv_cache_usage_perc{%s} %.9g\n", labels,
                  now->kv_blocks > 0 ? used / now->kv_blocks : 0);
}

static void put_counters(struct buffer *b, const char *labels, const struct metrics *m) {
    static const char *const reasons[ME_N] = {"stop", "length", "abort", "error"};
    put_count(b, "vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.",
              labels, m->queried_tokens);
    put_count(b, "vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", labels,
              m->cached_tokens);
    put_count(b, "vllm:num_preemptions_total", "Preemptions.", labels, m->preemptions);
    put_count(b, "vllm:prompt_tokens_total", "Prompt tokens, computed or found.", labels,
              m->prompt_tokens);
    put_count(b, "vllm:generation_tokens_total", "Generated tokens.", labels, m->output_tokens);
    put_head(b, "vllm:request_success_total", "counter", "Ended requests by finish reason.");
    for (enum metrics_end end = 0; end < ME_N; end++)
        buffer_printf(b, "vllm:request_success_total{%s,finished_reason=\"%s\"} %" PRId64 "\n",
                      labels, reasons[end], m->ended[end]);
    put_head(b, "vllm:admission_rejections_total", "counter",
             "Requests that found the queue full.");
    buffer_printf(
        b, "vllm:admission_rejections_total{%s,reason=\"max_num_queued_reqs\"} %" PRId64 "\n",
        labels, m->queue_full);
    put_count(b, "servelab:requests_refused_total", "Requests that the engine did not take.",
              labels, m->refused);
}

static void put_speculation(struct buffer *b, const char *labels, const struct metrics *m) {
    put_count(b, "vllm:spec_decode_num_drafts_total", "Steps that checked drafted tokens.", labels,
              m->draft_steps);
    put_count(b, "vllm:spec_decode_num_draft_tokens_total", "Drafted tokens that were checked.",
              labels, m->draft_tokens);
    put_count(b, "vllm:spec_decode_num_accepted_tokens_total", "Drafted tokens that saved a step.",
              labels, m->accepted_tokens);
}

void metrics_print(struct buffer *b, const struct metrics *m, const struct metrics_now *now) {
    static const struct {
        const char *name, *help;
        enum metrics_histogram h;
    } shown[] = {
        {"vllm:time_to_first_token_seconds", "First token after acceptance.", MH_TTFT},
        {"vllm:inter_token_latency_seconds", "Gaps between tokens that were sent.", MH_ITL},
        {"vllm:time_per_output_token_seconds",
         "The former name of vllm:inter_token_latency_seconds.", MH_ITL},
        {"vllm:request_time_per_output_token_seconds",
         "Mean time per token after the first, of each request.", MH_TPOT},
        {"vllm:e2e_request_latency_seconds", "From acceptance to the end of the response.", MH_E2E},
        {"vllm:request_queue_time_seconds", "From tokenization to admission.", MH_QUEUE},
    };
    struct buffer labels = {0};
    put_labels(&labels, now);
    const char *text = labels.failed ? "" : labels.bytes;
    put_gauges(b, text, now);
    put_counters(b, text, m);
    if (now->speculates) put_speculation(b, text, m);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        put_histogram(b, shown[i].name, shown[i].help, text, m, shown[i].h);
    b->failed |= labels.failed;
    buffer_release(&labels);
}

static void put_label(struct buffer *b, const char *name, const char *value) {
    char clean[256];
    text_cut(clean, sizeof clean, value); /* UTF-8, no line break */
    buffer_printf(b, "%s=\"", name);
    for (const char *c = clean; *c; c++) {
        if (*c == '"' || *c == '\\') buffer_puts(b, "\\");
        buffer_add(b, c, 1);
    }
    buffer_puts(b, "\"");
}

static void put_labels(struct buffer *b, const struct metrics_now *now) {
    put_label(b, "model_name", now->model_name);
    buffer_puts(b, ",engine=\"0\"");
    if (!now->paced) return;
    buffer_puts(b, ",");
    put_label(b, "paced", now->paced);
}

static void put_head(struct buffer *b, const char *name, const char *type, const char *help) {
    buffer_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_count(struct buffer *b, const char *name, const char *help, const char *labels,
                      int64_t n) {
    put_head(b, name, "counter", help);
    buffer_printf(b, "%s{%s} %" PRId64 "\n", name, labels, n);
}

/* 2500 as "2.5" and 1000 as "1.0", which is how vLLM's client library writes a bound. */
static void bound_text(int32_t ms, char *to, size_t cap) {
    int n = snprintf(to, cap, "%d.%03d", ms / 1000, ms % 1000);
    while (to[n - 1] == '0' && to[n - 2] != '.') to[--n] = '\0';
}

static void put_histogram(struct buffer *b, const char *name, const char *help, const char *labels,
                          const struct metrics *m, enum metrics_histogram h) {
    int64_t below = 0;
    put_head(b, name, "histogram", help);
    for (size_t i = 0; i <= bounds[h].n; i++) {
        char bound[24] = "+Inf";
        if (i < bounds[h].n) bound_text(bounds[h].ms[i], bound, sizeof bound);
        below += m->histogram[h].in[i];
        buffer_printf(b, "%s_bucket{%s,le=\"%s\"} %" PRId64 "\n", name, labels, bound, below);
    }
    buffer_printf(b, "%s_sum{%s} %" PRId64 ".%09" PRId64 "\n", name, labels,
                  (int64_t)(m->histogram[h].sum_ns / NS_PER_S),
                  (int64_t)(m->histogram[h].sum_ns % NS_PER_S));
    buffer_printf(b, "%s_count{%s} %" PRId64 "\n", name, labels, m->histogram[h].count);
}
