/* hf_tokenizer.c: the tokenizer of a Hugging Face folder, as the keys that a GGUF file would have.
 * See hf_model.h. Read are byte-level BPE and SentencePiece-type BPE with the normalizers,
 * pre-tokenizers and post-processors of the supported families; others are refused by name, because
 * they would give other ids. Not here: encoding (tokenizer.c). */
#include "model/hf_internal.h"

#include "base/json.h"
#include "model/vocab.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEMPLATE "chat_template.jinja"
enum {
    MAX_ENDS = 6,
    MAX_PADDING = 4096 /* rows of an embedding without a token; published models have up to 421 */
};

struct source {
    const cJSON *json;   /* tokenizer.json */
    const cJSON *config; /* tokenizer_config.json, or NULL */
    struct gguf_keys *k;
    struct err *e;
    bool sentencepiece;
    int32_t n;
    const char **texts; /* (n); NULL: no token has the id */
    int32_t *kinds;     /* (n) */
};

static int read_tokens(struct source *s);
static int write_merges(struct source *s);
static int write_way_of_splitting(struct source *s);
static int check_belonging(struct source *s, const cJSON *config);
static int write_roles(struct source *s, const cJSON *config, const cJSON *generation);
static int write_template(struct source *s, const char *folder);

static const cJSON *at(const cJSON *o, const char *field) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, field);
    return cJSON_IsNull(v) ? NULL : v;
}

static bool is(const cJSON *o, const char *field, const char *text) {
    const cJSON *v = at(o, field);
    return cJSON_IsString(v) && !strcmp(v->valuestring, text);
}

static void write_tokens(struct source *s) {
    gguf_keys_puts(s->k, "tokenizer.ggml.model", s->sentencepiece ? "llama" : "gpt2");
    gguf_keys_array(s->k, "tokenizer.ggml.tokens", V_STRING, (uint64_t)s->n);
    for (int32_t i = 0; i < s->n; i++) {
        const char *text = s->texts[i] ? s->texts[i] : "";
        gguf_keys_put_str(s->k, text, strlen(text));
    }
    gguf_keys_array(s->k, "tokenizer.ggml.token_type", V_INT32, (uint64_t)s->n);
    for (int32_t i = 0; i < s->n; i++) gguf_keys_put_int32(s->k, s->kinds[i]);
}

int hf_tokenizer_keys(const char *folder, const cJSON *config, struct gguf_keys *k, struct err *e) {
    bool found, configured, generating;
    struct source s = {.k = k, .e = e};
    cJSON *json = hf_read_json(folder, "tokenizer.json", &found, e);
    if (!json) return found ? -1 : 0;
    cJSON *own = hf_read_json(folder, "tokenizer_config.json", &configured, e);
    cJSON *generation =
        own || !configured ? hf_read_json(folder, "generation_config.json", &generating, e) : NULL;
    int rc = (configured && !own) || (generating && !generation) ? -1 : 0;
    s.json = json;
    s.config = own;
    if (rc == 0 && read_tokens(&s)) rc = hf_in_file("tokenizer.json", e);
    if (rc == 0) write_tokens(&s);
    if (rc == 0 && (write_merges(&s) || write_way_of_splitting(&s)))
        rc = hf_in_file("tokenizer.json", e);
    if (rc == 0) rc = check_belonging(&s, config);
    if (rc == 0) rc = write_roles(&s, config, generation);
    if (rc == 0) rc = write_template(&s, folder);
    free(s.texts);
    free(s.kinds);
    cJSON_Delete(json);
    cJSON_Delete(own);
    cJSON_Delete(generation);
    return rc;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* The id that a vocabulary's member or an added token states, below VOCAB_MAX; -1 and the error. */
static int32_t read_id(struct source *s, const char *field, const cJSON *v) {
    if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0 && v->valuedouble < VOCAB_MAX) ||
        v->valuedouble != (int32_t)v->valuedouble)
        return err_at(s->e, 0, field, "has an id that is not an integer from 0 to %d",
                      VOCAB_MAX - 1);
    return (int32_t)v->valuedouble;
}

