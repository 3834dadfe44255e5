/* spm.c: see spm.h. The rules are those of google/sentencepiece (src/bpe_model.cc) and of
 * llama.cpp (src/llama-vocab.cpp). */
#include "model/spm.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PIECE = 512 }; /* bytes; SentencePiece's default is 16 characters */

struct ranked {
    float score;
    int32_t id;
};

int spm_read_prefix(const struct gguf *g, enum spm_prefix *out, struct err *e) {
    static const char *const names[] = {"none", "each", "each-unless-blank", "first-unless-blank"};
    struct gguf_str name;
    bool add = true;
    int rc = gguf_get_str(g, "tokenizer.ggml.space_prefix", &name, e);
    if (rc < 0) return -1;
    for (size_t i = 0; rc == 0 && i < sizeof names / sizeof *names; i++)
        if (gguf_value_is(g, "tokenizer.ggml.space_prefix", names[i])) {
            *out = (enum spm_prefix)i;
            return 0;
        }
    if (rc == 0)
        return err_at(e, 0, "tokenizer.ggml.space_prefix",
                      "is '%.*s'; none, each, each-unless-blank and first-unless-blank are known",
                      (int)(name.n < 64 ? name.n : 64), name.s);
    if (gguf_get_bool(g, "tokenizer.ggml.add_space_prefix", &add, e) < 0) return -1;
    *out = add ? SPM_EACH : SPM_NONE;
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int by_score(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

/* The tokens that text can become, highest score first. */
static struct ranked *rank_tokens(const struct vocab *v, const float *scores, size_t *n,
                                  struct err *e) {
    struct ranked *r = malloc(((size_t)v->n + 1) * sizeof *r);
    *n = 0;
    for (int32_t i = 0; r && i < v->n; i++)
        if (v->tokens[i].kind == TOKEN_NORMAL && v->tokens[i].n > 0)
            r[(*n)++] = (struct ranked){scores[i], i};
    if (r)
        qsort(r, *n, sizeof *r, by_score);
    else
        err_set(e, "out of memory for the vocabulary");
    return r;
}

/* Adds the merges that make token `id`; only counts them when b is NULL. */
static size_t add_merges(struct bpe *b, const struct vocab *v, int32_t id, int32_t rank) {
    const struct token *t = &v->tokens[id];
    size_t found = 0;
    if (vocab_find(v, &v->ordinary, t->bytes, t->n) != id) return 0; /* its text has a lower id */
    for (size_t at = 1; at < t->n; at++) {
        int32_t left = vocab_find(v, &v->ordinary, t->bytes, at);
        if (left < 0) continue;
        int32_t right = vocab_find(v, &v->ordinary, t->bytes + at, t->n - at);
        if (right < 0) continue;
        if (b) bpe_add(b, left, right, id, rank);
        found++;
    }
    return found;
}

/* SentencePiece also merges characters that are no tokens by themselves. Trained vocabularies have
 * every character of their tokens, so that this makes no difference there. */
static int check_piece(const struct vocab *v, int32_t id, struct err *e) {
    const struct token *t = &v->tokens[id];
    if (t->n > MAX_PIECE)
        return err_at(e, 0, "tokenizer.ggml.tokens", "token %d has %u bytes; %d are the most", id,
                      t->n, MAX_PIECE);
    for (size_t at = 0, n; at < t->n; at += n) {
        n = utf8_char_bytes(t->bytes + at, t->n - at);
        if (n == 0)
            return err_at(e, 0, "tokenizer.ggml.tokens", "token %d is not well-formed UTF-8", id);
        if (vocab_find(v, &v->ordinary, t->bytes + at, n) < 0)
            return err_at(
                e, 0, "tokenizer.ggml.tokens",
                "token %d has a character that isn't a token by itself; such a vocabulary "
                "is not supported",
                id);
    }
    return 0;
}

int spm_read_merges(struct bpe *b, const struct vocab *v, const struct gguf *g, struct err *e) {
    float *scores = NULL;
    uint64_t n_scores = 0;
    size_t n = 0, n_merges = 0;
    struct ranked *r = NULL;
    int rc = gguf_get_float_array(g, "tokenizer.ggml.scores", &scores, &n_scores, e);
    if (rc == 1) rc = err_at(e, 0, "tokenizer.ggml.scores", "is missing");
    if (rc == 0 && n_scores != (uint64_t)v->n)
        rc = err_at(e, 0, "tokenizer.ggml.scores", "has %llu entries for %d tokens",
                    (unsigned long long)n_scores, v->n);
    if (rc == 0 && !(r = rank_tokens(v, scores, &n, e))) rc = -1;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = check_piece(v, r[i].id, e);
        if (rc == 0) n_merges += add_merges(NULL, v, r[i].id, 0);
    }
    if (rc == 0) rc = bpe_init(b, n_merges, e);
    int32_t rank = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (i > 0 && r[i].score != r[i - 1].score) rank++;
        add_merges(b, v, r[i].id, rank);
    }
    free(r);
    free(scores);
    return rc;
}

