/* child/lab02.c: turns one case of lab 02 into one call of the learner's function. See child.h.
 * Inputs are placed (place.h). Outputs are poisoned, so that an output that is not written is never
 * right by accident. A search's probe sends a query to the grader, which simulates the load and
 * counts the probes. */
#include "child/answer.h"
#include "child/child.h"
#include "child/place.h"
#include "lab02/cases.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- answers ---- */

static void put_point(struct answer *a, const struct operating_point *p) {
    const struct percentile *all[] = {&p->queue_delay_p99, &p->ttft_p50, &p->ttft_p99, &p->tpot_p50,
                                      &p->tpot_p99,        &p->e2e_p50,  &p->e2e_p99};
    put_double(a, p->offered_rps);
    put(a, p->requests);
    put(a, p->complete);
    put(a, p->shed);
    put(a, p->truncated);
    put(a, p->broken);
    put(a, p->good);
    put_double(a, p->throughput_rps);
    put_double(a, p->good_rps);
    put_double(a, p->mean_latency_ns);
    put_double(a, p->mean_in_system);
    for (size_t i = 0; i < 7; i++) put_percentile(a, all[i]);
    put_bool(a, &p->stable);
}

/* ---- calls: inputs are placed once; the call itself may be repeated ---- */

struct call {
    struct lab02_case *c;
    const struct point_request *list;
    const struct operating_point *points;
    const struct point_limits *limits;
    struct policy_view view;
};

static void call_prepare(struct call *k, struct lab02_case *c) {
    bool read_only = c->memory == MEMORY_READ_ONLY;
    k->c = c;
    k->list = place(read_only, c->list, c->n_list * sizeof *c->list);
    k->points = place(read_only, c->points, c->n_points * sizeof *c->points);
    k->limits = place(read_only, &c->limits, sizeof c->limits);
    k->view = c->view;
    k->view.waiting =
        place(read_only, c->view.waiting, c->view.n_waiting * sizeof *c->view.waiting);
    k->view.running =
        place(read_only, c->view.running, c->view.n_running * sizeof *c->view.running);
}

static void call_intervals(struct call *k, struct answer *a) {
    struct point_intervals got;
    memset(&got, CASE_POISON, sizeof got);
    point_intervals(k->list, &got);
    put(a, got.queue_delay_ns);
    put(a, got.ttft_ns);
    put(a, got.tpot_ns);
    put(a, got.e2e_ns);
}

static void call_measure(struct call *k, struct answer *a) {
    struct operating_point got;
    struct err e;
    memset(&got, CASE_POISON, sizeof got);
    put(a, point_measure(k->list, k->c->n_list, k->c->from_ns, k->c->to_ns, k->limits, &got, &e));
    put_point(a, &got);
}

/* ---- the search ---- */

/* What the search gets as ctx and must pass to the probe: a number that says nothing. */
static int64_t passed_on;
static const struct lab02_case *searched;

static int local_probe(const struct lab02_case *c, double offered_rps,
                       struct operating_point *out) {
    if (!(offered_rps < 1000 * c->local_rps)) return -1;
    lab02_case_curve(c, offered_rps, out);
    return 0;
}

static int probe(void *ctx, double offered_rps, struct operating_point *out, struct err *e) {
    static unsigned char reply[WIRE_MAX_REPLY];
    const struct lab02_case *c = searched;
    unsigned char query[8];
    struct probe_reply r;
    struct wire w = wire_writer(query, sizeof query);
    if (ctx != &passed_on) abort();
    if (c->local_rps > 0)
        return local_probe(c, offered_rps, out) ? err_set(e, "the load generator broke") : 0;
    wire_f64(&w, &offered_rps);
    w = wire_reader(reply, child_query(query, sizeof query, reply, sizeof reply));
    lab02_probe_reply_codec(&w, &r);
    if (w.bad || r.rc) return err_set(e, "the load generator broke");
    *out = r.point;
    return 0;
}

static void call_capacity(struct call *k, struct answer *a) {
    searched = k->c;
    struct capacity got;
    struct err e;
    memset(&got, CASE_POISON, sizeof got);
    int rc = capacity_find(probe, &passed_on, k->c->lo_rps, k->c->hi_rps, k->c->resolution,
                           k->limits, &got, &e);
    if (rc == -1) got = (struct capacity){.probes = got.probes}; /* the only valid member */
    put(a, rc);
    put_bool(a, &got.found);
    put_bool(a, &got.at_top);
    put_double(a, got.rps);
    put(a, got.probes);
    put_point(a, &got.at);
}

