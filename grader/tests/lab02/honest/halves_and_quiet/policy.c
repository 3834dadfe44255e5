/* Another right policy: expects half of the longest possible answer, and lets prefill have 60 ms of
 * an iteration with decodes. Asked before each iteration. A group leaves when nobody has come for 3
 * ms, or after 15 ms. What an action doesn't need isn't set. */
#include "sched/policy.h"
#include "base/clock.h"
#include <stdlib.h>

typedef struct policy_request req;
static int due(const req *r) {
    return r->prompt_tokens + r->generated_tokens - r->computed_tokens;
}
static int in_decode(const req *r) {
    return r->computed_tokens > 0 && due(r) == 1;
}
static int never(const struct policy_view *v, const req *r) {
    return policy_blocks_for(r->prompt_tokens + r->max_output_tokens) > v->total_kv_blocks;
}
static void put(struct policy_plan *p, enum policy_verb w, int64_t id, int32_t n) {
    struct policy_action *a = malloc(sizeof *a);
    if (!a) abort();
    a->verb = w, a->id = id;
    if (w == POLICY_RUN) a->tokens = n;
    if (w == POLICY_REJECT) a->reason = "larger than the cache";
    p->actions[p->n_actions++] = *a;
    free(a);
}
static int expect(const req *r) {
    int rest = r->max_output_tokens - r->generated_tokens;
    return policy_blocks_for(r->prompt_tokens + r->generated_tokens + (rest + 1) / 2);
}
static int plan(void *s, const struct policy_view *v, struct policy_plan *p, struct err *e) {
    (void)s, (void)e;
    int free_blocks = v->free_kv_blocks, budget = v->token_budget, used = 0, want = 0;
    size_t stay = v->n_running, i;
    p->validity = POLICY_ONE_ITERATION;
    p->valid_until_ns = v->now_ns + NS_PER_S;
    for (i = 0; i < v->n_waiting; i++)
        if (never(v, v->waiting + i)) put(p, POLICY_REJECT, v->waiting[i].id, 0);
    for (;;) { /* who may stay */
        int need = 0;
        for (i = 0; i < stay; i++) {
            const req *r = v->running + i;
            if (i && !in_decode(r)) continue;
            if (r->kv_blocks * KV_BLOCK_TOKENS <= r->computed_tokens) need++;
        }
        if (need <= free_blocks || stay <= 1) break;
        stay--;
        free_blocks += v->running[stay].kv_blocks;
        put(p, POLICY_PREEMPT, v->running[stay].id, 0);
    }
    int n_decode = 0;
    for (i = 0; i < stay; i++) {
        const req *r = v->running + i;
        used += expect(r);
        if (!in_decode(r) || budget == 0) continue;
        if (r->kv_blocks * KV_BLOCK_TOKENS <= r->computed_tokens) free_blocks--;
        budget--, n_decode++;
        put(p, POLICY_RUN, r->id, 1);
    }
    /* 62 us a token: 60 ms of prefill at most while others decode */
    want = n_decode ? 900 - n_decode : budget;
    if (want > budget) want = budget;
    for (i = 0; i < stay; i++) {
        const req *r = v->running + i;
        if (in_decode(r)) continue;
        int n = due(r) < want ? due(r) : want,
            room = (r->kv_blocks + free_blocks) * KV_BLOCK_TOKENS - r->computed_tokens;
        if (n > room) n = room;
        if (n < 1) continue;
        int b = policy_blocks_for(r->computed_tokens + n) - r->kv_blocks;
        if (b > 0) free_blocks -= b;
        want -= n;
        put(p, POLICY_RUN, r->id, n);
    }
    if (stay < v->n_running) return 0;
    int places = v->max_running - (int)stay;
    for (i = 0; i < v->n_waiting && places > 0 && want > 0; i++) {
        const req *r = v->waiting + i;
        if (never(v, r)) continue;
        used += expect(r);
        if (used > v->total_kv_blocks && stay) break;
        int n = due(r) < want ? due(r) : want;
        if (n > free_blocks * KV_BLOCK_TOKENS) n = free_blocks * KV_BLOCK_TOKENS;
        if (n < 1) break;
        free_blocks -= policy_blocks_for(n);
        want -= n, places--;
        put(p, POLICY_RUN, r->id, n);
        stay++;
    }
    return 0;
}
static void *make(const char *a, struct err *e) {
    if (*a == 0) return calloc(1, 4);
    err_at(e, 0, "--policy", "learner has no argument");
    return NULL;
}
/* a group leaves when nobody has come for 3 ms, or after 15 ms */
static int gplan(void *s, const struct policy_view *v, struct policy_plan *p, struct err *e) {
    (void)e;
    int max = *(int *)s, n = 0, blocks = 0, budget = v->token_budget;
    const req *list = v->running;
    p->validity = POLICY_ONE_ITERATION;
    p->valid_until_ns = INT64_MAX;
    for (size_t i = 0; i < v->n_waiting; i++)
        if (never(v, v->waiting + i)) put(p, POLICY_REJECT, v->waiting[i].id, 0);
    if (v->n_running)
        n = (int)v->n_running;
    else {
        if (p->n_actions || !v->n_waiting) return 0;
        list = v->waiting;
        if (max > v->max_running) max = v->max_running;
        if (max > budget) max = budget;
        while (n < max && n < (int)v->n_waiting) {
            blocks += policy_blocks_for(list[n].prompt_tokens + list[n].max_output_tokens);
            if (blocks > v->free_kv_blocks) break;
            n++;
        }
        int64_t quiet = v->waiting[v->n_waiting - 1].arrival_ns + 3 * NS_PER_MS,
                late = list[0].arrival_ns + 15 * NS_PER_MS;
        int64_t go = quiet < late ? quiet : late;
        if (n < max && n == (int)v->n_waiting && !v->arrivals_ended && v->now_ns < go) {
            p->valid_until_ns = go;
            return 0;
        }
    }
    for (int i = 0; i < n; i++) { /* everyone gets one, the rest goes to the first ones */
        int most = budget - (n - 1 - i), t = due(list + i) < most ? due(list + i) : most;
        budget -= t;
        put(p, POLICY_RUN, list[i].id, t);
    }
    return 0;
}
static void *gmake(const char *a, struct err *e) {
    size_t len = strspn(a, "0123456789");
    int *n = NULL;
    if (len && len < 8 && !a[len] && atoi(a) > 0 && (n = malloc(sizeof *n))) {
        *n = atoi(a);
        return n;
    }
    err_set(e, "learner-batch:N wants a number");
    return NULL;
}
static const struct policy_ops one = {"learner", make, plan, free},
                               two = {"learner-batch", gmake, gplan, free};
const struct policy_ops *policy_learner(void) {
    return &one;
}
const struct policy_ops *policy_learner_batch(void) {
    return &two;
}
