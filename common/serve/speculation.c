/* speculation.c: see speculation.h. engine_compute drafts and checks; engine_take_drafted hands on,
 * as further steps, what the target chose alike.
 */
#include "serve/speculation.h"

#include <stdlib.h>
#include <string.h>

/* One sequence's drafts of the step. */
struct drafted {
    int64_t id;    /* of the sequence: it may end while they are taken */
    int32_t base;  /* index in its tokens of the first drafted one */
    int32_t n;     /* to draft; 0: none */
    int32_t got;   /* drafted so far */
    int32_t taken; /* accepted so far */
    bool rejected; /* the others are */
    size_t row;    /* in speculation.logits, of the logits after the first drafted token */
    int32_t ids[BACKEND_MAX_DRAFT];
};

struct speculation {
    struct backend *draft;
    int32_t most;       /* draft_tokens of engine_options */
    int32_t n;          /* parts of the step whose drafts can be taken; 0: nothing was drafted */
    int32_t n_drafted;  /* tokens of the step, all sequences */
    struct drafted *of; /* (max_seqs) by part of the batch */
    float *logits;      /* (backend_max_logits, vocab_size) the target's */
    struct backend_seq *batch; /* (max_seqs) what the target computes */
    float *draft_logits;       /* (max_seqs, vocab_size) */
    struct backend_seq *parts; /* (max_seqs) the draft's next step */
    int32_t *part_of, n_parts; /* (max_seqs): of which part of the batch */
    int32_t part_tokens;
    struct step step; /* to be logged when the drafts are taken */
    bool step_waits;
};

static int step_target(struct engine *g, const struct backend_batch *batch, float *logits,
                       struct err *e);
static void copy_row(struct engine *g, struct seq *s, size_t to, size_t from);
static void end_step(struct engine *g);
static int32_t choose(struct engine *g, int32_t n);
static int draft(struct engine *g, int32_t n, struct err *e);
static int check(struct engine *g, int32_t n, struct err *e);
static bool take_next(struct engine *g, struct drafted *d, struct backend_seq *part,
                      struct seq **of);

int engine_compute(struct engine *g, int32_t n, struct err *e) {
    struct speculation *sp = g->speculation;
    struct backend_batch batch = {g->batch, n};
    if (!sp) return step_target(g, &batch, g->logits, e);
    end_step(g); /* an engine need not take what was drafted */
    sp->n_drafted = choose(g, n);
    if (draft(g, n, e)) return -1;
    if (sp->n_drafted == 0) return step_target(g, &batch, g->logits, e);
    if (check(g, n, e)) return -1;
    sp->n = n;
    return 0;
}

int32_t engine_take_drafted(struct engine *g) {
    struct speculation *sp = g->speculation;
    int32_t m = 0;
    for (int32_t i = 0; sp && i < sp->n; i++) {
        struct drafted *d = &sp->of[i];
        if (!take_next(g, d, &g->batch[m], &g->batch_of[m])) continue;
        copy_row(g, g->batch_of[m], (size_t)m, d->row + (size_t)d->taken - 1);
        sp->step.accepted_draft_tokens++;
        m++;
    }
    if (m > 0 || !sp) return m;
    end_step(g);
    return 0;
}

/* Can the request do without the logits of its next token? */
static bool needs_no_logits(const struct seq *s) {
    return s->max_output > 0 && !s->prompt_scores && s->top_scores == 0;
}

/* The next token is what the backend chose, if it did. */
static void decide(struct seq *s, const struct backend_choice *c) {
    sampler_decide(&s->sampler, c->id);
    s->chosen_scored = c->scored && c->id >= 0;
    s->chosen_logprob = c->logprob;
}

/* A step of the target. Each sequence gets what was chosen in its first row; the choices of other
 * rows are in g->choices (copy_row). */
