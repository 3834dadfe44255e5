/* evaluate.c: runs questions through a backend. See evaluate.h.
 *
 * For each log: encode its prompts; compute their common prefix once; then for each group of
 * questions compute the tails, feed the right answers token by token (teacher forcing), and, where
 * greedy decoding would leave the right answer, decode the model's answer. */
#include "quality/evaluate.h"

#include "base/clock.h"
#include "model/sampler.h"
#include "quality/checks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ANSWER_TOKENS = EVALUATION_ANSWER_TOKENS,
    GROUP_SEQS = EVALUATION_MAX_SEQS,
    OWN_BLOCKS = EVALUATION_OWN_BLOCKS,
    PREFIX_BLOCKS = EVALUATION_PREFIX_BLOCKS
};

/* One question and its state in the backend. */
struct run {
    struct question q;
    int32_t *prompt;                         /* (QUESTION_PROMPT_TOKENS) */
    int32_t answer[ANSWER_TOKENS], n_answer; /* the right answer's ids, end included */
    int32_t lost_block;                      /* logical block that reads as zeros, or -1 */
    struct evaluation_item *item;
    bool diverged;                     /* greedy decoding would leave the right answer */
    int32_t got[ANSWER_TOKENS], n_got; /* the greedy answer's ids where it diverged */
};

struct evaluator {
    struct question_set set;
    struct backend *b;
    const struct tokenizer *t;
    int32_t vocab;
    float *logits; /* (GROUP_SEQS, vocab) */
    const struct evaluation_plan *plan;
    int32_t log, step; /* the log in work, and its steps so far */
    int64_t said_ns;
};

/* A terminal gets one line a log, redrawn; a pipe, a line now and then. */
static void say_progress(struct evaluator *v) {
    enum { EVERY_S = 5 };
    const struct evaluation_plan *p = v->plan;
    if (!p->progress) return;
    if (p->redraws && v->step == 1)
        fprintf(p->progress, "\r  log %d of %d ", v->log + 1, p->n_logs);
    int64_t now_ns = clock_monotonic_ns();
    if (p->redraws || now_ns - v->said_ns < EVERY_S * NS_PER_S) return;
    v->said_ns = now_ns;
    fprintf(p->progress, "servelab quality: log %d of %d, step %d\n", v->log + 1, p->n_logs,
            v->step);
}

static int run_step(struct evaluator *v, const struct backend_seq *seqs, int32_t n, float *logits,
                    struct err *e) {
    v->step++;
    say_progress(v);
    return backend_step(v->b, &(struct backend_batch){seqs, n}, logits, e);
}

/* ---- preparing ---- */

static int encode_prompt(const struct evaluator *v, const struct question_log *log, struct run *r,
                         struct err *e) {
    size_t n = strlen(log->text), m = strlen(r->q.tail);
    char *text = malloc(n + m + 1);
    INVARIANT(text);
    memcpy(text, log->text, n);
    memcpy(text + n, r->q.tail, m + 1);
    struct chat_message message = {.role = "user", .content = text};
    int32_t count = tokenizer_encode_chat(v->t, &message, 1, &r->prompt, e);
    free(text);
    if (count < 0) return -1;
    if (count != QUESTION_PROMPT_TOKENS)
        return err_set(e, "a prompt has %d tokens instead of %d", count, QUESTION_PROMPT_TOKENS);
    return 0;
}

static int encode_answer(const struct evaluator *v, struct run *r, struct err *e) {
    int32_t *ids = NULL;
    if (tokenizer_eos(v->t) < 0)
        return err_at(e, 0, "tokenizer.ggml.eos_token_id",
                      "is missing; an answer's likelihood includes its end-of-sequence token");
    int32_t n = tokenizer_encode(v->t, r->q.answer, strlen(r->q.answer), false, &ids, e);
    if (n < 0) return -1;
    INVARIANT(n + 1 <= ANSWER_TOKENS);
    memcpy(r->answer, ids, (size_t)n * sizeof *ids);
    r->answer[n] = tokenizer_eos(v->t);
    r->n_answer = n + 1;
    free(ids);
    return 0;
}

/* Finds the block that holds the last token of the asked record. A message that ends with the
 * record begins with the same tokens as the whole prompt, up to the newline after the value, under
 * every chat template. */
