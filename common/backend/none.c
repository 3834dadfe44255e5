/* none.c: see none.h. */
#include "backend/none.h"

#include <stdlib.h>
#include <string.h>

struct none_backend {
    struct backend base;
    int32_t filler;
};

static int step(struct backend *base, const struct backend_batch *batch, float *logits,
                struct err *e) {
    (void)e;
    size_t vocab = (size_t)base->info.vocab_size;
    for (int32_t i = 0; i < batch->n_seqs; i++) {
        for (int32_t k = 0; k < batch->seqs[i].want_logits; k++, logits += vocab) {
            memset(logits, 0, vocab * sizeof *logits);
            logits[((struct none_backend *)base)->filler] = 1;
        }
    }
    return 0;
}

static void destroy(struct backend *base) {
    free(base);
}

static const struct backend_ops ops = {step, destroy};

struct backend *backend_none_create(const struct backend_info *limits, int32_t filler,
                                    struct err *e) {
    const struct backend_info *l = limits;
    if (l->vocab_size < 1 || l->max_seq_tokens < 1 || l->max_step_tokens < 1 || l->max_seqs < 1 ||
        l->kv_blocks < 1) {
        err_set(e, "each limit of the backend 'none' must be at least 1");
        return NULL;
    }
    INVARIANT(filler >= 0 && filler < l->vocab_size);
    struct none_backend *b = calloc(1, sizeof *b);
    if (!b) {
        err_set(e, "out of memory");
        return NULL;
    }
    b->base.ops = &ops;
    b->base.info = *l;
    b->base.info.name = "none";
    b->base.info.kv_bytes_per_token = b->base.info.weight_bytes = 0;
    b->filler = filler;
    return &b->base;
}
