/* tokenizer.c: creates a tokenizer from a model file, and encodes texts and prompts. Its parts:
 * vocab.c (bytes and ids), pretokenizer.c (text to words), bpe.c (words to ids), spm.c (text to ids
 * without words), chat_template.c (messages to text and markers), detokenize.c (ids to text). See
 * tokenizer.h.
 */
#include "model/tokenizer.h"

#include "model/bpe.h"
#include "model/chat_template.h"
#include "model/gguf.h"
#include "model/hf_model.h"
#include "model/metadata.h"
#include "model/nfc.h"
#include "model/pretokenizer.h"
#include "model/spm.h"
#include "model/vocab.h"

#include <stdlib.h>
#include <string.h>

/* For each first byte of added tokens: the lengths that occur, longest first. */
struct added_lengths {
    uint32_t *lengths;
    uint32_t start[257]; /* of byte b: lengths[start[b] .. start[b + 1]) */
};

struct tokenizer {
    struct vocab vocab;
    struct bpe bpe;
    struct pretokenizer *pre; /* NULL: SentencePiece, which has no words */
    enum spm_prefix prefix;   /* of SentencePiece */
    struct added_lengths added;
    bool has_user_defined;
    struct chat_template chat;
    int32_t bos, eos;
    bool adds_bos;
};

/* ---- reading a model file -------------------------------------------------------------------- */

static int read_pretokenizer(struct tokenizer *t, const struct gguf *g, struct err *e) {
    struct gguf_str model, pre;
    int rc = gguf_get_str(g, "tokenizer.ggml.model", &model, e);
    if (rc < 0) return -1;
    if (rc == 1)
        return err_at(e, 0, "tokenizer.ggml.model", "is missing; the file has no tokenizer");
    if (gguf_value_is(g, "tokenizer.ggml.model", "llama")) return spm_read_prefix(g, &t->prefix, e);
    if (model.n != 4 || memcmp(model.s, "gpt2", 4) != 0)
        return err_at(e, 0, "tokenizer.ggml.model",
                      "is '%.*s'; byte-level BPE ('gpt2') and SentencePiece's BPE ('llama') are "
                      "supported",
                      (int)(model.n < 64 ? model.n : 64), model.s);
    if (gguf_value_is(g, "tokenizer.ggml.add_space_prefix", "true"))
        return err_at(e, 0, "tokenizer.ggml.add_space_prefix",
                      "is true; only false is supported for byte-level BPE");
    rc = gguf_get_str(g, "tokenizer.ggml.pre", &pre, e);
    if (rc < 0) return -1;
    if (rc == 1)
        return err_at(e, 0, "tokenizer.ggml.pre",
                      "is missing, and guessing it would give wrong ids; convert the model again "
                      "with a current converter");
    t->pre = pretokenizer_create(pre.s, pre.n, e);
    return t->pre ? 0 : -1;
}

/* A merge is written "left right" in the file's alphabet, which has no blank. */
static int read_merge(struct tokenizer *t, struct gguf_str text, int32_t rank, char *scratch,
                      struct err *e) {
    const char *blank = memchr(text.s, ' ', text.n);
    size_t left = blank ? (size_t)(blank - text.s) : 0, right = text.n - left - 1;
    size_t n_left, n_right;
    bool spm = t->vocab.sentencepiece;
    if (!blank || left == 0 || right == 0 ||
        !vocab_decode_text(spm, text.s, left, scratch, &n_left) ||
        !vocab_decode_text(spm, blank + 1, right, scratch + n_left, &n_right))
        return err_at(e, 0, "tokenizer.ggml.merges",
                      "merge %d is not two tokens with a blank between them", rank);
    const struct vocab *v = &t->vocab;
    int32_t a = vocab_find(v, &v->ordinary, scratch, n_left);
    int32_t b = vocab_find(v, &v->ordinary, scratch + n_left, n_right);
    int32_t both = vocab_find(v, &v->ordinary, scratch, n_left + n_right);
    if (a < 0 || b < 0 || both < 0)
        return err_at(e, 0, "tokenizer.ggml.merges",
                      "merge %d joins or makes a token that the vocabulary doesn't have", rank);
    bpe_add(&t->bpe, a, b, both, rank);
    return 0;
}

