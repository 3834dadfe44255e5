/* hf_config.c: config.json: what each field means, and the keys that a GGUF file would have. See
 * hf_model.h. The names and defaults are those of Hugging Face transformers
 * (configuration_llama.py, configuration_mistral.py, configuration_qwen2.py); a field of another
 * writer is refused until its meaning is known and added here. */
#include "model/hf_internal.h"

#include "base/json.h"
#include "model/rope.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum meaning {
    USED,        /* read below, or checked by model.c through its key */
    DESCRIPTIVE, /* no value changes arithmetic or encoding */
    ONLY         /* refused unless it has one of the values that change nothing; null is one */
};

static const struct rule {
    const char *field;
    enum meaning meaning;
    const char *values[2]; /* ONLY: as cJSON prints them */
} rules[] = {
    {"model_type", USED, {0}},
    {"architectures", USED, {0}},
    {"vocab_size", USED, {0}},
    {"hidden_size", USED, {0}},
    {"intermediate_size", USED, {0}},
    {"num_hidden_layers", USED, {0}},
    {"num_attention_heads", USED, {0}},
    {"num_key_value_heads", USED, {0}},
    {"head_dim", USED, {0}},
    {"max_position_embeddings", USED, {0}},
    {"rms_norm_eps", USED, {0}},
    {"rope_theta", USED, {0}},
    {"rope_scaling", USED, {0}},
    {"rope_parameters", USED, {0}},
    {"sliding_window", USED, {0}},
    {"use_sliding_window", USED, {0}},
    {"max_window_layers", USED, {0}},
    {"layer_types", USED, {0}},
    {"tie_word_embeddings", USED, {0}},
    {"bos_token_id", USED, {0}},
    {"eos_token_id", USED, {0}},

    {"hidden_act", ONLY, {"\"silu\""}},
    {"attention_bias", ONLY, {"false"}},
    {"mlp_bias", ONLY, {"false"}},
    {"rope_interleaved", ONLY, {"false"}},
    {"partial_rotary_factor", ONLY, {"1"}},
    {"use_mrope", ONLY, {"false"}},
    {"is_encoder_decoder", ONLY, {"false"}},
    {"add_cross_attention", ONLY, {"false"}},
    {"tie_encoder_decoder", ONLY, {"false"}},
    {"chunk_size_feed_forward", ONLY, {"0"}},
    {"pruned_heads", ONLY, {"{}"}},
    {"quantization_config", ONLY, {0}},
    {"auto_map", ONLY, {0}},

    {"_name_or_path", DESCRIPTIVE, {0}},
    {"_model_name_or_path", DESCRIPTIVE, {0}},
    {"transformers_version", DESCRIPTIVE, {0}},
    {"torch_dtype", DESCRIPTIVE, {0}}, /* the files say how weights are stored */
    {"dtype", DESCRIPTIVE, {0}},
    {"use_cache", DESCRIPTIVE, {0}},
    {"initializer_range", DESCRIPTIVE, {0}},
    {"attention_dropout", DESCRIPTIVE, {0}}, /* of training */
    {"pretraining_tp", DESCRIPTIVE, {0}},    /* cuts the same products into parts */
    {"pad_token_id", DESCRIPTIVE, {0}},
    {"unk_token_id", DESCRIPTIVE, {0}},
    {"sep_token_id", DESCRIPTIVE, {0}},
    {"is_llama_config", DESCRIPTIVE, {0}},
    {"is_decoder", DESCRIPTIVE, {0}},
    {"transformers.js_config", DESCRIPTIVE, {0}},
    {"_attn_implementation_autoset", DESCRIPTIVE, {0}},
    {"_flash_attn_2_enabled", DESCRIPTIVE, {0}},
    {"unsloth_version", DESCRIPTIVE, {0}},
    {"unsloth_fixed", DESCRIPTIVE, {0}},
    {"tokenizer_class", DESCRIPTIVE, {0}},
    {"task_specific_params", DESCRIPTIVE, {0}},
    {"problem_type", DESCRIPTIVE, {0}},
    {"finetuning_task", DESCRIPTIVE, {0}},
    {"id2label", DESCRIPTIVE, {0}},
    {"label2id", DESCRIPTIVE, {0}},
    {"return_dict", DESCRIPTIVE, {0}},
    {"output_attentions", DESCRIPTIVE, {0}},
    {"output_hidden_states", DESCRIPTIVE, {0}},
    {"torchscript", DESCRIPTIVE, {0}},
    /* Advice for generation, which a request states itself. */
    {"do_sample", DESCRIPTIVE, {0}},
    {"temperature", DESCRIPTIVE, {0}},
    {"top_k", DESCRIPTIVE, {0}},
    {"top_p", DESCRIPTIVE, {0}},
    {"repetition_penalty", DESCRIPTIVE, {0}},
    {"max_length", DESCRIPTIVE, {0}},
};