/* ---- the policy: its state lives from one question to the next ---- */

static const struct policy_ops *ops;
static void *state;

static void policy_end(void) {
    if (ops && state) ops->destroy(state);
    ops = NULL;
    state = NULL;
}

static void policy_begin(const struct lab02_case *c) {
    char group[16] = "";
    struct err e;
    policy_end();
    if (c->batch) snprintf(group, sizeof group, "%d", c->group);
    ops = c->batch ? policy_learner_batch() : policy_learner();
    state = ops->create(group, &e);
}

/* How many of 8 small requests, which have waited for a second, an idle server is to run. */
static int64_t first_group(const struct policy_ops *made, void *it) {
    enum { WAIT = 8 };
    struct policy_request waiting[WAIT];
    struct policy_action actions[WAIT];
    struct policy_plan plan = {
        .actions = actions, .cap_actions = WAIT, .valid_until_ns = INT64_MAX};
    struct policy_view view = {.now_ns = NS_PER_S,
                               .waiting = waiting,
                               .n_waiting = WAIT,
                               .free_kv_blocks = 1000,
                               .total_kv_blocks = 1000,
                               .token_budget = 4096,
                               .max_running = 64,
                               .arrivals_ended = true};
    struct err e;
    int64_t n = 0;
    for (int i = 0; i < WAIT; i++)
        waiting[i] = (struct policy_request){.id = i, .prompt_tokens = 16, .max_output_tokens = 16};
    if (made->plan(it, &view, &plan, &e) || plan.n_actions > WAIT) return 0;
    for (size_t i = 0; i < plan.n_actions; i++) n += actions[i].verb == POLICY_RUN;
    return n;
}

/* Whether the one in the middle of three policies that live at the same time keeps its own N. */
static bool keeps_its_own(const struct policy_ops *made) {
    static const char *const size[] = {"7", "2", "7"};
    void *it[3];
    struct err e;
    for (int i = 0; i < 3; i++) it[i] = made->create(size[i], &e);
    bool own = it[1] && first_group(made, it[1]) <= 2;
    for (int i = 0; i < 3; i++)
        if (it[i]) made->destroy(it[i]);
    return own;
}

static void call_create(const struct lab02_case *c, struct answer *a) {
    const struct policy_ops *made = c->batch ? policy_learner_batch() : policy_learner();
    struct err e = {0};
    bool own = c->others && keeps_its_own(made);
    void *it = made->create(c->arg, &e);
    put(a, it != NULL);
    put(a, e.text[0] != '\0');
    put(a, own);
    if (it) made->destroy(it);
}

/* What policy.h leaves undefined, the tokens of an action that runs nothing, is 0 here: a policy
 * may leave it as it was. */
static void put_actions(struct answer *a, const struct policy_action *actions, size_t n,
                        size_t room) {
    for (size_t i = 0; i < room; i++) {
        bool there = i < n;
        put(a, there ? (int)actions[i].verb : 0);
        put(a, there ? actions[i].id : 0);
        put(a, there && actions[i].verb == POLICY_RUN ? actions[i].tokens : 0);
        put(a, there && actions[i].verb == POLICY_REJECT && actions[i].reason != NULL);
    }
}

/* In the plain build the plan has spare room after its end, which must stay untouched; in the
 * sanitizers' build its allocation ends there. */
