/* limits.c: chooses a backend's limits, and checks each batch against them. See backend.h. */
#include "backend/backend.h"

#include "sched/policy.h"

enum { MAX_STEP_TOKENS = 1 << 16, MAX_SEQS = 4096 };

static int check_limit(const char *field, int32_t v, int32_t most, struct err *e);
static int check_seq(const struct backend_info *i, const struct backend_seq *q, int32_t n,
                     struct err *e);

int backend_choose_limits(struct backend_info *i, const struct backend_config *c,
                          int32_t step_tokens, struct err *e) {
    const struct model_config *m = &c->model->config;
    i->vocab_size = m->vocab_size;
    i->max_seqs = c->max_seqs ? c->max_seqs : 1;
    i->max_seq_tokens = c->max_seq_tokens ? c->max_seq_tokens : m->context_length;
    i->max_step_tokens = c->max_step_tokens ? c->max_step_tokens : step_tokens;
    if (check_limit("max_seqs", i->max_seqs, MAX_SEQS, e) ||
        check_limit("max_seq_tokens", i->max_seq_tokens, m->context_length, e) ||
        check_limit("max_step_tokens", i->max_step_tokens, MAX_STEP_TOKENS, e))
        return -1;
    INVARIANT(c->draft_tokens >= 0 && c->draft_tokens <= BACKEND_MAX_DRAFT);
    i->max_logits = i->max_seqs * (1 + c->draft_tokens);
    if (i->max_step_tokens < i->max_seqs) i->max_step_tokens = i->max_seqs;
    int64_t blocks = (int64_t)i->max_seqs * policy_blocks_for(i->max_seq_tokens);
    if (c->kv_bytes) blocks = c->kv_bytes / (i->kv_bytes_per_token * KV_BLOCK_TOKENS);
    if (c->kv_blocks) blocks = c->kv_blocks;
    if (c->kv_bytes && !c->kv_blocks && (blocks < 1 || blocks > INT32_MAX / KV_BLOCK_TOKENS))
        return err_at(e, 0, "kv_bytes",
                      "gives a cache of %lld blocks of %d tokens; from 1 to %d are possible, and a "
                      "block takes %lld bytes",
                      (long long)blocks, KV_BLOCK_TOKENS, INT32_MAX / KV_BLOCK_TOKENS,
                      (long long)i->kv_bytes_per_token * KV_BLOCK_TOKENS);
    if (blocks < 1 || blocks > INT32_MAX / KV_BLOCK_TOKENS)
        return err_at(e, 0, "kv_blocks", "is %lld; it must lie between 1 and %d", (long long)blocks,
                      INT32_MAX / KV_BLOCK_TOKENS);
    i->kv_blocks = (int32_t)blocks;
    return 0;
}

int backend_check_batch(const struct backend_info *i, const struct backend_batch *batch,
                        struct err *e) {
    if (batch->n_seqs < 1 || batch->n_seqs > i->max_seqs)
        return err_set(e, "a batch of %d sequences; 1 to %d are possible", batch->n_seqs,
                       i->max_seqs);
    int64_t tokens = 0, logit_rows = 0;
    for (int32_t n = 0; n < batch->n_seqs; n++) {
        if (check_seq(i, &batch->seqs[n], n, e)) return -1;
        tokens += batch->seqs[n].n_tokens;
        logit_rows += batch->seqs[n].want_logits;
    }
    if (logit_rows > backend_max_logits(i))
        return err_set(e, "logits of %lld tokens in a step; %d are the most", (long long)logit_rows,
                       backend_max_logits(i));
    if (tokens > i->max_step_tokens)
        return err_set(e, "a step of %lld tokens; %d are the most", (long long)tokens,
                       i->max_step_tokens);
    return 0;
}

static int check_limit(const char *field, int32_t v, int32_t most, struct err *e) {
    if (v >= 1 && v <= most) return 0;
    return err_at(e, 0, field, "is %d; it must lie between 1 and %d", v, most);
}

static int check_seq(const struct backend_info *i, const struct backend_seq *q, int32_t n,
                     struct err *e) {
    if (q->n_tokens < 1 || q->pos0 < 0 || q->pos0 > i->max_seq_tokens - q->n_tokens)
        return err_set(e, "sequence %d of the batch: tokens %d to %d don't fit 0 to %d", n, q->pos0,
                       q->pos0 + q->n_tokens - 1, i->max_seq_tokens - 1);
    if (q->want_logits < 0 || q->want_logits > q->n_tokens)
        return err_set(e, "sequence %d of the batch: logits of %d of %d tokens", n, q->want_logits,
                       q->n_tokens);
    int32_t blocks = policy_blocks_for(q->pos0 + q->n_tokens);
    if (q->n_blocks < blocks)
        return err_set(e, "sequence %d of the batch: %d tokens need %d blocks, its table has %d", n,
                       q->pos0 + q->n_tokens, blocks, q->n_blocks);
    for (int32_t j = 0; j < blocks; j++)
        if (q->block_table[j] < 0 || q->block_table[j] >= i->kv_blocks)
            return err_set(e, "sequence %d of the batch: block %d doesn't exist; the pool has %d",
                           n, q->block_table[j], i->kv_blocks);
    for (int32_t j = 0; j < q->n_tokens; j++)
        if (q->tokens[j] < 0 || q->tokens[j] >= i->vocab_size)
            return err_set(e,
                           "sequence %d of the batch: token id %d doesn't exist; the model has %d",
                           n, q->tokens[j], i->vocab_size);
    return 0;
}
