/* Another right policy: strictly first come, first served. An admitted request gets blocks for all
 * its possible tokens, so that no request is ever preempted. Asked before each iteration. A group
 * that isn't full waits for 25 ms. */
#include "sched/policy.h"

#include <stdlib.h>

struct mine {
    int group; /* 0: continuous */
};

static int64_t most_blocks(const struct policy_request *r) {
    return policy_blocks_for(r->prompt_tokens + r->max_output_tokens);
}

static int32_t missing(const struct policy_request *r) {
    return r->prompt_tokens + r->generated_tokens - r->computed_tokens;
}

static int32_t take(struct policy_plan *p, const struct policy_request *r, int32_t tokens) {
    if (tokens > missing(r)) tokens = missing(r);
    if (tokens < 1) return 0;
    p->actions[p->n_actions].verb = POLICY_RUN;
    p->actions[p->n_actions].id = r->id;
    p->actions[p->n_actions].tokens = tokens;
    p->actions[p->n_actions].reason = NULL;
    p->n_actions++;
    return tokens;
}

static int decide(void *state, const struct policy_view *v, struct policy_plan *p, struct err *e) {
    const struct mine *m = state;
    int64_t promised = 0, prefill = 768, left = v->token_budget;
    size_t let_in = 0;
    (void)e;
    for (size_t i = 0; i < v->n_waiting; i++) {
        if (most_blocks(&v->waiting[i]) <= v->total_kv_blocks) continue;
        p->actions[p->n_actions].verb = POLICY_REJECT;
        p->actions[p->n_actions].id = v->waiting[i].id;
        p->actions[p->n_actions].tokens = 0;
        p->actions[p->n_actions].reason = "longer than the whole cache";
        p->n_actions++;
    }
    int64_t leaves_ns = v->n_waiting ? v->waiting[0].arrival_ns + 25000000 : 0;
    if (m->group && v->n_running == 0 && v->n_waiting > 0 && v->n_waiting < (size_t)m->group &&
        !v->arrivals_ended && v->now_ns < leaves_ns) {
        p->valid_until_ns = leaves_ns;
        return 0;
    }
    /* decodes first: they are short */
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < v->n_running; i++) {
            const struct policy_request *r = &v->running[i];
            int decodes = missing(r) == 1 && r->computed_tokens > 0;
            if (decodes != (pass == 0)) continue;
            int64_t room = pass == 0 || left < prefill ? left : prefill;
            int32_t taken = take(p, r, (int32_t)room);
            left -= taken;
            if (pass) prefill -= taken;
        }
    for (size_t i = 0; i < v->n_running; i++) promised += most_blocks(&v->running[i]);
    for (size_t i = 0; i < v->n_waiting && (m->group == 0 || v->n_running == 0); i++) {
        const struct policy_request *r = &v->waiting[i];
        if (most_blocks(r) > v->total_kv_blocks) continue;
        promised += most_blocks(r);
        if (promised > v->total_kv_blocks) break;
        if (v->n_running + let_in >= (size_t)v->max_running) break;
        if (m->group && let_in == (size_t)m->group) break;
        int32_t taken = take(p, r, (int32_t)(left < prefill ? left : prefill));
        if (!taken) break;
        left -= taken;
        prefill -= taken;
        let_in++;
    }
    p->validity = POLICY_ONE_ITERATION;
    return 0;
}

static void *begin_group(const char *arg, struct err *e) {
    struct mine *m = NULL;
    char *end;
    long n = strtol(arg, &end, 10);
    if (*arg && !*end && n > 0 && n < 100000) m = calloc(1, sizeof *m);
    if (m)
        m->group = (int)n;
    else
        err_set(e, "a group needs a size");
    return m;
}

static void *begin(const char *arg, struct err *e) {
    struct mine *m = *arg ? NULL : calloc(1, sizeof *m);
    if (!m) err_set(e, "no argument, please");
    return m;
}

const struct policy_ops *policy_learner(void) {
    static const struct policy_ops mine = {"learner", begin, decide, free};
    return &mine;
}

const struct policy_ops *policy_learner_batch(void) {
    static const struct policy_ops mine = {"learner-batch", begin_group, decide, free};
    return &mine;
}