static int read_merges(struct tokenizer *t, const struct gguf *g, struct err *e) {
    struct gguf_str *texts = NULL;
    char *scratch = NULL;
    uint64_t n = 0;
    int rc = gguf_get_str_array(g, "tokenizer.ggml.merges", &texts, &n, e);
    if (rc == 1) rc = err_at(e, 0, "tokenizer.ggml.merges", "is missing");
    if (rc == 0 && n > VOCAB_MAX)
        rc = err_at(e, 0, "tokenizer.ggml.merges", "has %llu entries; %d are possible",
                    (unsigned long long)n, VOCAB_MAX);
    uint64_t longest = 0;
    for (uint64_t i = 0; rc == 0 && i < n; i++)
        if (texts[i].n > longest) longest = texts[i].n;
    if (rc == 0) {
        scratch = malloc(longest + 1);
        if (!scratch) rc = err_set(e, "out of memory for the merges");
    }
    if (rc == 0) rc = bpe_init(&t->bpe, n, e);
    for (uint64_t i = 0; rc == 0 && i < n; i++)
        rc = read_merge(t, texts[i], (int32_t)i, scratch, e);
    free(scratch);
    free(texts);
    return rc;
}

static int read_bpe(struct tokenizer *t, const struct gguf *g, struct err *e) {
    struct bpe *b = &t->bpe;
    const struct vocab *v = &t->vocab;
    uint64_t n = 0; /* a Hugging Face folder has merges and no scores */
    bool scores = v->sentencepiece && gguf_get_count(g, "tokenizer.ggml.scores", &n, NULL) == 0;
    if (scores ? spm_read_merges(b, v, g, e) : read_merges(t, g, e)) return -1;
    if (v->sentencepiece) return spm_read_bytes(b, v, e);
    for (int i = 0; i < 256; i++) {
        char byte = (char)i;
        b->byte_id[i] = vocab_find(v, &v->ordinary, &byte, 1);
    }
    return 0;
}

/* Marks each token that merging its bytes gives. Most words are such a token, and encoding finds it
 * with one look-up. */
static int mark_whole_tokens(struct tokenizer *t, struct err *e) {
    if (!t->pre) return 0;
    bool always = pretokenizer_habits(t->pre).whole_words;
    struct id_list ids = {0};
    int rc = 0;
    for (int32_t i = 0; rc == 0 && i < t->vocab.n; i++) {
        struct token *k = &t->vocab.tokens[i];
        if (vocab_find(&t->vocab, &t->vocab.ordinary, k->bytes, k->n) != i) continue;
        ids.n = 0;
        if (!always) rc = bpe_encode(&t->bpe, k->bytes, k->n, &ids, e);
        k->whole = always || (ids.n == 1 && ids.ids[0] == i);
    }
    free(ids.ids);
    return rc;
}

static int compare_added(const void *a, const void *b) {
    const struct token *x = *(const struct token *const *)a, *y = *(const struct token *const *)b;
    int c = (unsigned char)x->bytes[0] - (unsigned char)y->bytes[0];
    return c ? c : (x->n < y->n) - (x->n > y->n);
}

