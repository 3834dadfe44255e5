/* vocab.c: see vocab.h. */
#include "model/vocab.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* ---- GPT-2's byte alphabet ------------------------------------------------------------------- */

/* The byte that a code point encodes, or -1. Bytes that are printable in Latin-1 (33-126, 161-172,
 * 174-255) are the code point of the same number; the others, in order, are U+0100, U+0101, ...
 * (Radford et al. 2019, encoder.py). */
static int byte_of(uint32_t cp) {
    if ((cp >= 33 && cp <= 126) || (cp >= 161 && cp <= 172) || (cp >= 174 && cp <= 255))
        return (int)cp;
    if (cp < 0x100 || cp >= 0x100 + 68) return -1;
    uint32_t k = cp - 0x100; /* 0-32: bytes 0-32; 33-66: bytes 127-160; 67: byte 173 */
    if (k <= 32) return (int)k;
    return k <= 66 ? (int)(127 + k - 33) : 173;
}

static size_t decode_blanks(const char *text, size_t n, char *out) {
    size_t m = 0;
    for (size_t i = 0; i < n;) {
        bool blank = n - i >= 3 && !memcmp(text + i, VOCAB_BLANK, 3);
        out[m++] = blank ? ' ' : text[i];
        i += blank ? 3 : 1;
    }
    return m;
}

bool vocab_decode_text(bool sentencepiece, const char *text, size_t n, char *out, size_t *n_out) {
    size_t m = 0;
    if (sentencepiece) {
        *n_out = decode_blanks(text, n, out);
        return true;
    }
    for (size_t i = 0; i < n;) {
        size_t len = utf8_char_bytes(text + i, n - i);
        int b = len ? byte_of(utf8_decode(text + i, len)) : -1;
        if (b < 0) return false;
        out[m++] = (char)b;
        i += len;
    }
    *n_out = m;
    return true;
}

/* ---- bytes to id ----------------------------------------------------------------------------- */

static uint64_t hash_bytes(const char *s, size_t n) {
    uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15);
    for (; n > 0;) {
        uint64_t word = 0;
        size_t take = n < 8 ? n : 8;
        memcpy(&word, s, take);
        h = (h ^ word) * UINT64_C(0xd6e8feb86659fd93); /* an odd constant with mixed bits */
        h ^= h >> 32;
        s += take;
        n -= take;
    }
    return h;
}

static int map_init(struct byte_map *m, size_t n, struct err *e) {
    m->n_slots = 16;
    while (m->n_slots < 2 * n) m->n_slots *= 2;
    m->ids = malloc(m->n_slots * sizeof *m->ids);
    if (!m->ids) return err_set(e, "out of memory for the vocabulary");
    memset(m->ids, 0xff, m->n_slots * sizeof *m->ids);
    return 0;
}

static size_t map_slot(const struct vocab *v, const struct byte_map *m, const char *s, size_t n) {
    size_t i = hash_bytes(s, n) & (m->n_slots - 1);
    for (; m->ids[i] >= 0; i = (i + 1) & (m->n_slots - 1)) {
        const struct token *t = &v->tokens[m->ids[i]];
        if (t->n == n && memcmp(t->bytes, s, n) == 0) break;
    }
    return i;
}

