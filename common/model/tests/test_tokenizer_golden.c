/* test_tokenizer_golden.c: our words and ids on 12,000 lines (text_lines.h) against digests that
 * Hugging Face's tokenizers made (check_tokenizer_hf.py wrote golden/tokenizer.json).
 *
 *   test_tokenizer_golden           TAP
 *   test_tokenizer_golden --lines   the lines, each as a little-endian uint32 length and its bytes
 *   test_tokenizer_golden --detokenize
 *       takes byte sequences so framed on standard input and gives what streaming makes of each, so
 *       framed; exits 1 when cutting a sequence in two at some place changes that
 *   test_tokenizer_golden --chat FILE
 *       takes dialogues on standard input, each a uint32 number of messages and for each message
 * its role and its content, framed; gives each prompt's ids, framed
 */
#include "base/sha256.h"
#include "model/gguf.h"
#include "model/pretokenizer.h"
#include "model/tokenizer.h"

#include "gguf_write.h"
#include "tap.h"
#include "text_lines.h"
#include "vocab_files.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

#define GOLDEN "common/model/tests/golden/tokenizer.json"

static struct text_line line; /* 8 KB: one for all */

/* ---- digests: for each line the count and then the numbers, as little-endian int32 ----------- */

static void add_numbers(struct sha256 *s, const int32_t *numbers, int32_t n) {
    sha256_add(s, &n, sizeof n);
    sha256_add(s, numbers, (size_t)n * sizeof *numbers);
}

static void digest_lines(char hex[65]) {
    struct sha256 s;
    sha256_init(&s);
    for (int i = 0; i < TEXT_LINES; i++) {
        text_line_make(&line, TEXT_LINES_SEED, (uint64_t)i);
        uint32_t n = (uint32_t)line.n;
        sha256_add(&s, &n, sizeof n);
        sha256_add(&s, line.s, line.n);
    }
    sha256_end(&s, hex);
}

struct lengths {
    int32_t n, v[TEXT_LINE_MAX];
};
static int take_length(void *ctx, const char *word, size_t n) {
    struct lengths *l = ctx;
    (void)word;
    l->v[l->n++] = (int32_t)n;
    return 0;
}

static bool digest_words(const char *pre, char hex[65], struct err *e) {
    static struct lengths lengths;
    struct pretokenizer *p = pretokenizer_create(pre, strlen(pre), e);
    if (!p) return false;
    struct sha256 s;
    sha256_init(&s);
    int rc = 0;
    for (int i = 0; rc == 0 && i < TEXT_LINES; i++) {
        text_line_make(&line, TEXT_LINES_SEED, (uint64_t)i);
        lengths.n = 0;
        rc = pretokenizer_split(p, line.s, line.n, take_length, &lengths, e);
        add_numbers(&s, lengths.v, lengths.n);
    }
    sha256_end(&s, hex);
    pretokenizer_free(p);
    return rc == 0;
}

static bool digest_ids(const struct tokenizer *t, bool special, char hex[65], struct err *e) {
    struct sha256 s;
    sha256_init(&s);
    for (int i = 0; i < TEXT_LINES; i++) {
        text_line_make(&line, TEXT_LINES_SEED, (uint64_t)i);
        int32_t *ids, n = tokenizer_encode(t, line.s, line.n, special, &ids, e);
        if (n < 0) return false;
        add_numbers(&s, ids, n);
        free(ids);
    }
    sha256_end(&s, hex);
    return true;
}

/* ---- the comparisons ------------------------------------------------------------------------- */

static const char *golden_string(const cJSON *obj, const char *key) {
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(obj, key));
    return s ? s : "absent";
}

/* The digest shows that a text is wrong; the sample shows which. */
static void check_sample(const cJSON *sample, const char *vocabulary, const struct tokenizer *t) {
    char name[96], got[4096] = "", text[64] = "";
    const cJSON *one;
    int compared = 0, index = -1;
    cJSON_ArrayForEach(one, sample) {
        const cJSON *ids = cJSON_GetObjectItemCaseSensitive(
            cJSON_GetObjectItemCaseSensitive(one, "ids"), vocabulary);
        if (!ids) continue;
        compared++;
        index = cJSON_GetObjectItemCaseSensitive(one, "line")->valueint;
        text_line_make(&line, TEXT_LINES_SEED, (uint64_t)index);
        struct err e;
        int32_t *have, n = tokenizer_encode(t, line.s, line.n, false, &have, &e);
        bool same = n == cJSON_GetArraySize(ids);
        for (int32_t i = 0; same && i < n; i++)
            same = cJSON_GetArrayItem(ids, i)->valueint == have[i];
        for (int32_t i = 0, at = 0; !same && i < n && at < 4000; i++)
            at += snprintf(got + at, sizeof got - (size_t)at, " %d", have[i]);
        free(have);
        if (!same) {
            snprintf(text, sizeof text, "%s", golden_string(one, "text"));
            break;
        }
    }
    snprintf(name, sizeof name, "%s: the readable sample", vocabulary);
    tap(compared > 0 && !got[0], name, "of %d compared, line %d (%s) gave%s", compared, index, text,
        got);
}