static int find_record_block(const struct evaluator *v, const struct question_log *log,
                             struct run *r, struct err *e) {
    char *text = strndup(log->text, log->records[r->q.record].end);
    INVARIANT(text);
    int32_t *ids = NULL, shared = 0;
    struct chat_message message = {.role = "user", .content = text};
    int32_t n = tokenizer_encode_chat(v->t, &message, 1, &ids, e);
    while (shared < n && ids[shared] == r->prompt[shared]) shared++;
    free(ids);
    free(text);
    if (n < 0) return -1;
    INVARIANT(shared >= 2);
    r->lost_block = (shared - 2) / KV_BLOCK_TOKENS;
    return 0;
}

/* Tokens that all prompts of the log begin with, in whole blocks. */
static int32_t shared_prefix(const struct run *runs, int32_t n) {
    int32_t shared = QUESTION_PROMPT_TOKENS - 1;
    for (int32_t i = 1; i < n; i++) {
        int32_t k = 0;
        while (k < shared && runs[i].prompt[k] == runs[0].prompt[k]) k++;
        shared = k;
    }
    return shared / KV_BLOCK_TOKENS * KV_BLOCK_TOKENS;
}

/* ---- running ---- */

static int prefill_shared(struct evaluator *v, const int32_t *ids, int32_t n, struct err *e) {
    int32_t table[PREFIX_BLOCKS];
    for (int32_t i = 0; i < PREFIX_BLOCKS; i++) table[i] = i;
    for (int32_t at = 0; at < n;) {
        int32_t step = n - at < v->b->info.max_step_tokens ? n - at : v->b->info.max_step_tokens;
        struct backend_seq s = {ids + at, step, at, table, PREFIX_BLOCKS, false};
        if (run_step(v, &s, 1, NULL, e)) return -1;
        at += step;
    }
    return 0;
}

/* Block tables of a group: the shared blocks first, then each sequence's own. */
static void fill_tables(const struct run *runs, int32_t n, int32_t shared,
                        int32_t tables[][PREFIX_BLOCKS + OWN_BLOCKS]) {
    int32_t n_shared = shared / KV_BLOCK_TOKENS, zero = PREFIX_BLOCKS + GROUP_SEQS * OWN_BLOCKS;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < n_shared; k++) tables[i][k] = k;
        for (int32_t k = 0; k < OWN_BLOCKS; k++)
            tables[i][n_shared + k] = PREFIX_BLOCKS + i * OWN_BLOCKS + k;
        if (runs[i].lost_block >= 0 && runs[i].lost_block < n_shared)
            tables[i][runs[i].lost_block] = zero;
    }
}

static double log_probability(const float *logits, int32_t n, int32_t id) {
    double top = logits[0], sum = 0;
    for (int32_t i = 1; i < n; i++)
        if (logits[i] > top) top = logits[i];
    for (int32_t i = 0; i < n; i++) sum += exp(logits[i] - top);
    return logits[id] - top - log(sum);
}

/* One decode step of the sequences whose `next` isn't -1. v->logits has one row for each of them,
 * in their order. */
static int decode_step(struct evaluator *v, int32_t n, const int32_t *next, int32_t pos,
                       int32_t tables[][PREFIX_BLOCKS + OWN_BLOCKS], int32_t n_blocks,
                       struct err *e) {
    struct backend_seq seqs[GROUP_SEQS];
    int32_t m = 0;
    for (int32_t i = 0; i < n; i++)
        if (next[i] >= 0)
            seqs[m++] = (struct backend_seq){&next[i], 1, pos, tables[i], n_blocks, true};
    return m ? run_step(v, seqs, m, v->logits, e) : 0;
}

/* As many tails a step as it has room for. */
static int prefill_tails(struct evaluator *v, struct run *runs, int32_t n, int32_t shared,
                         int32_t tables[][PREFIX_BLOCKS + OWN_BLOCKS], int32_t n_blocks,
                         struct err *e) {
    struct backend_seq seqs[GROUP_SEQS];
    int32_t tail = QUESTION_PROMPT_TOKENS - shared, most = v->b->info.max_step_tokens / tail;
    if (most < 1) return err_set(e, "a step has no room for %d tokens", tail);
    for (int32_t at = 0, m; at < n; at += m) {
        m = n - at < most ? n - at : most;
        for (int32_t i = 0; i < m; i++)
            seqs[i] = (struct backend_seq){
                runs[at + i].prompt + shared, tail, shared, tables[at + i], n_blocks, true};
        if (run_step(v, seqs, m, v->logits + (size_t)at * (size_t)v->vocab, e)) return -1;
    }
    return 0;
}

/* The same, one token at a time, which gives the likelihood of each token. The logits of the last
 * token are those of prefill_tails. */
