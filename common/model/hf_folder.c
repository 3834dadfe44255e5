/* hf_folder.c: a tokenizer as a Hugging Face folder. See hf_folder.h. */
#include "model/hf_folder.h"

#include "base/json.h"
#include "base/target.h"
#include "base/utf8.h"
#include "model/tokenizer.h"
#include "model/vocab.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What the files are made from. */
struct source {
    const struct gguf *g;
    struct tokenizer *t;
    struct vocab vocab;      /* kinds */
    struct gguf_str *texts;  /* (vocab.n), in GPT-2's alphabet, as the file has them */
    struct gguf_str *merges; /* (n_merges) */
    uint64_t n_merges;
    const char *pre; /* the JSON of the pre-tokenizer */
};

static int read_source(struct source *s, const struct gguf *g, struct err *e);
static void release_source(struct source *s);
static cJSON *tokenizer_json(const struct source *s);
static cJSON *config_json(const struct source *s);
static cJSON *special_json(const struct source *s);
static int write_file(const char *folder, const char *name, cJSON *tree, struct err *e);

int hf_folder_write(const struct gguf *g, const char *folder, struct err *e) {
    struct source s;
    int rc = read_source(&s, g, e);
    if (!rc && mkdir(folder, 0777) && errno != EEXIST)
        rc = err_at(e, 0, "--out", "%.200s can't be made: %s", folder, strerror(errno));
    if (!rc) rc = write_file(folder, "tokenizer.json", tokenizer_json(&s), e);
    if (!rc) rc = write_file(folder, "tokenizer_config.json", config_json(&s), e);
    if (!rc) rc = write_file(folder, "special_tokens_map.json", special_json(&s), e);
    release_source(&s);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

#define BYTE_LEVEL(regex)                                                                          \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_"              \
    "regex\":" regex "}"
#define GPT2 BYTE_LEVEL("true")
#define SINGLE_DIGITS                                                                              \
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\",\"individual_digits\":true}"   \
    "," GPT2 "]}"
static const struct {
    const char *name, *json;
} pre_tokenizers[] = {{"gpt-2", GPT2}, {"smollm", SINGLE_DIGITS}, {"starcoder", SINGLE_DIGITS}};

static int find_pre(struct source *s, struct err *e) {
    struct gguf_str name = {"", 0};
    if (gguf_get_str(s->g, "tokenizer.ggml.pre", &name, e) < 0) return -1;
    for (size_t i = 0; i < sizeof pre_tokenizers / sizeof *pre_tokenizers; i++)
        if (strlen(pre_tokenizers[i].name) == name.n &&
            !memcmp(pre_tokenizers[i].name, name.s, name.n))
            s->pre = pre_tokenizers[i].json;
    return s->pre ? 0
                  : err_at(e, 0, "tokenizer.ggml.pre",
                           "can't be written as a Hugging Face folder; take the one that the "
                           "model was published with");
}

static bool is_utf8(struct gguf_str text) {
    for (size_t i = 0, n; i < text.n; i += n)
        if (!(n = utf8_char_bytes(text.s + i, text.n - i)) || !text.s[i]) return false;
    return true;
}

static int read_source(struct source *s, const struct gguf *g, struct err *e) {
    uint64_t n;
    *s = (struct source){.g = g};
    s->t = tokenizer_create(g, e); /* checks everything that it needs */
    if (!s->t || find_pre(s, e) || vocab_read(&s->vocab, g, e) ||
        gguf_get_str_array(g, "tokenizer.ggml.tokens", &s->texts, &n, e) ||
        gguf_get_str_array(g, "tokenizer.ggml.merges", &s->merges, &s->n_merges, e))
        return -1;
    for (int32_t i = 0; i < s->vocab.n; i++)
        if (!is_utf8(s->texts[i]))
            return err_at(e, 0, "tokenizer.ggml.tokens", "entry %d is not well-formed UTF-8", i);
    return 0;
}

static void release_source(struct source *s) {
    tokenizer_free(s->t);
    vocab_release(&s->vocab);
    free(s->texts);
    free(s->merges);
}

/* A copy with a NUL; the caller frees it. */
static char *copy(struct gguf_str text) {
    char *out = strndup(text.s, text.n);
    INVARIANT(out);
    return out;
}

static cJSON *string(struct gguf_str text) {
    char *s = copy(text);
    cJSON *out = cJSON_CreateString(s);
    free(s);
    return out;
}

/* ---- the files ------------------------------------------------------------------------------- */

static cJSON *added_tokens(const struct source *s) {
    cJSON *list = cJSON_CreateArray();
    for (int32_t i = 0; i < s->vocab.n; i++) {
        int kind = s->vocab.tokens[i].kind;
        if (kind != TOKEN_CONTROL && kind != TOKEN_USER_DEFINED) continue;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddNumberToObject(o, "id", i);
        cJSON_AddItemToObject(o, "content", string(s->texts[i]));
        cJSON_AddBoolToObject(o, "single_word", false);
        cJSON_AddBoolToObject(o, "lstrip", false);
        cJSON_AddBoolToObject(o, "rstrip", false);
        cJSON_AddBoolToObject(o, "normalized", false);
        cJSON_AddBoolToObject(o, "special", kind == TOKEN_CONTROL);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

/* Puts bos before a text. NULL: nothing does. */
static cJSON *post_processor(const struct source *s) {
    if (!tokenizer_adds_bos(s->t)) return cJSON_CreateNull();
    char *bos = copy(s->texts[tokenizer_bos(s->t)]);
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "type", "TemplateProcessing");
    for (int pair = 0; pair < 2; pair++) {
        cJSON *list = cJSON_AddArrayToObject(o, pair ? "pair" : "single");
        for (int i = 0; i < 2 + 2 * pair; i++) {
            cJSON *item = cJSON_CreateObject();
            cJSON *part = cJSON_AddObjectToObject(item, i % 2 ? "Sequence" : "SpecialToken");
            cJSON_AddStringToObject(part, "id", i % 2 == 0 ? bos : i == 1 ? "A" : "B");
            cJSON_AddNumberToObject(part, "type_id", i / 2);
            cJSON_AddItemToArray(list, item);
        }
    }
    cJSON *token = cJSON_AddObjectToObject(cJSON_AddObjectToObject(o, "special_tokens"), bos);
    cJSON_AddStringToObject(token, "id", bos);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(token, "ids"),
                         cJSON_CreateNumber(tokenizer_bos(s->t)));
    cJSON_AddItemToArray(cJSON_AddArrayToObject(token, "tokens"), cJSON_CreateString(bos));
    free(bos);
    return o;
}

static cJSON *bpe(const struct source *s) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "type", "BPE");
    static const char *const absent[] = {"dropout", "unk_token", "continuing_subword_prefix",
                                         "end_of_word_suffix"};
    for (int i = 0; i < 4; i++) cJSON_AddNullToObject(o, absent[i]);
    cJSON_AddBoolToObject(o, "fuse_unk", false);
    cJSON_AddBoolToObject(o, "byte_fallback", false);
    cJSON_AddBoolToObject(o, "ignore_merges", false);
    cJSON *vocab = cJSON_AddObjectToObject(o, "vocab");
    for (int32_t i = 0; i < s->vocab.n; i++) {
        char *text = copy(s->texts[i]);
        cJSON_AddNumberToObject(vocab, text, i);
        free(text);
    }
    cJSON *merges = cJSON_AddArrayToObject(o, "merges");
    for (uint64_t i = 0; i < s->n_merges; i++) cJSON_AddItemToArray(merges, string(s->merges[i]));
    return o;
}

