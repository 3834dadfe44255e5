/* backend.h: the interface of a backend, the part that computes a model's forward pass; one of the
 * three seams (policy, backend, clock).
 *
 * A backend runs one step over a batch of sequences. For each sequence it takes new tokens, writes
 * their keys and values into the sequence's KV blocks, and returns the logits after the last token
 * where they are wanted. The engine (serve/engine.h) decides which sequences are in the batch,
 * which blocks they own and which token is sampled. cpu/ is the native backend and the numeric
 * reference; cuda/ computes the same in CUDA C, on a GPU or on the CPU.
 *
 * One thread at a time may call a backend.
 */
#ifndef SERVELAB_BACKEND_BACKEND_H
#define SERVELAB_BACKEND_BACKEND_H

#include "base/err.h"
#include "model/model.h"
#include "model/sampler.h"

#include <stdbool.h>
#include <stdint.h>

/* One sequence's part in one step. Its tokens have positions pos0 .. pos0+n_tokens-1; the positions
 * before pos0 are in the cache already. */
struct backend_seq {
    const int32_t *tokens; /* (n_tokens) token ids, each < vocab_size */
    int32_t n_tokens;      /* >= 1 */
    int32_t pos0;          /* tokens of this sequence that are in the cache */
    const int32_t
        *block_table;    /* (n_blocks) entry i: the physical block of positions [16 i, 16 i + 16) */
    int32_t n_blocks;    /* >= ceil((pos0 + n_tokens) / KV_BLOCK_TOKENS) */
    int32_t want_logits; /* of so many of its last tokens; mostly 0, or 1 for the next token. All
                            sequences of a batch together: at most backend_max_logits */
};

struct backend_batch {
    const struct backend_seq *seqs;
    int32_t n_seqs;
};

/* A token that the backend may choose itself, so that its id comes back instead of logits. */
struct backend_choice {
    bool wanted; /* false: the logits are wanted */
    bool scored; /* with the id its log-probability is wanted, of the logits as they are */
    struct sampler_draw draw;
    int32_t id;    /* out: exactly what sampler_next chooses from the logits; these are then not
                      written. -1: the logits were written */
    float logprob; /* out, with an id that is `scored`: as of token_scores (model/token_scores.h),
                      up to the order of the sum */
};

struct backend_info {
    const char *name;      /* "cpu", "cuda" */
    const char *precision; /* of the products: "exact", "fast"; NULL: the backend has no choice */
    const char *kv_type;   /* of cached keys and values: "f32", "f16"; NULL likewise */
    int32_t vocab_size;
    int32_t max_seq_tokens; /* longest sequence, prompt and output together */
    int32_t
        max_step_tokens; /* most tokens of all sequences in one step: the policy's token budget */
    int32_t max_seqs;    /* most sequences in one step: the policy's batch positions */
    int32_t max_logits;  /* see backend_max_logits */
    int32_t kv_blocks;   /* size of the KV pool in blocks of KV_BLOCK_TOKENS tokens */
    int64_t kv_bytes_per_token;
    int64_t weight_bytes;
};

struct backend;

struct backend_ops {
    /* Runs one step. logits: (sum of want_logits, vocab_size) float, in the order of the batch and
     * of its tokens, owned by the caller. 0, or -1 and *e: an invalid batch, which is the caller's
     * bug, or a failure of the machine (out of memory, a device fault). */
    int (*step)(struct backend *b, const struct backend_batch *batch, float *logits, struct err *e);
    void (*free)(struct backend *b);
};

/* The first member of every backend's own struct. */
struct backend {
    const struct backend_ops *ops;
    struct backend_info info;
    /* As ops->step, with a choice for each row of logits (backend_step_choosing). NULL: the backend
     * makes no choices. */
    int (*step_choosing)(struct backend *b, const struct backend_batch *batch,
                         struct backend_choice *choices, float *logits, struct err *e);
    const char *lost; /* why no later step can work (a lost device), set by step; NULL: it can */
    /* When the last step ran on the device, by the device's own clock, which starts with the
     * backend; set by step. Equal: not measured. */
    int64_t device_start_ns, device_end_ns;
};

enum { BACKEND_MAX_DRAFT = 64 }; /* as in the simulator (sim/hardware.h) */

struct backend_config {
    const struct model *model; /* outlives the backend */
    int32_t threads;           /* 0: as many as cores */
    int32_t kv_blocks;         /* 0: kv_bytes decides */
    int64_t kv_bytes;          /* 0: enough for max_seqs sequences of max_seq_tokens */
    int32_t max_seq_tokens;    /* 0: the model's context length */
    int32_t max_step_tokens;   /* 0: the backend's choice */
    int32_t max_seqs;          /* 0: 1 */
    int32_t draft_tokens; /* a step may want the logits of so many tokens more of each sequence:
                             those that a draft model proposed (serve/speculation.h) */
};

/* The native backend; free it with backend_free. NULL and *e on failure. */
struct backend *backend_cpu_create(const struct backend_config *c, struct err *e);

/* The most tokens of one step whose logits can be wanted. */
static inline int32_t backend_max_logits(const struct backend_info *i) {
    return i->max_logits > i->max_seqs ? i->max_logits : i->max_seqs;
}

/* Sets the limits of *i from c and the model; i->kv_bytes_per_token is set already. step_tokens: of
 * a step, when c leaves it open. 0, or -1 and *e naming the field of c. (limits.c) */
int backend_choose_limits(struct backend_info *i, const struct backend_config *c,
                          int32_t step_tokens, struct err *e);

/* Checks a batch against the limits, so that the engine's bug does not become a stray write: every
 * count, position, block and token id. 0, or -1 and *e naming the sequence. (limits.c) */
int backend_check_batch(const struct backend_info *i, const struct backend_batch *batch,
                        struct err *e);

static inline int backend_step(struct backend *b, const struct backend_batch *batch, float *logits,
                               struct err *e) {
    return b->ops->step(b, batch, logits, e);
}
/* The same, with choices: (sum of want_logits), their `id` set in any case. */
static inline int backend_step_choosing(struct backend *b, const struct backend_batch *batch,
                                        struct backend_choice *choices, int32_t n, float *logits,
                                        struct err *e) {
    for (int32_t i = 0; i < n; i++) choices[i].id = -1;
    return b->step_choosing ? b->step_choosing(b, batch, choices, logits, e)
                            : b->ops->step(b, batch, logits, e);
}
static inline void backend_free(struct backend *b) {
    if (b) b->ops->free(b);
}

#endif