/* Which field makes which key "<arch>.<key>". */
static const struct {
    const char *field, *key;
} ints[] =
    {
        {"num_hidden_layers", "block_count"},
        {"hidden_size", "embedding_length"},
        {"intermediate_size", "feed_forward_length"},
        {"max_position_embeddings", "context_length"},
        {"num_attention_heads", "attention.head_count"},
        {"vocab_size", "vocab_size"},
},
  others[] = {
      {"num_key_value_heads", "attention.head_count_kv"},
      {"head_dim", "attention.key_length"},
      {"head_dim", "attention.value_length"},
      {"head_dim", "rope.dimension_count"},
      {"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
      {"rope_theta", "rope.freq_base"},
      {"sliding_window", "attention.sliding_window"},
      {"rope_scaling.factor", "rope.scaling.factor"},
      {"rope_scaling.beta_fast", "rope.scaling.yarn_beta_fast"},
      {"rope_scaling.beta_slow", "rope.scaling.yarn_beta_slow"},
      {"rope_scaling.attention_factor", "rope.scaling.attn_factor"},
      {"rope_scaling.original_max_position_embeddings", "rope.scaling.original_context_length"},
};
#define COUNT(a) (sizeof(a) / sizeof *(a))

struct reader {
    const cJSON *o;
    struct hf_config *c;
    struct gguf_keys *k;
    struct err *e;
    int64_t context;
};

static int read_family(struct reader *r);
static int check_fields(struct reader *r);
static int read_shape(struct reader *r);
static int read_rope(struct reader *r);
static int read_window(struct reader *r);

int hf_config_keys(const cJSON *config, struct hf_config *c, struct gguf_keys *k, struct err *e) {
    struct reader r = {.o = config, .c = c, .k = k, .e = e};
    if (read_family(&r) || check_fields(&r) || read_shape(&r) || read_rope(&r) || read_window(&r))
        return hf_in_file("config.json", e);
    return 0;
}

const char *hf_config_field(const char *rest) {
    for (size_t i = 0; i < COUNT(ints); i++)
        if (!strcmp(ints[i].key, rest)) return ints[i].field;
    for (size_t i = 0; i < COUNT(others); i++)
        if (!strcmp(others[i].key, rest)) return others[i].field;
    return NULL;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* NULL: missing or null. */
static const cJSON *at(const cJSON *o, const char *field) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, field);
    return cJSON_IsNull(v) ? NULL : v;
}

struct key {
    char s[96];
};
static struct key key_of(const struct reader *r, const char *rest) {
    struct key k;
    snprintf(k.s, sizeof k.s, "%s.%s", r->c->family == HF_QWEN2 ? "qwen2" : "llama", rest);
    return k;
}

static int read_family(struct reader *r) {
    static const struct {
        const char *type, *architecture;
    } known[] = {[HF_LLAMA] = {"llama", "LlamaForCausalLM"},
                 [HF_MISTRAL] = {"mistral", "MistralForCausalLM"},
                 [HF_QWEN2] = {"qwen2", "Qwen2ForCausalLM"}};
    const char *type;
    if (!cJSON_IsObject(r->o)) return err_set(r->e, "is not a JSON object");
    if (json_get_string(r->o, "", "model_type", &type, r->e)) return -1;
    size_t i = 0;
    while (i < COUNT(known) && strcmp(known[i].type, type) != 0) i++;
    if (i == COUNT(known))
        return err_at(
            r->e, 0, "model_type",
            "is '%.60s'; llama, mistral and qwen2 are read. Another architecture would be "
            "computed wrongly",
            type);
    r->c->family = (enum hf_family)i;
    const cJSON *a = at(r->o, "architectures"), *first = cJSON_GetArrayItem(a, 0);
    if (a && (!cJSON_IsArray(a) || cJSON_GetArraySize(a) != 1 || !cJSON_IsString(first) ||
              strcmp(first->valuestring, known[i].architecture) != 0))
        return err_at(r->e, 0, "architectures",
                      "is not [\"%s\"], which is what model_type %s asks for",
                      known[i].architecture, type);
    return 0;
}