static int index_added(struct tokenizer *t, struct err *e) {
    struct vocab *v = &t->vocab;
    const struct token **added = malloc(((size_t)v->n + 1) * sizeof *added);
    t->added.lengths = malloc(((size_t)v->n + 1) * sizeof *t->added.lengths);
    if (!added || !t->added.lengths) {
        free(added);
        return err_set(e, "out of memory for the special tokens");
    }
    size_t n = 0;
    for (int32_t i = 0; i < v->n; i++) {
        const struct token *k = &v->tokens[i];
        if (k->n == 0 || (k->kind != TOKEN_CONTROL && k->kind != TOKEN_USER_DEFINED)) continue;
        added[n++] = k;
        t->has_user_defined |= k->kind == TOKEN_USER_DEFINED;
    }
    qsort(added, n, sizeof *added, compare_added);
    size_t i = 0, m = 0;
    for (int b = 0; b < 256; b++) {
        t->added.start[b] = (uint32_t)m;
        for (; i < n && (unsigned char)added[i]->bytes[0] == b; i++)
            if (m == t->added.start[b] || t->added.lengths[m - 1] != added[i]->n)
                t->added.lengths[m++] = added[i]->n;
    }
    t->added.start[256] = (uint32_t)m;
    free(added);
    return 0;
}

/* Reads the tokens that the file names by their role. A USER_DEFINED token with a role becomes a
 * marker: a user's text must not contain it. */
static int read_roles(struct tokenizer *t, const struct gguf *g, struct err *e) {
    const struct {
        const char *key;
        int32_t *out;
        bool ends;
    } roles[] = {{"tokenizer.ggml.bos_token_id", &t->bos, false},
                 {"tokenizer.ggml.eos_token_id", &t->eos, true},
                 {"tokenizer.ggml.eot_token_id", NULL, true},
                 {"tokenizer.ggml.eom_token_id", NULL, true},
                 {"tokenizer.ggml.fim_pad_token_id", NULL, true},
                 {"tokenizer.ggml.fim_rep_token_id", NULL, true},
                 {"tokenizer.ggml.fim_sep_token_id", NULL, true}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        int64_t id = -1;
        if (gguf_get_int(g, roles[i].key, 0, t->vocab.n - 1, &id, e) < 0) return -1;
        if (roles[i].out) *roles[i].out = (int32_t)id;
        if (id < 0) continue;
        struct token *k = &t->vocab.tokens[id];
        k->ends |= roles[i].ends;
        if (k->kind == TOKEN_USER_DEFINED) k->kind = TOKEN_CONTROL;
    }
    bool habit = !t->pre || pretokenizer_habits(t->pre).adds_bos;
    t->adds_bos = habit && t->bos >= 0;
    if (gguf_get_bool(g, "tokenizer.ggml.add_bos_token", &t->adds_bos, e) < 0) return -1;
    if (t->adds_bos && t->bos < 0)
        return err_at(e, 0, "tokenizer.ggml.add_bos_token",
                      "is true, but the file names no bos token");
    return 0;
}

static int read_chat_template(struct tokenizer *t, const struct gguf *g, struct err *e) {
    struct gguf_str text;
    int rc = gguf_get_str(g, "tokenizer.chat_template", &text, e);
    if (rc == 0) chat_template_recognise(&t->chat, text.s, text.n);
    return rc < 0 ? -1 : 0;
}

struct tokenizer *tokenizer_create(const struct gguf *file, struct err *e) {
    struct tokenizer *t = calloc(1, sizeof *t);
    if (!t) {
        err_set(e, "out of memory");
        return NULL;
    }
    if (metadata_check_tokenizer(file, e) || read_pretokenizer(t, file, e) ||
        vocab_read(&t->vocab, file, e) || read_bpe(t, file, e) || mark_whole_tokens(t, e) ||
        read_roles(t, file, e) || index_added(t, e) || read_chat_template(t, file, e)) {
        hf_model_explain(file, e);
        tokenizer_free(t);
        return NULL;
    }
    return t;
}

void tokenizer_free(struct tokenizer *t) {
    if (!t) return;
    pretokenizer_free(t->pre);
    bpe_release(&t->bpe);
    vocab_release(&t->vocab);
    free(t->added.lengths);
    free(t);
}

/* ---- properties ------------------------------------------------------------------------------ */

int32_t tokenizer_bos(const struct tokenizer *t) {
    return t->bos;
}

int32_t tokenizer_eos(const struct tokenizer *t) {
    return t->eos;
}

bool tokenizer_adds_bos(const struct tokenizer *t) {
    return t->adds_bos;
}