int spm_read_bytes(struct bpe *b, const struct vocab *v, struct err *e) {
    for (int32_t i = 0; i < v->n; i++)
        if (v->tokens[i].kind == TOKEN_BYTE) {
            int32_t *id = &b->byte_id[(unsigned char)v->tokens[i].bytes[0]];
            if (*id < 0) *id = i;
        }
    for (int byte = 0; byte < 256; byte++)
        if (b->byte_id[byte] < 0)
            return err_at(e, 0, "tokenizer.ggml.tokens",
                          "has no token for the byte 0x%02X; a SentencePiece vocabulary without "
                          "byte fallback is not supported",
                          (unsigned)byte);
    return 0;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static bool begins_with_blank(const char *text, size_t n) {
    return text[0] == ' ' || (n >= 3 && !memcmp(text, VOCAB_BLANK, 3));
}

static bool has_prefix(enum spm_prefix prefix, const char *text, size_t n, bool first) {
    switch (prefix) {
    case SPM_NONE:
        return false;
    case SPM_EACH:
        return true;
    case SPM_EACH_UNLESS_BLANK:
        return !begins_with_blank(text, n);
    case SPM_FIRST_UNLESS_BLANK:
        return first && !begins_with_blank(text, n);
    }
    return false;
}

/* The ids of one character or ill-formed byte; returns how many. */
static size_t character(const struct bpe *b, const struct vocab *v, const char *s, size_t n,
                        int32_t *ids) {
    if (n == 3 && !memcmp(s, VOCAB_BLANK, 3)) s = " ", n = 1;
    ids[0] = utf8_char_bytes(s, n) ? vocab_find(v, &v->ordinary, s, n) : -1;
    if (ids[0] >= 0) return 1;
    for (size_t i = 0; i < n; i++) ids[i] = b->byte_id[(unsigned char)s[i]];
    return n;
}

int spm_encode(const struct bpe *b, const struct vocab *v, enum spm_prefix prefix, const char *text,
               size_t n, bool first, struct id_list *out, struct err *e) {
    if (n == 0) return 0;
    int32_t *ids = malloc((n + 1) * sizeof *ids);
    if (!ids) return err_set(e, "out of memory for a text of %zu bytes", n);
    size_t n_ids = 0;
    int rc = 0;
    bool blank = has_prefix(prefix, text, n, first), before = blank;
    if (blank) n_ids += character(b, v, " ", 1, ids);
    for (size_t at = 0, len; rc == 0 && at < n; at += len) {
        len = utf8_char_bytes(text + at, n - at);
        if (len == 0) len = 1;
        blank = begins_with_blank(text + at, n - at);
        if (blank && !before && v->blanks_lead) { /* no merge joins the two sides */
            rc = bpe_merge(b, ids, n_ids, out, e);
            n_ids = 0;
        }
        n_ids += character(b, v, text + at, len, ids + n_ids);
        before = blank;
    }
    if (rc == 0) rc = bpe_merge(b, ids, n_ids, out, e);
    free(ids);
    return rc;
}