static int walk_tails(struct evaluator *v, struct run *runs, int32_t n, int32_t shared,
                      int32_t tables[][PREFIX_BLOCKS + OWN_BLOCKS], int32_t n_blocks,
                      struct err *e) {
    for (int32_t pos = shared; pos < QUESTION_PROMPT_TOKENS; pos++) {
        int32_t next[GROUP_SEQS];
        for (int32_t i = 0; i < n; i++) next[i] = runs[i].prompt[pos];
        if (decode_step(v, n, next, pos, tables, n_blocks, e)) return -1;
        for (int32_t i = 0; i < n && pos + 1 < QUESTION_PROMPT_TOKENS; i++)
            runs[i].item->tail_nll -= log_probability(v->logits + (size_t)i * (size_t)v->vocab,
                                                      v->vocab, runs[i].prompt[pos + 1]);
    }
    return 0;
}

/* Feeds the right answers and sums their NLL; sets `diverged` where greedy decoding would leave
 * them. */
static int force_answers(struct evaluator *v, struct run *runs, int32_t n,
                         int32_t tables[][PREFIX_BLOCKS + OWN_BLOCKS], int32_t n_blocks,
                         struct err *e) {
    for (int32_t step = 0;; step++) {
        int32_t next[GROUP_SEQS], row = 0;
        bool any = false;
        for (int32_t i = 0; i < n; i++) {
            struct run *r = &runs[i];
            next[i] = -1;
            if (step >= r->n_answer) continue;
            const float *logits = v->logits + (size_t)row++ * (size_t)v->vocab;
            int32_t want = r->answer[step], top = sampler_greedy(logits, v->vocab, e);
            if (top < 0) return -1;
            r->item->answer_nll -= log_probability(logits, v->vocab, want);
            r->diverged |= top != want && !(step == r->n_answer - 1 && tokenizer_ends(v->t, top));
            if (step + 1 < r->n_answer) next[i] = want, any = true;
        }
        if (!any) return 0;
        if (decode_step(v, n, next, QUESTION_PROMPT_TOKENS + step, tables, n_blocks, e)) return -1;
    }
}

/* Greedy answers of the sequences that diverged. Their tails are computed again for the first
 * logits. */
static int free_answers(struct evaluator *v, struct run *runs, int32_t n, int32_t shared,
                        int32_t tables[][PREFIX_BLOCKS + OWN_BLOCKS], int32_t n_blocks,
                        struct err *e) {
    bool any = false;
    for (int32_t i = 0; i < n; i++) any |= runs[i].diverged;
    if (!any) return 0;
    if (prefill_tails(v, runs, n, shared, tables, n_blocks, e)) return -1;
    bool live[GROUP_SEQS], had_row[GROUP_SEQS];
    for (int32_t i = 0; i < n; i++) live[i] = runs[i].diverged, had_row[i] = true;
    for (int32_t step = 0; step < v->set.answer_tokens; step++) {
        int32_t next[GROUP_SEQS], row = 0;
        any = false;
        for (int32_t i = 0; i < n; i++) {
            next[i] = -1;
            if (!had_row[i]) continue;
            int32_t top = sampler_greedy(v->logits + (size_t)row++ * (size_t)v->vocab, v->vocab, e);
            if (top < 0) return -1;
            live[i] = live[i] && !tokenizer_ends(v->t, top);
            if (!live[i]) continue;
            runs[i].got[runs[i].n_got++] = top;
            next[i] = top, any = true;
        }
        for (int32_t i = 0; i < n; i++) had_row[i] = live[i];
        if (!any) return 0;
        if (decode_step(v, n, next, QUESTION_PROMPT_TOKENS + step, tables, n_blocks, e)) return -1;
    }
    return 0;
}

static int judge(const struct evaluator *v, struct run *r, struct err *e) {
    char text[4096];
    size_t n = 0;
    if (!r->diverged) {
        n = strlen(r->q.answer);
        memcpy(text, r->q.answer, n);
    }
    struct detokenizer d = {0};
    for (int32_t i = 0; i < r->n_got && n + 1024 < sizeof text; i++)
        n += detokenize(v->t, &d, r->got[i], text + n);
    struct quality_result result;
    if (quality_judge(question_check(r->q.kind), r->q.answer, text, n, &result, e)) return -1;
    r->item->passed = result.quality == VERDICT_PASSED;
    r->item->structure_passed = result.structure == VERDICT_PASSED;
    return 0;
}

