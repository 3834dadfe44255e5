/* test_metadata.c: a key that would change the answers is honoured or refused with its value, and
 * one that changes nothing is accepted. Keys that model.c reads: test_model.c. */
#include "model/gguf.h"
#include "model/model.h"
#include "model/tokenizer.h"
#include "testing/check_main.h"

#include "gguf_write.h"

enum kind { U, F, B, S, A_EMPTY, A_ZEROS, A_SECTIONS };

static const struct {
    const char *key;
    enum kind kind;
    double number;
    const char *text;    /* of S */
    const char *refusal; /* NULL: accepted */
} cases[] = {
    /* of the model */
    {"llama.rope.scaling.finetuned", B, 1, "", NULL},
    {"llama.rope.scaling.original_context_length", U, 8192, "", NULL},
    {"llama.rope.scaling.attn_factor", F, 1, "", NULL},
    {"llama.rope.scaling.attn_factor", F, 1.0000001192092896, "", "1.00000012"},
    {"llama.rope.scaling.yarn_ext_factor", F, -1, "", NULL},
    {"llama.rope.scaling.yarn_ext_factor", F, 1, "", "only 0 or -1"},
    {"llama.rope.scaling.yarn_log_multiplier", F, 0.1, "", "is 0.1"},
    {"llama.rope.scaling.unheard_of", F, 1, "", "not known"},
    {"llama.rope.dimension_sections", A_ZEROS, 0, "", NULL},
    {"llama.rope.dimension_sections", A_SECTIONS, 0, "", "[16, 24, 24, 0]"},
    {"llama.rope.freq_base_swa", F, 10000, "", "not known"},
    {"llama.attention.sliding_window_pattern", U, 2, "", NULL},
    {"llama.attention.scale", F, 0, "", NULL},
    {"llama.attention.scale", F, 0.0625, "", "is 0.0625"},
    {"llama.attention.causal", B, 1, "", NULL},
    {"llama.attention.causal", B, 0, "", "only true"},
    {"llama.attention.clamp_kqv", F, 8, "", "only 0"},
    {"llama.attention.max_alibi_bias", F, 8, "", "only 0"},
    {"llama.attention.layer_norm_epsilon", F, 1e-5, "", "not known"},
    {"llama.attention.temperature_scale", F, 0.1, "", "only 0"},
    {"llama.attn_logit_softcapping", F, 50, "", "is 50"},
    {"llama.final_logit_softcapping", F, 30, "", "is 30"},
    {"llama.final_logit_softcapping", F, 0, "", NULL},
    {"llama.logit_scale", F, 1, "", NULL},
    {"llama.logit_scale", F, 0.5, "", "only 0 or 1"},
    {"llama.residual_scale", F, 0.22, "", "only 0 or 1"},
    {"llama.embedding_scale", F, 12, "", "only 0 or 1"},
    {"llama.use_parallel_residual", B, 1, "", "only false"},
    {"llama.expert_count", U, 0, "", NULL},
    {"llama.expert_count", U, 8, "", "only 0"},
    {"llama.expert_used_count", U, 2, "", "only 0"},
    {"llama.nextn_predict_layers", U, 1, "", "only 0"},
    {"llama.tensor_data_layout", S, 0, "Meta AI original pth", NULL},
    {"llama.tensor_data_layout", S, 0, "columns", "is columns"},
    {"llama.pooling_type", U, 3, "", NULL},
    {"llama.wobble", S, 0, "twice a day", "is twice a day"},
    {"general.quantization_version", U, 2, "", NULL},
    {"general.quantization_version", U, 1, "", "only 2"},
    {"general.anything", S, 0, "at all", NULL},
    {"llamas.logit_scale", F, 0.5, "", NULL}, /* of another architecture */
    /* of the tokenizer */
    {"tokenizer.ggml.padding_token_id", U, 3, "", NULL},
    {"tokenizer.ggml.add_eos_token", B, 0, "", NULL},
    {"tokenizer.ggml.add_eos_token", B, 1, "", "only false"},
    {"tokenizer.ggml.add_sep_token", B, 1, "", "only false"},
    {"tokenizer.ggml.add_space_prefix", B, 0, "", NULL},
    {"tokenizer.ggml.add_space_prefix", B, 1, "", "only false"},
    {"tokenizer.ggml.remove_extra_whitespaces", B, 1, "", "only false"},
    {"tokenizer.ggml.normalizer.lowercase", B, 1, "", "only false"},
    {"tokenizer.ggml.precompiled_charsmap", A_EMPTY, 0, "", NULL},
    {"tokenizer.ggml.precompiled_charsmap", A_ZEROS, 0, "", "an empty array"},
    {"tokenizer.ggml.unheard_of", U, 1, "", "not known"},
    {"tokenizer.chat_template.tool_use", S, 0, "{{ x }}", NULL},
};
enum { N_CASES = sizeof cases / sizeof *cases };

static void write_key(struct gw *w, const char *key, enum kind kind, double number,
                      const char *text) {
    static const uint32_t sections[] = {16, 24, 24, 0};
    if (kind == U) gw_key_u32(w, key, (uint32_t)number);
    if (kind == F) gw_key_f32(w, key, (float)number);
    if (kind == B) gw_key_bool(w, key, number != 0);
    if (kind == S) gw_key_str(w, key, text);
    if (kind == A_EMPTY) gw_key_array(w, key, GW_I8, 0);
    if (kind == A_ZEROS || kind == A_SECTIONS) gw_key_array(w, key, GW_U32, 4);
    for (int i = 0; i < 4; i++)
        if (kind == A_ZEROS || kind == A_SECTIONS)
            gw_u32(&w->keys, kind == A_ZEROS ? 0 : sections[i]);
}

START_TEST(keys_are_honoured_or_refused) {
    struct gw w = {0};
    struct gw_llama o = {0};
    gw_llama(&w, &o);
    gw_vocabulary(&w, "smollm");
    write_key(&w, cases[_i].key, cases[_i].kind, cases[_i].number, cases[_i].text);
    size_t n;
    uint8_t *file = gw_finish(&w, &n);
    struct err e = {0};
    struct gguf *g = gguf_from_memory(file, n, &e);
    struct model *m = g ? model_from_gguf(g, &e) : NULL;
    struct tokenizer *t = m ? tokenizer_create(m->file, &e) : NULL;
    if (!cases[_i].refusal) {
        ck_assert_msg(t != NULL, "%s: %s", e.field, e.text);
    } else {
        ck_assert_msg(t == NULL, "%s: accepted", cases[_i].key);
        ck_assert_str_eq(e.field, cases[_i].key);
        ck_assert_msg(strstr(e.text, cases[_i].refusal), "%s: %s", e.field, e.text);
    }
    tokenizer_free(t);
    model_free(m);
    free(file);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("metadata");
    TCase *t = tcase_create("metadata");
    tcase_add_loop_test(t, keys_are_honoured_or_refused, 0, N_CASES);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
