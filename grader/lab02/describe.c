/* describe.c: a case or a play as text, for a practice seed. See lab02.h and play.h. */
#include "lab02/lab02.h"
#include "lab02/play.h"

#include "base/text.h"

#include "base/clock.h"

#include <string.h>

struct out {
    char *text;
    size_t cap;
};

#define SAY(o, ...) text_append((o)->text, (o)->cap, __VA_ARGS__)

static void say_ns(struct out *o, const char *name, int64_t ns) {
    char digits[48];
    SAY(o, "%s %s", name, ns == INT64_MAX ? "none" : text_ns(digits, sizeof digits, ns));
}

static void say_request(struct out *o, const struct point_request *r) {
    static const char *const ends[] = {"done", "rejected", "failed"};
    SAY(o, "\n  arrival %lld, admitted %lld, first_token %lld, end %lld %s, tokens %d of %d",
        (long long)r->arrival_ns, (long long)r->admitted_ns, (long long)r->first_token_ns,
        (long long)r->end_ns, ends[r->end], r->output_tokens, r->wanted_tokens);
}

static void say_limits(struct out *o, const struct point_limits *l) {
    SAY(o, "\n  limits: ");
    say_ns(o, "ttft", l->ttft_below_ns);
    say_ns(o, ", tpot", l->tpot_below_ns);
    say_ns(o, ", e2e", l->e2e_below_ns);
}

static void say_percentile(struct out *o, const char *name, const struct percentile *p) {
    if (!p->present || p->infinite)
        SAY(o, ", %s %s", name, p->present ? "infinite" : "absent");
    else
        SAY(o, ", %s %lld", name, (long long)p->ns);
}

static void say_point(struct out *o, const struct operating_point *p) {
    SAY(o, "\n  offered %.6g, throughput %.6g, mean latency %.6g ns, %s", p->offered_rps,
        p->throughput_rps, p->mean_latency_ns, p->stable ? "stable" : "not stable");
}

static void say_lane(struct out *o, const char *name, const struct policy_request *list, size_t n) {
    SAY(o, "\n  %s: %zu", name, n);
    for (size_t i = 0; i < n && i < 8; i++)
        SAY(o, "\n    %lld: prompt %d, max output %d, computed %d, generated %d, blocks %d",
            (long long)list[i].id, list[i].prompt_tokens, list[i].max_output_tokens,
            list[i].computed_tokens, list[i].generated_tokens, list[i].kv_blocks);
}

static void say_view(struct out *o, const struct lab02_case *c) {
    const struct policy_view *v = &c->view;
    SAY(o, ", %s: %d of %d blocks free, budget %d, positions %d",
        c->batch ? "learner-batch" : "learner", v->free_kv_blocks, v->total_kv_blocks,
        v->token_budget, v->max_running);
    say_lane(o, "running", v->running, v->n_running);
    say_lane(o, "waiting", v->waiting, v->n_waiting);
}

void lab02_describe(const struct lab02_case *c, char *text, size_t cap) {
    static const char *const functions[FN_N] = {
        "point_classify", "point_intervals",  "point_measure", "point_stable",  "point_verdict",
        "curve_knee",     "curve_saturation", "curve_region",  "capacity_find", "plan",
        "create"};
    enum { SHOWN = 8 };
    struct out o = {text, cap};
    text[0] = '\0';
    SAY(&o, "%s", functions[c->fn]);
    if (c->fn == FN_MEASURE || c->fn == FN_STABLE)
        SAY(&o, ", window from %lld to %lld ns, %zu requests", (long long)c->from_ns,
            (long long)c->to_ns, c->n_list);
    if (c->fn == FN_MEASURE || c->fn == FN_VERDICT) say_limits(&o, &c->limits);
    for (size_t i = 0; i < c->n_list && i < SHOWN; i++) say_request(&o, &c->list[i]);
    if (c->n_list > SHOWN) SAY(&o, "\n  and %zu more", c->n_list - SHOWN);
    if (c->fn == FN_REGION) SAY(&o, ", point %zu of", c->at);
    for (size_t i = 0; i < c->n_points; i++) say_point(&o, &c->points[i]);
    if (c->fn == FN_VERDICT) {
        SAY(&o, ", %lld requests", (long long)c->points[0].requests);
        say_percentile(&o, "ttft_p99", &c->points[0].ttft_p99);
        say_percentile(&o, "tpot_p99", &c->points[0].tpot_p99);
        say_percentile(&o, "e2e_p99", &c->points[0].e2e_p99);
    }
    if (c->fn == FN_CAPACITY)
        SAY(&o, "(probe, ctx, %g, %g, %g, ...)", c->lo_rps, c->hi_rps, c->resolution);
    if (c->fn == FN_PLAN) say_view(&o, c);
    if (c->fn == FN_CREATE)
        SAY(&o, "(\"%s\") of %s", c->arg, c->batch ? "learner-batch" : "learner");
}

/* A trace has no max_output_tokens: the simulator takes the longest answer of the trace for all
 * requests. Whether every request can still run then. */
static bool plays_as_trace(const struct play *p) {
    int32_t longest = 1;
    for (size_t i = 0; i < p->n; i++)
        if (p->request[i].output_tokens > longest) longest = p->request[i].output_tokens;
    for (size_t i = 0; i < p->n; i++)
        if (policy_blocks_for(p->request[i].prompt_tokens + longest) > p->kv_blocks) return false;
    return true;
}

/* The play as a trace in the form of Azure's, with the command that plays it. */
static void say_command(struct out *o, const struct play *p) {
    SAY(o, "\nto watch it (`make mine LAB=02` builds the program):\n  printf "
           "'TIMESTAMP,ContextTokens,GeneratedTokens\\n");
    for (size_t i = 0; i < p->n; i++) {
        int64_t t = p->request[i].arrival_ns / 100;
        SAY(o, "2024-01-01 00:%02d:%02d.%07d,%d,%d\\n", (int)(t / 600000000),
            (int)(t / 10000000 % 60), (int)(t % 10000000), p->request[i].prompt_tokens,
            p->request[i].output_tokens);
    }
    SAY(o,
        "' >build/small.csv; build/mine/servelab sim run --trace build/small.csv --trace-format "
        "azure --model llama-2-7b --gpu a100 --kv-blocks %d --token-budget %d --max-running %d "
        "--plans --policy learner",
        p->kv_blocks, p->token_budget, p->max_running);
    if (p->batch) SAY(o, "-batch:%d", p->group);
}

void lab02_play_describe(const struct play *p, char *text, size_t cap) {
    enum { ROW = 60, FEW = 8 };
    struct out o = {text, cap};
    text[0] = '\0';
    SAY(&o, "%s", p->batch ? "learner-batch" : "learner");
    if (p->batch) SAY(&o, ":%d", p->group);
    SAY(&o,
        "; KV blocks %d, token budget %d, positions %d%s\n  request  arrival ms  prompt  output  "
        "max output",
        p->kv_blocks, p->token_budget, p->max_running,
        p->ask_always ? "; asked before every iteration" : "");
    for (size_t i = 0; i < p->n; i++) {
        const struct play_request *c = &p->request[i];
        if (strlen(text) + 2 * ROW > cap) {
            SAY(&o, "\n  and %zu more", p->n - i);
            break;
        }
        SAY(&o, "\n  %7lld %11.3f %7d %7d %11d", (long long)(lab02_play_id(i, p->id_shift)),
            (double)c->arrival_ns / NS_PER_MS, c->prompt_tokens, c->output_tokens,
            c->max_output_tokens);
    }
    if (p->n <= FEW && plays_as_trace(p)) say_command(&o, p);
}
