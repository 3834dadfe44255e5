/* cmd_model.c: `servelab model`: describes a model file, and encodes and decodes text with its
 * tokenizer. Not here: reading (model/gguf.h, model/model.h), encoding (model/tokenizer.h), the
 * tokenizer's folder (model/hf_folder.h). */
#include "base/home.h"
#include "cli/options.h"
#include "model/gguf.h"
#include "model/hf_folder.h"
#include "model/model.h"
#include "model/tokenizer.h"
#include "base/utf8.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUT_BYTES = 64 * 1024 * 1024 }; /* of standard input; a prompt has some kilobytes */

struct options {
    const char *model, *out;
    bool chat, special, tensors, json;
    char **words; /* the arguments */
    int n_words;
};

enum { INFO = 1, TOKENIZE = 2, DETOKENIZE = 4, FOLDER = 8 }; /* which commands have a flag */
#define T struct options
static const struct option_flag flags[] = {
    OPTION_FILE(T, model, "model", "FILE",
                "a GGUF file or a Hugging Face folder (" HOME_DEFAULT_MODEL "); tokenize and "
                "detokenize need no weights in a GGUF file"),
    OPTION_SWITCH(T, chat, "chat", "TEXT is a user's message: apply the model's chat template",
                  .only = TOKENIZE),
    OPTION_SWITCH(T, special, "special",
                  "the text of a special token is that token, as in a raw prompt",
                  .only = TOKENIZE | DETOKENIZE),
    OPTION_SWITCH(T, tensors, "tensors", "list every tensor", .only = INFO),
    OPTION_FILE(T, out, "out", "DIR", "the folder; it is made if it isn't there", .only = FOLDER),
    OPTION_SWITCH(T, json, "json", "one JSON object"),
    {0}};
#undef T
static const struct option_rule rules[] = {{OPTION_EXCLUDE, {"chat", "special"}}, {0}};
static const struct option_rule folder_rules[] = {{OPTION_ONE_OF, {"out"}}, {0}};

static int run_info(int argc, char **argv);
static int run_tokenize(int argc, char **argv);
static int run_detokenize(int argc, char **argv);
static int run_tokenizer(int argc, char **argv);
static const struct command *const model_commands[] = {&model_info_command, &model_tokenize_command,
                                                       &model_detokenize_command,
                                                       &model_tokenizer_command, NULL};
#define EXITS "0 done; 2 the file, the text or a flag is wrong"

const struct command model_info_command = {.name = "model info",
                                           .summary = "show what a model file holds",
                                           .run = run_info,
                                           .usage = "[FILE] [--tensors] [--json]",
                                           .about =
                                               "The shape of a model (a GGUF file or a Hugging "
                                               "Face folder), its tensors by type, its tokenizer.",
                                           .flags = flags,
                                           .args = {"FILE"},
                                           .max_args = 1,
                                           .exits = EXITS,
                                           .examples = "servelab model info",
                                           .variant = INFO,
                                           .share = model_commands};

const struct command model_tokenize_command = {
    .name = "model tokenize",
    .summary = "text to token ids",
    .run = run_tokenize,
    .usage = "[--model FILE] [--chat | --special] [--json] TEXT|-",
    .about = "Token ids of TEXT (- is standard input) and the piece of text behind each.",
    .flags = flags,
    .rules = rules,
    .args = {"TEXT"},
    .min_args = 1,
    .max_args = 1,
    .exits = EXITS,
    .examples = "servelab model tokenize --special '? K7Q2'",
    .variant = TOKENIZE,
    .share = model_commands};

const struct command model_detokenize_command = {
    .name = "model detokenize",
    .summary = "token ids to text",
    .run = run_detokenize,
    .usage = "[--model FILE] [--special] [--json] ID...|-",
    .about = "The text of token ids (- reads them from standard input); ill-formed UTF-8 "
             "becomes U+FFFD.",
    .flags = flags,
    .args = {"ID"},
    .min_args = 1,
    .max_args = OPTIONS_MANY,
    .exits = EXITS,
    .examples = "servelab model detokenize 20 21 22",
    .variant = DETOKENIZE,
    .share = model_commands};

const struct command model_tokenizer_command = {
    .name = "model tokenizer",
    .summary = "the tokenizer as a Hugging Face folder",
    .run = run_tokenizer,
    .usage = "[--model FILE] --out DIR [--json]",
    .about = "Writes tokenizer.json, tokenizer_config.json and special_tokens_map.json to DIR, for "
             "load generators and other clients that count tokens with `transformers`.",
    .flags = flags,
    .rules = folder_rules,
    .exits = EXITS,
    .examples = "servelab model tokenizer --out tokenizer",
    .variant = FOLDER,
    .share = model_commands};

