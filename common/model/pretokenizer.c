/* pretokenizer.c: the published patterns, run by PCRE2. See pretokenizer.h.
 *
 * The patterns are those of the models' tokenizer files, written for PCRE2. `\s` is spelt out as
 * Unicode's White_Space, because PCRE2's \s also matches U+180E, unlike the engines that the models
 * were trained with.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/pretokenizer.h"

#include "base/utf8.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_STAGES = 6, /* of deepseek-llm; the others have fewer */
    /* Limits of one match. These patterns go back over a run of blanks at most once, so only a run
     * of ten million without a JIT comes near the first limit. */
    MATCH_LIMIT = 20 * 1000 * 1000,
    HEAP_LIMIT_KIB = 64 * 1024
};

#define SPACE                                                                                      \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"    \
    "\\x{205f}\\x{3000}"
#define S     "[" SPACE "]"
#define NOT_S "[^" SPACE "]"

/* Radford et al. 2019 (GPT-2). Covers every text: its last branch matches the remaining blanks. */
#define GPT2                                                                                       \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SPACE "\\p{L}\\p{N}]+|" S "+(?!" NOT_S      \
    ")|" S "+"

/* Llama 3 and Qwen2 differ in how many digits go together. */
#define LLAMA3(DIGITS)                                                                             \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" DIGITS " ?[^" SPACE              \
    "\\p{L}\\p{N}]+[\\r\\n]*|" S "*[\\r\\n]+|" S "+(?!" NOT_S ")|" S "+"

/* DeepSeek-LLM's class of letters with case, as its tokenizer file lists them. */
#define CASED                                                                                      \
    "\\x{41}-\\x{5a}\\x{61}-\\x{7a}\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}"          \
    "\\x{1bc}-\\x{1bf}\\x{1c4}-\\x{293}\\x{295}-\\x{2af}\\x{370}-\\x{373}\\x{376}\\x{377}"         \
    "\\x{37b}-\\x{37d}\\x{37f}\\x{386}\\x{388}-\\x{38a}\\x{38c}\\x{38e}-\\x{3a1}"                  \
    "\\x{3a3}-\\x{3f5}\\x{3f7}-\\x{481}\\x{48a}-\\x{52f}\\x{531}-\\x{556}\\x{10a0}-\\x{10c5}"      \
    "\\x{13a0}-\\x{13f5}\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}\\x{1cbd}-\\x{1cbf}"                 \
    "\\x{1d00}-\\x{1d2b}\\x{1d6b}-\\x{1d77}\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}"                 \
    "\\x{1f18}-\\x{1f1d}\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}\\x{1f50}-\\x{1f57}\\x{1f59}"        \
    "\\x{1f5b}\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}-\\x{1fb4}\\x{1fb6}-\\x{1fbc}\\x{1fbe}"         \
    "\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}\\x{1fd6}-\\x{1fdb}"                 \
    "\\x{1fe0}-\\x{1fec}\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}\\x{2102}\\x{2107}"                  \
    "\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}\\x{2126}\\x{2128}"                   \
    "\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}\\x{213c}-\\x{213f}\\x{2145}-\\x{2149}"        \
    "\\x{214e}\\x{2183}\\x{2184}\\x{2c00}-\\x{2c7b}\\x{2c7e}-\\x{2ce4}\\x{2ceb}-\\x{2cee}"         \
    "\\x{2cf2}\\x{2cf3}\\x{a640}-\\x{a66d}\\x{a680}-\\x{a69b}\\x{a722}-\\x{a76f}"                  \
    "\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}\\x{ab70}-\\x{abbf}\\x{fb00}-\\x{fb06}"                 \
    "\\x{fb13}-\\x{fb17}\\x{ff21}-\\x{ff3a}\\x{ff41}-\\x{ff5a}\\x{10400}-\\x{1044f}"               \
    "\\x{104b0}-\\x{104d3}\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}"         \
    "\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}"

/* DeepSeek-LLM. DEEPSEEK_TRAILING is \s+$ with a lookbehind. Without it the pattern is tried at
 * every blank of a run, which takes quadratic time; the matches are the same, because a match
 * begins where its run begins. Each digit is a word (DeepSeek-AI 2024, section 2.1). */
#define DEEPSEEK_PUNCTUATION                                                                       \
    S "?[!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{3000}-\\x{3002}]+"
#define DEEPSEEK_TRAILING "(?<!" S ")" S "++$"
#define DEEPSEEK_CJK      "[\\x{800}-\\x{9fa5}\\x{ac00}-\\x{d7ff}]+"

static const struct known {
    const char *name;
    const char *stages[MAX_STAGES + 1];
    struct pretokenizer_habits habits;
} known[] = {
    {"gpt-2", {GPT2}, {0}},
    {"starcoder", {"\\p{N}", GPT2}, {0}},
    {"refact", {"\\p{N}", GPT2}, {0}},
    {"smollm", {"\\p{N}", GPT2}, {0}},
    {"llama-bpe", {LLAMA3("\\p{N}{1,3}|")}, {.whole_words = true, .adds_bos = true}},
    {"llama3", {LLAMA3("\\p{N}{1,3}|")}, {.whole_words = true, .adds_bos = true}},
    {"llama-v3", {LLAMA3("\\p{N}{1,3}|")}, {.whole_words = true, .adds_bos = true}},
    {"qwen2", {LLAMA3("\\p{N}|")}, {.normalises = true}},
    {"qwen2-as-is", {LLAMA3("\\p{N}|")}, {0}}, /* a folder whose tokenizer.json has no NFC */
    {"deepseek-llm",
     {"[\\r\\n]", S "?[" CASED "]+", DEEPSEEK_PUNCTUATION, DEEPSEEK_TRAILING, DEEPSEEK_CJK,
      "\\p{N}"},
     {0}},
};