static void call_plan(struct call *k, struct answer *a) {
    size_t cap = k->view.n_waiting + k->view.n_running, spare = CASE_SPARE;
#ifdef __SANITIZE_ADDRESS__
    spare = 0;
#endif
    struct policy_action *actions = malloc((cap + spare) * sizeof *actions + 1);
    if (!actions) abort();
    struct policy_plan plan;
    struct err e;
    int rc = 0;
    if (k->c->fresh) policy_begin(k->c);
    for (int32_t again = 0; again <= k->c->more_plans; again++) {
        memset(actions, CASE_POISON, (cap + spare) * sizeof *actions);
        plan = (struct policy_plan){
            .actions = actions, .cap_actions = cap, .valid_until_ns = INT64_MAX};
        struct policy_view view = k->view;
        view.now_ns += again * NS_PER_MS;
        rc = ops && state ? ops->plan(state, &view, &plan, &e) : 0;
    }
    bool beyond = false;
    const unsigned char *bytes = (const unsigned char *)(actions + cap);
    for (size_t i = 0; i < spare * sizeof *actions; i++) beyond |= bytes[i] != CASE_POISON;
    put(a, rc);
    put(a, state != NULL);
    put(a, (int64_t)plan.n_actions);
    put(a, (int)plan.validity);
    put(a, plan.valid_until_ns);
    put(a, beyond || plan.actions != actions || plan.cap_actions != cap);
    put_actions(a, actions, plan.n_actions, cap);
    free(actions);
}

static void call_once(struct call *k, struct answer *a) {
    switch (k->c->fn) {
    case FN_CLASSIFY:
        put(a, (int)point_classify(k->list));
        break;
    case FN_INTERVALS:
        call_intervals(k, a);
        break;
    case FN_MEASURE:
        call_measure(k, a);
        break;
    case FN_STABLE: {
        bool stable = point_stable(k->list, k->c->n_list, k->c->from_ns, k->c->to_ns);
        put_bool(a, &stable);
        break;
    }
    case FN_VERDICT:
        put(a, (int)point_verdict(k->points, k->limits));
        break;
    case FN_KNEE:
        put(a, (int64_t)curve_knee(k->points, k->c->n_points));
        break;
    case FN_SATURATION:
        put(a, (int64_t)curve_saturation(k->points, k->c->n_points));
        break;
    case FN_REGION:
        put(a, (int)curve_region(k->points, k->c->n_points, k->c->at));
        break;
    case FN_CAPACITY:
        call_capacity(k, a);
        break;
    case FN_PLAN:
        call_plan(k, a);
        break;
    case FN_CREATE:
        call_create(k->c, a);
        break;
    case FN_N:
        break;
    }
}

/* Other values in the same shape, so that a call isn't known as one of many by its input. */
static void vary(struct lab02_case *c) {
    for (size_t i = 0; i < c->n_list; i++) {
        struct point_request *r = &c->list[i];
        int64_t *times[] = {&r->arrival_ns, &r->admitted_ns, &r->first_token_ns, &r->end_ns};
        for (size_t k = 0; k < 4; k++) *times[k] += *times[k] >= 0 && *times[k] < INT64_MAX;
    }
    for (size_t i = 0; i < c->n_points; i++) c->points[i].mean_latency_ns *= 1 + 0x1p-40;
    c->hi_rps *= 1 + 0x1p-40;
    c->view.now_ns++;
}

/* Bytes by which the heap grew over many calls. The first calls are not counted: the C library
 * caches up to seven freed blocks of a size and counts them as in use. */
static int64_t heap_growth(struct call *k, struct lab02_case *c, struct answer *a) {
    enum { WARM_CALLS = 16, CALLS = 64, EACH = 8 /* calls with one input */ };
    struct answer scratch = *a;
    int64_t before = 0;
    for (int i = 0; i < WARM_CALLS + CALLS; i++) {
        if (i > 0 && i % EACH == 0) {
            place_release();
            vary(c);
            call_prepare(k, c);
        }
        if (i == WARM_CALLS) before = child_heap_bytes();
        scratch.n = a->n;
        call_once(k, &scratch);
        policy_end();
    }
    *a = scratch;
    return child_heap_bytes() - before;
}

int child_answer(const void *bytes, size_t n, int64_t *slots, size_t cap) {
    static struct lab02_case c;
    struct wire w = wire_reader(bytes, n);
    if (lab02_case_codec(&w, &c)) return -1;
    struct call k;
    call_prepare(&k, &c);
    bool repeat = c.memory == MEMORY_REPEAT;
    /* the function is called from here, and could read what memory it was given */
    c.memory = MEMORY_PLAIN;
    memset((void *)(uintptr_t)bytes, 0, n);
    struct answer a = {slots, 0, cap};
    if (repeat) {
        int64_t growth = heap_growth(&k, &c, &a);
        put(&a, growth);
    } else {
        call_once(&k, &a);
    }
    place_release();
    lab02_case_release(&c);
    return (int)a.n;
}