/* ---- text that is safe for a terminal and a JSON reader -------------------------------------- */

/* Well-formed UTF-8 in a fresh string; ill-formed parts become U+FFFD. */
static char *to_utf8(const char *s, size_t n) {
    char *out = malloc(3 * n + 8);
    INVARIANT(out);
    unsigned char held[4];
    int32_t n_held = 0;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) at += utf8_stream(held, &n_held, (unsigned char)s[i], out + at);
    if (n_held > 0) at += utf8_encode(0xfffd, out + at);
    out[at] = '\0';
    return out;
}

static void add_text(cJSON *o, const char *key, const char *s, size_t n) {
    char *text = to_utf8(s, n);
    cJSON_AddStringToObject(o, key, text);
    free(text);
}

/* A piece between quotes, on one line: control and ill-formed bytes as \xNN. */
static void print_quoted(const char *s, size_t n) {
    putchar('"');
    for (size_t i = 0; i < n;) {
        size_t len = utf8_char_bytes(s + i, n - i);
        unsigned char c = (unsigned char)s[i];
        if (c == '\n')
            fputs("\\n", stdout);
        else if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (len == 0 || c < 0x20 || c == 0x7f)
            printf("\\x%02x", c);
        else
            fwrite(s + i, 1, len, stdout);
        i += len ? len : 1;
    }
    putchar('"');
}

static int print_json(cJSON *root) {
    char *text = cJSON_PrintUnformatted(root);
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(root);
    return text ? CLI_DONE : CLI_FAULT;
}

/* ---- info ------------------------------------------------------------------------------------ */

struct facts {
    struct gguf *g;      /* owned, unless a model owns it */
    struct model *model; /* NULL for a vocabulary alone */
    struct tokenizer
        *t; /* NULL when the file's tokenizer can't be read; then `why` has the reason */
    struct err why;
};

static uint64_t values_of(const struct gguf_tensor_info *t) {
    uint64_t n = 1;
    for (int32_t d = 0; d < t->n_dims; d++) n *= t->dims[d];
    return n;
}

static void info_json(const struct facts *f, const char *path) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "file", path);
    cJSON_AddNumberToObject(root, "file_bytes", (double)gguf_file_bytes(f->g));
    if (f->model) {
        const struct model_config *c = &f->model->config;
        cJSON *o = cJSON_AddObjectToObject(root, "config");
        cJSON_AddStringToObject(o, "name", c->name);
        const struct {
            const char *key;
            double v;
        } numbers[] = {{"vocab_size", c->vocab_size},
                       {"d_model", c->d_model},
                       {"n_layers", c->n_layers},
                       {"n_heads", c->n_heads},
                       {"n_kv_heads", c->n_kv_heads},
                       {"head_dim", c->head_dim},
                       {"d_ffn", c->d_ffn},
                       {"context_length_tokens", c->context_length},
                       {"rope_theta", c->rope_theta},
                       {"rope_scale", c->rope_scale},
                       {"rms_eps", c->rms_eps},
                       {"window_tokens", c->window},
                       {"yarn_magnitude", c->yarn_magnitude}};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            cJSON_AddNumberToObject(o, numbers[i].key, numbers[i].v);
        cJSON_AddBoolToObject(o, "tied", c->tied);
        cJSON_AddBoolToObject(o, "qkv_bias", f->model->layers[0].bq.data != NULL);
        cJSON_AddStringToObject(o, "rope_pairing",
                                f->model->rope == ROPE_HALVES ? "halves" : "neighbours");
    }
    cJSON *tensors = cJSON_AddArrayToObject(root, "tensors");
    for (size_t i = 0; i < gguf_n_tensors(f->g); i++) {
        struct gguf_tensor_info t;
        gguf_tensor_at(f->g, i, &t);
        cJSON *o = cJSON_CreateObject();
        add_text(o, "name", t.name.s, t.name.n);
        cJSON_AddStringToObject(o, "type", t.type);
        cJSON_AddNumberToObject(o, "rows", t.n_dims > 1 ? (double)t.dims[1] : 1);
        cJSON_AddNumberToObject(o, "cols", (double)t.dims[0]);
        cJSON_AddNumberToObject(o, "bytes", (double)t.bytes);
        cJSON_AddItemToArray(tensors, o);
    }
    if (f->t) {
        cJSON *o = cJSON_AddObjectToObject(root, "tokenizer");
        cJSON_AddNumberToObject(o, "vocab_size", tokenizer_vocab_size(f->t));
        cJSON_AddNumberToObject(o, "bos", tokenizer_bos(f->t));
        cJSON_AddNumberToObject(o, "eos", tokenizer_eos(f->t));
        cJSON_AddBoolToObject(o, "adds_bos", tokenizer_adds_bos(f->t));
        cJSON_AddStringToObject(o, "chat_template", tokenizer_chat_family(f->t));
    } else {
        cJSON_AddNullToObject(root, "tokenizer");
    }
    print_json(root);
}

