/* fuzz_gguf.c: reads any bytes as a GGUF file, as a model and as a vocabulary: they are refused
 * with a message or read, without a fault. libFuzzer:
 *   clang -g -O1 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -Icommon \
 *     common/model/tests/fuzz_gguf.c common/model/\*.c common/base/err.c \
 *     common/base/utf8.c common/base/rng.c -lpcre2-8 -lm -o build/fuzz_gguf
 * (without the backslash before the star; the sources and not the library, so that libFuzzer sees
 * which branches are taken)
 */
#include "model/gguf.h"
#include "model/model.h"
#include "model/tokenizer.h"
#include "testing/fuzz.h"

/* Reads each byte of each tensor, so that a sanitizer sees a wrong extent. */
static uint64_t touch_tensors(const struct gguf *g) {
    uint64_t sum = 0;
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        struct gguf_tensor_info info;
        struct tensor t;
        char name[GGUF_MAX_TENSOR_NAME + 1] = "";
        gguf_tensor_at(g, i, &info);
        memcpy(name, info.name.s, info.name.n);
        if (gguf_get_tensor(g, name, &t, NULL)) continue;
        INVARIANT(t.rows > 0 && t.cols > 0);
        size_t n = (size_t)t.rows * dtype_row_bytes(t.dtype, t.cols);
        INVARIANT(n == info.bytes);
        for (size_t k = 0; k < n; k++) sum += ((const uint8_t *)t.data)[k];
    }
    return sum;
}

/* Reads every key as every type and as text. */
static void touch_keys(const struct gguf *g) {
    for (size_t i = 0; i < gguf_n_keys(g); i++) {
        struct gguf_str k = gguf_key_at(g, i), s, *words = NULL;
        char key[128], text[64];
        int64_t v;
        double d;
        bool b;
        int32_t *ints = NULL;
        uint64_t n;
        if (k.n >= sizeof key) continue;
        memcpy(key, k.s, k.n);
        key[k.n] = '\0';
        gguf_get_int(g, key, INT64_MIN, INT64_MAX, &v, NULL);
        gguf_get_float(g, key, &d, NULL);
        gguf_get_bool(g, key, &b, NULL);
        gguf_get_str(g, key, &s, NULL);
        gguf_get_str_array(g, key, &words, &n, NULL);
        gguf_get_int_array(g, key, &ints, &n, NULL);
        gguf_show_value(g, key, text, sizeof text);
        gguf_value_is(g, key, text);
        free(words);
        free(ints);
    }
}

static void use_vocabulary(const struct gguf *g, const uint8_t *data, size_t n) {
    struct err e = {.text = ""};
    struct tokenizer *t = tokenizer_create(g, &e);
    INVARIANT(t || e.text[0]);
    if (!t) return;
    int32_t *ids;
    size_t some = n < 200 ? n : 200;
    int32_t n_ids = tokenizer_encode(t, (const char *)data + n - some, some, true, &ids, &e);
    INVARIANT(n_ids >= 0);
    for (int32_t i = 0; i < n_ids; i++) INVARIANT(ids[i] >= 0 && ids[i] < tokenizer_vocab_size(t));
    free(ids);
    tokenizer_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct err e = {.text = ""};
    struct gguf *g = gguf_from_memory(data, size, &e);
    INVARIANT(g || e.text[0]); /* a refusal has a reason */
    if (!g) return 0;
    volatile uint64_t sum = touch_tensors(g);
    (void)sum;
    touch_keys(g);
    use_vocabulary(g, data, size);
    struct model *m = model_from_gguf(g, &e); /* owns g now */
    INVARIANT(m || e.text[0]);
    model_free(m);
    return 0;
}