static int run_log(struct evaluator *v, struct run *runs, int32_t n, struct err *e) {
    static int32_t tables[GROUP_SEQS][PREFIX_BLOCKS + OWN_BLOCKS]; /* 5 KB, one thread */
    int32_t shared = shared_prefix(runs, n);
    int32_t n_blocks = shared / KV_BLOCK_TOKENS + OWN_BLOCKS;
    if (QUESTION_PROMPT_TOKENS - shared > v->set.tail_tokens + 32)
        return err_set(e, "the prompts of one log share only %d tokens", shared);
    if (prefill_shared(v, runs[0].prompt, shared, e)) return -1;
    for (int32_t at = 0; at < n; at += GROUP_SEQS) {
        int32_t m = n - at < GROUP_SEQS ? n - at : GROUP_SEQS;
        fill_tables(runs + at, m, shared, tables);
        int rc = v->set.first == QUESTION_RECALL
                     ? walk_tails(v, runs + at, m, shared, tables, n_blocks, e)
                     : prefill_tails(v, runs + at, m, shared, tables, n_blocks, e);
        if (rc) return -1;
        if (force_answers(v, runs + at, m, tables, n_blocks, e)) return -1;
        if (free_answers(v, runs + at, m, shared, tables, n_blocks, e)) return -1;
        for (int32_t i = 0; i < m; i++)
            if (judge(v, &runs[at + i], e)) return -1;
    }
    return 0;
}

/* ---- the plan ---- */

static int prepare_log(struct evaluator *v, const struct evaluation_plan *plan, uint64_t seed,
                       struct run *runs, int32_t n, struct evaluation_item *items, struct err *e) {
    struct question_log log;
    if (question_log_make(&log, v->t, plan->wording, seed, QUESTION_PROMPT_TOKENS, e)) return -1;
    int rc = 0;
    for (int32_t i = 0; !rc && i < n; i++) {
        struct run *r = &runs[i];
        enum question_kind kind = (enum question_kind)(v->set.first + i / plan->per_kind);
        rc = question_make(&r->q, &log, v->t, kind, seed, i % plan->per_kind, e);
        r->item = &items[i];
        r->item->kind = kind;
        r->lost_block = -1;
        if (!rc) rc = encode_prompt(v, &log, r, e);
        if (!rc) rc = encode_answer(v, r, e);
        if (!rc && plan->lose_block) rc = find_record_block(v, &log, r, e);
    }
    question_log_release(&log);
    return rc;
}

int evaluate(struct backend *b, const struct tokenizer *t, const struct evaluation_plan *plan,
             struct evaluation *out, struct err *e) {
    struct question_set set = question_set(plan->wording);
    int32_t per_log = plan->per_kind * (plan->lose_block ? 1 : set.n);
    *out = (struct evaluation){.n_items = per_log * plan->n_logs};
    struct evaluator v = {.set = set, .b = b, .t = t, .vocab = b->info.vocab_size, .plan = plan};
    v.said_ns = clock_monotonic_ns();
    v.logits = malloc(sizeof *v.logits * GROUP_SEQS * (size_t)v.vocab);
    out->items = calloc((size_t)out->n_items + 1, sizeof *out->items);
    struct run *runs = calloc((size_t)per_log, sizeof *runs);
    int rc = v.logits && out->items && runs ? 0 : err_set(e, "out of memory");
    for (int32_t k = 0; !rc && k < plan->n_logs; k++) {
        v.log = k;
        v.step = 0;
        memset(runs, 0, (size_t)per_log * sizeof *runs);
        rc = prepare_log(&v, plan, plan->seed + (uint64_t)k, runs, per_log,
                         out->items + k * per_log, e);
        if (!rc) rc = run_log(&v, runs, per_log, e);
        for (int32_t i = 0; i < per_log; i++) free(runs[i].prompt);
    }
    if (plan->progress && plan->redraws) fprintf(plan->progress, "\r%*s\r", 24, "");
    free(runs);
    free(v.logits);
    if (rc) evaluation_release(out);
    return rc;
}

void evaluation_release(struct evaluation *ev) {
    free(ev->items);
    *ev = (struct evaluation){0};
}

struct evaluation_total evaluation_total(const struct evaluation *ev, enum question_kind kind) {
    struct evaluation_total total = {0};
    double nll = 0;
    for (int32_t i = 0; i < ev->n_items; i++) {
        const struct evaluation_item *item = &ev->items[i];
        if (item->kind != kind) continue;
        total.n++;
        total.passed += item->passed;
        total.structure_passed += item->structure_passed;
        nll += item->answer_nll;
    }
    total.mean_answer_nll = total.n ? nll / total.n : NAN;
    return total;
}
