/* test_fuzz_gguf.c: fuzz_gguf.c on some thousands of changed files, the same on every machine.
 *
 * Random bytes rarely pass the check of the magic number, so valid files are changed: a small
 * vocabulary and a small model, whose header is a few kilobytes. */
#include "fuzz_gguf.c"
#include "testing/check_main.h"

#include "gguf_write.h"

enum seed { SEED_VOCABULARY, SEED_MODEL, SEED_BOTH };

/* *header: bytes before the weights; only they are changed. */
static struct gw_bytes seed_file(enum seed which, size_t *header) {
    struct gw w = {0};
    struct gw_llama o = {.dtype = 2, .bias = which == SEED_BOTH, .untied = which == SEED_BOTH};
    size_t n;
    if (which == SEED_VOCABULARY) gw_key_str(&w, "general.architecture", "gpt2");
    if (which != SEED_VOCABULARY) gw_llama(&w, &o);
    if (which != SEED_MODEL) {
        gw_vocabulary(&w, which == SEED_BOTH ? "deepseek-llm" : "smollm");
        gw_key_str(&w, "tokenizer.chat_template",
                   "{% for message in messages %}{{ message['content'] }}{% endfor %}");
    }
    size_t weights = w.data.n;
    uint8_t *file = gw_finish(&w, &n);
    *header = n - weights;
    return (struct gw_bytes){file, n, n};
}

/* Makes a number of the header large, small or odd, as for a wrong count, length or offset. */
static void change_number(uint8_t *b, size_t n, struct rng *r) {
    static const uint64_t odd[] = {0,
                                   1,
                                   31,
                                   32,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   UINT64_C(1) << 61,
                                   UINT64_MAX,
                                   UINT64_MAX - 31,
                                   UINT64_C(1) << 63};
    uint64_t v = odd[rng_below(r, sizeof odd / sizeof *odd)];
    size_t size = rng_below(r, 2) ? 4 : 8;
    if (n > size) memcpy(b + rng_below(r, n - size), &v, size);
}

static void run(enum seed which, int rounds, uint64_t number) {
    struct rng r;
    size_t header;
    struct gw_bytes seed = seed_file(which, &header);
    rng_seed(&r, number);
    LLVMFuzzerTestOneInput(seed.b, seed.n);
    for (int i = 0; i < rounds; i++) {
        size_t cap = seed.n + 256, n = seed.n;
        uint8_t *b = malloc(cap);
        INVARIANT(b);
        memcpy(b, seed.b, n);
        /* Mostly one change: of two wrong places only the first is seen. */
        for (uint64_t k = rng_below(&r, 3) ? 1 : 3; k > 0; k--) switch (rng_below(&r, 4)) {
            case 0:
                change_number(b, header, &r);
                break;
            case 1:
                b[rng_below(&r, header)] = (uint8_t)rng_next(&r);
                break;
            case 2:
                b[rng_below(&r, header)] ^= (uint8_t)(1u << rng_below(&r, 8));
                break;
            default:
                n = rng_below(&r, 4) ? n : fuzz_change(b, n, cap, &r);
                break;
            }
        uint8_t *exact = malloc(n ? n : 1); /* so that a read past the end is seen */
        INVARIANT(exact);
        memcpy(exact, b, n);
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
        free(b);
    }
    free(seed.b);
}

START_TEST(changed_vocabularies) {
    run(SEED_VOCABULARY, 4000, 1);
}
END_TEST

START_TEST(changed_models) {
    run(SEED_MODEL, 4000, 2);
}
END_TEST

START_TEST(changed_models_with_a_vocabulary) {
    run(SEED_BOTH, 2000, 3);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("fuzz_gguf");
    TCase *t = tcase_create("fuzz_gguf");
    tcase_set_timeout(t, 300); /* under sanitizers on a busy machine */
    tcase_add_test(t, changed_vocabularies);
    tcase_add_test(t, changed_models);
    tcase_add_test(t, changed_models_with_a_vocabulary);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