struct pretokenizer {
    const struct known *known;
    pcre2_code *stages[MAX_STAGES];
    size_t n_stages;
    pcre2_match_context *limits;
};

static int compile_stage(struct pretokenizer *p, const char *name, const char *pattern,
                         struct err *e) {
    int code;
    PCRE2_SIZE at;
    pcre2_code *c = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &code, &at, NULL);
    if (!c) {
        char why[128] = "";
        pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
        return err_set(e, "this PCRE2 can't compile the pattern of pre-tokenizer %s: %s", name,
                       why);
    }
    /* Machine code where the system allows it; without it, encoding takes 2.6 times as long
     * (bench/SPEED.md). */
    pcre2_jit_compile(c, PCRE2_JIT_COMPLETE);
    p->stages[p->n_stages++] = c;
    return 0;
}

struct pretokenizer *pretokenizer_create(const char *name, size_t n, struct err *e) {
    size_t k = 0, n_known = sizeof known / sizeof *known;
    while (k < n_known && (strlen(known[k].name) != n || memcmp(known[k].name, name, n) != 0)) k++;
    if (k == n_known) {
        err_at(e, 0, "tokenizer.ggml.pre",
               "the pre-tokenizer '%.*s' is not known; known are gpt-2, starcoder, refact, smollm, "
               "llama-bpe, qwen2 and deepseek-llm",
               (int)(n < 64 ? n : 64), name);
        return NULL;
    }
    struct pretokenizer *p = calloc(1, sizeof *p);
    if (p) p->limits = pcre2_match_context_create(NULL);
    if (!p || !p->limits) {
        err_set(e, "out of memory");
        pretokenizer_free(p);
        return NULL;
    }
    p->known = &known[k];
    pcre2_set_match_limit(p->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(p->limits, HEAP_LIMIT_KIB);
    for (const char *const *s = known[k].stages; *s; s++)
        if (compile_stage(p, known[k].name, *s, e)) {
            pretokenizer_free(p);
            return NULL;
        }
    return p;
}

void pretokenizer_free(struct pretokenizer *p) {
    if (!p) return;
    for (size_t i = 0; i < p->n_stages; i++) pcre2_code_free(p->stages[i]);
    pcre2_match_context_free(p->limits);
    free(p);
}

struct pretokenizer_habits pretokenizer_habits(const struct pretokenizer *p) {
    return p->known->habits;
}

/* One call's state. Each stage has its own match results, because stages nest. */
struct split {
    const struct pretokenizer *p;
    pcre2_match_data *results[MAX_STAGES];
    word_fn word;
    void *ctx;
    struct err *e;
};

/* Hands text[0..n), well-formed UTF-8, to stage i. */
static int split_stage(struct split *s, size_t i, const char *text, size_t n) {
    if (n == 0) return 0;
    if (i == s->p->n_stages) return s->word(s->ctx, text, n) ? -1 : 0;
    size_t done = 0;
    while (done < n) {
        int rc = pcre2_match(s->p->stages[i], (PCRE2_SPTR)text, n, done, PCRE2_NO_UTF_CHECK,
                             s->results[i], s->p->limits);
        if (rc == PCRE2_ERROR_NOMATCH) break;
        if (rc < 0) {
            char why[128] = "";
            pcre2_get_error_message(rc, (PCRE2_UCHAR *)why, sizeof why);
            return err_set(s->e,
                           "the text can't be split into words (PCRE2: %s); make its runs of "
                           "blanks shorter",
                           why);
        }
        PCRE2_SIZE *at = pcre2_get_ovector_pointer(s->results[i]);
        size_t from = at[0], to = at[1];
        INVARIANT(from >= done && to > from && to <= n); /* no pattern has empty matches */
        if (split_stage(s, i + 1, text + done, from - done)) return -1;
        if (split_stage(s, i + 1, text + from, to - from)) return -1;
        done = to;
    }
    return split_stage(s, i + 1, text + done, n - done);
}

int pretokenizer_split(const struct pretokenizer *p, const char *text, size_t n, word_fn word,
                       void *ctx, struct err *e) {
    struct split s = {.p = p, .word = word, .ctx = ctx, .e = e};
    int rc = 0;
    for (size_t i = 0; i < p->n_stages; i++) {
        s.results[i] = pcre2_match_data_create(1, NULL);
        if (!s.results[i]) rc = err_set(e, "out of memory");
    }
    size_t start = 0, at = 0;
    while (rc == 0 && at < n) {
        size_t len = utf8_char_bytes(text + at, n - at);
        if (len > 0) {
            at += len;
            continue;
        }
        rc = split_stage(&s, 0, text + start, at - start);
        if (rc == 0) rc = word(ctx, text + at, 1) ? -1 : 0;
        start = ++at;
    }
    if (rc == 0) rc = split_stage(&s, 0, text + start, n - start);
    for (size_t i = 0; i < p->n_stages; i++) pcre2_match_data_free(s.results[i]);
    return rc;
}
