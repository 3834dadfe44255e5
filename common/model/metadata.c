/* metadata.c: the table of metadata keys. See metadata.h. The names are those of llama.cpp
 * (src/llama-arch.cpp) and of the GGUF specification (ggml, docs/gguf.md); a key of another
 * writer is refused until its meaning is known and added here. */
#include "model/metadata.h"

#include <stdio.h>
#include <string.h>

enum meaning {
    USED,        /* read by model.c or tokenizer.c, which check the value */
    DESCRIPTIVE, /* no value changes arithmetic or encoding */
    ONLY         /* refused unless it has one of the values that change nothing */
};

struct rule {
    const char *key;
    enum meaning meaning;
    const char *values[2]; /* ONLY: as gguf_value_is takes them; each element of an array */
};

/* After "<arch>." */
static const struct rule model_rules[] = {
    {"vocab_size", USED, {0}},
    {"context_length", USED, {0}},
    {"embedding_length", USED, {0}},
    {"block_count", USED, {0}},
    {"feed_forward_length", USED, {0}},
    {"attention.head_count", USED, {0}},
    {"attention.head_count_kv", USED, {0}},
    {"attention.key_length", USED, {0}},
    {"attention.value_length", USED, {0}},
    {"attention.layer_norm_rms_epsilon", USED, {0}},
    {"attention.sliding_window", USED, {0}},
    {"rope.dimension_count", USED, {0}},
    {"rope.freq_base", USED, {0}},
    {"rope.scaling.type", USED, {0}},
    {"rope.scaling.factor", USED, {0}},
    {"rope.scale_linear", USED, {0}}, /* the old name of rope.scaling.factor */
    {"rope.scaling.original_context_length", USED, {0}},
    {"rope.scaling.attn_factor", USED, {0}},
    {"rope.scaling.yarn_ext_factor", USED, {0}},
    {"rope.scaling.yarn_beta_fast", USED, {0}},
    {"rope.scaling.yarn_beta_slow", USED, {0}},
    {"attention.sliding_window_pattern", USED, {0}},

    {"rope.scaling.finetuned", DESCRIPTIVE, {0}},
    {"pooling_type", DESCRIPTIVE, {0}}, /* of embeddings; text generation has no pooling */

    {"rope.scaling.yarn_attn_factor", ONLY, {"1"}},
    {"rope.scaling.yarn_log_multiplier", ONLY, {"0"}},
    {"rope.dimension_sections", ONLY, {"0"}},
    {"attention.scale", ONLY, {"0"}}, /* 0: 1 / sqrt(head_dim) */
    {"attention.output_scale", ONLY, {"0", "1"}},
    {"attention.temperature_length", ONLY, {"0"}},
    {"attention.temperature_scale", ONLY, {"0"}},
    {"attention.clamp_kqv", ONLY, {"0"}},
    {"attention.max_alibi_bias", ONLY, {"0"}},
    {"attention.causal", ONLY, {"true"}},
    {"attn_logit_softcapping", ONLY, {"0"}},
    {"final_logit_softcapping", ONLY, {"0"}},
    {"logit_scale", ONLY, {"0", "1"}}, /* 0: none, in llama.cpp; likewise the next two */
    {"residual_scale", ONLY, {"0", "1"}},
    {"embedding_scale", ONLY, {"0", "1"}},
    {"use_parallel_residual", ONLY, {"false"}},
    {"leading_dense_block_count", ONLY, {"0"}},
    {"nextn_predict_layers", ONLY, {"0"}},
    {"expert_count", ONLY, {"0"}},
    {"expert_used_count", ONLY, {"0"}},
    {"expert_shared_count", ONLY, {"0"}},
    {"expert_feed_forward_length", ONLY, {"0"}},
    {"tensor_data_layout", USED, {0}},
};

/* After "general." */
static const struct rule general_rules[] = {
    {"quantization_version", ONLY, {"2"}}, /* ggml changed its blocks between versions */
    {"*", DESCRIPTIVE, {0}},               /* names, licences, authors, sampling advice */
};

