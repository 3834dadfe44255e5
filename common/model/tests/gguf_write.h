/* gguf_write.h: makes GGUF files in memory for the tests, valid and invalid ones: nothing is
 * checked. Aborts when memory is out. */
#ifndef SERVELAB_MODEL_TESTS_GGUF_WRITE_H
#define SERVELAB_MODEL_TESTS_GGUF_WRITE_H

#include "base/err.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gw_bytes {
    uint8_t *b;
    size_t n, cap;
};

static inline void gw_put(struct gw_bytes *o, const void *p, size_t n) {
    if (o->n + n > o->cap) {
        o->cap = 2 * (o->n + n);
        o->b = realloc(o->b, o->cap);
        INVARIANT(o->b);
    }
    if (n) memcpy(o->b + o->n, p, n);
    o->n += n;
}
static inline void gw_u32(struct gw_bytes *o, uint32_t v) {
    gw_put(o, &v, sizeof v);
}
static inline void gw_u64(struct gw_bytes *o, uint64_t v) {
    gw_put(o, &v, sizeof v);
}
static inline void gw_strn(struct gw_bytes *o, const char *s, size_t n) {
    gw_u64(o, n);
    gw_put(o, s, n);
}

/* Value types as numbered in the file. */
enum {
    GW_U8,
    GW_I8,
    GW_U16,
    GW_I16,
    GW_U32,
    GW_I32,
    GW_F32,
    GW_BOOL,
    GW_STR,
    GW_ARR,
    GW_U64,
    GW_I64,
    GW_F64
};

struct gw {
    struct gw_bytes keys, tensors, data;
    uint64_t n_keys, n_tensors;
    uint32_t version; /* 0: 3 */
    uint64_t align;   /* 0: 32 */
};

static inline void gw_key(struct gw *w, const char *key, uint32_t type) {
    gw_strn(&w->keys, key, strlen(key));
    gw_u32(&w->keys, type);
    w->n_keys++;
}
static inline void gw_key_raw(struct gw *w, const char *key, uint32_t type, const void *p,
                              size_t n) {
    gw_key(w, key, type);
    gw_put(&w->keys, p, n);
}
static inline void gw_key_u32(struct gw *w, const char *key, uint32_t v) {
    gw_key_raw(w, key, GW_U32, &v, sizeof v);
}
static inline void gw_key_f32(struct gw *w, const char *key, float v) {
    gw_key_raw(w, key, GW_F32, &v, sizeof v);
}
static inline void gw_key_bool(struct gw *w, const char *key, uint8_t v) {
    gw_key_raw(w, key, GW_BOOL, &v, sizeof v);
}
static inline void gw_key_str(struct gw *w, const char *key, const char *s) {
    gw_key(w, key, GW_STR);
    gw_strn(&w->keys, s, strlen(s));
}
/* The head of an array; its elements are put into w->keys after it. */
static inline void gw_key_array(struct gw *w, const char *key, uint32_t elem, uint64_t count) {
    gw_key(w, key, GW_ARR);
    gw_u32(&w->keys, elem);
    gw_u64(&w->keys, count);
}

static inline void gw_tensor_at(struct gw *w, const char *name, uint32_t type, uint32_t n_dims,
                                const uint64_t *dims, uint64_t offset) {
    gw_strn(&w->tensors, name, strlen(name));
    gw_u32(&w->tensors, n_dims);
    for (uint32_t i = 0; i < n_dims; i++) gw_u64(&w->tensors, dims[i]);
    gw_u32(&w->tensors, type);
    gw_u64(&w->tensors, offset);
    w->n_tensors++;
}

static inline void gw_pad(struct gw_bytes *o, uint64_t align) {
    while (o->n % align) gw_put(o, "", 1);
}

/* A tensor with its data after the last one; rows 0: a vector. */
static inline void gw_tensor(struct gw *w, const char *name, uint32_t type, uint64_t cols,
                             uint64_t rows, const void *data, size_t n) {
    gw_pad(&w->data, w->align ? w->align : 32);
    gw_tensor_at(w, name, type, rows ? 2 : 1, (uint64_t[]){cols, rows}, w->data.n);
    gw_put(&w->data, data, n);
}

/* The whole file; *n its size. malloc'ed to the byte, so that a sanitizer sees a read past it.
 * Frees the parts. */
