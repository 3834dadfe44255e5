/* policy.c: two scheduling policies, for the simulator and the server (sched/policy.h has the
 * rules).
 *
 * learner-batch:N  groups of up to N, which share an iteration's fixed cost
 * learner          continuous batching that looks at the cache before it admits: each iteration
 *                  decodes all running requests and fills up with a piece of prefill
 *
 * Both refuse a request that can never run at once, so that its client needn't wait. Neither keeps
 * state between plans: equal views give equal plans.
 */
#include "sched/policy.h"
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include "base/clock.h"

#include <stdlib.h>

static int32_t min32(int32_t a, int32_t b) {
    return a < b ? a : b;
}

/* Tokens that must be in the cache before the next one can be sampled: 1 in decode. */
static int32_t left_of(const struct policy_request *r) {
    return r->prompt_tokens + r->generated_tokens - r->computed_tokens;
}

static bool decodes(const struct policy_request *r) {
    return left_of(r) == 1 && r->computed_tokens > 0;
}

static void add(struct policy_plan *plan, enum policy_verb verb, int64_t id, int32_t tokens,
                const char *reason) {
    INVARIANT(plan->n_actions < plan->cap_actions);
    plan->actions[plan->n_actions++] = (struct policy_action){verb, id, tokens, reason};
}

/* Why the request can never run on this machine; NULL: it can. */
static const char *impossible(const struct policy_view *v, const struct policy_request *r) {
    if (r->prompt_tokens < 1) return "the prompt is empty";
    if ((int64_t)r->prompt_tokens + r->max_output_tokens >
        (int64_t)v->total_kv_blocks * KV_BLOCK_TOKENS)
        return "prompt and max_tokens together need more KV blocks than the whole cache has";
    return NULL;
}

/* Begins a plan by refusing the requests that can never run. Returns their number. */
static size_t refuse_impossible(struct policy_plan *plan, const struct policy_view *v) {
    plan->validity = POLICY_UNTIL_CHANGE;
    plan->valid_until_ns = INT64_MAX;
    for (size_t i = 0; i < v->n_waiting; i++) {
        const char *reason = impossible(v, &v->waiting[i]);
        if (reason) add(plan, POLICY_REJECT, v->waiting[i].id, 0, reason);
    }
    return plan->n_actions;
}

/* ---- learner-batch:N ------------------------------------------------------------------------- */

/* The longest time that the first request waits for its group. A group saves each member a pass
 * over the weights, about 10 ms for a 7B model on an A100; a longer wait costs more than it saves.
 */
static const int64_t GROUP_WAIT_NS = 10 * NS_PER_MS;

/* Runs list[0..n) and divides the token budget evenly; n is at most the budget. */
static void run_group(struct policy_plan *plan, const struct policy_view *v,
                      const struct policy_request *list, size_t n) {
    int32_t budget = v->token_budget;
    for (size_t i = 0; i < n; i++) {
        int32_t tokens = min32(left_of(&list[i]), budget / (int32_t)(n - i));
        add(plan, POLICY_RUN, list[i].id, tokens, NULL);
        budget -= tokens;
    }
}

static int batch_plan(void *state, const struct policy_view *v, struct policy_plan *plan,
                      struct err *e) {
    (void)e;
    size_t size = (size_t)min32(*(const int32_t *)state, min32(v->max_running, v->token_budget));
    bool refused = refuse_impossible(plan, v) > 0;
    if (v->n_running > 0) { /* a group runs to its end before the next one is formed */
        run_group(plan, v, v->running, v->n_running);
        return 0;
    }
    if (refused || v->n_waiting == 0) return 0; /* after a refusal we are asked again at once */
    /* each member has all the blocks that it may ever need, so that none is preempted */
    int64_t promised = 0;
    size_t n = 0;
    for (; n < v->n_waiting && n < size; n++) {
        promised +=
            policy_blocks_for(v->waiting[n].prompt_tokens + v->waiting[n].max_output_tokens);
        if (promised > v->free_kv_blocks) break;
    }
    int64_t leaves_ns = v->waiting[0].arrival_ns + GROUP_WAIT_NS;
    bool may_grow = n < size && n == v->n_waiting && !v->arrivals_ended;
    if (may_grow && v->now_ns < leaves_ns)
        plan->valid_until_ns = leaves_ns;
    else
        run_group(plan, v, v->waiting, n);
    return 0;
}

static void *batch_create(const char *arg, struct err *e) {
    char *end;
    long n = strtol(arg, &end, 10);
    if (end == arg || *end || n < 1 || n > 1000000) {
        err_at(e, 0, "--policy",
               "'learner-batch' takes the size of a group, as in learner-batch:4");
        return NULL;
    }
    int32_t *size = malloc(sizeof *size);
    INVARIANT(size);
    *size = (int32_t)n;
    return size;
}

/* ---- learner --------------------------------------------------------------------------------- */