int32_t vocab_find(const struct vocab *v, const struct byte_map *m, const char *bytes, size_t n) {
    return m->ids[map_slot(v, m, bytes, n)];
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Markers by their text. No pre-tokenizer lets merges join letters and punctuation, so ordinary
 * text never makes one of these tokens. The ends are those of llama.cpp (src/llama-vocab.cpp,
 * special_eog_ids). */
static const char *const end_markers[] = {"<|im_end|>",
                                          "<|endoftext|>",
                                          "<|end_of_text|>",
                                          "<|eot_id|>",
                                          "<|eom_id|>",
                                          "<|end|>",
                                          "<|return|>",
                                          "<|call|>",
                                          "<end_of_turn>",
                                          "<end_of_utterance>",
                                          "</s>",
                                          "<eos>",
                                          "<EOT>",
                                          "<|EOT|>",
                                          "[EOT]",
                                          "[EOS]",
                                          "<｜end▁of▁sentence｜>",
                                          "<|fim_pad|>",
                                          "<|repo_name|>",
                                          "<|file_sep|>",
                                          NULL};
static const char *const other_markers[] = {"<|im_start|>",        "<|begin_of_text|>",
                                            "<|start_header_id|>", "<|end_header_id|>",
                                            "<start_of_turn>",     NULL};

static bool is_among(const char *const *list, struct gguf_str text) {
    if (text.n == 0 || (text.s[0] != '<' && text.s[0] != '[')) return false;
    for (; *list; list++)
        if (strlen(*list) == text.n && memcmp(*list, text.s, text.n) == 0) return true;
    return false;
}

static int read_kinds(struct vocab *v, const struct gguf *g, const struct gguf_str *texts,
                      struct err *e) {
    int32_t *kinds = NULL;
    uint64_t n = 0;
    int rc = gguf_get_int_array(g, "tokenizer.ggml.token_type", &kinds, &n, e);
    if (rc < 0) return -1;
    if (rc == 0 && n != (uint64_t)v->n)
        rc = err_at(e, 0, "tokenizer.ggml.token_type", "has %llu entries for %d tokens",
                    (unsigned long long)n, v->n);
    for (int32_t i = 0; rc >= 0 && i < v->n; i++) {
        int32_t kind = rc == 1 ? TOKEN_NORMAL : kinds[i];
        if (kind < TOKEN_NORMAL || kind > TOKEN_BYTE)
            rc = err_at(e, 0, "tokenizer.ggml.token_type", "token %d has kind %d; 1 to 6 exist", i,
                        kind);
        bool ends = is_among(end_markers, texts[i]);
        if (ends || is_among(other_markers, texts[i])) kind = TOKEN_CONTROL;
        v->tokens[i].kind = (uint8_t)kind;
        v->tokens[i].ends = ends;
    }
    free(kinds);
    return rc < 0 ? -1 : 0;
}

static bool ordinary(const struct vocab *v, const struct token *t) {
    return t->kind == TOKEN_NORMAL || (t->kind == TOKEN_BYTE && !v->sentencepiece);
}

/* <0x41> */
static bool decode_byte(struct gguf_str text, char *out) {
    static const char digits[] = "0123456789ABCDEF";
    const char *hi = text.n == 6 ? memchr(digits, text.s[3], 16) : NULL;
    const char *lo = text.n == 6 ? memchr(digits, text.s[4], 16) : NULL;
    if (!hi || !lo || memcmp(text.s, "<0x", 3) != 0 || text.s[5] != '>') return false;
    *out = (char)((hi - digits) * 16 + (lo - digits));
    return true;
}

/* Writes the bytes that a token stands for; returns how many, or -1. A byte-level token with a
 * character outside the alphabet keeps its text; no merge makes such a token. */
static int64_t decode(const struct vocab *v, const struct token *t, struct gguf_str text,
                      char *out) {
    size_t n;
    if (v->sentencepiece && t->kind == TOKEN_BYTE) return decode_byte(text, out) ? 1 : -1;
    bool spelt = ordinary(v, t) || (v->sentencepiece && t->kind == TOKEN_USER_DEFINED);
    if (spelt && vocab_decode_text(v->sentencepiece, text.s, text.n, out, &n)) return (int64_t)n;
    memcpy(out, text.s, text.n);
    return (int64_t)text.n;
}

static bool blanks_lead(const struct token *t) {
    uint32_t i = 0;
    while (i < t->n && t->bytes[i] == ' ') i++;
    return !memchr(t->bytes + i, ' ', t->n - i);
}

/* Copies the tokens' bytes into one block. */
static int copy_texts(struct vocab *v, const struct gguf_str *texts, struct err *e) {
    size_t total = 1;
    for (int32_t i = 0; i < v->n; i++) {
        if (texts[i].n > UINT32_MAX / 2)
            return err_at(e, 0, "tokenizer.ggml.tokens", "token %d has %llu bytes", i,
                          (unsigned long long)texts[i].n);
        total += texts[i].n;
    }
    v->blanks_lead = v->sentencepiece;
    v->blob = malloc(total);
    if (!v->blob) return err_set(e, "out of memory for the vocabulary");
    char *at = v->blob;
    for (int32_t i = 0; i < v->n; i++) {
        struct token *t = &v->tokens[i];
        int64_t n = decode(v, t, texts[i], at);
        if (n < 0)
            return err_at(e, 0, "tokenizer.ggml.tokens",
                          "token %d is of a byte, so it must be written as <0x41>", i);
        t->bytes = at;
        t->n = (uint32_t)n;
        at += n;
        if (t->kind == TOKEN_NORMAL) v->blanks_lead &= blanks_lead(t);
    }
    return 0;
}

static int index_tokens(struct vocab *v, struct err *e) {
    size_t n_ordinary = 0;
    for (int32_t i = 0; i < v->n; i++) n_ordinary += ordinary(v, &v->tokens[i]);
    if (map_init(&v->ordinary, n_ordinary, e)) return -1;
    if (map_init(&v->added, (size_t)v->n - n_ordinary, e)) return -1;
    for (int32_t i = 0; i < v->n; i++) {
        const struct token *t = &v->tokens[i];
        bool added = t->kind == TOKEN_CONTROL || t->kind == TOKEN_USER_DEFINED;
        if (t->n == 0 || (!added && !ordinary(v, t))) continue;
        struct byte_map *m = added ? &v->added : &v->ordinary;
        size_t slot = map_slot(v, m, t->bytes, t->n);
        if (m->ids[slot] < 0) m->ids[slot] = i;
    }
    return 0;
}

int vocab_read(struct vocab *v, const struct gguf *g, struct err *e) {
    struct gguf_str *texts = NULL;
    uint64_t n = 0;
    v->sentencepiece = gguf_value_is(g, "tokenizer.ggml.model", "llama");
    int rc = gguf_get_str_array(g, "tokenizer.ggml.tokens", &texts, &n, e);
    if (rc == 1)
        rc = err_at(e, 0, "tokenizer.ggml.tokens", "is missing; the file has no vocabulary");
    if (rc == 0 && (n < 1 || n > VOCAB_MAX))
        rc = err_at(e, 0, "tokenizer.ggml.tokens", "has %llu tokens; 1 to %d are possible",
                    (unsigned long long)n, VOCAB_MAX);
    if (rc == 0) {
        v->n = (int32_t)n;
        v->tokens = calloc(n, sizeof *v->tokens);
        if (!v->tokens) rc = err_set(e, "out of memory for %d tokens", v->n);
    }
    if (rc == 0) rc = read_kinds(v, g, texts, e);
    if (rc == 0) rc = copy_texts(v, texts, e);
    if (rc == 0) rc = index_tokens(v, e);
    free(texts);
    return rc;
}

void vocab_release(struct vocab *v) {
    free(v->tokens);
    free(v->blob);
    free(v->ordinary.ids);
    free(v->added.ids);
    memset(v, 0, sizeof *v);
}
