/* state.h: the native backend's state, shared by cpu.c, forward.c and weights.c. */
#ifndef SERVELAB_BACKEND_CPU_STATE_H
#define SERVELAB_BACKEND_CPU_STATE_H

#include "backend/cpu/attention.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/matmul.h"
#include "backend/cpu/pool.h"

/* A layer's weights, in the mapped file, or re-rounded or packed in allocated memory (weights.c).
 */
struct cpu_layer {
    const float *attn_norm, *ffn_norm;  /* (d_model) */
    const float *bq, *bk, *bv;          /* NULL without bias */
    struct weight wq, wk, wv, wo;       /* (out, in) */
    struct weight w_gate, w_up, w_down; /* (out, in) */
    int32_t window;                     /* of attention; 0: none */
};

struct cpu_weights {
    struct weight embedding, head; /* (vocab_size, d_model) */
    const float *final_norm;
    const float *rope_factors; /* (head_dim / 2), or NULL */
    struct cpu_layer *layers;
    /* Memory of the copied matrices and vectors; freed with the struct. */
    void **slabs;
    int32_t n_slabs;
    uint8_t *slab_at; /* free room of the last slab */
    size_t slab_left;
    int64_t bytes; /* of all matrices */
};

/* Views on m's weights, or copies as the options say. m outlives w. 0, or -1 and *e;
 * cpu_weights_release in both cases. (weights.c) */
int cpu_weights_init(struct cpu_weights *w, const struct model *m,
                     const struct backend_cpu_options *o, struct err *e);
void cpu_weights_release(struct cpu_weights *w);

struct cpu_backend {
    struct backend base;
    struct model_config config;
    enum rope_pairing rope;
    struct cpu_weights weights;
    struct backend_cpu_options options;
    struct attention_shape shape;
    struct pool *pool;
    struct matmul_scratch *scratch;
    struct attention *attention;

    /* The KV pool: for each layer kv_blocks blocks of keys, and the same of values. */
    uint8_t *keys, *values; /* (layer, block, kv_head, head_pad, 16) and (.., 16, head_pad) */
    size_t layer_kv;        /* bytes of one layer in either */
    size_t kv_bytes;        /* of either */

    /* Activations of one step: max_step_tokens rows, `..._stride` floats apart, padding zero. */
    int32_t d_stride, q_stride, kv_stride, ffn_stride;
    float *x;                   /* the residual stream (d_model) */
    float *normed;              /* (d_model) */
    float *q;                   /* (n_heads * head_dim) */
    float *k, *v;               /* (n_kv_heads * head_dim) */
    float *mixed;               /* attention's output (n_heads * head_dim) */
    float *hidden;              /* (d_ffn) */
    float *frequency;           /* (head_dim / 2) */
    float *cosines, *sines;     /* (max_step_tokens, head_dim / 2) of the new tokens' positions */
    float *q_cosines, *q_sines; /* those of queries: the same arrays unless a fault is planted */

    /* The step as flat lists. */
    struct attention_span *spans, *last_spans; /* (max_seqs), (backend_max_logits) */
    int32_t *position;                         /* (max_step_tokens) */
    int32_t *slot;                             /* (max_step_tokens): physical block * 16 + slot */
    int32_t *token;                            /* (max_step_tokens): token id */
    int32_t *last_row; /* (backend_max_logits): rows whose logits are wanted */
};

/* Computes one step of a batch that has been checked. logits as in backend_ops.step. (forward.c) */
void cpu_forward(struct cpu_backend *b, const struct backend_batch *batch, float *logits);

#endif