/* After "tokenizer." */
static const struct rule tokenizer_rules[] = {
    {"ggml.model", USED, {0}},
    {"ggml.pre", USED, {0}},
    {"ggml.tokens", USED, {0}},
    {"ggml.token_type", USED, {0}},
    {"ggml.merges", USED, {0}},
    {"ggml.bos_token_id", USED, {0}},
    {"ggml.eos_token_id", USED, {0}},
    {"ggml.eot_token_id", USED, {0}},
    {"ggml.eom_token_id", USED, {0}},
    {"ggml.fim_pad_token_id", USED, {0}},
    {"ggml.fim_rep_token_id", USED, {0}},
    {"ggml.fim_sep_token_id", USED, {0}},
    {"ggml.add_bos_token", USED, {0}},
    {"chat_template", USED, {0}},

    {"ggml.unknown_token_id", DESCRIPTIVE, {0}},   /* byte-level BPE knows every text */
    {"ggml.seperator_token_id", DESCRIPTIVE, {0}}, /* spelt so in llama.cpp */
    {"ggml.separator_token_id", DESCRIPTIVE, {0}},
    {"ggml.padding_token_id", DESCRIPTIVE, {0}},
    {"ggml.cls_token_id", DESCRIPTIVE, {0}},
    {"ggml.mask_token_id", DESCRIPTIVE, {0}},
    {"ggml.fim_pre_token_id", DESCRIPTIVE, {0}},
    {"ggml.fim_suf_token_id", DESCRIPTIVE, {0}},
    {"ggml.fim_mid_token_id", DESCRIPTIVE, {0}},
    {"ggml.prefix_token_id", DESCRIPTIVE, {0}},
    {"ggml.suffix_token_id", DESCRIPTIVE, {0}},
    {"ggml.middle_token_id", DESCRIPTIVE, {0}},
    {"ggml.scores", USED, {0}}, /* of SentencePiece; byte-level BPE goes by its merges */
    {"ggml.add_space_prefix", USED, {0}},
    {"ggml.space_prefix", USED, {0}},
    {"ggml.token_type_count", DESCRIPTIVE, {0}},
    {"huggingface.json", DESCRIPTIVE, {0}}, /* the same tokenizer in another form */
    {"chat_templates", DESCRIPTIVE, {0}},   /* names of further templates */
    {"chat_template.*", DESCRIPTIVE, {0}},  /* those templates */

    {"ggml.add_eos_token", ONLY, {"false"}},
    {"ggml.add_sep_token", ONLY, {"false"}},
    {"ggml.remove_extra_whitespaces", ONLY, {"false"}},
    {"ggml.normalizer.lowercase", ONLY, {"false"}},
    {"ggml.normalizer.strip_accents", ONLY, {"false"}},
    {"ggml.precompiled_charsmap", ONLY, {""}}, /* no elements */
    {"ggml.added_tokens", ONLY, {""}},         /* no elements: `tokens` has them all */
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* A rule's key that ends in * is every key that begins with the rest. */
static bool matches(const struct rule *r, const char *key) {
    size_t n = strlen(r->key);
    return n > 0 && r->key[n - 1] == '*' ? strncmp(r->key, key, n - 1) == 0 : !strcmp(r->key, key);
}

static int check_key(const struct gguf *g, const char *key, const char *rest,
                     const struct rule *rules, size_t n_rules, struct err *e) {
    char value[96];
    gguf_show_value(g, key, value, sizeof value);
    size_t i = 0;
    while (i < n_rules && !matches(&rules[i], rest)) i++;
    if (i == n_rules)
        return err_at(e, 0, key,
                      "is %s, and this key is not known; a model that needs it would be computed "
                      "wrongly, so the file is refused",
                      value);
    const struct rule *r = &rules[i];
    if (r->meaning != ONLY || gguf_value_is(g, key, r->values[0]) ||
        (r->values[1] && gguf_value_is(g, key, r->values[1])))
        return 0;
    bool none = r->values[0][0] == '\0';
    return err_at(e, 0, key,
                  "is %s; only %s%s%s is supported, because another value changes the "
                  "model's answers",
                  value, none ? "an empty array" : r->values[0], r->values[1] ? " or " : "",
                  r->values[1] ? r->values[1] : "");
}

/* Checks the keys "<prefix>.*". */
static int check_keys(const struct gguf *g, const char *prefix, const struct rule *rules,
                      size_t n_rules, struct err *e) {
    size_t n_prefix = strlen(prefix);
    for (size_t i = 0; i < gguf_n_keys(g); i++) {
        struct gguf_str name = gguf_key_at(g, i);
        if (name.n <= n_prefix || memcmp(name.s, prefix, n_prefix) != 0 || name.s[n_prefix] != '.')
            continue;
        char key[GGUF_MAX_KEY_BYTES + 1];
        snprintf(key, sizeof key, "%.*s", (int)name.n, name.s);
        if (check_key(g, key, key + n_prefix + 1, rules, n_rules, e)) return -1;
    }
    return 0;
}

int metadata_check_model(const struct gguf *g, const char *arch, struct err *e) {
    if (check_keys(g, "general", general_rules, COUNT(general_rules), e)) return -1;
    return check_keys(g, arch, model_rules, COUNT(model_rules), e);
}

int metadata_check_tokenizer(const struct gguf *g, struct err *e) {
    return check_keys(g, "tokenizer", tokenizer_rules, COUNT(tokenizer_rules), e);
}
