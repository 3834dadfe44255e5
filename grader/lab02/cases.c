/* cases.c: writes and reads a case of lab 02. See cases.h. Field by field: a struct's padding would
 * send what the grader's memory held. */
#include "lab02/cases.h"

#include <stdlib.h>
#include <string.h>

void lab02_case_init(struct lab02_case *c) {
    memset(c, 0, sizeof *c);
}

void lab02_case_release(struct lab02_case *c) {
    free(c->list);
    free((void *)(uintptr_t)c->view.waiting);
    free((void *)(uintptr_t)c->view.running);
    lab02_case_init(c);
}

/* Allocates n items when reading; returns `have` when writing. */
static void *room(struct wire *w, size_t n, size_t size, void *have) {
    if (!w->reading || w->bad || n == 0) return have;
    void *p = calloc(n, size);
    if (!p) w->bad = true;
    return p;
}

static void codec_list(struct wire *w, struct lab02_case *c) {
    wire_size(w, &c->n_list, CASE_MAX_REQUESTS);
    c->list = room(w, c->n_list, sizeof *c->list, c->list);
    for (size_t i = 0; i < c->n_list && !w->bad; i++) {
        struct point_request *r = &c->list[i];
        wire_i64(w, &r->arrival_ns);
        wire_i64(w, &r->admitted_ns);
        wire_i64(w, &r->first_token_ns);
        wire_i64(w, &r->end_ns);
        wire_i32(w, &r->output_tokens);
        wire_i32(w, &r->wanted_tokens);
        WIRE_ENUM(w, r->end);
    }
}

static void codec_limits(struct wire *w, struct point_limits *l) {
    wire_i64(w, &l->ttft_below_ns);
    wire_i64(w, &l->tpot_below_ns);
    wire_i64(w, &l->e2e_below_ns);
}

static void codec_percentile(struct wire *w, struct percentile *p) {
    wire_bool(w, &p->present);
    wire_bool(w, &p->infinite);
    wire_i64(w, &p->ns);
    wire_size(w, &p->n, SIZE_MAX / 2);
    wire_size(w, &p->failed, SIZE_MAX / 2);
    wire_bool(w, &p->few);
}

static void codec_point(struct wire *w, struct operating_point *p) {
    wire_f64(w, &p->offered_rps);
    wire_i64(w, &p->requests);
    wire_i64(w, &p->complete);
    wire_i64(w, &p->shed);
    wire_i64(w, &p->truncated);
    wire_i64(w, &p->broken);
    wire_i64(w, &p->good);
    wire_f64(w, &p->throughput_rps);
    wire_f64(w, &p->good_rps);
    wire_f64(w, &p->mean_latency_ns);
    wire_f64(w, &p->mean_in_system);
    struct percentile *all[] = {&p->queue_delay_p99, &p->ttft_p50, &p->ttft_p99, &p->tpot_p50,
                                &p->tpot_p99,        &p->e2e_p50,  &p->e2e_p99};
    for (size_t i = 0; i < 7; i++) codec_percentile(w, all[i]);
    wire_bool(w, &p->stable);
}

static void codec_lane(struct wire *w, const struct policy_request **lane, size_t *n) {
    wire_size(w, n, CASE_MAX_LANE);
    /* the view's arrays are const; when reading, the codec fills what it has just allocated */
    struct policy_request *list = room(w, *n, sizeof *list, (void *)(uintptr_t)*lane);
    *lane = list;
    for (size_t i = 0; i < *n && !w->bad; i++) {
        struct policy_request *r = &list[i];
        int64_t hash = w->reading ? 0 : (int64_t)r->prefix_hash;
        wire_i64(w, &r->id);
        wire_i64(w, &r->arrival_ns);
        wire_i32(w, &r->prompt_tokens);
        wire_i32(w, &r->max_output_tokens);
        wire_i32(w, &r->computed_tokens);
        wire_i32(w, &r->generated_tokens);
        wire_i32(w, &r->kv_blocks);
        wire_i32(w, &r->preemptions);
        wire_i64(w, &hash);
        r->prefix_hash = (uint64_t)hash;
    }
}

static void codec_plan(struct wire *w, struct lab02_case *c) {
    wire_bool(w, &c->batch);
    wire_i32(w, &c->group);
    wire_bool(w, &c->fresh);
    wire_i32(w, &c->more_plans);
    wire_i64(w, &c->view.now_ns);
    codec_lane(w, &c->view.waiting, &c->view.n_waiting);
    codec_lane(w, &c->view.running, &c->view.n_running);
    wire_i32(w, &c->view.free_kv_blocks);
    wire_i32(w, &c->view.total_kv_blocks);
    wire_i32(w, &c->view.token_budget);
    wire_i32(w, &c->view.max_running);
    wire_bool(w, &c->view.arrivals_ended);
}

