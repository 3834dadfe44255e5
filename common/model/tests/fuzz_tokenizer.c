/* fuzz_tokenizer.c: any bytes as a text. The first byte chooses the pre-tokenizer and the mode, the
 * rest is the text. Encoding succeeds, ids are in range, their bytes are the text's bytes (or,
 * with Qwen2's pre-tokenizer, those of another spelling), and
 * streaming gives the text back where it is well-formed UTF-8. libFuzzer: as in fuzz_gguf.c. */
#include "model/gguf.h"
#include "model/nfc.h"
#include "model/tokenizer.h"
#include "base/utf8.h"
#include "testing/fuzz.h"

#include "gguf_write.h"

static const char *const fuzz_pres[] = {"gpt-2", "smollm", "llama-bpe", "qwen2", "deepseek-llm"};
enum { N_FUZZ_PRES = sizeof fuzz_pres / sizeof *fuzz_pres };

static const struct tokenizer *fuzz_tokenizer(unsigned which) {
    static struct tokenizer *made[N_FUZZ_PRES];
    if (made[which]) return made[which];
    struct gw w = {0};
    struct err e = {.text = ""};
    size_t n;
    gw_vocabulary(&w, fuzz_pres[which]);
    gw_key_str(&w, "tokenizer.chat_template",
               "{% for message in messages %}{{ message['content'] }}{% endfor %}");
    uint8_t *file = gw_finish(&w, &n);
    struct gguf *g = gguf_from_memory(file, n, &e);
    INVARIANT(g);
    made[which] = tokenizer_create(g, &e);
    INVARIANT(made[which]);
    gguf_close(g);
    free(file);
    return made[which];
}

static bool same_normal(const char *a, size_t n_a, const char *b, size_t n_b) {
    struct err e;
    char *x, *y;
    INVARIANT(!nfc_normalise(a, n_a, &x, &n_a, &e) && !nfc_normalise(b, n_b, &y, &n_b, &e));
    bool same = n_a == n_b && memcmp(x ? x : a, y ? y : b, n_a) == 0;
    free(x);
    free(y);
    return same;
}

/* The ids' bytes, special tokens' texts among them, are the text: the vocabulary has every byte.
 * Where the text is normalised first, they are another spelling of it. Returns them, malloc'ed. */
static char *check_bytes(const struct tokenizer *t, bool normalises, const int32_t *ids,
                         int32_t n_ids, const char *text, size_t n, size_t *n_bytes) {
    size_t at = 0, len, most = 4 * n + 64;
    char *bytes = malloc(most);
    INVARIANT(bytes);
    for (int32_t i = 0; i < n_ids; i++) {
        INVARIANT(ids[i] >= 0 && ids[i] < tokenizer_vocab_size(t));
        const char *s = tokenizer_token_bytes(t, ids[i], true, &len);
        INVARIANT(len > 0 && len <= most - at);
        memcpy(bytes + at, s, len);
        at += len;
    }
    INVARIANT(at == n ? memcmp(bytes, text, n) == 0 || normalises : normalises);
    INVARIANT(!normalises || same_normal(bytes, at, text, n));
    *n_bytes = at;
    return bytes;
}

static bool well_formed(const char *s, size_t n) {
    for (size_t i = 0, len; i < n; i += len) {
        len = utf8_char_bytes(s + i, n - i);
        if (len == 0) return false;
    }
    return true;
}

/* Streaming writes well-formed UTF-8 for any text, and the text itself where it is well-formed. */
static void check_stream(const struct tokenizer *t, const int32_t *ids, int32_t n_ids,
                         const char *text, size_t n, bool special) {
    char *out = malloc(3 * n + 64);
    INVARIANT(out);
    struct detokenizer d = {0};
    size_t at = 0;
    for (int32_t i = 0; i < n_ids; i++) at += detokenize(t, &d, ids[i], out + at);
    at += detokenize_end(&d, out + at);
    INVARIANT(at <= 3 * n + 24);
    INVARIANT(well_formed(out, at));
    if (!special && well_formed(text, n)) INVARIANT(at == n && memcmp(out, text, n) == 0);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const struct tokenizer *t = fuzz_tokenizer(data[0] / 2 % N_FUZZ_PRES);
    bool special = data[0] & 1;
    const char *text = (const char *)data + 1;
    size_t n = size - 1;
    struct err e = {.text = ""};
    int32_t *ids, n_ids = tokenizer_encode(t, text, n, special, &ids, &e);
    INVARIANT(n_ids >= 0);
    bool normalises = !strcmp(fuzz_pres[data[0] / 2 % N_FUZZ_PRES], "qwen2");
    char *bytes = check_bytes(t, normalises, ids, n_ids, text, n, &n);
    check_stream(t, ids, n_ids, bytes, n, special);
    free(bytes);
    free(ids);
    return 0;
}