static void print_config(const struct model *m) {
    const struct model_config *c = &m->config;
    printf("  name           %s\n", c->name);
    printf("  layers         %d, d_model %d, d_ffn %d\n", c->n_layers, c->d_model, c->d_ffn);
    printf("  attention      %d query heads and %d KV heads of %d%s\n", c->n_heads, c->n_kv_heads,
           c->head_dim, m->layers[0].bq.data ? ", with q/k/v bias" : "");
    printf("  rope           theta %g, pairs are %s%s", (double)c->rope_theta,
           m->rope == ROPE_HALVES ? "halves" : "neighbours",
           m->rope_factors.data ? ", with frequency factors" : "");
    if (c->rope_scale != 1) printf(", positions divided by %g", (double)c->rope_scale);
    if (c->yarn_magnitude != 0) printf(", yarn of magnitude %g", (double)c->yarn_magnitude);
    putchar('\n');
    printf("  vocabulary     %d, head %s\n", c->vocab_size,
           c->tied ? "tied to the embedding" : "separate");
    printf("  context        %d tokens; keys and values take %d numbers a token\n",
           c->context_length, 2 * c->n_layers * c->n_kv_heads * c->head_dim);
    int32_t windowed = 0;
    for (int32_t i = 0; i < c->n_layers; i++) windowed += m->layers[i].windowed;
    if (windowed) printf("  window         %d tokens, in %d layers\n", c->window, windowed);
}

/* Tensors by type, in the order in which the types first occur. */
static void print_types(const struct gguf *g) {
    enum { MAX_TYPES = 64 };
    struct {
        const char *name;
        uint64_t n, values, bytes;
    } types[MAX_TYPES];
    size_t n_types = 0;
    uint64_t values = 0, bytes = 0;
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        struct gguf_tensor_info t;
        gguf_tensor_at(g, i, &t);
        size_t k = 0;
        while (k < n_types && strcmp(types[k].name, t.type) != 0) k++;
        if (k == MAX_TYPES) continue;
        if (k == n_types) {
            types[n_types].name = t.type;
            types[n_types].n = types[n_types].values = types[n_types].bytes = 0;
            n_types++;
        }
        types[k].n++;
        types[k].values += values_of(&t);
        types[k].bytes += t.bytes;
        values += values_of(&t);
        bytes += t.bytes;
    }
    printf("  tensors        %zu with %.2f million values in %.2f MB\n", gguf_n_tensors(g),
           (double)values / 1e6, (double)bytes / 1e6);
    for (size_t k = 0; k < n_types; k++)
        printf("    %-8s %6" PRIu64 " tensors %12" PRIu64 " values %10.2f MB\n", types[k].name,
               types[k].n, types[k].values, (double)types[k].bytes / 1e6);
}

static void print_tensors(const struct gguf *g) {
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        struct gguf_tensor_info t;
        gguf_tensor_at(g, i, &t);
        printf("    %-28.*s %-5s", (int)t.name.n, t.name.s, t.type);
        for (int32_t d = t.n_dims - 1; d >= 0; d--)
            printf(" %" PRIu64 "%s", t.dims[d], d ? " x" : "");
        printf("  %" PRIu64 " bytes\n", t.bytes);
    }
}

static void info_text(const struct facts *f, const char *path, bool tensors) {
    printf("%s%s%s  %.2f MB\n", cli_bold(), path, cli_reset(), (double)gguf_file_bytes(f->g) / 1e6);
    if (f->model) {
        print_config(f->model);
        print_types(f->g);
        if (tensors) print_tensors(f->g);
    } else {
        printf("  no weights: a vocabulary alone\n");
    }
    if (f->t)
        printf("  tokenizer      %d tokens, bos %d%s, eos %d, chat template: %s\n",
               tokenizer_vocab_size(f->t), tokenizer_bos(f->t),
               tokenizer_adds_bos(f->t) ? " (added)" : "", tokenizer_eos(f->t),
               tokenizer_chat_family(f->t));
    else
        printf("  tokenizer      can't be used: %s: %s\n", f->why.field, f->why.text);
}