static void codec_create(struct wire *w, struct lab02_case *c) {
    wire_bool(w, &c->batch);
    wire_bool(w, &c->others);
    for (size_t i = 0; i < sizeof c->arg; i++) {
        int32_t byte = c->arg[i];
        wire_i32(w, &byte);
        c->arg[i] = (char)byte;
    }
    c->arg[sizeof c->arg - 1] = '\0';
}

static bool uses_list(enum lab02_fn k) {
    return k <= FN_STABLE;
}

static bool uses_points(enum lab02_fn k) {
    return k >= FN_VERDICT && k <= FN_REGION;
}

int lab02_case_codec(struct wire *w, struct lab02_case *c) {
    if (w->reading) lab02_case_init(c);
    WIRE_ENUM(w, c->fn);
    WIRE_ENUM(w, c->memory);
    if ((unsigned)c->fn >= FN_N) w->bad = true;
    if (uses_list(c->fn)) codec_list(w, c);
    if (c->fn == FN_MEASURE || c->fn == FN_STABLE) {
        wire_i64(w, &c->from_ns);
        wire_i64(w, &c->to_ns);
    }
    if (c->fn == FN_MEASURE || c->fn == FN_VERDICT || c->fn == FN_CAPACITY)
        codec_limits(w, &c->limits);
    if (uses_points(c->fn)) {
        wire_size(w, &c->n_points, CASE_MAX_POINTS);
        for (size_t i = 0; i < c->n_points && !w->bad; i++) codec_point(w, &c->points[i]);
        wire_size(w, &c->at, CASE_MAX_POINTS);
    }
    if (c->fn == FN_CAPACITY) {
        wire_f64(w, &c->lo_rps);
        wire_f64(w, &c->hi_rps);
        wire_f64(w, &c->resolution);
        wire_f64(w, &c->local_rps);
    }
    if (c->fn == FN_PLAN) codec_plan(w, c);
    if (c->fn == FN_CREATE) codec_create(w, c);
    bool whole = !w->reading || w->left == 0;
    /* a call with one request needs exactly one */
    if (w->reading && c->fn <= FN_INTERVALS && c->n_list != 1) w->bad = true;
    if (w->reading && c->fn == FN_VERDICT && c->n_points != 1) w->bad = true;
    if (w->reading && c->fn == FN_REGION && c->at >= c->n_points) w->bad = true;
    if (!w->bad && whole) return 0;
    if (w->reading) lab02_case_release(c);
    return -1;
}

static size_t answer_slots(const struct lab02_case *c) {
    switch (c->fn) {
    case FN_INTERVALS:
        return 4;
    case FN_MEASURE:
        return 1 + POINT_SLOTS;
    case FN_CAPACITY:
        return FIND_POINT + POINT_SLOTS;
    case FN_CREATE:
        return CREATE_SLOTS;
    case FN_PLAN:
        return PLAN_HEAD + CASE_ACTION_SLOTS * (c->view.n_waiting + c->view.n_running);
    default:
        return 1;
    }
}

size_t lab02_case_slots(const struct lab02_case *c) {
    return answer_slots(c) + (c->memory == MEMORY_REPEAT);
}

void lab02_probe_reply_codec(struct wire *w, struct probe_reply *r) {
    wire_i32(w, &r->rc);
    codec_point(w, &r->point);
}

static struct percentile ordinary(double ns) {
    return (struct percentile){true, false, (int64_t)ns, 400, 0, false};
}

void lab02_case_curve(const struct lab02_case *c, double rps, struct operating_point *out) {
    const struct point_limits *l = &c->limits;
    double share = rps / c->local_rps < 1e3 ? rps / c->local_rps : 1e3; /* 1: the verdict changes */
    *out = (struct operating_point){.offered_rps = rps, .requests = 400, .complete = 400};
    out->throughput_rps = share < 1 ? rps : c->local_rps;
    out->good = 400;
    out->good_rps = rps;
    out->mean_latency_ns = 1e8 * (1 + share);
    out->mean_in_system = out->throughput_rps * out->mean_latency_ns / 1e9;
    out->stable = share < 1;
    out->queue_delay_p99 = ordinary(1e6 * share);
    out->ttft_p50 = ordinary(1e6);
    out->tpot_p50 = ordinary(1e6);
    out->e2e_p50 = ordinary(1e8);
    out->ttft_p99 = ordinary((double)l->ttft_below_ns * 0.5);
    out->tpot_p99 = ordinary((double)l->tpot_below_ns * 0.5);
    out->e2e_p99 = ordinary((double)l->e2e_below_ns * 0.5);
}