static int check_model(struct source *s, const cJSON *model) {
    static const char *const absent[] = {"dropout", "continuing_subword_prefix",
                                         "end_of_word_suffix"};
    if (!is(model, "type", "BPE") && (at(model, "type") || !at(model, "merges"))) {
        const cJSON *type = at(model, "type");
        return err_at(s->e, 0, "model.type", "is '%.40s'; BPE is supported",
                      cJSON_IsString(type) ? type->valuestring : "?");
    }
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        const cJSON *v = at(model, absent[i]);
        if (v && !is(model, absent[i], "") && !(cJSON_IsNumber(v) && v->valuedouble == 0))
            return err_at(s->e, 0, "model", "has %s, which is not supported", absent[i]);
    }
    s->sentencepiece = cJSON_IsTrue(at(model, "byte_fallback"));
    return 0;
}

/* The largest id of all tokens, and their number. */
static int count_tokens(struct source *s, const cJSON *vocab, const cJSON *added) {
    const cJSON *v;
    cJSON_ArrayForEach(v, vocab) {
        int32_t id = read_id(s, "model.vocab", v);
        if (id < 0) return -1;
        if (id >= s->n) s->n = id + 1;
    }
    cJSON_ArrayForEach(v, added) {
        int32_t id = read_id(s, "added_tokens", at(v, "id"));
        if (id < 0) return -1;
        if (id >= s->n) s->n = id + 1;
    }
    if (s->n == 0) return err_at(s->e, 0, "model.vocab", "has no tokens");
    s->texts = calloc((size_t)s->n, sizeof *s->texts);
    s->kinds = calloc((size_t)s->n, sizeof *s->kinds);
    if (!s->texts || !s->kinds) return err_set(s->e, "out of memory for %d tokens", s->n);
    for (int32_t i = 0; i < s->n; i++) s->kinds[i] = TOKEN_UNUSED;
    return 0;
}

static int take_added(struct source *s, const cJSON *v) {
    static const char *const unsupported[] = {"single_word", "lstrip", "rstrip"};
    const cJSON *content = at(v, "content");
    if (!cJSON_IsString(content) || !content->valuestring[0])
        return err_at(s->e, 0, "added_tokens", "has an entry without content");
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        if (cJSON_IsTrue(at(v, unsupported[i])))
            return err_at(s->e, 0, "added_tokens",
                          "'%.40s' has %s, which changes the text around it and is not supported",
                          content->valuestring, unsupported[i]);
    int32_t id = read_id(s, "added_tokens", at(v, "id"));
    if (id < 0) return -1;
    if (s->texts[id] && strcmp(s->texts[id], content->valuestring) != 0)
        return err_at(s->e, 0, "added_tokens", "'%.40s' has id %d, which is that of '%.40s'",
                      content->valuestring, id, s->texts[id]);
    s->texts[id] = content->valuestring;
    s->kinds[id] = cJSON_IsTrue(at(v, "special")) ? TOKEN_CONTROL : TOKEN_USER_DEFINED;
    return 0;
}

static bool is_byte(const char *text) {
    return strlen(text) == 6 && !strncmp(text, "<0x", 3) && text[5] == '>';
}

static int read_tokens(struct source *s) {
    const cJSON *model = at(s->json, "model"), *vocab = at(model, "vocab"), *v;
    const cJSON *added = at(s->json, "added_tokens");
    if (!cJSON_IsObject(model) || !cJSON_IsObject(vocab) || (added && !cJSON_IsArray(added)))
        return err_at(s->e, 0, "model", "has no vocabulary of a BPE tokenizer");
    if (check_model(s, model) || count_tokens(s, vocab, added)) return -1;
    cJSON_ArrayForEach(v, vocab) {
        int32_t id = (int32_t)v->valuedouble;
        if (s->texts[id])
            return err_at(s->e, 0, "model.vocab", "'%.40s' and '%.40s' have the same id %d",
                          s->texts[id], v->string, id);
        s->texts[id] = v->string;
        s->kinds[id] = TOKEN_NORMAL;
        if (s->sentencepiece && is_byte(v->string)) s->kinds[id] = TOKEN_BYTE;
        if (s->sentencepiece && is(model, "unk_token", v->string)) s->kinds[id] = TOKEN_UNKNOWN;
    }
    cJSON_ArrayForEach(v, added) if (take_added(s, v)) return -1;
    return 0;
}

