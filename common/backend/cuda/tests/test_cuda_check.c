/* test_cuda_check.c: the CUDA backend under simt's check mode: one whole request, its prompt in two
 * pieces, a second sequence in between, blocks out of order. No race, no stray or uninitialised
 * access, no device memory that is left; and a decode step touches the bytes that the roofline
 * counts, within 5 %.
 *
 * The checks work in a process of their own: this program, started again with arguments.
 */
#include "backend/cuda/tests/machine.h"

#include "base/home.h"
#include "testing/check_main.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum way { WAY_BF16, WAY_EXACT, WAY_INT8, WAY_INT4, WAY_FP8, WAY_KV_INT8, WAYS };
enum { PROMPT = 40, PIECE = 24, CONTEXT = 96 };

/* ---- the checked process --------------------------------------------------------------------- */

/* A prompt of 40 tokens and `decode` steps after it. */
static int request(enum way way, int decode) {
    char home[4096];
    struct err e;
    struct model *m = model_open(home_path(HOME_DEFAULT_MODEL, home, sizeof home), &e);
    if (!m) return 4;
    struct backend_config c = {
        .model = m, .max_seqs = 2, .max_step_tokens = 32, .max_seq_tokens = CONTEXT};
    static const struct backend_cuda_options ways[] = {
        [WAY_BF16] = {.precision = CUDA_BF16},       [WAY_EXACT] = {.precision = CUDA_EXACT},
        [WAY_INT8] = {.weights = CUDA_WEIGHTS_INT8}, [WAY_INT4] = {.weights = CUDA_WEIGHTS_INT4},
        [WAY_FP8] = {.weights = CUDA_WEIGHTS_FP8},   [WAY_KV_INT8] = {.kv = CUDA_KV_INT8}};
    struct backend_cuda_options o = ways[way];
    o.machine = CUDA_SIMT;
    struct backend *b = backend_cuda_create(&c, &o, &e);
    if (!b) {
        fprintf(stderr, "%s %s\n", e.field, e.text);
        return 4;
    }
    int32_t tokens[CONTEXT], *table = feed_table(0, CONTEXT / KV_BLOCK_TOKENS, 3), other = 11;
    float *logits = malloc(2 * (size_t)m->config.vocab_size * sizeof *logits);
    for (int i = 0; i < CONTEXT; i++) tokens[i] = 20 + 7 * i % 300;
    struct backend_seq first = {tokens, PIECE, 0, table, CONTEXT / KV_BLOCK_TOKENS, 0};
    struct backend_seq both[] = {
        {tokens + PIECE, PROMPT - PIECE, PIECE, table, CONTEXT / KV_BLOCK_TOKENS, 1},
        {&other, 1, 0, &(int32_t){CONTEXT / KV_BLOCK_TOKENS}, 1, 1}};
    int rc = backend_step(b, &(struct backend_batch){&first, 1}, logits, &e);
    if (!rc) rc = backend_step(b, &(struct backend_batch){both, 2}, logits, &e);
    struct backend_choice choices[] = {
        {.wanted = true, .scored = true, .draw = {.top_p = 1}},
        {.wanted = true, .scored = true, .draw = {0.9f, 0.8f, 40, 0.3}, .id = -1}};
    if (!rc) /* once more, for their tokens */
        rc = backend_step_choosing(b, &(struct backend_batch){both, 2}, choices, 2, logits, &e);
    rc |= choices[0].id < 0;
    for (int i = 0; !rc && i < decode; i++) {
        struct backend_seq s = {tokens + PROMPT + i,       1, PROMPT + i, table,
                                CONTEXT / KV_BLOCK_TOKENS, 1};
        rc = backend_step(b, &(struct backend_batch){&s, 1}, logits, &e);
    }
    if (rc) fprintf(stderr, "%s\n", e.text);
    for (int i = 0; i < m->config.vocab_size; i++) rc |= !isfinite(logits[i]);
    free(logits);
    free(table);
    backend_free(b);
    model_free(m);
    return rc ? 1 : 0;
}

/* ---- its report ------------------------------------------------------------------------------ */