static int step_target(struct engine *g, const struct backend_batch *batch, float *logits,
                       struct err *e) {
    int32_t n = 0;
    for (int32_t i = 0; i < batch->n_seqs; i++)
        for (int32_t k = 0; k < batch->seqs[i].want_logits; k++) {
            const struct seq *s = g->batch_of[i];
            struct backend_choice *c = &g->choices[n++];
            c->wanted = needs_no_logits(s) && sampler_foresee(&s->sampler, k, &c->draw);
            c->scored = s->scores;
        }
    if (backend_step_choosing(g->backend, batch, g->choices, n, logits, e)) return -1;
    for (int32_t i = 0, row = 0; i < batch->n_seqs; row += batch->seqs[i++].want_logits)
        if (batch->seqs[i].want_logits > 0) decide(g->batch_of[i], &g->choices[row]);
    return 0;
}

/* Row `from` of the target's step becomes row `to` of g->logits: its logits, or the choice. */
static void copy_row(struct engine *g, struct seq *s, size_t to, size_t from) {
    size_t vocab = (size_t)g->backend->info.vocab_size;
    decide(s, &g->choices[from]);
    if (g->choices[from].id < 0)
        memcpy(g->logits + to * vocab, g->speculation->logits + from * vocab,
               vocab * sizeof *g->logits);
}

static void end_step(struct engine *g) {
    struct speculation *sp = g->speculation;
    sp->n = 0;
    if (sp->step_waits) step_log_add(g->step_log, &sp->step);
    sp->step_waits = false;
}

/* ---- how many, with the blocks for them ------------------------------------------------------ */

/* A sequence that decodes. Its next token depends on all others that it has. */
static bool decodes(const struct seq *s, const struct backend_seq *part) {
    return s->n_generated > 0 && part->n_tokens == 1 && part->want_logits == 1;
}

static int32_t at_most(int32_t a, int32_t b) {
    return a < b ? a : b;
}

/* More tokens than the answer can have, less the one that the step gives anyway, would be in vain.
 */
static int32_t useful(const struct seq *s) {
    int32_t end = s->max_output;
    if (s->ends_after > 0) end = at_most(end, s->ends_after);
    return end - s->n_generated - 1;
}

static int32_t reserve(struct engine *g, struct seq *s, int32_t tokens) {
    struct err e;
    int32_t room = (s->kv.n_blocks + kv_pool_free_blocks(g->kv)) * KV_BLOCK_TOKENS;
    tokens = at_most(tokens, room - (s->computed + 1));
    return tokens > 0 && !kv_table_reserve(g->kv, &s->kv, s->computed + 1 + tokens, &e) ? tokens
                                                                                        : 0;
}

/* Decides how many tokens are drafted for each part, and returns their sum. */
static int32_t choose(struct engine *g, int32_t n) {
    struct speculation *sp = g->speculation;
    const struct backend_info *info = &g->backend->info;
    int32_t tokens = info->max_step_tokens, logits = backend_max_logits(info), sum = 0;
    for (int32_t i = 0; i < n; i++) {
        tokens -= g->batch[i].n_tokens;
        logits -= g->batch[i].want_logits;
    }
    for (int32_t i = 0; i < n; i++) {
        struct seq *s = g->batch_of[i];
        struct drafted *d = &sp->of[i];
        *d = (struct drafted){.id = s->id, .base = s->n_prompt + s->n_generated};
        if (!decodes(s, &g->batch[i])) continue;
        int32_t most = at_most(at_most(sp->most, useful(s)), at_most(tokens, logits));
        if (most > 0) d->n = reserve(g, s, most);
        g->batch[i].block_table = s->kv.blocks; /* it may have moved */
        g->batch[i].n_blocks = s->kv.n_blocks;
        tokens -= d->n;
        logits -= d->n;
        sum += d->n;
    }
    return sum;
}

/* ---- the draft model ------------------------------------------------------------------------- */