bool tokenizer_ends(const struct tokenizer *t, int32_t id) {
    return id >= 0 && id < t->vocab.n && t->vocab.tokens[id].ends;
}

int32_t tokenizer_vocab_size(const struct tokenizer *t) {
    return t->vocab.n;
}

const char *tokenizer_chat_family(const struct tokenizer *t) {
    return chat_family_name(&t->chat);
}

bool tokenizer_set_chat(struct tokenizer *t, const char *name) {
    return chat_template_named(&t->chat, name);
}

const char *tokenizer_token_bytes(const struct tokenizer *t, int32_t id, bool special, size_t *n) {
    *n = 0;
    if (id < 0 || id >= t->vocab.n) return "";
    const struct token *k = &t->vocab.tokens[id];
    bool text = k->kind == TOKEN_NORMAL || k->kind == TOKEN_BYTE || k->kind == TOKEN_USER_DEFINED;
    if (text || special) *n = k->n;
    return k->bytes;
}

/* ---- encoding -------------------------------------------------------------------------------- */

struct encoding {
    const struct tokenizer *t;
    struct id_list ids;
    struct err *e;
};

static int encode_word(void *ctx, const char *word, size_t n) {
    struct encoding *x = ctx;
    const struct vocab *v = &x->t->vocab;
    int32_t id = vocab_find(v, &v->ordinary, word, n);
    if (id >= 0 && v->tokens[id].whole) return id_list_push(&x->ids, id, x->e);
    return bpe_encode(&x->t->bpe, word, n, &x->ids, x->e);
}

/* `first`: the text begins the prompt. */
static int encode_ordinary(struct encoding *x, const char *text, size_t n, bool first) {
    if (!x->t->pre)
        return spm_encode(&x->t->bpe, &x->t->vocab, x->t->prefix, text, n, first, &x->ids, x->e);
    char *normal = NULL;
    if (pretokenizer_habits(x->t->pre).normalises && nfc_normalise(text, n, &normal, &n, x->e))
        return -1;
    int rc = pretokenizer_split(x->t->pre, normal ? normal : text, n, encode_word, x, x->e);
    free(normal);
    return rc;
}

/* The added token that begins at text[0], the longest one; -1 for none. */
static int32_t added_at(const struct tokenizer *t, const char *text, size_t n, bool special) {
    const struct vocab *v = &t->vocab;
    unsigned char first = (unsigned char)text[0];
    for (uint32_t i = t->added.start[first]; i < t->added.start[first + 1]; i++) {
        if (t->added.lengths[i] > n) continue;
        int32_t id = vocab_find(v, &v->added, text, t->added.lengths[i]);
        if (id >= 0 && (special || v->tokens[id].kind == TOKEN_USER_DEFINED)) return id;
    }
    return -1;
}

static int encode_text(struct encoding *x, const char *text, size_t n, bool special, bool first) {
    size_t start = 0;
    if (n == 0) return 0; /* text may be NULL then */
    if (special || x->t->has_user_defined) {
        for (size_t at = 0; at < n;) {
            int32_t id = added_at(x->t, text + at, n - at, special);
            if (id < 0) {
                at++;
                continue;
            }
            if (encode_ordinary(x, text + start, at - start, first && start == 0)) return -1;
            if (id_list_push(&x->ids, id, x->e)) return -1;
            at += x->t->vocab.tokens[id].n;
            start = at;
        }
    }
    return encode_ordinary(x, text + start, n - start, first && start == 0);
}

/* Gives the ids to the caller, or frees them after a failure. */
static int32_t finish(struct encoding *x, int rc, int32_t **ids) {
    if (rc == 0 && x->ids.n == 0) {
        x->ids.ids = malloc(sizeof *x->ids.ids); /* so that *ids is never NULL after success */
        if (!x->ids.ids) rc = err_set(x->e, "out of memory");
    }
    if (rc == 0 && x->ids.n > INT32_MAX) rc = err_set(x->e, "the text has too many tokens");
    if (rc) {
        free(x->ids.ids);
        *ids = NULL;
        return -1;
    }
    *ids = x->ids.ids;
    return (int32_t)x->ids.n;
}

