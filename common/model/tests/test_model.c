/* test_model.c: GGUF files as decoders: read, or refused with the name of the key or tensor. */
#include "model/gguf.h"
#include "model/model.h"
#include "testing/check_main.h"

#include "gguf_write.h"

/* The model in a file made from *o and `more` keys; its bytes stay valid for eight calls. */
static struct model *open_made(const struct gw_llama *o, void (*more)(struct gw *), struct err *e) {
    struct gw w = {0};
    gw_llama(&w, o);
    if (more) more(&w);
    static uint8_t *kept[8];
    static size_t calls;
    uint8_t **file = &kept[calls++ % 8];
    free(*file);
    size_t n;
    *file = gw_finish(&w, &n);
    struct gguf *g = gguf_from_memory(*file, n, e);
    return g ? model_from_gguf(g, e) : NULL;
}

START_TEST(reads_every_storage_type) {
    static const uint32_t types[] = {0, 1, 2, 3, 8, 30};
    struct gw_llama o = {.dtype = types[_i]};
    struct err e = {0};
    struct model *m = open_made(&o, NULL, &e);
    ck_assert_msg(m != NULL, "%s: %s", e.field, e.text);
    const struct model_config *c = &m->config;
    ck_assert_str_eq(c->name, "test");
    ck_assert(c->vocab_size == GW_VOCAB && c->d_model == GW_D && c->n_layers == 2);
    ck_assert(c->n_heads == GW_HEADS && c->n_kv_heads == GW_KV && c->head_dim == GW_HEAD_DIM);
    ck_assert(c->d_ffn == GW_FFN && c->context_length == 256 && c->tied);
    ck_assert(c->rope_theta == 500000.0f && c->rms_eps == 1e-6f && m->rope == ROPE_NEIGHBOURS);
    ck_assert(m->head.data == m->embedding.data && m->rope_factors.data == NULL);
    const struct model_layer *y = &m->layers[1];
    ck_assert(y->wq.rows == 128 && y->wq.cols == 64 && y->wq.dtype == types[_i]);
    ck_assert(y->wk.rows == 64 && y->wo.rows == 64 && y->wo.cols == 128);
    ck_assert(y->w_down.rows == GW_D && y->w_down.cols == GW_FFN && y->bq.data == NULL);
    ck_assert(y->attn_norm.rows == 1 && y->attn_norm.dtype == DTYPE_F32);
    ck_assert(y->attn_norm.data != m->layers[0].attn_norm.data);
    model_free(m);
}
END_TEST

START_TEST(reads_qwen2_with_bias_and_its_own_head) {
    struct gw_llama o = {.arch = "qwen2", .dtype = 8, .bias = 1, .untied = 1};
    struct err e = {0};
    struct model *m = open_made(&o, NULL, &e);
    ck_assert_msg(m != NULL, "%s: %s", e.field, e.text);
    ck_assert(m->rope == ROPE_HALVES && !m->config.tied && m->head.data != m->embedding.data);
    ck_assert(m->layers[1].bq.cols == 128 && m->layers[1].bv.cols == 64 && m->layers[0].bk.data);
    model_free(m);
}
END_TEST

static void add_rope_factors(struct gw *w) {
    float f[GW_HEAD_DIM / 2];
    for (int i = 0; i < GW_HEAD_DIM / 2; i++) f[i] = i < 8 ? 1 : 8;
    gw_tensor(w, "rope_freqs.weight", 0, GW_HEAD_DIM / 2, 0, f, sizeof f);
}
static void add_window(struct gw *w) {
    gw_key_u32(w, "llama.attention.sliding_window", 100);
}
static void add_window_of_one_layer(struct gw *w) {
    add_window(w);
    gw_key_array(w, "llama.attention.sliding_window_pattern", GW_BOOL, 2);
    gw_put(&w->keys, "\0\1", 2);
}
static void add_window_of_unknown_layers(struct gw *w) {
    add_window(w);
    gw_key_u32(w, "llama.attention.sliding_window_pattern", 2);
}
static void add_no_window(struct gw *w) {
    gw_key_u32(w, "llama.attention.sliding_window", 0);
}

static const char *scaling_type, *scaling_key;
static float scaling_factor;
static void add_scaling(struct gw *w) {
    if (scaling_type) gw_key_str(w, "llama.rope.scaling.type", scaling_type);
    if (scaling_key) gw_key_f32(w, scaling_key, scaling_factor);
}

