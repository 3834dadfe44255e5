/* fake.h: a backend and a tokenizer for the tests of serve/, without a model, waiting or random
 * numbers.
 *
 * The backend keeps the tokens themselves in its "KV cache", block by block, and reads the whole
 * sequence back through the block table before it answers: a lost, doubled or foreign block changes
 * the answer. Its answer is a scripted text, or the prompt backwards. A gate lets a test say how
 * many steps may be computed, so that "this came before that" is proven, not timed.
 *
 * The tokenizer is the product's own, over a vocabulary of the 256 bytes and a few more
 * (model/tests/gguf_write.h).
 */
#ifndef SERVELAB_SERVE_TESTS_FAKE_H
#define SERVELAB_SERVE_TESTS_FAKE_H

#include "backend/backend.h"
#include "model/gguf.h"
#include "model/tests/gguf_write.h"
#include "model/tokenizer.h"
#include "sched/policy.h"

#include <math.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { FAKE_END = GW_FIRST_MARKER + 2, FAKE_MAX_SCRIPT = 4096, FAKE_BLOCKS = 64 };

struct fake {
    struct backend b;
    int32_t
        kv[FAKE_BLOCKS * KV_BLOCK_TOKENS]; /* the token at block * 16 + slot, -1: never written */
    int32_t prompt_end[FAKE_BLOCKS];       /* of the sequence whose first block this is */
    pthread_mutex_t lock;                  /* guards all below */
    pthread_cond_t changed;
    int32_t script[FAKE_MAX_SCRIPT]; /* n_script < 0: the prompt backwards; then the end token */
    int32_t n_script;
    int64_t started, finished, allowed; /* steps; allowed < 0: all */
    int64_t fail_at, nan_at;            /* the step that goes wrong; < 0: none */
    int64_t delay_ns;                   /* how long each step takes */
    int32_t largest_step;               /* most tokens that one step had */
};

static int fake_enter(struct fake *f, struct err *e) {
    pthread_mutex_lock(&f->lock);
    int64_t step = f->started++;
    pthread_cond_broadcast(&f->changed);
    while (f->allowed >= 0 && step >= f->allowed) pthread_cond_wait(&f->changed, &f->lock);
    bool fails = step == f->fail_at;
    struct timespec t = {.tv_sec = f->delay_ns / NS_PER_S, .tv_nsec = f->delay_ns % NS_PER_S};
    pthread_mutex_unlock(&f->lock);
    if (t.tv_sec || t.tv_nsec) nanosleep(&t, NULL);
    return fails ? err_set(e, "the fake backend fails at step %lld", (long long)step) : 0;
}

static int32_t *fake_slot(struct fake *f, const struct backend_seq *s, int32_t position) {
    int32_t block = position / KV_BLOCK_TOKENS;
    INVARIANT(block < s->n_blocks);
    INVARIANT(s->block_table[block] >= 0 && s->block_table[block] < f->b.info.kv_blocks);
    return &f->kv[s->block_table[block] * KV_BLOCK_TOKENS + position % KV_BLOCK_TOKENS];
}

static int32_t fake_answer(struct fake *f, const struct backend_seq *s) {
    int32_t n = s->pos0 + s->n_tokens, *prompt_end = &f->prompt_end[s->block_table[0]];
    for (int32_t i = 0; i < n; i++) INVARIANT(*fake_slot(f, s, i) >= 0);
    /* a part that wants more rows ends inside the prompt or at its end; its last part must have
     * more than one token for this */
    if (*prompt_end < 0 || s->want_logits > 1) *prompt_end = n;
    int32_t at = n - *prompt_end, id = FAKE_END;
    pthread_mutex_lock(&f->lock);
    if (f->n_script < 0 && at < *prompt_end) id = *fake_slot(f, s, *prompt_end - 1 - at);
    if (at < f->n_script) id = f->script[at];
    pthread_mutex_unlock(&f->lock);
    return id;
}