/* Runs the parts that were collected, and notes the tokens that they propose. */
static int run_parts(struct engine *g, struct err *e) {
    struct speculation *sp = g->speculation;
    struct err why;
    const float *logits = sp->draft_logits;
    const struct backend_batch batch = {sp->parts, sp->n_parts};
    if (sp->n_parts == 0) return 0;
    if (backend_step(sp->draft, &batch, sp->draft_logits, &why))
        return err_set(e, "the draft model: %s", why.text);
    for (int32_t i = 0; i < sp->n_parts; i++) {
        struct drafted *d = &sp->of[sp->part_of[i]];
        if (!sp->parts[i].want_logits) continue;
        int32_t id = sampler_greedy(logits, sp->draft->info.vocab_size, &why);
        if (id < 0) return err_set(e, "the draft model: %s", why.text);
        g->batch_of[sp->part_of[i]]->tokens[d->base + d->got] = id;
        d->ids[d->got++] = id;
        logits += sp->draft->info.vocab_size;
    }
    sp->n_parts = sp->part_tokens = 0;
    return 0;
}

static int add_part(struct engine *g, int32_t of, const struct backend_seq *part, struct err *e) {
    struct speculation *sp = g->speculation;
    bool fits = sp->part_tokens + part->n_tokens <= sp->draft->info.max_step_tokens;
    if (!fits && run_parts(g, e)) return -1;
    sp->parts[sp->n_parts] = *part;
    sp->part_of[sp->n_parts++] = of;
    sp->part_tokens += part->n_tokens;
    return 0;
}

/* Does the last drafted token complete a KV block? A full block may be published, so the draft's
 * cache must hold all of it: then the last one is computed, too, though nothing follows it. */
static bool completes_block(const struct drafted *d) {
    return (d->base + d->n) % KV_BLOCK_TOKENS == 0;
}

/* What the target computes without drafts the draft model computes as well, with the token that it
 * lacks; then one token of each sequence at a time. */
static int draft(struct engine *g, int32_t n, struct err *e) {
    struct speculation *sp = g->speculation;
    sp->n_parts = sp->part_tokens = 0;
    for (int32_t i = 0; i < n; i++) {
        struct backend_seq part = g->batch[i];
        struct seq *s = g->batch_of[i];
        part.tokens -= s->draft_lag;
        part.pos0 -= s->draft_lag;
        part.n_tokens += s->draft_lag;
        part.want_logits = sp->of[i].n > 0;
        s->draft_lag = 0;
        if (add_part(g, i, &part, e)) return -1;
    }
    if (run_parts(g, e)) return -1;
    for (int32_t k = 1; sp->n_drafted > 0 && k <= sp->most; k++) {
        for (int32_t i = 0; i < n; i++) {
            const struct drafted *d = &sp->of[i];
            if (d->n < k || (d->n == k && !completes_block(d))) continue;
            int32_t at = d->base + k - 1;
            struct backend_seq part = {.tokens = g->batch_of[i]->tokens + at,
                                       .n_tokens = 1,
                                       .pos0 = at,
                                       .block_table = g->batch[i].block_table,
                                       .n_blocks = g->batch[i].n_blocks,
                                       .want_logits = d->n > k};
            if (add_part(g, i, &part, e)) return -1;
        }
        if (run_parts(g, e)) return -1;
    }
    return 0;
}

/* ---- the target ------------------------------------------------------------------------------ */

/* One step over the planned tokens and the drafted ones behind them. The logits that the plan wants
 * go to g->logits, as if there were no others. */
static int check(struct engine *g, int32_t n, struct err *e) {
    struct speculation *sp = g->speculation;
    size_t row = 0, planned = 0;
    for (int32_t i = 0; i < n; i++) {
        sp->batch[i] = g->batch[i];
        sp->batch[i].n_tokens += sp->of[i].n;
        sp->batch[i].want_logits += sp->of[i].n;
    }
    if (step_target(g, &(struct backend_batch){sp->batch, n}, sp->logits, e)) return -1;
    for (int32_t i = 0; i < n; i++) {
        struct drafted *d = &sp->of[i];
        struct seq *s = g->batch_of[i];
        for (int32_t k = 0; k < g->batch[i].want_logits; k++)
            copy_row(g, s, planned++, row + (size_t)k);
        d->row = row + 1;
        row += (size_t)sp->batch[i].want_logits;
        s->draft_steps += d->n > 0;
        s->drafted += d->n;
    }
    return 0;
}