/* "left right", or ["left", "right"] in newer files. */
static int write_merges(struct source *s) {
    const cJSON *merges = at(at(s->json, "model"), "merges"), *m;
    if (!cJSON_IsArray(merges)) return err_at(s->e, 0, "model.merges", "is not an array");
    gguf_keys_array(s->k, "tokenizer.ggml.merges", V_STRING, (uint64_t)cJSON_GetArraySize(merges));
    struct buffer b = {0};
    int rc = 0, i = 0;
    cJSON_ArrayForEach(m, merges) {
        const cJSON *left = cJSON_IsArray(m) ? m->child : NULL, *right = left ? left->next : NULL;
        bool pair = cJSON_IsString(left) && cJSON_IsString(right) && !right->next &&
                    !strchr(left->valuestring, ' ') && !strchr(right->valuestring, ' ');
        if (!pair && !cJSON_IsString(m)) {
            rc = err_at(s->e, 0, "model.merges", "entry %d is not a pair of tokens", i);
            break;
        }
        buffer_clear(&b);
        if (pair)
            buffer_printf(&b, "%s %s", left->valuestring, right->valuestring);
        else
            buffer_puts(&b, m->valuestring);
        gguf_keys_put_str(s->k, b.bytes, b.n);
        i++;
    }
    if (b.failed) rc = err_set(s->e, "out of memory for the merges");
    buffer_release(&b);
    return rc;
}

/* ---- how text is split ----------------------------------------------------------------------- */

/* A normalizer or pre-tokenizer as a short text: its steps, each a letter and what it depends on,
 * so that another way to write the same steps gives the same text. */
static int describe(struct source *s, const cJSON *step, const char *what, struct buffer *out) {
    const cJSON *type = at(step, "type"), *pattern = at(step, "pattern"), *v;
    const char *name = cJSON_IsString(type) ? type->valuestring : "?";
    if (!step) return 0;
    if (!strcmp(name, "Sequence")) {
        const cJSON *steps = at(step, "normalizers");
        if (!steps) steps = at(step, "pretokenizers");
        cJSON_ArrayForEach(v, steps) if (describe(s, v, what, out)) return -1;
        return 0;
    }
    v = at(pattern, "Regex");
    if (!v) v = at(pattern, "String");
    const char *text = cJSON_IsString(v) ? v->valuestring : NULL;
    if (!strcmp(name, "NFC"))
        buffer_puts(out, "NFC;");
    else if (!strcmp(name, "Prepend") && is(step, "prepend", VOCAB_BLANK))
        buffer_puts(out, "prepend;");
    else if (!strcmp(name, "Replace") && text && !strcmp(text, " ") &&
             is(step, "content", VOCAB_BLANK))
        buffer_puts(out, "replace;");
    else if (!strcmp(name, "ByteLevel") && !cJSON_IsTrue(at(step, "add_prefix_space")))
        buffer_puts(out, cJSON_IsFalse(at(step, "use_regex")) ? "bytes;" : "words;");
    else if (!strcmp(name, "Digits") && cJSON_IsTrue(at(step, "individual_digits")))
        buffer_puts(out, "digits;");
    else if (!strcmp(name, "Split") && text && is(step, "behavior", "Isolated") &&
             !cJSON_IsTrue(at(step, "invert")))
        buffer_printf(out, "%s;", text);
    else if (!strcmp(name, "Metaspace") && is(step, "replacement", VOCAB_BLANK) &&
             cJSON_IsFalse(at(step, "split")) && cJSON_IsString(at(step, "prepend_scheme")))
        buffer_printf(out, "metaspace-%s;", at(step, "prepend_scheme")->valuestring);
    else
        return err_at(s->e, 0, what,
                      "has a step '%.40s' that is not known, or not with these settings", name);
    return 0;
}

#define LLAMA3(DIGITS)                                                                             \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" DIGITS                           \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+;bytes;"

/* Normalizer, then pre-tokenizer, and what GGUF calls them. */
static const struct {
    const char *steps, *pre; /* pre NULL: SentencePiece, with: */
    const char *space_prefix;
    bool whole_words; /* ignore_merges */
} known[] = {
    {"words;", "gpt-2", NULL, false},
    {"digits;words;", "smollm", NULL, false},
    {LLAMA3("\\p{N}{1,3}"), "llama-bpe", NULL, true},
    {LLAMA3("\\p{N}"), "qwen2-as-is", NULL, false},
    {"NFC;" LLAMA3("\\p{N}"), "qwen2", NULL, false},
    {"prepend;replace;", NULL, "each", false},
    {"replace;", NULL, "none", false},
    {"metaspace-always;", NULL, "each-unless-blank", false},
    {"metaspace-first;", NULL, "first-unless-blank", false},
    {"metaspace-never;", NULL, "none", false},
};