static int fake_step(struct backend *b, const struct backend_batch *batch, float *logits,
                     struct err *e) {
    struct fake *f = (struct fake *)b;
    if (fake_enter(f, e)) return -1;
    int32_t total = 0;
    for (int32_t i = 0; i < batch->n_seqs; i++) {
        const struct backend_seq *s = &batch->seqs[i];
        total += s->n_tokens;
        if (s->pos0 == 0) f->prompt_end[s->block_table[0]] = -1;
        for (int32_t k = 0; k < s->n_tokens; k++) *fake_slot(f, s, s->pos0 + k) = s->tokens[k];
        /* rows before the last one say that the prompt's next token was most likely */
        for (int32_t k = s->want_logits; k > 0; k--, logits += b->info.vocab_size) {
            for (int32_t v = 0; v < b->info.vocab_size; v++) logits[v] = 0;
            logits[k > 1 ? s->tokens[s->n_tokens - k + 1] : fake_answer(f, s)] = 20;
            pthread_mutex_lock(&f->lock);
            if (f->finished == f->nan_at) logits[7] = NAN;
            pthread_mutex_unlock(&f->lock);
        }
    }
    pthread_mutex_lock(&f->lock);
    if (total > f->largest_step) f->largest_step = total;
    f->finished++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return total <= b->info.max_step_tokens ? 0 : err_set(e, "more tokens than the budget");
}

static void fake_free(struct backend *b) {
    struct fake *f = (struct fake *)b;
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->changed);
    free(f);
}

/* A backend with `seqs` positions, `blocks` blocks, `context` tokens a sequence and `budget` tokens
 * a step. The gate is open, the script empty. */
static inline struct fake *fake_create(int32_t seqs, int32_t blocks, int32_t context,
                                       int32_t budget) {
    static const struct backend_ops ops = {fake_step, fake_free};
    struct fake *f = calloc(1, sizeof *f);
    INVARIANT(f && blocks <= FAKE_BLOCKS);
    f->b.ops = &ops;
    f->b.info = (struct backend_info){.name = "fake",
                                      .vocab_size = GW_VOCAB,
                                      .max_seq_tokens = context,
                                      .max_step_tokens = budget,
                                      .max_seqs = seqs,
                                      .kv_blocks = blocks};
    for (size_t i = 0; i < sizeof f->kv / sizeof *f->kv; i++) f->kv[i] = -1;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->allowed = f->fail_at = f->nan_at = -1;
    return f;
}

/* Every answer is these bytes, one token a byte, then the end token; NULL: the prompt backwards. */
static inline void fake_say(struct fake *f, const char *text) {
    pthread_mutex_lock(&f->lock);
    f->n_script = text ? (int32_t)strlen(text) : -1;
    for (int32_t i = 0; i < f->n_script; i++) f->script[i] = (unsigned char)text[i];
    pthread_mutex_unlock(&f->lock);
}

/* Lets `steps` more steps through than have been let so far (an open gate is shut first, at the
 * steps that were started). */
static inline void fake_allow(struct fake *f, int64_t steps) {
    pthread_mutex_lock(&f->lock);
    f->allowed = (f->allowed < 0 ? f->started : f->allowed) + steps;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}
static inline void fake_open(struct fake *f) {
    pthread_mutex_lock(&f->lock);
    f->allowed = -1;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

/* Waits until `n` steps were started (the last may be waiting at the gate) or finished. */
static inline void fake_wait(struct fake *f, int64_t n, bool finished) {
    pthread_mutex_lock(&f->lock);
    while ((finished ? f->finished : f->started) < n) pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

static inline struct tokenizer *fake_tokenizer(void) {
    struct gw w = {0};
    struct err e;
    char path[] = "/tmp/servelab-fake-XXXXXX";
    size_t n;
    gw_key_str(&w, "general.architecture", "llama");
    gw_vocabulary(&w, "gpt-2");
    gw_key_str(&w, "tokenizer.chat_template",
               "{% for message in messages %}{{ message['content'] }}{% endfor %}");
    uint8_t *bytes = gw_finish(&w, &n);
    int fd = mkstemp(path);
    INVARIANT(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
    free(bytes);
    struct gguf *g = gguf_open(path, &e);
    unlink(path);
    if (!g) fprintf(stderr, "fake tokenizer: %s: %s\n", e.field, e.text);
    INVARIANT(g);
    struct tokenizer *t = tokenizer_create(g, &e);
    if (!t) fprintf(stderr, "fake tokenizer: %s: %s\n", e.field, e.text);
    INVARIANT(t);
    gguf_close(g);
    return t;
}

#endif