static void check_vocabulary(const cJSON *golden, const struct vocab_file *v) {
    char path[512], name[96], hex[65] = "", why[600];
    struct err e = {0};
    const cJSON *want =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(golden, "ids"), v->name);
    if (!want) return; /* no digest for this one */
    if (!vocab_file_path(v, path, sizeof path)) {
        snprintf(name, sizeof name, "%s: ids", v->name);
        tap_skip(name, v->absent);
        return;
    }
    struct gguf *g = gguf_open(path, &e);
    struct tokenizer *t = g ? tokenizer_create(g, &e) : NULL;
    for (int special = 0; special < 2; special++) {
        const char *mode = special ? "special" : "ordinary", *digest = golden_string(want, mode);
        snprintf(name, sizeof name, "%s: ids of %d lines, %s", v->name, TEXT_LINES, mode);
        bool made = t && digest_ids(t, special, hex, &e);
        tap(made && strcmp(hex, digest) == 0, name,
            "%s, want %s (another vocabulary than the digest's? check_tokenizer_hf.py --write)",
            made ? hex : err_format(&e, path, why, sizeof why), digest);
    }
    if (t) check_sample(cJSON_GetObjectItemCaseSensitive(golden, "sample"), v->name, t);
    tokenizer_free(t);
    gguf_close(g);
}

static void check_words(const cJSON *words) {
    const cJSON *one;
    int n = 0;
    cJSON_ArrayForEach(one, words) {
        char name[96], hex[65] = "";
        struct err e = {0};
        snprintf(name, sizeof name, "words of %d lines, %s", TEXT_LINES, one->string);
        bool made = digest_words(one->string, hex, &e);
        tap(made && strcmp(hex, one->valuestring) == 0, name, "%s, want %s", made ? hex : e.text,
            one->valuestring);
        n++;
    }
    tap(n >= 5, "words of five pre-tokenizers", "only %d in %s", n, GOLDEN);
}

static cJSON *read_golden(void) {
    FILE *f = fopen(GOLDEN, "rb");
    if (!f) return NULL;
    static char text[1 << 20];
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    return cJSON_ParseWithLength(text, n);
}