static int write_way_of_splitting(struct source *s) {
    struct buffer b = {0};
    size_t i = 0, n = sizeof known / sizeof *known;
    buffer_puts(&b, "");
    int rc = describe(s, at(s->json, "normalizer"), "normalizer", &b);
    if (rc == 0) rc = describe(s, at(s->json, "pre_tokenizer"), "pre_tokenizer", &b);
    if (rc == 0 && b.failed) rc = err_set(s->e, "out of memory");
    while (rc == 0 && i < n &&
           (strcmp(known[i].steps, b.bytes) != 0 || !known[i].pre != s->sentencepiece))
        i++;
    if (rc == 0 && i == n)
        rc = err_at(s->e, 0, "pre_tokenizer",
                    "is none of those of the supported families (GPT-2, SmolLM, Llama 3, Qwen2, "
                    "SentencePiece); its steps are '%.200s'",
                    b.bytes);
    buffer_release(&b);
    if (rc) return -1;
    if (known[i].whole_words != cJSON_IsTrue(at(at(s->json, "model"), "ignore_merges")))
        return err_at(s->e, 0, "model.ignore_merges", "is %s, unlike that of other %s tokenizers",
                      known[i].whole_words ? "not true" : "true", known[i].pre);
    if (known[i].pre) gguf_keys_puts(s->k, "tokenizer.ggml.pre", known[i].pre);
    if (known[i].space_prefix)
        gguf_keys_puts(s->k, "tokenizer.ggml.space_prefix", known[i].space_prefix);
    return 0;
}

/* ---- special tokens and the chat template ---------------------------------------------------- */

static int32_t id_of(const struct source *s, const char *text) {
    for (int32_t i = s->n - 1; i >= 0; i--) /* added tokens are at the end */
        if (s->texts[i] && !strcmp(s->texts[i], text)) return i;
    return -1;
}

/* The token that the post-processor puts before a text; -1: none; -2 and the error. */
static int32_t put_before(struct source *s, const cJSON *post) {
    const cJSON *v;
    int32_t id = -1;
    if (!post || is(post, "type", "ByteLevel")) return -1;
    if (is(post, "type", "Sequence")) {
        cJSON_ArrayForEach(v, at(post, "processors")) {
            int32_t one = put_before(s, v);
            if (one == -2) return -2;
            if (one >= 0) id = one;
        }
        return id;
    }
    const cJSON *single = at(post, "single"), *last = single ? single->child : NULL;
    const char *before = NULL;
    if (last && last->next) {
        v = at(at(last, "SpecialToken"), "id");
        before = cJSON_IsString(v) ? v->valuestring : NULL;
        last = last->next;
    }
    if (!is(post, "type", "TemplateProcessing") || !last || last->next ||
        !is(at(last, "Sequence"), "id", "A") || (last != single->child && !before)) {
        err_at(s->e, 0, "post_processor",
               "does something else than to put one token before a text, which is not supported");
        return -2;
    }
    if (!before) return -1;
    id = id_of(s, before);
    if (id >= 0) return id;
    err_at(s->e, 0, "post_processor", "puts '%.40s' before a text, which is no token", before);
    return -2;
}

/* The id of bos_token or eos_token in tokenizer_config.json; -1: none; -2 and the error. */
static int32_t named(struct source *s, const char *field) {
    const cJSON *v = at(s->config, field);
    if (cJSON_IsObject(v)) v = at(v, "content");
    if (!v) return -1;
    int32_t id = cJSON_IsString(v) ? id_of(s, v->valuestring) : -1;
    if (id >= 0) return id;
    err_at(s->e, 0, field, "is '%.40s', which is no token of tokenizer.json",
           cJSON_IsString(v) ? v->valuestring : "?");
    hf_in_file("tokenizer_config.json", s->e);
    return -2;
}

/* The tokens of the tokenizer are those of the model, but for padding. */
static int check_belonging(struct source *s, const cJSON *config) {
    const cJSON *rows = at(config, "vocab_size"), *bos = at(config, "bos_token_id");
    if (cJSON_IsNumber(rows) && s->n < rows->valuedouble - MAX_PADDING) {
        err_at(s->e, 0, "model.vocab",
               "has %d tokens, but vocab_size is %.0f in config.json; does the tokenizer belong to "
               "this model?",
               s->n, rows->valuedouble);
        return hf_in_file("tokenizer.json", s->e);
    }
    if (!cJSON_IsNumber(bos) || bos->valuedouble < s->n) return 0;
    err_at(s->e, 0, "bos_token_id",
           "is %.0f, but tokenizer.json has %d tokens; does the tokenizer belong to this model?",
           bos->valuedouble, s->n);
    return hf_in_file("config.json", s->e);
}