static int info(const struct options *o) {
    struct facts f = {0};
    struct err e = {0};
    const char *path = o->n_words ? o->words[0] : o->model;
    f.g = gguf_open(path, &e);
    if (!f.g) return cli_input_error("model info", path, &e, o->json);
    if (gguf_n_tensors(f.g) > 0) {
        f.model = model_from_gguf(f.g, &e);
        if (!f.model) return cli_input_error("model info", path, &e, o->json);
    }
    f.t = tokenizer_create(f.g, &f.why);
    if (o->json)
        info_json(&f, path);
    else
        info_text(&f, path, o->tensors);
    tokenizer_free(f.t);
    if (f.model)
        model_free(f.model);
    else
        gguf_close(f.g);
    return CLI_DONE;
}

/* ---- tokenize and detokenize ----------------------------------------------------------------- */

/* All of standard input and a NUL. NULL and *e when there is too much of it. */
static char *read_input(size_t *n, struct err *e) {
    size_t cap = 1 << 16;
    char *text = malloc(cap);
    *n = 0;
    while (text) {
        *n += fread(text + *n, 1, cap - *n, stdin);
        if (*n < cap) {
            text[*n] = '\0';
            return text;
        }
        if (cap >= MAX_INPUT_BYTES) {
            err_set(e, "standard input has more than %d bytes", MAX_INPUT_BYTES);
            free(text);
            return NULL;
        }
        char *grown = realloc(text, cap *= 2);
        if (!grown) free(text);
        text = grown;
    }
    err_set(e, "out of memory for standard input");
    return NULL;
}

static void show_ids(const struct tokenizer *t, const int32_t *ids, int32_t n, bool json) {
    size_t len;
    if (!json) {
        printf("%d tokens:", n);
        for (int32_t i = 0; i < n; i++) printf(" %d", ids[i]);
        putchar('\n');
        for (int32_t i = 0; i < n; i++) {
            const char *s = tokenizer_token_bytes(t, ids[i], true, &len);
            printf("  %6d  ", ids[i]);
            print_quoted(s, len);
            putchar('\n');
        }
        return;
    }
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "n_tokens", n);
    cJSON_AddItemToObject(root, "ids", cJSON_CreateIntArray(ids, n));
    cJSON *pieces = cJSON_AddArrayToObject(root, "pieces");
    for (int32_t i = 0; i < n; i++) {
        const char *s = tokenizer_token_bytes(t, ids[i], true, &len);
        char *hex = malloc(2 * len + 1);
        INVARIANT(hex);
        hex[0] = '\0';
        for (size_t k = 0; k < len; k++) snprintf(hex + 2 * k, 3, "%02x", (unsigned char)s[k]);
        cJSON *o = cJSON_CreateObject();
        cJSON_AddNumberToObject(o, "id", ids[i]);
        add_text(o, "text", s, len);
        cJSON_AddStringToObject(o, "bytes_hex", hex);
        cJSON_AddItemToArray(pieces, o);
        free(hex);
    }
    print_json(root);
}

static int tokenize(const struct options *o, const struct tokenizer *t, struct err *e) {
    bool piped = strcmp(o->words[0], "-") == 0;
    size_t n = strlen(o->words[0]);
    char *text = piped ? read_input(&n, e) : strdup(o->words[0]);
    int32_t *ids = NULL, n_ids = -1;
    if (text && o->chat && memchr(text, '\0', n)) {
        err_set(e, "a message can't hold a NUL byte");
    } else if (text && o->chat) {
        struct chat_message m = {.role = "user", .content = text};
        n_ids = tokenizer_encode_chat(t, &m, 1, &ids, e);
    } else if (text) {
        n_ids = tokenizer_encode(t, text, n, o->special, &ids, e);
    }
    if (n_ids >= 0) show_ids(t, ids, n_ids, o->json);
    free(ids);
    free(text);
    return n_ids >= 0 ? CLI_DONE : cli_input_error("model tokenize", o->model, e, o->json);
}