static int refuse(const struct reader *r, const cJSON *v, const struct rule *rule) {
    char *text = cJSON_PrintUnformatted(v);
    const char *shown = text ? text : "?";
    int rc = 0;
    if (!rule)
        rc =
            err_at(r->e, 0, v->string,
                   "is %.60s, and this field is not known; a model that needs it would be computed "
                   "wrongly, so the folder is refused",
                   shown);
    else if (!strcmp(rule->field, "quantization_config"))
        rc = err_at(r->e, 0, v->string,
                    "quantised folders (GPTQ, AWQ, bitsandbytes, fp8) are not read; name the "
                    "unquantised model, or a GGUF file of it");
    else if (!(rule->values[0] && !strcmp(shown, rule->values[0])))
        rc = err_at(r->e, 0, v->string,
                    "is %.60s; only %s is supported, because another value changes the model's "
                    "answers",
                    shown, rule->values[0] ? rule->values[0] : "null");
    cJSON_free(text);
    return rc;
}

static int check_fields(struct reader *r) {
    const cJSON *v;
    cJSON_ArrayForEach(v, r->o) {
        const struct rule *rule = NULL;
        for (size_t i = 0; i < COUNT(rules); i++)
            if (!strcmp(rules[i].field, v->string)) rule = &rules[i];
        if (rule && (rule->meaning != ONLY || cJSON_IsNull(v))) continue;
        if (refuse(r, v, rule)) return -1;
    }
    return 0;
}

/* ---- the shape ------------------------------------------------------------------------------- */

/* An integer of at least 1. `fallback` 0: it must be there. model.c checks the upper end. */
static int count(struct reader *r, const char *field, int64_t fallback, int64_t *out) {
    bool found;
    *out = fallback;
    if (json_get_int_opt(r->o, "", field, 1, INT32_MAX, out, &found, r->e)) return -1;
    if (*out == 0)
        return err_at(r->e, 0, field, "is missing; the model's shape is not known without it");
    return 0;
}

static int read_shape(struct reader *r) {
    int64_t v, heads = 0, width = 0, kv_heads;
    double eps;
    static const char *const arch[] = {
        [HF_LLAMA] = "llama", [HF_MISTRAL] = "llama", [HF_QWEN2] = "qwen2"};
    gguf_keys_puts(r->k, "general.architecture", arch[r->c->family]);
    for (size_t i = 0; i < COUNT(ints); i++) {
        if (count(r, ints[i].field, 0, &v)) return -1;
        gguf_keys_int(r->k, key_of(r, ints[i].key).s, v);
        if (!strcmp(ints[i].field, "num_hidden_layers")) r->c->n_layers = v;
        if (!strcmp(ints[i].field, "max_position_embeddings")) r->context = v;
        if (!strcmp(ints[i].field, "num_attention_heads")) heads = v;
        if (!strcmp(ints[i].field, "hidden_size")) width = v;
    }
    /* The other families' defaults are fixed numbers, which no published model leaves out. */
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(r->o, "head_dim");
    if (width % heads && (!own || cJSON_IsNull(own)))
        return err_at(r->e, 0, "hidden_size",
                      "is %lld, no multiple of num_attention_heads, %lld; where the heads are not "
                      "its parts, head_dim says how wide they are",
                      (long long)width, (long long)heads);
    if (count(r, "num_key_value_heads", r->c->family == HF_LLAMA ? heads : 0, &kv_heads) ||
        count(r, "head_dim", width % heads ? 0 : width / heads, &r->c->head_dim) ||
        json_get_number(r->o, "", "rms_norm_eps", &eps, r->e))
        return -1;
    gguf_keys_int(r->k, key_of(r, "attention.head_count_kv").s, kv_heads);
    gguf_keys_int(r->k, key_of(r, "attention.key_length").s, r->c->head_dim);
    gguf_keys_int(r->k, key_of(r, "rope.dimension_count").s, r->c->head_dim);
    gguf_keys_float(r->k, key_of(r, "attention.layer_norm_rms_epsilon").s, eps);
    /* Folders have the rows of q and k in the order of the two halves. */
    if (r->c->family != HF_QWEN2) gguf_keys_puts(r->k, key_of(r, "tensor_data_layout").s, "halves");
    if (at(r->o, "tie_word_embeddings") &&
        json_get_bool(r->o, "", "tie_word_embeddings", &r->c->tied, r->e))
        return -1;
    return 0;
}

