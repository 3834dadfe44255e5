/* engine_step.c: one iteration of the server: plan, blocks, compute, sample, stream
 * (serve/engine.h has the rules; serve/engine_queue.c the pieces).
 *
 * One idea: the queue changes under the lock, the long computation runs without it, and its results
 * are handed on under the lock again. A request that is cancelled meanwhile gets no token; the next
 * step drops it. Not here: which request runs (the policy), and what the text says (answer.h tells
 * whether the answer is over).
 */
#include "serve/engine.h"

#include "serve/stamps.h"
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

static void stamp(struct engine *g, struct seq *s,
                  void (*how)(struct record *, const struct clock *)) {
    pthread_mutex_lock(&s->live->lock);
    how(&s->live->record, &g->clock);
    pthread_mutex_unlock(&s->live->lock);
}

/* ---- the plan, with the lock held ------------------------------------------------------------ */

static void preempt(struct engine *g, struct seq *s) {
    kv_table_release(g->kv, &s->kv);
    s->computed = 0; /* what it has generated is recomputed as if it were prompt */
    s->preemptions++;
    engine_to_waiting(g, s);
    stamp(g, s, stamp_preempted);
}

/* Gives the request its blocks and, where it waited, its batch position. */
static int grant(struct engine *g, struct seq *s, int32_t tokens, struct err *e) {
    if (kv_table_reserve(g->kv, &s->kv, s->computed + tokens, e)) return -1;
    if (s->state == SEQ_RUNNING) return 0;
    engine_to_running(g, s);
    stamp(g, s, stamp_admitted);
    return 0;
}

/* A request that was just admitted may find the beginning of its tokens in the cache. The last
 * token is always computed: its logits choose the next one. Returns the tokens left for this step.
 * They need no more blocks than were planned, and a shared block that was free is one of those
 * left. */
static int32_t reuse_prefix(struct engine *g, struct seq *s, int32_t tokens, struct err *e) {
    int32_t total = s->n_prompt + s->n_generated;
    kv_table_release(g->kv, &s->kv);
    s->computed = kv_table_share(g->kv, &s->kv, s->tokens, total - 1);
    if (s->cached < 0) s->cached = s->computed;
    if (tokens > total - s->computed) tokens = total - s->computed;
    return kv_table_reserve(g->kv, &s->kv, s->computed + tokens, e) ? -1 : tokens;
}

static struct backend_seq part_of(const struct seq *s, int32_t tokens) {
    return (struct backend_seq){.tokens = s->tokens + s->computed,
                                .n_tokens = tokens,
                                .pos0 = s->computed,
                                .block_table = s->kv.blocks,
                                .n_blocks = s->kv.n_blocks,
                                /* with its last token: the next one is wanted */
                                .want_logits =
                                    s->computed + tokens == s->n_prompt + s->n_generated};
}

/* Carries the plan out and collects the batch. Returns its size, or -1. Every part gets its blocks
 * before a prefix is looked for: a hit must not take what the plan gave to another. */
static int32_t carry_out(struct engine *g, const struct policy_plan *plan, struct err *e) {
    int32_t n = 0;
    for (size_t i = 0; i < plan->n_actions; i++) {
        const struct policy_action *a = &plan->actions[i];
        struct seq *s = engine_find(g, a->id);
        if (a->verb == POLICY_PREEMPT) preempt(g, s);
        if (a->verb == POLICY_REJECT) engine_end(g, s, STREAM_REJECTED, a->reason);
        if (a->verb != POLICY_RUN) continue;
        if (grant(g, s, a->tokens, e)) return -1;
        g->batch[n] = part_of(s, a->tokens);
        g->batch_of[n++] = s;
    }
    for (int32_t i = 0; i < n && g->prefix_cache; i++) {
        struct seq *s = g->batch_of[i];
        if (s->computed > 0 || s->prompt_scores) continue;
        int32_t tokens = reuse_prefix(g, s, g->batch[i].n_tokens, e);
        if (tokens < 0) return -1;
        g->batch[i] = part_of(s, tokens);
    }
    engine_want_prompt_scores(g, n);
    return n;
}

static int make_plan(struct engine *g, struct policy_plan *plan, struct err *e) {
    struct policy_view view = engine_view(g);
    *plan = (struct policy_plan){.actions = g->actions,
                                 .cap_actions = view.n_waiting + view.n_running,
                                 .valid_until_ns = INT64_MAX};
    if (g->policy->plan(g->policy_state, &view, plan, e)) return -1;
    return policy_check(&view, plan, e);
}