int32_t tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, bool special,
                         int32_t **ids, struct err *e) {
    struct encoding x = {.t = t, .e = e};
    *ids = NULL;
    if (n > INT32_MAX) return err_set(e, "the text has %zu bytes; %d are possible", n, INT32_MAX);
    return finish(&x, encode_text(&x, text, n, special, true), ids);
}

/* ---- prompts --------------------------------------------------------------------------------- */

int32_t tokenizer_encode_prompt(const struct tokenizer *t, const char *text, size_t n,
                                int32_t **ids, struct err *e) {
    struct encoding x = {.t = t, .e = e};
    *ids = NULL;
    if (n > INT32_MAX) return err_set(e, "the prompt has %zu bytes; %d are possible", n, INT32_MAX);
    bool bos = t->adds_bos && n > 0 && added_at(t, text, n, true) != t->bos;
    int rc = bos ? id_list_push(&x.ids, t->bos, e) : 0;
    if (rc == 0) rc = encode_text(&x, text, n, true, true);
    return finish(&x, rc, ids);
}

/* Text between two markers is collected and encoded in one piece, because a word may contain text
 * of the template and of a message ("user\n" and a content that begins with blanks). */
struct prompt {
    struct encoding x;
    char *text;
    size_t n, cap;
    bool marked; /* a marker is before the text */
};

static int prompt_flush(struct prompt *p) {
    int rc = encode_text(&p->x, p->text, p->n, false, !p->marked);
    p->n = 0;
    p->marked = true;
    return rc;
}

static int prompt_text(void *ctx, const char *text, size_t n) {
    struct prompt *p = ctx;
    if (n == 0) return 0;
    if (n > INT32_MAX - p->n) return err_set(p->x.e, "the messages are too long");
    if (p->n + n > p->cap) {
        size_t cap = 2 * (p->n + n);
        char *grown = realloc(p->text, cap);
        if (!grown) return err_set(p->x.e, "out of memory for the prompt");
        p->text = grown;
        p->cap = cap;
    }
    memcpy(p->text + p->n, text, n);
    p->n += n;
    return 0;
}

static int32_t added_named(const struct tokenizer *t, const char *text) {
    return vocab_find(&t->vocab, &t->vocab.added, text, strlen(text));
}

static int prompt_marker(void *ctx, const char *text) {
    struct prompt *p = ctx;
    const struct tokenizer *t = p->x.t;
    int32_t id = strcmp(text, "bos") == 0   ? t->bos
                 : strcmp(text, "eos") == 0 ? t->eos
                                            : added_named(t, text);
    if (id < 0)
        return err_set(p->x.e,
                       "the chat template needs the token %s, which the vocabulary doesn't have",
                       text);
    if (prompt_flush(p)) return -1;
    return id_list_push(&p->x.ids, id, p->x.e);
}

static int prompt_word(void *ctx, const char *text) {
    struct prompt *p = ctx;
    return added_named(p->x.t, text) >= 0 ? prompt_marker(ctx, text)
                                          : prompt_text(ctx, text, strlen(text));
}

int32_t tokenizer_encode_chat(const struct tokenizer *t, const struct chat_message *messages,
                              size_t n_messages, int32_t **ids, struct err *e) {
    struct prompt p = {.x = {.t = t, .e = e}};
    struct chat_sink sink = {prompt_marker, prompt_word, prompt_text, &p};
    int rc = 0;
    *ids = NULL;
    if (t->adds_bos && !t->chat.starts_with_bos) rc = id_list_push(&p.x.ids, t->bos, e);
    if (rc == 0) rc = chat_template_render(&t->chat, messages, n_messages, &sink, e);
    if (rc == 0) rc = prompt_flush(&p);
    free(p.text);
    return finish(&p.x, rc, ids);
}
