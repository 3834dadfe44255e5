/* child/lab04_policy.c: a policy that admits whatever fits now, so that it has to preempt, and
 * sometimes preempts without a need. No request gets more than a third of a step, so that prompts
 * in chunks stand before requests in decode. A server would not want it; it shows whether an engine
 * survives preemption at any place. */
#include "child/lab04_engine.h"

#include <stdlib.h>

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

struct room {
    int32_t tokens, blocks;
};

/* The tokens that r can run now. */
static int32_t runs(const struct policy_request *r, const struct room *room) {
    int32_t left = r->prompt_tokens + r->generated_tokens - r->computed_tokens;
    int32_t fits = (r->kv_blocks + room->blocks) * KV_BLOCK_TOKENS - r->computed_tokens;
    return smaller(smaller(left, room->tokens), fits);
}

static void run(struct policy_plan *plan, struct room *room, const struct policy_request *r) {
    int32_t tokens = runs(r, room);
    if (tokens < 1) return;
    int32_t blocks = policy_blocks_for(r->computed_tokens + tokens) - r->kv_blocks;
    room->tokens -= tokens;
    room->blocks -= blocks > 0 ? blocks : 0;
    plan->actions[plan->n_actions++] =
        (struct policy_action){.verb = POLICY_RUN, .id = r->id, .tokens = tokens};
}

/* Blocks that all of running[0..n) need for one token more. */
static int32_t needed(const struct policy_view *v, size_t n) {
    int32_t need = 0;
    for (size_t i = 0; i < n; i++)
        need += policy_blocks_for(v->running[i].computed_tokens + 1) > v->running[i].kv_blocks;
    return need;
}

static int plan(void *state, const struct policy_view *v, struct policy_plan *plan, struct err *e) {
    int *turn = state;
    struct room room = {v->token_budget, v->free_kv_blocks};
    size_t stay = v->n_running;
    (void)e;
    for (bool must = ++*turn % 9 == 0; stay > 1 && (must || needed(v, stay) > room.blocks);
         must = false) {
        const struct policy_request *last = &v->running[--stay];
        room.blocks += last->kv_blocks;
        plan->actions[plan->n_actions++] =
            (struct policy_action){.verb = POLICY_PREEMPT, .id = last->id};
    }
    bool preempts = stay < v->n_running;
    for (size_t i = 0; i < stay; i++) { /* one block is kept for each that comes after */
        int32_t most = smaller(room.tokens, v->token_budget / 3 + 1);
        struct room mine = {most, room.blocks - needed(v, stay) + needed(v, i + 1)};
        int32_t before = mine.blocks;
        run(plan, &mine, &v->running[i]);
        room.tokens -= most - mine.tokens;
        room.blocks -= before - mine.blocks;
    }
    for (size_t i = 0; i < v->n_waiting && !preempts; i++)
        if (stay + i < (size_t)v->max_running) run(plan, &room, &v->waiting[i]);
    return 0;
}

static void *create(const char *arg, struct err *e) {
    (void)arg;
    (void)e;
    int *turn = calloc(1, sizeof *turn);
    if (!turn) abort();
    return turn;
}

const struct policy_ops *lab04_keen_policy(void) {
    static const struct policy_ops keen = {"keen", create, plan, free};
    return &keen;
}