static cJSON *tokenizer_json(const struct source *s) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "version", "1.0");
    cJSON_AddNullToObject(o, "truncation");
    cJSON_AddNullToObject(o, "padding");
    cJSON_AddItemToObject(o, "added_tokens", added_tokens(s));
    cJSON_AddNullToObject(o, "normalizer");
    cJSON_AddItemToObject(o, "pre_tokenizer", cJSON_Parse(s->pre));
    cJSON_AddItemToObject(o, "post_processor", post_processor(s));
    cJSON_AddItemToObject(o, "decoder", cJSON_Parse(GPT2));
    cJSON_AddItemToObject(o, "model", bpe(s));
    return o;
}

/* Adds "bos_token" and "eos_token", where the model has them. */
static void add_special(const struct source *s, cJSON *o) {
    int32_t bos = tokenizer_bos(s->t), eos = tokenizer_eos(s->t);
    if (bos >= 0) cJSON_AddItemToObject(o, "bos_token", string(s->texts[bos]));
    if (eos >= 0) cJSON_AddItemToObject(o, "eos_token", string(s->texts[eos]));
}

static void add_chat_template(const struct source *s, cJSON *o) {
    struct gguf_str jinja = {"", 0};
    if (gguf_get_str(s->g, "tokenizer.chat_template", &jinja, NULL) || !is_utf8(jinja)) return;
    /* transformers puts no bos before a rendered template */
    bool bos = tokenizer_adds_bos(s->t) && !memmem(jinja.s, jinja.n, "bos_token", 9);
    char *text = malloc(jinja.n + 32);
    INVARIANT(text);
    snprintf(text, jinja.n + 32, "%s%.*s", bos ? "{{ bos_token }}" : "", (int)jinja.n, jinja.s);
    cJSON_AddStringToObject(o, "chat_template", text);
    free(text);
}

static cJSON *config_json(const struct source *s) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "tokenizer_class", "PreTrainedTokenizerFast");
    add_special(s, o);
    cJSON_AddBoolToObject(o, "clean_up_tokenization_spaces", false);
    struct gguf_str architecture;
    char key[80];
    int64_t context;
    if (!gguf_get_str(s->g, "general.architecture", &architecture, NULL)) {
        snprintf(key, sizeof key, "%.*s.context_length",
                 (int)(architecture.n < 40 ? architecture.n : 40), architecture.s);
        if (!gguf_get_int(s->g, key, 1, INT32_MAX, &context, NULL))
            json_add_int(o, "model_max_length", context);
    }
    add_chat_template(s, o);
    return o;
}

static cJSON *special_json(const struct source *s) {
    cJSON *o = cJSON_CreateObject();
    add_special(s, o);
    return o;
}

/* Takes the tree. */
static int write_file(const char *folder, const char *name, cJSON *tree, struct err *e) {
    char path[PATH_MAX];
    struct err why;
    char *text = json_print(tree);
    cJSON_Delete(tree);
    if (!text) return err_set(e, "no memory for %s", name);
    int rc = 0;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        rc = err_at(e, 0, "--out", "the path is too long");
    else if (target_write(path, text, strlen(text), &why))
        rc = err_at(e, 0, "--out", "%.200s %s", path, why.text);
    cJSON_free(text);
    return rc;
}