/* ---- after the computation, with the lock held ----------------------------------------------- */

/* Hands the released text to the stream. False when the request had to be ended. */
static bool deliver(struct engine *g, struct seq *s, const struct answer_piece *piece) {
    if (piece->n == 0 || !stream_push(s->stream, piece->text, piece->n, piece->tokens)) return true;
    engine_end(g, s, STREAM_FAILED, "the client reads too slowly; its answer was dropped");
    return false;
}

static void finish(struct engine *g, struct seq *s, const char *finish_reason) {
    struct answer_piece last;
    struct err e;
    if (answer_end(&s->answer, &last, &e))
        engine_end(g, s, STREAM_FAILED, e.text);
    else if (deliver(g, s, &last))
        engine_end(g, s, STREAM_DONE, finish_reason);
}

static void next_token(struct engine *g, struct seq *s, const float *logits) {
    struct err e;
    struct answer_piece piece;
    if (s->max_output == 0) { /* only the prompt was asked for */
        finish(g, s, "length");
        return;
    }
    int32_t id = sampler_next(&s->sampler, logits, &e);
    if (id < 0) {
        engine_end(g, s, STREAM_FAILED, e.text);
        return;
    }
    bool ends = tokenizer_ends(g->tokenizer, id) && !s->ignore_end;
    if (!ends) stamp(g, s, stamp_first_token); /* before its text is made */
    if (!engine_push_scores(g, s, logits, id)) return;
    if (ends) {
        finish(g, s, "stop");
        return;
    }
    s->tokens[s->n_prompt + s->n_generated++] = id;
    if (answer_push(&s->answer, id, &piece, &e)) {
        engine_end(g, s, STREAM_FAILED, e.text);
        return;
    }
    bool full = s->n_generated == s->max_output;
    bool over = piece.stopped || s->n_generated == s->ends_after;
    if (deliver(g, s, &piece) && (over || full)) finish(g, s, over ? "stop" : "length");
}

static void take_results(struct engine *g, int32_t n) {
    const float *logits = g->logits;
    for (int32_t i = 0; i < n; i++) {
        struct seq *s = g->batch_of[i];
        s->computed += g->batch[i].n_tokens;
        if (g->prefix_cache) kv_table_publish(g->kv, &s->kv, s->tokens, s->computed);
        int32_t rows = g->batch[i].want_logits; /* more than one only for a prompt's scores */
        if (rows == 0) continue;
        const float *last = logits + (size_t)(rows - 1) * (size_t)g->backend->info.vocab_size;
        bool complete = s->computed == s->n_prompt + s->n_generated && !s->cancelled;
        if (engine_push_prompt_scores(g, s, &g->batch[i], logits) && complete)
            next_token(g, s, last);
        logits = last + g->backend->info.vocab_size;
    }
}

static void fail_all(struct engine *g, struct seq *list, const struct err *e) {
    for (struct seq *next; list; list = next) {
        next = list->next;
        engine_end(g, list, STREAM_FAILED, e->text);
    }
}
// END SOLUTION

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    // BEGIN SOLUTION
    //| LAB_TODO("engine_step");
    enum engine_progress progress = ENGINE_IDLE;
    struct policy_plan plan;
    *wake_ns = INT64_MAX;
    pthread_mutex_lock(&g->lock);
    if (engine_drop_cancelled(g)) progress = ENGINE_WORKED;
    if (g->n_waiting + g->n_running == 0) goto out;
    int32_t n = make_plan(g, &plan, e) ? -1 : carry_out(g, &plan, e);
    if (n < 0) { /* without a plan no request can run: fail them all instead of waiting */
        fail_all(g, g->waiting, e);
        fail_all(g, g->running, e);
        progress = ENGINE_FAULT;
        goto out;
    }
    *wake_ns = plan.valid_until_ns;
    if (plan.n_actions > 0) progress = ENGINE_WORKED;
    if (n == 0) goto out;

    int64_t start_ns = clock_now_ns(&g->clock);
    pthread_mutex_unlock(&g->lock);
    int failed = engine_compute(g, n, e);
    pthread_mutex_lock(&g->lock);
    engine_note_step(g, n, start_ns);
    if (failed) progress = ENGINE_FAULT;
    if (failed)
        for (int32_t i = 0; i < n; i++) engine_end(g, g->batch_of[i], STREAM_FAILED, e->text);
    else
        for (; n > 0; n = engine_take_drafted(g)) take_results(g, n);
out:
    pthread_mutex_unlock(&g->lock);
    return progress;
    // END SOLUTION
}
