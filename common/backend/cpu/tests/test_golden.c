/* test_golden.c: the native backend against committed answers of independent engines.
 *
 * Logits of tiny random models: Hugging Face transformers in float32 (check_logits_hf.py makes and
 * rechecks them). Read from the repository's root: common/backend/tests/golden.
 *
 *   test_golden                         TAP
 *   test_golden --logits MODEL ID...    the logits of every position, one row a line; status 2 and
 *                                       the reason when the model can't be opened
 */
#include "backend/cpu/tests/feeding.h"
#include "backend/cpu/tests/golden.h"
#include "testing/check_main.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#define GOLDEN    "common/backend/tests/golden/"
#define TOLERANCE 1e-4 /* of the greatest logit; the agreement is better than 3e-6 */

START_TEST(logits_of_transformers) {
    char path[200], text[200];
    snprintf(path, sizeof path, GOLDEN "%s.json", models[_i]);
    cJSON *doc = read_json(path);
    const cJSON *schema = cJSON_GetObjectItem(doc, "schema");
    ck_assert_str_eq(cJSON_GetStringValue(schema), "servelab.golden-logits.v1");
    snprintf(path, sizeof path, GOLDEN "%s.gguf", models[_i]);
    struct model *m = open_model(path);
    int32_t vocab = m->config.vocab_size, tokens[256], n = 0;
    const cJSON *v, *rows = cJSON_GetObjectItem(doc, "logits");
    cJSON_ArrayForEach(v, cJSON_GetObjectItem(doc, "tokens")) tokens[n++] = v->valueint;
    ck_assert_int_eq(n, 40);
    ck_assert_int_eq(cJSON_GetArraySize(rows), n);
    struct backend *b = feed_backend(m, 2, 1, 0, NULL);
    int32_t *table = feed_table(0, policy_blocks_for(n), 1);
    float *got = malloc((size_t)vocab * sizeof *got);
    double *want = malloc((size_t)vocab * sizeof *want);
    for (int32_t t = 0; t < n; t++) {
        int32_t i = 0;
        cJSON_ArrayForEach(v, cJSON_GetArrayItem(rows, t)) if (i < vocab) want[i++] =
            v->valuedouble;
        ck_assert_int_eq(i, vocab);
        feed_from(b, tokens, 0, t + 1, t % 7 + 1, table, got);
        struct comparison c = compare_floats(got, want, NULL, (size_t)vocab, TOLERANCE);
        ck_assert_msg(c.ok, "%s, position %d: %s", models[_i], t,
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

/* Prints the logits of every position, one row a line. */
static int print_logits(const char *path, char **ids, int32_t n) {
    int32_t tokens[1024];
    struct err e;
    char text[600];
    struct model *m = model_open(path, &e);
    if (!m || n > 1024) {
        fprintf(stderr, "%s\n", m ? "too many tokens" : err_format(&e, path, text, sizeof text));
        return 2;
    }
    for (int32_t i = 0; i < n; i++) tokens[i] = (int32_t)strtol(ids[i], NULL, 10);
    struct backend_config c = {.model = m, .threads = 2};
    struct backend *b = backend_cpu_create(&c, &e);
    int32_t *table = feed_table(0, policy_blocks_for(n), 1), vocab = m->config.vocab_size, rc = 0;
    float *got = malloc((size_t)vocab * sizeof *got);
    for (int32_t t = 0; b && !rc && t < n; t++) {
        struct backend_seq s = {tokens + t, 1, t, table, policy_blocks_for(n), 1};
        rc = backend_step(b, &(struct backend_batch){&s, 1}, got, &e);
        for (int32_t i = 0; !rc && i < vocab; i++)
            printf("%.9g%c", (double)got[i], i + 1 < vocab ? ' ' : '\n');
    }
    if (!b || rc) fprintf(stderr, "%s\n", err_format(&e, path, text, sizeof text));
    free(got);
    free(table);
    backend_free(b);
    model_free(m);
    return !b || rc ? 2 : 0;
}

int main(int argc, char **argv) {
    if (argc > 3 && !strcmp(argv[1], "--logits")) return print_logits(argv[2], argv + 3, argc - 3);
    Suite *s = suite_create("golden");
    TCase *t = tcase_create("golden");
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, logits_of_transformers, 0, N_MODELS);
    return check_main(s);
}
