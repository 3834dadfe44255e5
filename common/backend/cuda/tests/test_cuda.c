/* test_cuda.c: the CUDA backend on the CPU: logits against Hugging Face transformers and against
 * the native backend.
 *
 *   test_cuda --logits MODEL ID...    the logits of every position, one row a line
 *
 * Tolerances, of the greatest logit. CUDA_EXACT: 1e-4, as for the native backend. Keys and values
 * have 16 significant bits, everything else is float; the agreement is better than 6e-5. CUDA_BF16:
 * 1e-2 on the embedded model, which was trained. The random models of width 16 average over too few
 * values: to round their weights to bf16 alone, in the native backend, costs up to 4e-2, so 6e-2.
 */
#include "backend/cpu/tests/golden.h"
#include "backend/cuda/tests/machine.h"

#include "testing/check_main.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#define GOLDEN "common/backend/tests/golden/"

static const double of_random[] = {[CUDA_BF16] = 6e-2, [CUDA_EXACT] = 1e-4};
static const double of_trained[] = {[CUDA_BF16] = 1e-2, [CUDA_EXACT] = 1e-4};
enum { GOLDEN_TOKENS = 40 };

static struct backend *open_simt(const struct model *m, enum cuda_precision p, int32_t max_seqs,
                                 int32_t step) {
    return machine_open_with(
        &(struct backend_config){.model = m, .max_seqs = max_seqs, .max_step_tokens = step},
        (struct backend_cuda_options){.precision = p});
}

/* The golden logits of one position. */
static void golden_row(const cJSON *rows, int32_t t, double *want, int32_t vocab) {
    const cJSON *v;
    int32_t i = 0;
    cJSON_ArrayForEach(v, cJSON_GetArrayItem(rows, t)) if (i < vocab) want[i++] = v->valuedouble;
    ck_assert_int_eq(i, vocab);
}

START_TEST(logits_of_transformers) {
    enum cuda_precision precision = _i % 2 ? CUDA_EXACT : CUDA_BF16;
    const char *name = models[_i / 2], *kind = precision == CUDA_EXACT ? "exact" : "bf16";
    char path[200], text[200];
    snprintf(path, sizeof path, GOLDEN "%s.json", name);
    cJSON *doc = read_json(path);
    snprintf(path, sizeof path, GOLDEN "%s.gguf", name);
    struct model *m = open_model(path);
    int32_t vocab = m->config.vocab_size, tokens[GOLDEN_TOKENS], n = 0;
    const cJSON *v, *rows = cJSON_GetObjectItem(doc, "logits");
    cJSON_ArrayForEach(v, cJSON_GetObjectItem(doc, "tokens")) tokens[n++] = v->valueint;
    ck_assert_int_eq(n, GOLDEN_TOKENS);
    struct backend *b = open_simt(m, precision, 1, 0);
    int32_t *table = feed_table(0, policy_blocks_for(n), 1);
    float *got = malloc((size_t)vocab * sizeof *got);
    double *want = malloc((size_t)vocab * sizeof *want);
    for (int32_t t = 0; t < n; t++) {
        feed_from(b, tokens, 0, t + 1, t % 7 + 1, table, got);
        golden_row(rows, t, want, vocab);
        struct comparison c = compare_floats(got, want, NULL, (size_t)vocab, of_random[precision]);
        ck_assert_msg(c.ok, "%s, %s, position %d: %s", name, kind, t,
                      comparison_text(&c, text, sizeof text));
    }
    free(got);
    free(want);
    free(table);
    backend_free(b);
    model_free(m);
    cJSON_Delete(doc);
}
END_TEST

/* A prompt in pieces beside another sequence's decode, blocks in any order, several logits at once.
 */