static inline uint8_t *gw_finish(struct gw *w, size_t *n) {
    struct gw_bytes o = {0};
    gw_put(&o, "GGUF", 4);
    gw_u32(&o, w->version ? w->version : 3);
    gw_u64(&o, w->n_tensors);
    gw_u64(&o, w->n_keys);
    gw_put(&o, w->keys.b, w->keys.n);
    gw_put(&o, w->tensors.b, w->tensors.n);
    gw_pad(&o, w->align ? w->align : 32);
    gw_put(&o, w->data.b, w->data.n);
    uint8_t *exact = malloc(o.n);
    INVARIANT(exact);
    memcpy(exact, o.b, o.n);
    *n = o.n;
    free(o.b);
    free(w->keys.b);
    free(w->tensors.b);
    free(w->data.b);
    *w = (struct gw){0};
    return exact;
}

/* ---- a small vocabulary and a small model ---------------------------------------------------- */

/* Writes byte `b` in GPT-2's alphabet. Independent of vocab.c, which tests check with it. */
static inline void gw_alphabet(int b, char out[4]) {
    int cp = b, others = 0;
    for (int i = 0; i < 256; i++) {
        int visible = (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || (i >= 0xae);
        if (i == b && !visible) cp = 256 + others;
        others += !visible;
    }
    snprintf(out, 4, cp < 0x80 ? "%c" : "%c%c", cp < 0x80 ? cp : 0xc0 | cp >> 6,
             0x80 | (cp & 0x3f));
}

/* The bytes in order (ids 0 to 255), then these merges and markers. */
static const char *const gw_merges[] = {"h e",  "l l",    "he ll",   "hell o", "Ġ w", "o r",
                                        "or l", "Ġw orl", "Ġworl d", "Ã ©",    "ð Ł", "ðŁ ĺ",
                                        "a a",  "aa aa",  "a b",     "Ġ Ġ",    "1 2", "Ċ Ċ"};
enum { GW_N_MERGES = sizeof gw_merges / sizeof *gw_merges, GW_FIRST_MARKER = 256 + GW_N_MERGES };
static const char *const gw_markers[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_",
                                         "ü"};
enum { GW_N_MARKERS = 5, GW_VOCAB = GW_FIRST_MARKER + GW_N_MARKERS };

static inline void gw_vocabulary(struct gw *w, const char *pre) {
    gw_key_str(w, "tokenizer.ggml.model", "gpt2");
    gw_key_str(w, "tokenizer.ggml.pre", pre);
    gw_key_array(w, "tokenizer.ggml.tokens", GW_STR, GW_VOCAB);
    for (int b = 0; b < 256; b++) {
        char s[4] = "";
        gw_alphabet(b, s);
        gw_strn(&w->keys, s, strlen(s));
    }
    for (int i = 0; i < GW_N_MERGES; i++) {
        char joined[32];
        const char *blank = strchr(gw_merges[i], ' ');
        snprintf(joined, sizeof joined, "%.*s%s", (int)(blank - gw_merges[i]), gw_merges[i],
                 blank + 1);
        gw_strn(&w->keys, joined, strlen(joined));
    }
    for (int i = 0; i < GW_N_MARKERS; i++) gw_strn(&w->keys, gw_markers[i], strlen(gw_markers[i]));
    gw_key_array(w, "tokenizer.ggml.token_type", GW_I32, GW_VOCAB);
    for (int i = 0; i < GW_VOCAB; i++)
        gw_u32(&w->keys, i < GW_FIRST_MARKER ? 1 : i == GW_VOCAB - 1 ? 4 : 3);
    gw_key_array(w, "tokenizer.ggml.merges", GW_STR, GW_N_MERGES);
    for (int i = 0; i < GW_N_MERGES; i++) gw_strn(&w->keys, gw_merges[i], strlen(gw_merges[i]));
    gw_key_u32(w, "tokenizer.ggml.bos_token_id", GW_FIRST_MARKER);
    gw_key_u32(w, "tokenizer.ggml.eos_token_id", GW_FIRST_MARKER + 2);
}

/* A model of two layers, d_model 64, 4 query and 2 KV heads of 32 (so that wq is not square),
 * d_ffn 96, with all matrices of one type and zero weights. */
struct gw_llama {
    const char *arch;    /* NULL: "llama" */
    uint32_t dtype;      /* of the matrices */
    int bias, untied;    /* q/k/v bias; a separate output matrix */
    const char *without; /* this tensor is left out */
    const char *reshape; /* this tensor gets one row less */
    const char *no_key;  /* this key is left out: "block_count" */
};
enum { GW_D = 64, GW_HEADS = 4, GW_KV = 2, GW_HEAD_DIM = 32, GW_FFN = 96 };

static inline size_t gw_row_bytes(uint32_t dtype, size_t cols) {
    return dtype == 0   ? 4 * cols
           : dtype == 2 ? cols / 32 * 18
           : dtype == 3 ? cols / 32 * 20
           : dtype == 8 ? cols / 32 * 34
                        : 2 * cols;
}

static inline void gw_weights(struct gw *w, const struct gw_llama *o, const char *name,
                              uint64_t cols, uint64_t rows) {
    static const uint8_t zeros[1 << 18];
    if (o->without && !strcmp(o->without, name)) return;
    if (o->reshape && !strcmp(o->reshape, name)) rows ? rows-- : cols--;
    size_t n = rows ? rows * gw_row_bytes(o->dtype, cols) : 4 * cols;
    INVARIANT(n <= sizeof zeros);
    gw_tensor(w, name, rows ? o->dtype : 0, cols, rows, zeros, n);
}

static inline void gw_llama_keys(struct gw *w, const struct gw_llama *o) {
    const struct {
        const char *key;
        uint32_t v;
    } ints[] = {{"block_count", 2},
                {"context_length", 256},
                {"embedding_length", GW_D},
                {"feed_forward_length", GW_FFN},
                {"attention.head_count", GW_HEADS},
                {"attention.head_count_kv", GW_KV},
                {"attention.key_length", GW_HEAD_DIM},
                {"attention.value_length", GW_HEAD_DIM},
                {"rope.dimension_count", GW_HEAD_DIM}};
    const char *arch = o->arch ? o->arch : "llama";
    char key[96];
    gw_key_str(w, "general.architecture", arch);
    gw_key_str(w, "general.name", "test");
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        if (o->no_key && !strcmp(o->no_key, ints[i].key)) continue;
        snprintf(key, sizeof key, "%s.%s", arch, ints[i].key);
        gw_key_u32(w, key, ints[i].v);
    }
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", arch);
    if (!o->no_key || strcmp(o->no_key, key + strlen(arch) + 1) != 0) gw_key_f32(w, key, 1e-6f);
    snprintf(key, sizeof key, "%s.rope.freq_base", arch);
    gw_key_f32(w, key, 500000);
}

