/* test_fuzz_folder.c: fuzz_folder.c on some thousands of changed files, the same on every machine.
 */
#include "fuzz_folder.c"
#include "testing/check_main.h"

/* The file with its letter before it. */
static uint8_t *seed_of(int which, size_t *n) {
    const struct buffer *b = &folder_file[which];
    uint8_t *seed = malloc(b->n + 1);
    INVARIANT(seed);
    seed[0] = (uint8_t)files[which].letter;
    memcpy(seed + 1, b->bytes, b->n);
    *n = b->n + 1;
    return seed;
}

/* The files are read as they are: what follows changes files that were right. */
START_TEST(the_folder_is_read) {
    struct err e = {0};
    make_folder();
    put_file("model.safetensors", folder_file[WEIGHTS].bytes, folder_file[WEIGHTS].n);
    struct model *m = model_open(folder, &e);
    ck_assert_msg(m != NULL, "%s: %s", e.field, e.text);
    struct tokenizer *t = tokenizer_create(m->file, &e);
    ck_assert_msg(t != NULL, "%s: %s", e.field, e.text);
    ck_assert(m->rope_factors.data && m->config.tied && tokenizer_bos(t) == 1);
    tokenizer_free(t);
    model_free(m);
}
END_TEST

START_TEST(changed_files) {
    static const int rounds[] = {1500, 1000, 500, 1500, 300};
    struct rng r;
    size_t n_seed;
    rng_seed(&r, (uint64_t)_i + 1);
    make_folder();
    uint8_t *seed = seed_of(_i, &n_seed);
    /* Of the weights' file mostly the header is changed. */
    size_t header = _i == WEIGHTS && n_seed > 1400 ? 1400 : n_seed;
    LLVMFuzzerTestOneInput(seed, n_seed);
    for (int i = 0; i < rounds[_i]; i++) {
        size_t cap = n_seed + 512, n = n_seed;
        uint8_t *b = malloc(cap);
        INVARIANT(b);
        memcpy(b, seed, n);
        for (uint64_t k = rng_below(&r, 3) ? 1 : 4; k > 0; k--) {
            if (rng_below(&r, 3) == 0)
                b[1 + rng_below(&r, header - 1)] =
                    (uint8_t) "0123456789-\"{}[],:.ex "[rng_below(&r, 23)];
            else
                n = 1 + fuzz_change(b + 1, n - 1, cap - 1, &r);
            if (n <= header) break;
        }
        uint8_t *exact = malloc(n);
        INVARIANT(exact);
        memcpy(exact, b, n);
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
        free(b);
    }
    free(seed);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("fuzz_folder");
    TCase *t = tcase_create("fuzz_folder");
    tcase_set_timeout(t, 300); /* under sanitizers on a busy machine */
    tcase_add_test(t, the_folder_is_read);
    tcase_add_loop_test(t, changed_files, 0, N_FILES);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
