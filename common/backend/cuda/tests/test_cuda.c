/* test_cuda.c: the CUDA backend on the CPU: logits against Hugging Face transformers and against
 * the native backend, tokens against the native backend.
 *
 * Tolerances, of the greatest logit. With CUDA_EXACT: 1e-4, as for the native backend; keys and
 * values have 16 significant bits, everything else is float. With CUDA_BF16: 2e-2; weights,
 * activations, keys and values have 8 significant bits, an error of 2^-9 each.
 */
#include "backend/cuda/tests/machine.h"

#include "base/home.h"
#include "testing/check_main.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#define GOLDEN "common/backend/tests/golden/"

static const double tolerance[] = {[CUDA_BF16] = 2e-2, [CUDA_EXACT] = 1e-4};
static const char *const models[] = {"mha",       "gqa",        "tied",        "bias",
                                     "bias_tied", "wide_heads", "rope_factors"};
enum { N_MODELS = sizeof models / sizeof *models, GOLDEN_TOKENS = 40 };

static cJSON *read_json(const char *path) {
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s can't be opened; run from the repository's root", path);
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    cJSON *doc = n > 0 ? cJSON_Parse(text) : NULL;
    ck_assert_msg(doc != NULL, "%s is not JSON", path);
    free(text);
    return doc;
}

static struct model *open_model(const char *path) {
    struct err e;
    struct model *m = model_open(path, &e);
    ck_assert_msg(m != NULL, "%s: %s %s", path, m ? "" : e.field, m ? "" : e.text);
    return m;
}

static struct backend *open_simt(const struct model *m, enum cuda_precision p, int32_t max_seqs,
                                 int32_t step) {
    return machine_open_with(
        &(struct backend_config){.model = m, .max_seqs = max_seqs, .max_step_tokens = step}, p);
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
        struct comparison c = compare_floats(got, want, NULL, (size_t)vocab, tolerance[precision]);
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

int main(void) {
    Suite *s = suite_create("cuda");
    TCase *t = tcase_create("golden");
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, logits_of_transformers, 0, 2 * N_MODELS);
    return check_main(s);
}