static inline void gw_llama(struct gw *w, const struct gw_llama *o) {
    gw_llama_keys(w, o);
    gw_weights(w, o, "token_embd.weight", GW_D, GW_VOCAB);
    gw_weights(w, o, "output_norm.weight", GW_D, 0);
    if (o->untied) gw_weights(w, o, "output.weight", GW_D, GW_VOCAB);
    const struct {
        const char *name;
        uint64_t cols, rows;
        int bias;
    } parts[] = {{"attn_norm.weight", GW_D, 0, 0},
                 {"attn_q.weight", GW_D, GW_HEADS * GW_HEAD_DIM, 0},
                 {"attn_k.weight", GW_D, GW_KV * GW_HEAD_DIM, 0},
                 {"attn_v.weight", GW_D, GW_KV * GW_HEAD_DIM, 0},
                 {"attn_output.weight", GW_HEADS * GW_HEAD_DIM, GW_D, 0},
                 {"attn_q.bias", GW_HEADS * GW_HEAD_DIM, 0, 1},
                 {"attn_k.bias", GW_KV * GW_HEAD_DIM, 0, 1},
                 {"attn_v.bias", GW_KV * GW_HEAD_DIM, 0, 1},
                 {"ffn_norm.weight", GW_D, 0, 0},
                 {"ffn_gate.weight", GW_D, GW_FFN, 0},
                 {"ffn_up.weight", GW_D, GW_FFN, 0},
                 {"ffn_down.weight", GW_FFN, GW_D, 0}};
    for (int layer = 0; layer < 2; layer++)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%d.%s", layer, parts[i].name);
            if (!parts[i].bias || o->bias) gw_weights(w, o, name, parts[i].cols, parts[i].rows);
        }
}

#endif
