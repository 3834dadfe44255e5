/* questions.c: how a question of lab 02 travels. See questions.h. Field by field on purpose: a
 * struct's padding would carry whatever the grader's memory held.
 */
#include "lab02/questions.h"

#include <stdlib.h>
#include <string.h>

void question_init(struct question *q) {
    memset(q, 0, sizeof *q);
}

void question_release(struct question *q) {
    free(q->list);
    free((void *)(uintptr_t)q->view.waiting);
    free((void *)(uintptr_t)q->view.running);
    question_init(q);
}

/* Makes room for n things when reading. */
static void *room(struct wire *w, size_t n, size_t size, void *have) {
    if (!w->reading || w->bad || n == 0) return have;
    void *p = calloc(n, size);
    if (!p) w->bad = true;
    return p;
}

static void codec_list(struct wire *w, struct question *q) {
    wire_size(w, &q->n_list, QUESTION_MAX_REQUESTS);
    q->list = room(w, q->n_list, sizeof *q->list, q->list);
    for (size_t i = 0; i < q->n_list && !w->bad; i++) {
        struct point_request *r = &q->list[i];
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
    wire_size(w, n, QUESTION_MAX_LANE);
    /* the view promises not to write; the codec only writes what it has just made */
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

static void codec_plan(struct wire *w, struct question *q) {
    wire_bool(w, &q->batch);
    wire_i32(w, &q->group);
    wire_bool(w, &q->fresh);
    wire_i64(w, &q->view.now_ns);
    codec_lane(w, &q->view.waiting, &q->view.n_waiting);
    codec_lane(w, &q->view.running, &q->view.n_running);
    wire_i32(w, &q->view.free_kv_blocks);
    wire_i32(w, &q->view.total_kv_blocks);
    wire_i32(w, &q->view.token_budget);
    wire_i32(w, &q->view.max_running);
    wire_bool(w, &q->view.arrivals_ended);
}

static bool uses_list(enum question_kind k) {
    return k <= Q_STABLE;
}

static bool uses_points(enum question_kind k) {
    return k >= Q_VERDICT && k <= Q_REGION;
}

int question_codec(struct wire *w, struct question *q) {
    if (w->reading) question_init(q);
    WIRE_ENUM(w, q->kind);
    WIRE_ENUM(w, q->memory);
    if ((unsigned)q->kind >= Q_N) w->bad = true;
    if (uses_list(q->kind)) codec_list(w, q);
    if (q->kind == Q_MEASURE || q->kind == Q_STABLE) {
        wire_i64(w, &q->from_ns);
        wire_i64(w, &q->to_ns);
    }
    if (q->kind == Q_MEASURE || q->kind == Q_VERDICT || q->kind == Q_CAPACITY)
        codec_limits(w, &q->limits);
    if (uses_points(q->kind)) {
        wire_size(w, &q->n_points, QUESTION_MAX_POINTS);
        for (size_t i = 0; i < q->n_points && !w->bad; i++) codec_point(w, &q->points[i]);
        wire_size(w, &q->at, QUESTION_MAX_POINTS);
    }
    if (q->kind == Q_CAPACITY) {
        wire_f64(w, &q->lo_rps);
        wire_f64(w, &q->hi_rps);
        wire_f64(w, &q->resolution);
        wire_f64(w, &q->local_rps);
    }
    if (q->kind == Q_PLAN) codec_plan(w, q);
    bool whole = !w->reading || w->left == 0;
    /* questions about one thing must have one */
    if (w->reading && q->kind <= Q_INTERVALS && q->n_list != 1) w->bad = true;
    if (w->reading && q->kind == Q_VERDICT && q->n_points != 1) w->bad = true;
    if (w->reading && q->kind == Q_REGION && q->at >= q->n_points) w->bad = true;
    if (!w->bad && whole) return 0;
    if (w->reading) question_release(q);
    return -1;
}

static size_t answer_slots(const struct question *q) {
    switch (q->kind) {
    case Q_INTERVALS:
        return 4;
    case Q_MEASURE:
        return 1 + POINT_SLOTS;
    case Q_CAPACITY:
        return FIND_POINT + POINT_SLOTS;
    case Q_PLAN:
        return PLAN_HEAD + QUESTION_ACTION_SLOTS * (q->view.n_waiting + q->view.n_running);
    default:
        return 1;
    }
}

size_t question_slots(const struct question *q) {
    return answer_slots(q) + (q->memory == QMEM_REPEAT);
}

void probe_reply_codec(struct wire *w, struct probe_reply *r) {
    wire_i32(w, &r->rc);
    codec_point(w, &r->point);
}