/* Adds ids from config.json or generation_config.json: a number, or an array of some. */
static int add_ends(struct source *s, const char *file, const cJSON *v, int32_t *ids, int *n) {
    const cJSON *one = cJSON_IsArray(v) ? v->child : v;
    for (; one; one = cJSON_IsArray(v) ? one->next : NULL) {
        bool seen = false;
        int32_t id = read_id(s, "eos_token_id", one);
        if (id < 0) return hf_in_file(file, s->e);
        if (id >= s->n) {
            err_at(s->e, 0, "eos_token_id",
                   "is %d, but tokenizer.json has %d tokens; does the tokenizer belong to this "
                   "model?",
                   id, s->n);
            return hf_in_file(file, s->e);
        }
        for (int i = 0; i < *n; i++) seen |= ids[i] == id;
        if (!seen && *n < MAX_ENDS) ids[(*n)++] = id;
    }
    return 0;
}

static int write_ends(struct source *s, const cJSON *config, const cJSON *generation) {
    static const char *const roles[MAX_ENDS] = {"eos",     "eot",     "eom",
                                                "fim_pad", "fim_rep", "fim_sep"};
    int32_t ids[MAX_ENDS];
    int n = 0;
    int32_t eos = named(s, "eos_token");
    if (eos == -2) return -1;
    if (eos >= 0) ids[n++] = eos;
    if (add_ends(s, "config.json", at(config, "eos_token_id"), ids, &n) ||
        add_ends(s, "generation_config.json", at(generation, "eos_token_id"), ids, &n))
        return -1;
    for (int i = 0; i < n; i++) {
        char key[64];
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", roles[i]);
        gguf_keys_int(s->k, key, ids[i]);
    }
    return 0;
}

static int write_roles(struct source *s, const cJSON *config, const cJSON *generation) {
    int32_t before = put_before(s, at(s->json, "post_processor")), bos = named(s, "bos_token");
    if (before == -2) return hf_in_file("tokenizer.json", s->e);
    if (bos == -2) return -1;
    if (bos < 0) bos = before;
    if (before >= 0 && before != bos) {
        err_at(s->e, 0, "post_processor", "puts '%.40s' before a text, not the bos token '%.40s'",
               s->texts[before], s->texts[bos]);
        return hf_in_file("tokenizer.json", s->e);
    }
    const cJSON *adds = at(s->config, "add_bos_token");
    if (cJSON_IsTrue(at(s->config, "add_eos_token")) ||
        (cJSON_IsBool(adds) && cJSON_IsTrue(adds) != (before >= 0))) {
        err_at(s->e, 0, "add_bos_token",
               "or add_eos_token says otherwise than the post-processor of tokenizer.json; save "
               "the tokenizer again with transformers");
        return hf_in_file("tokenizer_config.json", s->e);
    }
    if (bos >= 0) gguf_keys_int(s->k, "tokenizer.ggml.bos_token_id", bos);
    gguf_keys_bool(s->k, "tokenizer.ggml.add_bos_token", before >= 0);
    return write_ends(s, config, generation);
}

/* A text in tokenizer_config.json, there one of several by name, or a file of its own. */
static int write_template(struct source *s, const char *folder) {
    const cJSON *v = at(s->config, "chat_template"), *one;
    if (cJSON_IsArray(v)) {
        const cJSON *list = v;
        v = NULL;
        cJSON_ArrayForEach(one, list) if (is(one, "name", "default")) v = at(one, "template");
    }
    if (cJSON_IsString(v)) {
        gguf_keys_puts(s->k, "tokenizer.chat_template", v->valuestring);
        return 0;
    }
    char path[PATH_MAX];
    size_t n;
    snprintf(path, sizeof path, "%s/" TEMPLATE, folder);
    if (!hf_is_there(path)) return 0;
    char *text = json_read_file(path, &n, s->e);
    if (!text) return hf_in_file(TEMPLATE, s->e);
    gguf_keys_str(s->k, "tokenizer.chat_template", text, n);
    free(text);
    return 0;
}