/* The most prefill in an iteration with decodes, since those wait for it. 512 tokens of a 7B model
 * take about 33 ms on an A100 (2,048 would take 133 ms) and are enough to keep its arithmetic busy.
 */
enum { CHUNK_TOKENS = 512 };

/* The resources left for the plan in this iteration. */
struct room {
    int32_t prefill_tokens, blocks;
};

static int32_t next_block(const struct policy_request *r) {
    return policy_blocks_for(r->computed_tokens + 1) > r->kv_blocks;
}

/* The cache must have room for this many more tokens of each running request: by then others have
 * ended. Room for the longest possible answers would leave the cache half empty, since most end far
 * before max_output_tokens; room for only the next token would cost preemptions. */
enum { GROWTH_TOKENS = 64 };

static int64_t expected_blocks(const struct policy_request *r) {
    int32_t grows = min32(r->max_output_tokens - r->generated_tokens, GROWTH_TOKENS);
    return policy_blocks_for(r->prompt_tokens + r->generated_tokens + grows);
}

/* Preempts the requests admitted last, which lose the least work, until each remaining decode can
 * take its next token. The oldest request is never preempted, so that every run makes progress.
 * Returns the number that remain. */
static size_t make_room(struct policy_plan *plan, const struct policy_view *v, struct room *room) {
    size_t stay = v->n_running;
    int64_t need = 0;
    for (size_t i = 0; i < stay; i++)
        if (i == 0 || decodes(&v->running[i])) need += next_block(&v->running[i]);
    while (stay > 1 && need > room->blocks) {
        const struct policy_request *last = &v->running[--stay];
        if (decodes(last)) need -= next_block(last);
        room->blocks += last->kv_blocks;
        add(plan, POLICY_PREEMPT, last->id, 0, NULL);
    }
    return stay;
}

/* Runs as much of a prefill as there is room for; false: nothing. */
static bool prefill(struct policy_plan *plan, struct room *room, const struct policy_request *r) {
    int64_t fits = (int64_t)(r->kv_blocks + room->blocks) * KV_BLOCK_TOKENS - r->computed_tokens;
    int32_t tokens = min32(left_of(r), room->prefill_tokens);
    if (tokens > fits) tokens = (int32_t)fits;
    if (tokens < 1) return false;
    int32_t blocks = policy_blocks_for(r->computed_tokens + tokens) - r->kv_blocks;
    room->prefill_tokens -= tokens;
    room->blocks -= blocks > 0 ? blocks : 0;
    add(plan, POLICY_RUN, r->id, tokens, NULL);
    return true;
}

static int learner_plan(void *state, const struct policy_view *v, struct policy_plan *plan,
                        struct err *e) {
    (void)state;
    (void)e;
    refuse_impossible(plan, v);
    struct room room = {v->token_budget, v->free_kv_blocks};
    size_t stay = make_room(plan, v, &room);
    int64_t promised = 0;
    int32_t positions = v->max_running;
    for (size_t i = 0; i < stay; i++) {
        const struct policy_request *r = &v->running[i];
        promised += expected_blocks(r);
        positions--;
        if (!decodes(r) || room.prefill_tokens < 1) continue;
        room.prefill_tokens--;
        room.blocks -= next_block(r);
        add(plan, POLICY_RUN, r->id, 1, NULL);
    }
    if (room.prefill_tokens < v->token_budget) /* some decode */
        room.prefill_tokens = min32(room.prefill_tokens, CHUNK_TOKENS);
    for (size_t i = 0; i < stay; i++)
        if (!decodes(&v->running[i])) prefill(plan, &room, &v->running[i]);
    if (stay < v->n_running) { /* a preempted request must not come back at once: ask again later */
        plan->validity = POLICY_ONE_ITERATION;
        return 0;
    }

    for (size_t i = 0; i < v->n_waiting && positions > 0; i++) {
        const struct policy_request *w = &v->waiting[i];
        if (impossible(v, w)) continue;
        promised += expected_blocks(w);
        /* first come, first served: if this one waits for blocks, those behind it wait, too */
        if (promised > v->total_kv_blocks || !prefill(plan, &room, w)) return 0;
        positions--;
    }
    return 0;
}

static void *learner_create(const char *arg, struct err *e) {
    void *state = malloc(1);
    INVARIANT(state);
    if (!arg[0]) return state;
    free(state);
    err_at(e, 0, "--policy", "'learner' takes no argument, not '%.40s'", arg);
    return NULL;
}
// END SOLUTION

const struct policy_ops *policy_learner(void) {
    // BEGIN SOLUTION
    //| LAB_TODO("policy_learner");
    static const struct policy_ops learner = {"learner", learner_create, learner_plan, free};
    return &learner;
    // END SOLUTION
}

const struct policy_ops *policy_learner_batch(void) {
    // BEGIN SOLUTION
    //| LAB_TODO("policy_learner_batch");
    static const struct policy_ops batch = {"learner-batch", batch_create, batch_plan, free};
    return &batch;
    // END SOLUTION
}