static int print_lines(void) {
    for (int i = 0; i < TEXT_LINES; i++) {
        text_line_make(&line, TEXT_LINES_SEED, (uint64_t)i);
        uint32_t n = (uint32_t)line.n;
        fwrite(&n, sizeof n, 1, stdout);
        fwrite(line.s, 1, line.n, stdout);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

/* ---- streaming detokenisation, driven by test_detokenize.py ---------------------------------- */

enum { MAX_SEQUENCE = 32 };

/* A token for each beginning and each end of the sequence; sequence byte strings go through GGUF.
 */
static void put_token(struct gw *w, const char *s, size_t n) {
    char text[2 * MAX_SEQUENCE + 1] = "";
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        char c[4] = "";
        gw_alphabet((unsigned char)s[i], c);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s", c);
    }
    gw_strn(&w->keys, text, at);
}

struct sequence {
    char s[MAX_SEQUENCE];
    uint32_t n;
};

/* Tokens 2k and 2k + 1: the sequence's first k bytes, and the rest. */
static struct tokenizer *make_tokens(const struct sequence *q, size_t n_q, struct err *e) {
    struct gw w = {0};
    uint64_t n_tokens = 0;
    size_t n;
    for (size_t i = 0; i < n_q; i++) n_tokens += 2 * (q[i].n + 1);
    gw_key_str(&w, "tokenizer.ggml.model", "gpt2");
    gw_key_str(&w, "tokenizer.ggml.pre", "gpt-2");
    gw_key_array(&w, "tokenizer.ggml.merges", GW_STR, 0);
    gw_key_array(&w, "tokenizer.ggml.tokens", GW_STR, n_tokens);
    for (size_t i = 0; i < n_q; i++)
        for (uint32_t k = 0; k <= q[i].n; k++) {
            put_token(&w, q[i].s, k);
            put_token(&w, q[i].s + k, q[i].n - k);
        }
    uint8_t *file = gw_finish(&w, &n);
    struct gguf *g = gguf_from_memory(file, n, e);
    struct tokenizer *t = g ? tokenizer_create(g, e) : NULL;
    gguf_close(g);
    free(file);
    return t;
}

static size_t stream_two(const struct tokenizer *t, int32_t first, char *out) {
    struct detokenizer d = {0};
    size_t n = detokenize(t, &d, first, out);
    n += detokenize(t, &d, first + 1, out + n);
    return n + detokenize_end(&d, out + n);
}

static bool stream_sequence(const struct tokenizer *t, const struct sequence *q, int32_t first) {
    char whole[8 * MAX_SEQUENCE + 64], cut[8 * MAX_SEQUENCE + 64];
    uint32_t n = (uint32_t)stream_two(t, first, whole);
    for (uint32_t k = 1; k <= q->n; k++) {
        size_t m = stream_two(t, first + 2 * (int32_t)k, cut);
        if (m == n && memcmp(cut, whole, n) == 0) continue;
        fprintf(stderr, "cut after byte %u the text is another\n", k);
        return false;
    }
    fwrite(&n, sizeof n, 1, stdout);
    fwrite(whole, 1, n, stdout);
    return true;
}

static int stream_input(void) {
    enum { MOST = 1 << 16 };
    struct sequence *q = calloc(MOST, sizeof *q);
    size_t n_q = 0;
    bool right = q != NULL;
    while (right && n_q < MOST && fread(&q[n_q].n, 4, 1, stdin) == 1) {
        right = q[n_q].n <= MAX_SEQUENCE && fread(q[n_q].s, 1, q[n_q].n, stdin) == q[n_q].n;
        n_q++;
    }
    struct err e = {0};
    struct tokenizer *t = right ? make_tokens(q, n_q, &e) : NULL;
    if (!t) fprintf(stderr, "%s\n", e.text);
    int32_t first = 0;
    for (size_t i = 0; t && right && i < n_q; i++) {
        right = stream_sequence(t, &q[i], first);
        first += 2 * ((int32_t)q[i].n + 1);
    }
    tokenizer_free(t);
    free(q);
    return t && right ? 0 : 1;
}

/* ---- prompts, driven by check_chat_template.py ----------------------------------------------- */

static char *read_frame(void) {
    uint32_t n;
    if (fread(&n, sizeof n, 1, stdin) != 1 || n > TEXT_LINE_MAX) return NULL;
    char *s = calloc(1, n + 1);
    if (s && fread(s, 1, n, stdin) == n) return s;
    free(s);
    return NULL;
}

static bool encode_dialogue(const struct tokenizer *t, uint32_t n_messages, struct err *e) {
    enum { MOST = 16 };
    struct chat_message m[MOST] = {0};
    bool whole = n_messages <= MOST;
    for (uint32_t i = 0; whole && i < n_messages; i++) {
        m[i].role = read_frame();
        m[i].content = read_frame();
        whole = m[i].role && m[i].content;
    }
    int32_t *ids = NULL, n = whole ? tokenizer_encode_chat(t, m, n_messages, &ids, e) : -1;
    if (n >= 0) {
        uint32_t bytes = (uint32_t)n * 4;
        fwrite(&bytes, sizeof bytes, 1, stdout);
        fwrite(ids, 4, (size_t)n, stdout);
    }
    for (int i = 0; i < MOST; i++) {
        free((void *)(uintptr_t)m[i].role);
        free((void *)(uintptr_t)m[i].content);
    }
    free(ids);
    return n >= 0;
}

static int encode_dialogues(const char *path) {
    struct err e = {0};
    struct gguf *g = gguf_open(path, &e);
    struct tokenizer *t = g ? tokenizer_create(g, &e) : NULL;
    uint32_t n;
    bool right = t != NULL;
    while (right && fread(&n, sizeof n, 1, stdin) == 1) right = encode_dialogue(t, n, &e);
    if (!right) fprintf(stderr, "%s: %s\n", e.field, e.text);
    tokenizer_free(t);
    gguf_close(g);
    return right ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--lines") == 0) return print_lines();
    if (argc == 2 && strcmp(argv[1], "--detokenize") == 0) return stream_input();
    if (argc == 3 && strcmp(argv[1], "--chat") == 0) return encode_dialogues(argv[2]);
    char hex[65];
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, "abc", 3);
    sha256_end(&s, hex);
    tap(strcmp(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0,
        "SHA-256 of abc", "%s", hex);
    cJSON *golden = read_golden();
    if (!tap(golden != NULL, "the golden file is read", "%s; run this from the top of the tree",
             GOLDEN))
        return tap_end();
    digest_lines(hex);
    const char *want = golden_string(golden, "lines_sha256");
    tap(strcmp(hex, want) == 0, "the lines are those of the golden file", "%s, want %s", hex, want);
    check_words(cJSON_GetObjectItemCaseSensitive(golden, "words"));
    for (int i = 0; i < N_VOCAB_FILES; i++) check_vocabulary(golden, &vocab_files[i]);
    cJSON_Delete(golden);
    return tap_end();
}