/* Was the drafted token chosen? Then *part is the step that it saves, a step over that token. */
static bool take_next(struct engine *g, struct drafted *d, struct backend_seq *part,
                      struct seq **of) {
    struct seq *s = d->rejected || d->taken == d->n ? NULL : engine_find(g, d->id);
    int32_t at = d->base + d->taken;
    d->rejected = true;
    if (!s || s->n_prompt + s->n_generated != at + 1) return false; /* it ended, or is cancelled */
    if (s->tokens[at] != d->ids[d->taken]) return false;
    d->rejected = false;
    s->accepted++;
    s->draft_lag = ++d->taken == d->n && !completes_block(d);
    *of = s;
    *part = (struct backend_seq){.tokens = s->tokens + at,
                                 .n_tokens = 1,
                                 .pos0 = at,
                                 .block_table = s->kv.blocks,
                                 .n_blocks = s->kv.n_blocks,
                                 .want_logits = 1};
    return true;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int check_limits(const struct backend_info *draft, const struct backend_info *target,
                        struct err *e) {
    if (draft->vocab_size != target->vocab_size)
        return err_set(e, "the draft model has %d tokens, the target %d: they must share them",
                       draft->vocab_size, target->vocab_size);
    if (draft->max_seq_tokens < target->max_seq_tokens)
        return err_set(e, "the draft model's longest sequence is %d tokens, the target's %d",
                       draft->max_seq_tokens, target->max_seq_tokens);
    if (draft->max_seqs < target->max_seqs || draft->kv_blocks < target->kv_blocks ||
        draft->max_step_tokens <= target->max_step_tokens)
        return err_set(e, "the draft model's batch, step or KV cache is smaller than the target's");
    return 0;
}

struct speculation *speculation_create(const struct engine_options *o, struct err *e) {
    const struct backend_info *info = &o->backend->info;
    size_t seqs = (size_t)info->max_seqs, vocab = (size_t)info->vocab_size;
    INVARIANT(o->draft_tokens >= 1 && o->draft_tokens <= BACKEND_MAX_DRAFT);
    if (check_limits(&o->draft->info, info, e)) return NULL;
    struct speculation *sp = calloc(1, sizeof *sp);
    if (!sp) goto no_memory;
    sp->draft = o->draft;
    sp->most = o->draft_tokens;
    sp->of = malloc(seqs * sizeof *sp->of);
    sp->logits = malloc((size_t)backend_max_logits(info) * vocab * sizeof *sp->logits);
    sp->batch = malloc(seqs * sizeof *sp->batch);
    sp->draft_logits = malloc(seqs * vocab * sizeof *sp->draft_logits);
    sp->parts = malloc(seqs * sizeof *sp->parts);
    sp->part_of = malloc(seqs * sizeof *sp->part_of);
    if (sp->of && sp->logits && sp->batch && sp->draft_logits && sp->parts && sp->part_of)
        return sp;
no_memory:
    speculation_free(sp);
    err_set(e, "no memory for the drafts of %zu batch positions", seqs);
    return NULL;
}

void speculation_free(struct speculation *sp) {
    if (!sp) return;
    free(sp->of);
    free(sp->logits);
    free(sp->batch);
    free(sp->draft_logits);
    free(sp->parts);
    free(sp->part_of);
    free(sp);
}

const char *speculation_lost(const struct speculation *sp) {
    return sp ? sp->draft->lost : NULL;
}

const struct backend_seq *speculation_batch(const struct engine *g) {
    return g->speculation && g->speculation->n > 0 ? g->speculation->batch : g->batch;
}

bool speculation_keep_step(struct speculation *sp, struct step *s) {
    if (!sp) return false;
    s->speculates = true;
    if (sp->n == 0) return false;
    s->draft_tokens = sp->n_drafted;
    sp->step = *s;
    return sp->step_waits = true;
}

double speculation_tokens_per_pass(double a, int32_t drafted) {
    double sum = 1;
    for (int32_t i = 0; i < drafted; i++) sum = 1 + a * sum;
    return sum;
}
