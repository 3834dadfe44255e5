/* test_golden.c: sixteen whole prompts of the embedded model against golden.json, which PyTorch
 * made (evaluate.py): the prompt's length, the first logits after it, and every generated id.
 * golden.json was made without any of the C code. */
#include "backend/backend.h"
#include "base/json.h"
#include "model/gguf.h"
#include "model/sampler.h"
#include "model/tokenizer.h"
#include "testing/check_main.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT_TOKENS = 2048, TOP_LOGITS = 16, BLOCKS = 144 };

static struct model *model;
static struct tokenizer *tok;
static struct backend *backend;
static float *logits;
static int32_t table[BLOCKS];

static void open_all(void) {
    struct err e;
    model = model_open("common/model/embedded/servelab-tiny.gguf", &e);
    ck_assert_msg(model != NULL, "%s", e.text);
    tok = tokenizer_create(model->file, &e);
    backend = backend_cpu_create(&(struct backend_config){.model = model, .max_seqs = 1}, &e);
    ck_assert_msg(tok && backend, "%s", e.text);
    logits = malloc(sizeof *logits * (size_t)backend->info.vocab_size);
    for (int32_t i = 0; i < BLOCKS; i++) table[i] = i;
}

static void close_all(void) {
    free(logits);
    backend_free(backend);
    tokenizer_free(tok);
    model_free(model);
}

static void step(const int32_t *ids, int32_t n, int32_t pos0) {
    struct err e;
    struct backend_seq s = {ids, n, pos0, table, BLOCKS, true};
    ck_assert_msg(backend_step(backend, &(struct backend_batch){&s, 1}, logits, &e) == 0, "%s",
                  e.text);
}

static void prefill(const char *text) {
    struct err e;
    int32_t *ids;
    int32_t n = tokenizer_encode_chat(tok, &(struct chat_message){.role = "user", .content = text},
                                      1, &ids, &e);
    ck_assert_int_eq(n, PROMPT_TOKENS);
    for (int32_t at = 0; at < n; at += 512) step(ids + at, 512, at);
    free(ids);
}

START_TEST(prompts_logits_and_answers_are_those_of_the_training_code) {
    struct err e;
    cJSON *root = json_parse_file("common/model/embedded/golden.json", &e);
    ck_assert_msg(root != NULL, "%s", e.text);
    const cJSON *items = cJSON_GetObjectItem(root, "items"), *item;
    ck_assert_int_eq(cJSON_GetArraySize(items), 16);
    cJSON_ArrayForEach(item, items) {
        prefill(cJSON_GetObjectItem(item, "prompt")->valuestring);
        const cJSON *want = cJSON_GetObjectItem(item, "first_16_logits"), *id;
        ck_assert_int_eq(cJSON_GetArraySize(want), TOP_LOGITS);
        for (int i = 0; i < TOP_LOGITS; i++) {
            double w = cJSON_GetArrayItem(want, i)->valuedouble;
            /* logits reach 20; another order of float32 sums moves them by about 1e-4 */
            ck_assert_msg(fabs(logits[i] - w) <= 0.003, "logit %d is %.5f, want %.5f", i,
                          (double)logits[i], w);
        }
        int32_t pos = PROMPT_TOKENS;
        cJSON_ArrayForEach(id, cJSON_GetObjectItem(item, "generated_ids")) {
            int32_t top = sampler_greedy(logits, backend->info.vocab_size, &e);
            ck_assert_int_eq(top, id->valueint);
            step(&top, 1, pos++);
        }
    }
    cJSON_Delete(root);
}
END_TEST

/* What a foreign program shows of the file. */
START_TEST(the_description_names_all_kinds_of_question) {
    static const char *const kinds[] = {"recall", "sums", "tool calls", "counts"};
    struct gguf_str text;
    struct err e;
    ck_assert_int_eq(gguf_get_str(model->file, "general.description", &text, &e), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        ck_assert_msg(memmem(text.s, text.n, kinds[i], strlen(kinds[i])) != NULL, "%s", kinds[i]);
}
END_TEST

int main(void) {
    Suite *s = suite_create("golden answers");
    TCase *t = tcase_create("golden");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, open_all, close_all);
    tcase_add_test(t, prompts_logits_and_answers_are_those_of_the_training_code);
    tcase_add_test(t, the_description_names_all_kinds_of_question);
    suite_add_tcase(s, t);
    return check_main(s);
}