START_TEST(logits_of_native) {
    enum cuda_precision precision = _i ? CUDA_EXACT : CUDA_BF16;
    enum { TOKENS = 100, SEQS = 2, WANT = 3 };
    char text[200];
    struct model *m = machine_model();
    size_t vocab = (size_t)m->config.vocab_size;
    struct backend *of[] = {feed_backend(m, 2, WANT + 1, 64, NULL),
                            open_simt(m, precision, WANT + 1, 64)};
    int32_t blocks = policy_blocks_for(TOKENS), tokens[TOKENS];
    float *got[2] = {malloc((WANT + 1) * vocab * sizeof(float)),
                     malloc((WANT + 1) * vocab * sizeof(float))};
    double *want = malloc((WANT + 1) * vocab * sizeof *want);
    for (int i = 0; i < TOKENS; i++) tokens[i] = 3 + (i * i + 7 * i) % 400;
    for (int k = 0; k < 2; k++) {
        int32_t *long_table = feed_table(0, blocks, 5),
                *short_table = feed_table(blocks, blocks, 6);
        feed_from(of[k], tokens, 0, 40, 17, short_table, got[k]);
        feed_from(of[k], tokens, 0, 61, 25, long_table, got[k]);
        struct backend_seq both[] = {{tokens + 40, 1, 40, short_table, blocks, 1},
                                     {tokens + 61, 39, 61, long_table, blocks, WANT}};
        feed_step(of[k], both, 2, got[k]);
        free(long_table);
        free(short_table);
    }
    for (size_t i = 0; i < (WANT + 1) * vocab; i++) want[i] = got[0][i];
    for (int r = 0; r < WANT + 1; r++) {
        struct comparison c = compare_floats(got[1] + r * vocab, want + r * vocab, NULL, vocab,
                                             of_trained[precision]);
        ck_assert_msg(c.ok, "row %d: %s", r, comparison_text(&c, text, sizeof text));
    }
    for (int k = 0; k < 2; k++) {
        free(got[k]);
        backend_free(of[k]);
    }
    free(want);
    model_free(m);
}
END_TEST

/* A step that is refused says why, and the next one runs. */
START_TEST(wrong_batches) {
    struct err e;
    struct model *m = open_model(GOLDEN "gqa.gguf");
    struct backend *b = open_simt(m, CUDA_BF16, 1, 8);
    int32_t tokens[] = {1, 2, 99}, table[] = {0};
    float logits[64];
    struct backend_seq s = {tokens, 3, 0, table, 1, 1};
    ck_assert_int_eq(backend_step(b, &(struct backend_batch){&s, 1}, logits, &e), -1);
    ck_assert_msg(strstr(e.text, "token id 99 doesn't exist"), "%s", e.text);
    s.n_tokens = 2;
    ck_assert_int_eq(backend_step(b, &(struct backend_batch){&s, 1}, logits, &e), 0);
    backend_free(b);
    model_free(m);
}
END_TEST

/* Prints the logits of every position, one row a line; status 2 and a message without them. */
static int print_logits(const char *path, char **ids, int32_t n) {
    struct err e;
    struct model *m = model_open(path, &e);
    struct backend_config c = {.model = m};
    struct backend_cuda_options o = {.machine = CUDA_SIMT, .precision = CUDA_EXACT};
    machine_find();
    struct backend *b = m ? backend_cuda_create(&c, &o, &e) : NULL;
    int32_t *table = feed_table(0, policy_blocks_for(n), 1), vocab = m ? m->config.vocab_size : 0;
    float *got = malloc((size_t)vocab * sizeof *got);
    int rc = b ? 0 : -1;
    for (int32_t t = 0; !rc && t < n; t++) {
        int32_t token = (int32_t)strtol(ids[t], NULL, 10);
        struct backend_seq s = {&token, 1, t, table, policy_blocks_for(n), 1};
        rc = backend_step(b, &(struct backend_batch){&s, 1}, got, &e);
        for (int32_t i = 0; !rc && i < vocab; i++)
            printf("%.9g%c", (double)got[i], i + 1 < vocab ? ' ' : '\n');
    }
    if (rc) fprintf(stderr, "%s %s\n", e.field, e.text);
    free(got);
    free(table);
    backend_free(b);
    model_free(m);
    return rc ? 2 : 0;
}

int main(int argc, char **argv) {
    if (argc > 3 && !strcmp(argv[1], "--logits")) return print_logits(argv[2], argv + 3, argc - 3);
    Suite *s = suite_create("cuda");
    TCase *t = tcase_create("golden");
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, logits_of_transformers, 0, 2 * N_MODELS);
    tcase_add_loop_test(t, logits_of_native, 0, 2);
    tcase_add_test(t, wrong_batches);
    return check_main(s);
}