/* ---- positions ------------------------------------------------------------------------------- */

/* A positive number of the scaling. 0; 1: missing; -1 and the error. */
static int scale(struct reader *r, const cJSON *s, const char *field, bool needed, double *out) {
    if (!needed && !at(s, field)) return 1;
    if (json_get_number(s, "rope_scaling", field, out, r->e)) return -1;
    if (*out > 0 && *out < 1e12) return 0;
    char path[64];
    snprintf(path, sizeof path, "rope_scaling.%s", field);
    return err_at(r->e, 0, path, "is %g; it must lie between 0 and 1e12", *out);
}

static int read_llama3(struct reader *r, const cJSON *s) {
    struct hf_config *c = r->c;
    if (scale(r, s, "factor", true, &c->factor) || scale(r, s, "low_freq_factor", true, &c->low) ||
        scale(r, s, "high_freq_factor", true, &c->high) ||
        scale(r, s, "original_max_position_embeddings", true, &c->original))
        return -1;
    if (c->factor < 1 || c->high <= c->low)
        return err_at(r->e, 0, "rope_scaling",
                      "factor must be at least 1, and high_freq_factor above low_freq_factor");
    c->llama3 = true;
    return 0;
}

static int read_yarn(struct reader *r, const cJSON *s) {
    static const struct {
        const char *field, *key;
    } optional[] = {{"beta_fast", "rope.scaling.yarn_beta_fast"},
                    {"beta_slow", "rope.scaling.yarn_beta_slow"}};
    double v, factor, original = (double)r->context;
    if (scale(r, s, "factor", true, &factor) ||
        scale(r, s, "original_max_position_embeddings", false, &original) < 0)
        return -1;
    if (original != floor(original))
        return err_at(r->e, 0, "rope_scaling.original_max_position_embeddings",
                      "is not an integer");
    gguf_keys_puts(r->k, key_of(r, "rope.scaling.type").s, "yarn");
    gguf_keys_float(r->k, key_of(r, "rope.scaling.factor").s, factor);
    gguf_keys_int(r->k, key_of(r, "rope.scaling.original_context_length").s, (int64_t)original);
    for (size_t i = 0; i < COUNT(optional); i++) {
        int rc = scale(r, s, optional[i].field, false, &v);
        if (rc < 0) return -1;
        if (rc == 0) gguf_keys_float(r->k, key_of(r, optional[i].key).s, v);
    }
    int rc = scale(r, s, "attention_factor", false, &v);
    if (rc < 0) return -1;
    /* GGUF's factor multiplies the magnitude that yarn's formula gives. */
    if (rc == 0)
        gguf_keys_float(r->k, key_of(r, "rope.scaling.attn_factor").s,
                        v / (factor > 1 ? 1 + 0.1 * log(factor) : 1));
    return 0;
}

static int check_scaling(struct reader *r, const cJSON *s) {
    static const char *const known[] = {"type",
                                        "rope_type",
                                        "rope_theta",
                                        "factor",
                                        "low_freq_factor",
                                        "high_freq_factor",
                                        "original_max_position_embeddings",
                                        "beta_fast",
                                        "beta_slow",
                                        "attention_factor"};
    const cJSON *v;
    if (!cJSON_IsObject(s)) return err_at(r->e, 0, "rope_scaling", "is not a JSON object");
    cJSON_ArrayForEach(v, s) {
        size_t i = 0;
        while (i < COUNT(known) && strcmp(known[i], v->string) != 0) i++;
        bool plain = (!strcmp(v->string, "truncate") && cJSON_IsTrue(v)) ||
                     (!strcmp(v->string, "partial_rotary_factor") && cJSON_IsNumber(v) &&
                      v->valuedouble == 1);
        if (i == COUNT(known) && !plain && !cJSON_IsNull(v))
            return err_at(r->e, 0, "rope_scaling",
                          "has the field '%.40s', which is not known or has another value than the "
                          "usual one; the model would be computed wrongly",
                          v->string);
    }
    return 0;
}