/* One id, as a word of the command line or of standard input. */
static int parse_id(const struct tokenizer *t, const char *word, int32_t *id, struct err *e) {
    char *end;
    long v = strtol(word, &end, 10);
    if (end == word || *end || v < 0 || v >= tokenizer_vocab_size(t))
        return err_set(e, "'%.32s' is not a token id; ids are 0 to %d", word,
                       tokenizer_vocab_size(t) - 1);
    *id = (int32_t)v;
    return 0;
}

static void put_id(const struct options *o, const struct tokenizer *t, struct detokenizer *d,
                   int32_t id, FILE *out) {
    size_t n;
    const char *s = tokenizer_token_bytes(t, id, true, &n);
    char *text = malloc(3 * (n + 8));
    INVARIANT(text);
    size_t written = detokenize(t, d, id, text);
    fwrite(text, 1, written, out);
    if (o->special && written == 0 && d->n_held == 0) fwrite(s, 1, n, out);
    free(text);
}

static int detokenize_ids(const struct options *o, const struct tokenizer *t, struct err *e) {
    struct detokenizer d = {0};
    char *text = NULL, *input = NULL, last[24];
    size_t n_text = 0, n = 0;
    int32_t id = 0;
    int rc = 0;
    FILE *out = open_memstream(&text, &n_text);
    INVARIANT(out);
    if (o->n_words == 1 && strcmp(o->words[0], "-") == 0) {
        input = read_input(&n, e);
        if (!input) rc = -1;
        for (char *save, *w = rc ? NULL : strtok_r(input, " \t\r\n,", &save); w && rc == 0;
             w = strtok_r(NULL, " \t\r\n,", &save))
            if ((rc = parse_id(t, w, &id, e)) == 0) put_id(o, t, &d, id, out);
    } else {
        for (int i = 0; i < o->n_words && rc == 0; i++)
            if ((rc = parse_id(t, o->words[i], &id, e)) == 0) put_id(o, t, &d, id, out);
    }
    fwrite(last, 1, detokenize_end(&d, last), out);
    fclose(out);
    if (rc == 0 && o->json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddStringToObject(root, "text", text);
        print_json(root);
    } else if (rc == 0) {
        fwrite(text, 1, n_text, stdout);
        putchar('\n');
    }
    free(text);
    free(input);
    return rc == 0 ? CLI_DONE : cli_input_error("model detokenize", NULL, e, o->json);
}

/* ---- the command line ------------------------------------------------------------------------ */

/* Reads the flags. true: go on. false: the command ends with *status. */
static bool parse(const struct command *c, int argc, char **argv, struct options *o, int *status) {
    static char home[PATH_MAX];
    struct option_words words;
    *o = (struct options){.model = home_path(HOME_DEFAULT_MODEL, home, sizeof home)};
    if (!options_parse(c, o, argc, argv, &words, status)) return false;
    o->words = words.args;
    o->n_words = words.n_args;
    return true;
}

static int with_tokenizer(const struct options *o,
                          int (*act)(const struct options *, const struct tokenizer *,
                                     struct err *)) {
    struct err e = {0};
    struct gguf *g = gguf_open(o->model, &e);
    struct tokenizer *t = g ? tokenizer_create(g, &e) : NULL;
    int status = t ? act(o, t, &e) : cli_input_error("model", o->model, &e, o->json);
    tokenizer_free(t);
    gguf_close(g);
    return status;
}

static int run_info(int argc, char **argv) {
    struct options o;
    int status;
    return parse(&model_info_command, argc, argv, &o, &status) ? info(&o) : status;
}

static int run_tokenize(int argc, char **argv) {
    struct options o;
    int status;
    bool go_on = parse(&model_tokenize_command, argc, argv, &o, &status);
    return go_on ? with_tokenizer(&o, tokenize) : status;
}

static int run_detokenize(int argc, char **argv) {
    struct options o;
    int status;
    bool go_on = parse(&model_detokenize_command, argc, argv, &o, &status);
    return go_on ? with_tokenizer(&o, detokenize_ids) : status;
}

static int run_tokenizer(int argc, char **argv) {
    struct options o;
    struct err e = {0};
    int status;
    if (!parse(&model_tokenizer_command, argc, argv, &o, &status)) return status;
    struct gguf *g = gguf_open(o.model, &e);
    int bad = !g || hf_folder_write(g, o.out, &e);
    gguf_close(g);
    if (bad) return cli_input_error("model tokenizer", o.model, &e, o.json);
    if (!o.json) {
        printf("%s has the tokenizer of %s\n", o.out, o.model);
        return CLI_DONE;
    }
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "out", o.out);
    return print_json(root);
}