/* A factor without a type is linear scaling, as in llama.cpp; with the type "none" it is none. */
START_TEST(reads_linear_rope_scaling) {
    static const struct {
        const char *type, *key;
        float factor, want;
    } cases[] = {{NULL, NULL, 0, 1},
                 {NULL, "llama.rope.scaling.factor", 4, 4},
                 {"linear", "llama.rope.scaling.factor", 2.5f, 2.5f},
                 {"linear", NULL, 0, 1},
                 {NULL, "llama.rope.scaling.factor", 0, 1},
                 {NULL, "llama.rope.scale_linear", 8, 8},
                 {"none", "llama.rope.scaling.factor", 4, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_llama o = {0};
        struct err e = {0};
        scaling_type = cases[i].type;
        scaling_key = cases[i].key;
        scaling_factor = cases[i].factor;
        struct model *m = open_made(&o, add_scaling, &e);
        ck_assert_msg(m != NULL, "%s: %s", e.field, e.text);
        ck_assert_msg(m->config.rope_scale == cases[i].want, "case %zu", i);
        model_free(m);
    }
}
END_TEST

START_TEST(reads_what_later_models_add) {
    struct gw_llama o = {0};
    struct err e = {0};
    struct model *m = open_made(&o, add_rope_factors, &e);
    ck_assert_msg(m != NULL, "%s: %s", e.field, e.text);
    ck_assert(m->rope_factors.cols == 16 && ((const float *)m->rope_factors.data)[0] == 1);
    model_free(m);
    m = open_made(&o, add_window, &e);
    ck_assert_msg(m != NULL, "%s: %s", e.field, e.text);
    ck_assert(m->config.context_length == 256 && m->config.window == 100);
    ck_assert(m->layers[0].windowed && m->layers[1].windowed);
    model_free(m);
    m = open_made(&o, add_window_of_one_layer, &e);
    ck_assert_msg(m != NULL, "%s: %s", e.field, e.text);
    ck_assert(m->config.window == 100 && !m->layers[0].windowed && m->layers[1].windowed);
    model_free(m);
    m = open_made(&o, add_window_of_unknown_layers, &e);
    ck_assert_msg(m != NULL, "%s: %s", e.field, e.text);
    ck_assert(m->config.context_length == 100 && m->config.window == 0);
    model_free(m);
    m = open_made(&o, add_no_window, &e);
    ck_assert_msg(m != NULL, "%s: %s", e.field, e.text);
    ck_assert(m->config.context_length == 256 && m->config.window == 0);
    model_free(m);
}
END_TEST

/* SmolLM2's file doesn't give the head's width; it is rope's dimensions or d_model / heads. */
START_TEST(head_width_has_fallbacks) {
    struct err e = {0};
    struct gw_llama by_rope = {.no_key = "attention.key_length"};
    struct model *m = open_made(&by_rope, NULL, &e);
    ck_assert_msg(m != NULL && m->config.head_dim == 32, "%s: %s", e.field, e.text);
    model_free(m);
    /* Without it, rope rotates d_model / heads = 16 values, but a head has 32. */
    struct gw_llama no_rope = {.no_key = "rope.dimension_count"};
    ck_assert_ptr_null(open_made(&no_rope, NULL, &e));
    ck_assert_str_eq(e.field, "llama.rope.dimension_count");
}
END_TEST

/* ---- refused --------------------------------------------------------------------------------- */

#define KEY_CASE(NAME, ...)                                                                        \
    static void NAME(struct gw *w) {                                                               \
        __VA_ARGS__;                                                                               \
    }
KEY_CASE(k_layers_0, gw_key_u32(w, "llama.block_count", 0))
KEY_CASE(k_layers_3, gw_key_u32(w, "llama.block_count", 3))
KEY_CASE(k_layers_1, gw_key_u32(w, "llama.block_count", 1))
KEY_CASE(k_layers_1000, gw_key_u32(w, "llama.block_count", 1000))
KEY_CASE(k_layers_huge, gw_key_u32(w, "llama.block_count", 0xffffffffu))
KEY_CASE(k_layers_text, gw_key_str(w, "llama.block_count", "2"))
KEY_CASE(k_d_0, gw_key_u32(w, "llama.embedding_length", 0))
KEY_CASE(k_d_wrong, gw_key_u32(w, "llama.embedding_length", 32))
KEY_CASE(k_ffn, gw_key_u32(w, "llama.feed_forward_length", 97))
KEY_CASE(k_heads_0, gw_key_u32(w, "llama.attention.head_count", 0))
KEY_CASE(k_heads_array, gw_key_array(w, "llama.attention.head_count", GW_U32, 2);
         gw_u32(&w->keys, 4); gw_u32(&w->keys, 4))
KEY_CASE(k_kv_3, gw_key_u32(w, "llama.attention.head_count_kv", 3))
KEY_CASE(k_kv_8, gw_key_u32(w, "llama.attention.head_count_kv", 8))
KEY_CASE(k_value_dim, gw_key_u32(w, "llama.attention.value_length", 64))
KEY_CASE(k_vocab, gw_key_u32(w, "llama.vocab_size", GW_VOCAB + 1))
KEY_CASE(k_tokens, gw_key_array(w, "tokenizer.ggml.tokens", GW_U8, GW_VOCAB + 1);
         for (int i = 0; i <= GW_VOCAB; i++) gw_put(&w->keys, "x", 1))
KEY_CASE(k_experts, gw_key_u32(w, "llama.expert_count", 8))
KEY_CASE(k_scaling, gw_key_str(w, "llama.rope.scaling.type", "longrope"))
KEY_CASE(k_yarn_ext, gw_key_str(w, "llama.rope.scaling.type", "yarn");
         gw_key_f32(w, "llama.rope.scaling.yarn_ext_factor", 0))
KEY_CASE(k_yarn_factors, gw_key_str(w, "llama.rope.scaling.type", "yarn");
         gw_tensor(w, "rope_freqs.weight", 0, 16, 0, (float[16]){0}, 64))
KEY_CASE(k_yarn_beta, gw_key_str(w, "llama.rope.scaling.type", "yarn");
         gw_key_f32(w, "llama.rope.scaling.yarn_beta_fast", -1))
KEY_CASE(k_pattern, gw_key_u32(w, "llama.attention.sliding_window", 100);
         gw_key_array(w, "llama.attention.sliding_window_pattern", GW_BOOL, 1);
         gw_put(&w->keys, "", 1))
KEY_CASE(t_stranger, gw_tensor(w, "blk.0.attn_q_norm.weight", 0, 8, 0, (float[8]){0}, 32))
KEY_CASE(t_layer_2, gw_tensor(w, "blk.2.attn_norm.weight", 0, 8, 0, (float[8]){0}, 32))
KEY_CASE(t_odd_name, gw_tensor(w, "blk.01.attn_norm.weight", 0, 8, 0, (float[8]){0}, 32))
KEY_CASE(t_norm_f16, gw_tensor(w, "output_norm.weight", 1, GW_D, 0, (float[GW_D]){0}, 2 * GW_D))
KEY_CASE(t_q6, gw_tensor(w, "output.weight", 14, 256, 1, (float[64]){0}, 210))
KEY_CASE(t_factors, gw_tensor(w, "rope_freqs.weight", 0, 8, 0, (float[8]){0}, 32))
KEY_CASE(t_factors_zero, gw_tensor(w, "rope_freqs.weight", 0, 16, 0, (float[16]){1}, 64))
KEY_CASE(k_factor, gw_key_f32(w, "llama.rope.scaling.factor", -2))

KEY_CASE(k_key_text, gw_key_str(w, "llama.attention.key_length", "64"))
KEY_CASE(k_value_text, gw_key_str(w, "llama.attention.value_length", "64"))
KEY_CASE(k_scaling_number, gw_key_u32(w, "llama.rope.scaling.type", 1))
KEY_CASE(k_experts_text, gw_key_str(w, "llama.expert_count", "none"))
KEY_CASE(k_window_text, gw_key_str(w, "llama.attention.sliding_window", "none"))

static const struct {
    const char *name;
    struct gw_llama o;
    void (*more)(struct gw *);
    const char *field, *text;
} refused[] = {
    {"no block_count", {.no_key = "block_count"}, NULL, "llama.block_count", "missing"},
    {"no layers", {.no_key = "block_count"}, k_layers_0, "llama.block_count", "is 0"},
    {"a layer too many",
     {.no_key = "block_count"},
     k_layers_3,
     "blk.2.attn_norm.weight",
     "missing"},
    {"a layer too few", {.no_key = "block_count"}, k_layers_1, "blk.1.", "no such tensor"},
    {"1000 layers", {.no_key = "block_count"}, k_layers_1000, "llama.block_count", "tensors"},
    {"2^32 layers", {.no_key = "block_count"}, k_layers_huge, "llama.block_count", "possible"},
    {"layers in words", {.no_key = "block_count"}, k_layers_text, "llama.block_count", "string"},
    {"d_model 0", {.no_key = "embedding_length"}, k_d_0, "llama.embedding_length", "is 0"},
    {"d_model wrong", {.no_key = "embedding_length"}, k_d_wrong, "token_embd.weight", "x 32"},
    {"d_ffn wrong", {.no_key = "feed_forward_length"}, k_ffn, "blk.0.ffn_gate.weight", "97"},
    {"no heads", {.no_key = "attention.head_count"}, k_heads_0, "llama.attention.head_count", "0"},
    {"heads a layer",
     {.no_key = "attention.head_count"},
     k_heads_array,
     "llama.attention.head_count",
     "array"},
    {"3 KV heads",
     {.no_key = "attention.head_count_kv"},
     k_kv_3,
     "llama.attention.head_count_kv",
     "divide"},
    {"8 KV heads",
     {.no_key = "attention.head_count_kv"},
     k_kv_8,
     "llama.attention.head_count_kv",
     "divide"},
    {"value width",
     {.no_key = "attention.value_length"},
     k_value_dim,
     "llama.attention.value_length",
     "agree"},
    {"key width in words",
     {.no_key = "attention.key_length"},
     k_key_text,
     "llama.attention.key_length",
     "string"},
    {"value width in words",
     {.no_key = "attention.value_length"},
     k_value_text,
     "llama.attention.value_length",
     "string"},
    {"scaling as a number", {0}, k_scaling_number, "llama.rope.scaling.type", "uint32"},
    {"experts in words", {0}, k_experts_text, "llama.expert_count", "is none"},
    {"window in words", {0}, k_window_text, "llama.attention.sliding_window", "string"},
    {"vocabulary size", {0}, k_vocab, "llama.vocab_size", "rows"},
    {"more tokens than rows", {0}, k_tokens, "tokenizer.ggml.tokens", "rows"},
    {"no context", {.no_key = "context_length"}, NULL, "llama.context_length", "missing"},
    {"experts", {0}, k_experts, "llama.expert_count", "only 0"},
    {"no epsilon",
     {.no_key = "attention.layer_norm_rms_epsilon"},
     NULL,
     "llama.attention.layer_norm_rms_epsilon",
     "missing"},
    {"scaling by a negative factor", {0}, k_factor, "llama.rope.scaling.factor", "is -2"},
    {"rope scaling", {0}, k_scaling, "llama.rope.scaling.type", "longrope"},
    {"half of yarn", {0}, k_yarn_ext, "llama.rope.scaling.yarn_ext_factor", "only 1 and -1"},
    {"yarn and factors", {0}, k_yarn_factors, "rope_freqs.weight", "beside yarn"},
    {"yarn that turns backwards", {0}, k_yarn_beta, "llama.rope.scaling.yarn_beta_fast", "is -1"},
    {"a pattern of one layer",
     {0},
     k_pattern,
     "llama.attention.sliding_window_pattern",
     "1 entries"},
    {"architecture", {.arch = "falcon"}, NULL, "general.architecture", "falcon"},
    {"architecture's prefix", {.arch = "llamas"}, NULL, "general.architecture", "llamas"},
    {"no norm", {.without = "blk.1.ffn_norm.weight"}, NULL, "blk.1.ffn_norm.weight", "missing"},
    {"no embedding", {.without = "token_embd.weight"}, NULL, "token_embd.weight", "missing"},
    {"wq shape", {.reshape = "blk.1.attn_q.weight"}, NULL, "blk.1.attn_q.weight", "127 x 64"},
    {"norm shape", {.reshape = "blk.0.attn_norm.weight"}, NULL, "blk.0.attn_norm.weight", "1 x 63"},
    {"head shape", {.untied = 1, .reshape = "output.weight"}, NULL, "output.weight", "x 64"},
    {"bias shape", {.bias = 1, .reshape = "blk.0.attn_q.bias"}, NULL, "blk.0.attn_q.bias", "127"},
    {"unknown tensor", {0}, t_stranger, "blk.0.attn_q_norm.weight", "no such tensor"},
    {"tensor of a third layer", {0}, t_layer_2, "blk.2.attn_norm.weight", "no such tensor"},
    {"odd tensor name", {0}, t_odd_name, "", "unusual names"},
    {"norm in F16", {.without = "output_norm.weight"}, t_norm_f16, "output_norm.weight", "F32"},
    {"head in Q6_K", {0}, t_q6, "output.weight", "Q6_K"},
    {"rope factors", {0}, t_factors, "rope_freqs.weight", "1 x 16"},
    {"a rope factor of 0", {0}, t_factors_zero, "rope_freqs.weight", "value 1 is 0"},
};
enum { N_REFUSED = sizeof refused / sizeof *refused };

START_TEST(refuses_and_names) {
    struct err e = {0};
    struct model *m = open_made(&refused[_i].o, refused[_i].more, &e);
    ck_assert_msg(m == NULL, "%s: accepted", refused[_i].name);
    ck_assert_msg(strncmp(e.field, refused[_i].field, strlen(refused[_i].field)) == 0,
                  "%s: field '%s', text '%s'", refused[_i].name, e.field, e.text);
    ck_assert_msg(strstr(e.text, refused[_i].text), "%s: text '%s'", refused[_i].name, e.text);
}
END_TEST

/* The keys of a file without those that gw_llama always writes. */
static void bare(struct gw *w, float eps, float theta, uint32_t head_dim) {
    gw_key_str(w, "general.architecture", "llama");
    static const char *const ints[] = {"llama.block_count", "llama.context_length",
                                       "llama.embedding_length", "llama.feed_forward_length",
                                       "llama.attention.head_count"};
    for (size_t i = 0; i < 5; i++) gw_key_u32(w, ints[i], i == 2 ? 64 : 2);
    gw_key_u32(w, "llama.attention.key_length", head_dim);
    gw_key_u32(w, "llama.rope.dimension_count", head_dim);
    gw_key_f32(w, "llama.attention.layer_norm_rms_epsilon", eps);
    gw_key_f32(w, "llama.rope.freq_base", theta);
    gw_tensor(w, "x", 0, 1, 0, (float[]){0}, 4);
}

START_TEST(refuses_impossible_numbers) {
    const struct {
        float eps, theta;
        uint32_t head_dim;
        const char *field;
    } bad[] = {{-1, 1e4f, 32, "llama.attention.layer_norm_rms_epsilon"},
               {1e-6f, 0, 32, "llama.rope.freq_base"},
               {1e-6f, 0.0f / 0.0f, 32, "llama.rope.freq_base"},
               {1e-6f, 1e4f, 31, "llama.attention.key_length"},
               {1e-6f, 1e4f, 4096, "llama.rope.dimension_count"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct gw w = {0};
        bare(&w, bad[i].eps, bad[i].theta, bad[i].head_dim);
        size_t n;
        uint8_t *file = gw_finish(&w, &n);
        struct err e = {0};
        struct gguf *g = gguf_from_memory(file, n, &e);
        ck_assert_ptr_nonnull(g);
        ck_assert_ptr_null(model_from_gguf(g, &e));
        ck_assert_msg(strcmp(e.field, bad[i].field) == 0, "case %zu: %s: %s", i, e.field, e.text);
        free(file);
    }
}
END_TEST

START_TEST(a_vocabulary_alone_is_no_model) {
    struct gw w = {0};
    gw_key_str(&w, "general.architecture", "gpt2");
    gw_vocabulary(&w, "gpt-2");
    size_t n;
    uint8_t *file = gw_finish(&w, &n);
    struct err e = {0};
    struct gguf *g = gguf_from_memory(file, n, &e);
    ck_assert_ptr_nonnull(g);
    ck_assert_ptr_null(model_from_gguf(g, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "no weights"));
    free(file);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("model");
    TCase *t = tcase_create("model");
    tcase_add_loop_test(t, reads_every_storage_type, 0, 6);
    tcase_add_test(t, reads_qwen2_with_bias_and_its_own_head);
    tcase_add_test(t, reads_what_later_models_add);
    tcase_add_test(t, reads_linear_rope_scaling);
    tcase_add_test(t, head_width_has_fallbacks);
    tcase_add_loop_test(t, refuses_and_names, 0, N_REFUSED);
    tcase_add_test(t, refuses_impossible_numbers);
    tcase_add_test(t, a_vocabulary_alone_is_no_model);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