/* transformers 5 writes rope_parameters with rope_theta in it, earlier ones rope_scaling. */
static int read_rope(struct reader *r) {
    const cJSON *s = at(r->o, "rope_parameters"), *from = at(s, "rope_theta") ? s : r->o;
    const char *type = "default";
    double v;
    r->c->theta = 10000;
    if (s && at(r->o, "rope_scaling"))
        return err_at(r->e, 0, "rope_scaling", "is there beside rope_parameters; one is enough");
    if (!s) s = at(r->o, "rope_scaling");
    if (at(from, "rope_theta") && json_get_number(from, "", "rope_theta", &r->c->theta, r->e))
        return -1;
    if (!(r->c->theta > 1 && r->c->theta < 1e12))
        return err_at(r->e, 0, "rope_theta", "is %g; it must lie between 1 and 1e12", r->c->theta);
    gguf_keys_float(r->k, key_of(r, "rope.freq_base").s, r->c->theta);
    if (!s) return 0;
    if (check_scaling(r, s)) return -1;
    const char *field = at(s, "rope_type") ? "rope_type" : "type";
    if (json_get_string(s, "rope_scaling", field, &type, r->e)) return -1;
    if (!strcmp(type, "default")) return 0;
    if (!strcmp(type, "llama3")) return read_llama3(r, s);
    if (!strcmp(type, "yarn")) return read_yarn(r, s);
    if (strcmp(type, "linear") != 0)
        return err_at(r->e, 0, "rope_scaling.rope_type",
                      "is '%.40s'; default, linear, llama3 and yarn are supported", type);
    if (scale(r, s, "factor", true, &v)) return -1;
    gguf_keys_puts(r->k, key_of(r, "rope.scaling.type").s, "linear");
    gguf_keys_float(r->k, key_of(r, "rope.scaling.factor").s, v);
    return 0;
}

/* ---- sliding windows ------------------------------------------------------------------------- */

/* Is layer i windowed? layer_types says so, else: all layers, or for Qwen2 those from
 * max_window_layers on. -1 and the error. */
static int is_windowed(struct reader *r, const cJSON *types, int64_t from, int64_t i) {
    if (!types) return i >= from;
    const cJSON *t = cJSON_GetArrayItem(types, (int)i);
    if (cJSON_IsString(t) && !strcmp(t->valuestring, "full_attention")) return 0;
    if (cJSON_IsString(t) && !strcmp(t->valuestring, "sliding_attention")) return 1;
    return err_at(r->e, 0, "layer_types",
                  "entry %lld is neither \"full_attention\" nor \"sliding_attention\"",
                  (long long)i);
}

static int read_window(struct reader *r) {
    bool found, use = r->c->family == HF_MISTRAL;
    int64_t window = 0, from = 0, n = r->c->n_layers;
    const cJSON *types = at(r->o, "layer_types");
    if (types && (!cJSON_IsArray(types) || cJSON_GetArraySize(types) != n))
        return err_at(r->e, 0, "layer_types", "is not an array of %lld entries", (long long)n);
    if (r->c->family == HF_MISTRAL && !cJSON_GetObjectItemCaseSensitive(r->o, "sliding_window"))
        return err_at(r->e, 0, "sliding_window",
                      "is missing; state the window, or null for none (transformers would take "
                      "4096)");
    if (json_get_int_opt(r->o, "", "sliding_window", 1, INT32_MAX, &window, &found, r->e))
        return -1;
    if (r->c->family == HF_QWEN2 && at(r->o, "use_sliding_window") &&
        json_get_bool(r->o, "", "use_sliding_window", &use, r->e))
        return -1;
    if (r->c->family == HF_LLAMA && window)
        return err_at(r->e, 0, "sliding_window", "has no meaning for model_type llama; remove it");
    if (use && r->c->family == HF_QWEN2 && !types &&
        json_get_int(r->o, "", "max_window_layers", 0, INT32_MAX, &from, r->e))
        return -1;
    if (n > 1024) return 0; /* model.c refuses so many layers */
    bool windowed[1024], any = false;
    for (int64_t i = 0; i < n; i++) {
        int w = is_windowed(r, types, from, i);
        if (w < 0) return -1;
        any |= windowed[i] = w && use && window > 0;
        if (types && w && !windowed[i])
            return err_at(r->e, 0, "layer_types",
                          "layer %lld slides, but sliding_window or use_sliding_window says that "
                          "no layer does",
                          (long long)i);
    }
    if (!any) return 0;
    gguf_keys_int(r->k, key_of(r, "attention.sliding_window").s, window);
    gguf_keys_array(r->k, key_of(r, "attention.sliding_window_pattern").s, V_BOOL, (uint64_t)n);
    for (int64_t i = 0; i < n; i++) gguf_keys_put_bool(r->k, windowed[i]);
    return 0;
}