/* The report of a run, which must end well. */
static cJSON *report_of(enum way way, int decode) {
    char path[] = "/tmp/servelab-check-XXXXXX", plugin[4096], words[2][4];
    int fd = mkstemp(path), status;
    ck_assert_int_ge(fd, 0);
    machine_find();
    snprintf(plugin, sizeof plugin, "%s", getenv("SERVELAB_SIMT"));
    strcpy(strrchr(plugin, '/') + 1, "backend-simt-check.so");
    snprintf(words[0], sizeof words[0], "%d", way);
    snprintf(words[1], sizeof words[1], "%d", decode);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        setenv("SERVELAB_SIMT", plugin, 1);
        setenv("SIMT_REPORT", path, 1);
        execl("/proc/self/exe", "test_cuda_check", words[0], words[1], (char *)NULL);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "a checked request ended with status %d; its findings are above",
                  WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    char *text = calloc(1, 1 << 22);
    ck_assert_int_gt(read(fd, text, (1 << 22) - 1), 0);
    cJSON *doc = cJSON_Parse(text);
    ck_assert_ptr_nonnull(doc);
    free(text);
    close(fd);
    unlink(path);
    return doc;
}

static double sum_of(const cJSON *report, const char *key) {
    const cJSON *k;
    double sum = 0;
    cJSON_ArrayForEach(k, cJSON_GetObjectItem(report, "kernels")) sum +=
        cJSON_GetNumberValue(cJSON_GetObjectItem(k, key));
    return sum;
}

START_TEST(clean) {
    cJSON *doc = report_of((enum way)_i, 3);
    const cJSON *memory = cJSON_GetObjectItem(doc, "device_memory");
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(doc, "errors")), 0);
    ck_assert(cJSON_GetNumberValue(cJSON_GetObjectItem(memory, "live_allocations")) == 0);
    ck_assert(sum_of(doc, "launches") > 100);
    cJSON_Delete(doc);
}
END_TEST

/* Bytes of a decode step of one sequence with so many keys: every tensor that a kernel reads or
 * writes, once a launch. The weights are bf16; the rest is small beside them in a large model. */
static double closed_form(const struct model_config *c, double keys, double splits) {
    double d = c->d_model, f = c->d_ffn, q = c->n_heads * c->head_dim,
           kv = c->n_kv_heads * c->head_dim;
    double weights = 2 * (q * d + 2 * kv * d + d * q + 3 * d * f);
    double cache = 2 * 2 * kv * keys;
    double vectors = 2 * 20 * d                 /* two rmsnorms */
                     + 4 * (2 * d + q + 2 * kv) /* q, k, v: in three products */
                     + 4 * d + 8 * q + 12 * kv  /* rope; its tables are q's size at most */
                     + 4 * q + 2 * 4 * q * splits + 4 * q /* attention and its merge */
                     + 4 * (q + d) + 4 * (d + 2 * f) + 12 * f + 4 * (f + d);
    double head = 2.0 * c->vocab_size * d + 4 * (d + c->vocab_size) + 20 * d;
    return c->n_layers * (weights + cache + vectors) + head + 6 * d + 8 * d;
}

START_TEST(bytes_of_a_decode_step) {
    struct model *m = machine_model();
    cJSON *with = report_of(WAY_BF16, 2), *without = report_of(WAY_BF16, 1);
    double got = sum_of(with, "footprint_bytes") - sum_of(without, "footprint_bytes");
    double want = closed_form(&m->config, PROMPT + 2, 16);
    ck_assert_msg(fabs(got / want - 1) < 0.05,
                  "a decode step touches %.0f bytes; the closed form gives %.0f", got, want);
    printf("# a decode step touches %.0f bytes; the closed form gives %.0f\n", got, want);
    cJSON_Delete(with);
    cJSON_Delete(without);
    model_free(m);
}
END_TEST

int main(int argc, char **argv) {
    if (argc == 3) return request((enum way)atoi(argv[1]), atoi(argv[2]));
    Suite *s = suite_create("cuda check");
    TCase *t = tcase_create("check");
    tcase_set_timeout(t, 300);
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, clean, 0, WAYS);
    tcase_add_test(t, bytes_of_a_decode_step);
    return check_main(s);
}
