/* model.h: opens a Llama-family decoder: its configuration, and a checked view on every weight.
 *
 * The weights are used in place, in memory-mapped files: GGUF, or the safetensors of a Hugging Face
 * folder (hf_model.h). Tensor names follow GGUF ("blk.3.attn_q.weight"). Not here: arithmetic
 * (backend/), the tokenizer (tokenizer.h).
 */
#ifndef SERVELAB_MODEL_MODEL_H
#define SERVELAB_MODEL_MODEL_H

#include "base/err.h"
#include "model/tensor.h"

#include <stdbool.h>
#include <stdint.h>

struct model_config {
    char name[96];
    int32_t vocab_size, d_model, n_layers, n_heads, n_kv_heads, head_dim, d_ffn, context_length;
    float rope_theta, rms_eps;
    float rope_scale; /* positions are divided by it (linear scaling); 1: not scaled */
    bool tied;        /* the head is the embedding */
    /* Rotated queries and keys are multiplied by it (yarn); 0: the model has no yarn scaling. */
    float yarn_magnitude;
    /* In a windowed layer a token sees itself and the window - 1 tokens before it; 0: no layer is
     * windowed. */
    int32_t window;
};

struct model_layer {
    struct tensor attn_norm;            /* (d_model) */
    struct tensor wq, wk, wv, wo;       /* (out, in) */
    struct tensor bq, bk, bv;           /* (out), data NULL without bias */
    struct tensor ffn_norm;             /* (d_model) */
    struct tensor w_gate, w_up, w_down; /* (out, in) */
    bool windowed;
};

/* Which values of a head form the pairs that RoPE rotates: neighbours (2i, 2i+1) in GGUF "llama"
 * files, whose q and k rows are permuted for it; i and i + head_dim/2 in "qwen2" files and in
 * folders. */
enum rope_pairing { ROPE_NEIGHBOURS, ROPE_HALVES };

struct gguf;

struct model {
    struct model_config config;
    enum rope_pairing rope;
    struct tensor embedding; /* (vocab_size, d_model) */
    struct tensor final_norm;
    struct tensor head; /* (vocab_size, d_model); the embedding when tied */
    struct tensor
        rope_factors; /* (head_dim / 2) frequency divisors (Llama 3.1, yarn), data NULL without */
    struct model_layer *layers; /* (n_layers) */
    float *own_factors;         /* memory of rope_factors that aren't in the file */
    struct gguf *file;          /* the mapping, and the metadata for the tokenizer */
};

/* Maps and checks a GGUF file of architecture "llama" or "qwen2", or such a folder: every length,
 * count and offset before use, every tensor's shape against the configuration. Norms and biases are
 * F32; matrices have any of the types above. A key or tensor that would change the arithmetic and
 * that servelab doesn't compute (experts, longrope, softcaps; metadata.c has the list) is an error,
 * and so is an unknown one, because ignoring it would give other answers than the model's. NULL and
 * *e naming key or tensor. Free with model_free. */
struct model *model_open(const char *path, struct err *e);
/* The same over an open file. The model owns the file from this call on; a failure closes it. */
struct model *model_from_gguf(struct gguf *file, struct err *e);
void model_free(struct model *m);

#endif
