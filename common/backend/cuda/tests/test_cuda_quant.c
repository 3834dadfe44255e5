/* test_cuda_quant.c: matrices that stay quantised on the device, against the native backend with
 * the same codes and scales: the embedded model in every type, as a file would store it and rounded
 * when it is loaded.
 *
 * Tolerance: 1e-2 of the greatest logit, as for bf16 (test_cuda.c): keys and values are bf16, and a
 * product of more than 8 rows rounds activations and widened weights. A cache of 8 bits has errors
 * of up to 1/254 of a head's greatest value, where bf16 has 1/512 of each value: 2e-2. CUDA_EXACT:
 * 1e-4, as in test_cuda.c. Token by token with a cache of 8 bits on both sides: 5e-3, which a key
 * or value on the other side of a border between two codes costs; without one it is below 1e-5.
 */
#include "backend/cpu/rows.h"
#include "backend/cuda/tests/machine.h"

#include "base/compare.h"
#include "model/tokenizer.h"
#include "testing/check_main.h"

#include <stdio.h>
#include <string.h>

static const double TOLERANCE = 1e-2;
static const enum dtype types[] = {DTYPE_Q8_0, DTYPE_Q4_0, DTYPE_Q4_1};
static const char *const names[] = {"Q8_0", "Q4_0", "Q4_1"};
enum { TOKENS = 90, N_TYPES = 3, MATRICES = 7, OUTPUT = 12, PROMPTS = 12 };

/* Puts the tensor in another type, into memory that is kept until the process ends: a test is one.
 */
static void store_as(struct tensor *t, enum dtype type) {
    static uint8_t *kept[256];
    static size_t n_kept;
    size_t bytes = dtype_row_bytes(type, t->cols);
    uint8_t *data = malloc((size_t)t->rows * bytes);
    ck_assert(n_kept < sizeof kept / sizeof *kept);
    kept[n_kept++] = data;
    float *row = malloc((size_t)(t->cols + 32) * sizeof *row);
    for (int32_t r = 0; r < t->rows; r++) {
        dequant_row(t, r, row);
        ck_assert_int_eq(quant_row(type, row, t->cols, data + (size_t)r * bytes), 0);
    }
    free(row);
    t->data = data;
    t->dtype = type;
}

static struct model *open_stored_as(enum dtype type) {
    struct model *m = machine_model();
    bool tied = m->head.data == m->embedding.data;
    ck_assert(tied);
    store_as(&m->embedding, type);
    m->head = m->embedding;
    for (int32_t i = 0; i < m->config.n_layers; i++) {
        struct model_layer *l = &m->layers[i];
        struct tensor *all[MATRICES] = {&l->wq,     &l->wk,   &l->wv,    &l->wo,
                                        &l->w_gate, &l->w_up, &l->w_down};
        for (int k = 0; k < MATRICES; k++) store_as(all[k], type);
    }
    return m;
}

static struct backend *open_with(const struct model *m, struct backend_cuda_options o) {
    struct backend_config c = {.model = m, .max_seqs = 4, .max_step_tokens = 64};
    return machine_open_with(&c, o);
}

static struct backend *open_cuda(const struct model *m, enum cuda_weights weights) {
    return open_with(m, (struct backend_cuda_options){.weights = weights});
}

/* The worst error of a row, of its greatest logit. */
static double close_to(const float *got, const float *want, size_t rows, size_t vocab,
                       double tolerance, const char *what) {
    double *w = malloc(rows * vocab * sizeof *w), worst = 0;
    char text[200];
    for (size_t i = 0; i < rows * vocab; i++) w[i] = want[i];
    for (size_t r = 0; r < rows; r++) {
        struct comparison c =
            compare_floats(got + r * vocab, w + r * vocab, NULL, vocab, tolerance);
        ck_assert_msg(c.ok, "%s, row %zu: %s", what, r, comparison_text(&c, text, sizeof text));
        worst = c.error > worst ? c.error : worst;
    }
    free(w);
    return worst;
}

/* Steps of 40, 21 and 1 rows, of 5 rows, and of 1 row beside 28, so that a product has few rows,
 * many, and one. */
static void run_steps(struct backend *b, float *logits, size_t vocab) {
    int32_t tokens[TOKENS], blocks = policy_blocks_for(TOKENS);
    for (int i = 0; i < TOKENS; i++) tokens[i] = 3 + (i * i + 7 * i) % 400;
    int32_t *one = feed_table(0, blocks, 5), *two = feed_table(blocks, blocks, 6);
    feed_from(b, tokens, 0, 40, 40, one, logits);
    feed_from(b, tokens, 0, 22, 21, two, logits + vocab);
    feed_from(b, tokens, 40, 60, 5, one, logits + 2 * vocab);
    struct backend_seq both[] = {{tokens + 22, 1, 22, two, blocks, 1},
                                 {tokens + 60, 28, 60, one, blocks, 2}};
    feed_step(b, both, 2, logits + 3 * vocab);
    free(one);
    free(two);
}

static void compare_within(double tolerance, struct backend *native, struct backend *cuda,
                           size_t vocab, const char *what) {
    enum { ROWS = 6 };
    float *got = malloc(ROWS * vocab * sizeof *got), *want = malloc(ROWS * vocab * sizeof *want);
    run_steps(cuda, got, vocab);
    run_steps(native, want, vocab);
    close_to(got, want, ROWS, vocab, tolerance, what);
    free(got);
    free(want);
    backend_free(native);
    backend_free(cuda);
}

static void compare(struct backend *native, struct backend *cuda, size_t vocab, const char *what) {
    compare_within(TOLERANCE, native, cuda, vocab, what);
}

START_TEST(as_the_file_stores_them) {
    struct model *m = open_stored_as(types[_i]);
    struct backend *cuda = open_cuda(m, CUDA_WEIGHTS_STORED);
    struct model *plain = machine_model();
    struct backend *bf16 = open_cuda(plain, CUDA_WEIGHTS_STORED);
    /* codes and scales; angles, norms and padding are the rest of it */
    double of_bf16 = (double)cuda->info.weight_bytes / (double)bf16->info.weight_bytes;
    static const double most[] = {0.75, 0.58, 0.62};
    ck_assert_msg(of_bf16 < most[_i], "%s takes %.2f of bf16's bytes", names[_i], of_bf16);
    compare(feed_backend(m, 2, 4, 64, NULL), cuda, (size_t)m->config.vocab_size, names[_i]);
    backend_free(bf16);
    model_free(plain);
    model_free(m);
}
END_TEST

/* CUDA_EXACT makes one, two or three bf16 of a weight, by the type that stores it. */
START_TEST(exact_in_every_type) {
    static const struct {
        enum dtype type;
        const char *name;
        int32_t pieces;
    } each[] = {{DTYPE_BF16, "BF16", 1},
                {DTYPE_F16, "F16", 2},
                {DTYPE_Q4_0, "Q4_0", 2},
                {DTYPE_Q8_0, "Q8_0", 3},
                {DTYPE_Q4_1, "Q4_1", 3}};
    struct model *m = open_stored_as(each[_i].type), *plain = machine_model();
    struct backend_cuda_options o = {.precision = CUDA_EXACT};
    struct backend *cuda = open_with(m, o), *whole = open_with(plain, o);
    double of_float = (double)cuda->info.weight_bytes / (double)whole->info.weight_bytes;
    double want = each[_i].pieces / 3.0; /* but for norms and angles, which are float */
    ck_assert_msg(of_float >= want && of_float < want + 0.12, "%s takes %.2f of the bytes of F32",
                  each[_i].name, of_float);
    compare_within(1e-4, feed_backend(m, 2, 4, 64, NULL), cuda, (size_t)m->config.vocab_size,
                   each[_i].name);
    backend_free(whole);
    model_free(plain);
    model_free(m);
}
END_TEST

/* The same weights, rounded on loading by either backend. */
static const struct {
    enum cuda_weights cuda;
    enum backend_weights native;
    const char *name;
    double bits; /* of a weight, scales included; FP8: of rows of 128, here are longer ones */
} rounded[] = {{CUDA_WEIGHTS_INT8, WEIGHTS_INT8, "int8", 8.5},
               {CUDA_WEIGHTS_INT4, WEIGHTS_INT4, "int4", 4.5},
               {CUDA_WEIGHTS_FP8, WEIGHTS_FP8, "fp8", 8.25}};
enum { N_ROUNDED = sizeof rounded / sizeof *rounded };

/* Bits that a weight takes, by the bytes that it takes less than with bf16. */
static double bits_of_weight(const struct model_config *c, const struct backend *b,
                             const struct backend *bf16) {
    double q = (double)c->n_heads * c->head_dim, kv = (double)c->n_kv_heads * c->head_dim;
    double weights = (double)c->vocab_size * c->d_model +
                     (double)c->n_layers * c->d_model * (2 * q + 2 * kv + 3.0 * c->d_ffn);
    return 16 - 8 * (double)(bf16->info.weight_bytes - b->info.weight_bytes) / weights;
}

START_TEST(rounded_when_loaded) {
    struct model *m = machine_model();
    struct backend_cpu_options o = {.weights = rounded[_i].native};
    struct backend *cuda = open_cuda(m, rounded[_i].cuda),
                   *bf16 = open_cuda(m, CUDA_WEIGHTS_STORED);
    double bits = bits_of_weight(&m->config, cuda, bf16);
    ck_assert_msg(bits <= rounded[_i].bits + 0.02 && bits > rounded[_i].bits - 0.2,
                  "%s takes %.3f bits a weight", rounded[_i].name, bits);
    backend_free(bf16);
    compare(feed_backend(m, 2, 4, 64, &o), cuda, (size_t)m->config.vocab_size, rounded[_i].name);
    model_free(m);
}
END_TEST

/* With single tokens and a cache of 8 bits on both sides, activations are nowhere rounded in
 * another way: what is left are sums in another order, and a key or value that falls on the other
 * side of a border between two codes. */
START_TEST(rounded_when_loaded_token_by_token) {
    enum { STEPS = 60 };
    struct model *m = machine_model();
    size_t vocab = (size_t)m->config.vocab_size;
    struct backend_cpu_options o = {.weights = rounded[_i].native, .kv = KV_INT8};
    struct backend_cuda_options simt = {.weights = rounded[_i].cuda, .kv = CUDA_KV_INT8};
    struct backend *of[] = {feed_backend(m, 2, 4, 64, &o), open_with(m, simt)};
    float *logits[] = {malloc(vocab * sizeof(float)), malloc(vocab * sizeof(float))};
    double worst = 0;
    int32_t *table = feed_table(0, policy_blocks_for(STEPS), 5);
    for (int32_t t = 0; t < STEPS; t++) {
        int32_t token = 3 + (t * t + 7 * t) % 400;
        struct backend_seq s = {&token, 1, t, table, policy_blocks_for(STEPS), 1};
        for (int k = 0; k < 2; k++) feed_step(of[k], &s, 1, logits[k]);
        double error = close_to(logits[1], logits[0], 1, vocab, 5e-3, rounded[_i].name);
        worst = error > worst ? error : worst;
    }
    printf("# %s, token by token: at most %.1e of the greatest logit\n", rounded[_i].name, worst);
    for (int k = 0; k < 2; k++) {
        backend_free(of[k]);
        free(logits[k]);
    }
    free(table);
    model_free(m);
}
END_TEST

/* A cache of 8 bits: its bytes, and what it computes. */
START_TEST(cache_of_8_bits) {
    struct model *m = machine_model();
    struct backend *cuda = open_with(m, (struct backend_cuda_options){.kv = CUDA_KV_INT8});
    const struct model_config *c = &m->config;
    ck_assert_str_eq(cuda->info.kv_type, "int8");
    ck_assert_int_eq(cuda->info.kv_bytes_per_token,
                     (int64_t)2 * c->n_layers * c->n_kv_heads * (c->head_dim + 4));
    struct backend_cpu_options rounds = {.kv = KV_INT8};
    compare(feed_backend(m, 2, 4, 64, &rounds), cuda, (size_t)c->vocab_size, "int8 cache");
    model_free(m);
}
END_TEST

/* The embedded model with a window of 37 tokens in every other layer, in bf16 and in 8 bits. */
START_TEST(sliding_window) {
    struct model *m = machine_model();
    m->config.window = 37;
    for (int32_t i = 0; i < m->config.n_layers; i += 2) m->layers[i].windowed = true;
    struct backend_cuda_options o = {.kv = _i ? CUDA_KV_INT8 : CUDA_KV_BF16};
    struct backend_cpu_options native = {.kv = _i ? KV_INT8 : KV_F32};
    compare(feed_backend(m, 2, 4, 64, &native), open_with(m, o), (size_t)m->config.vocab_size,
            _i ? "window, int8" : "window, bf16");
    model_free(m);
}
END_TEST

/* The first logit and how far the second is from it, of the greatest. */
static int32_t first_of(const float *logits, size_t vocab, double *margin) {
    size_t best = 0;
    double second = -1e9, most = 0;
    for (size_t k = 0; k < vocab; k++) {
        double size = logits[k] < 0 ? -logits[k] : logits[k];
        if (logits[k] > logits[best]) best = k;
        if (size > most) most = size;
    }
    for (size_t k = 0; k < vocab; k++)
        if (k != best && logits[k] > second) second = logits[k];
    *margin = (logits[best] - second) / most;
    return (int32_t)best;
}

static void greedy(struct backend *b, const int32_t *prompt, int32_t n, int32_t *out,
                   double *margins, size_t vocab) {
    float *logits = malloc(vocab * sizeof *logits);
    int32_t blocks = policy_blocks_for(n + OUTPUT), *table = feed_table(0, blocks, 4);
    feed_from(b, prompt, 0, n, 13, table, logits);
    for (int i = 0; i < OUTPUT; i++) {
        out[i] = first_of(logits, vocab, &margins[i]);
        struct backend_seq s = {&out[i], 1, n + i, table, blocks, 1};
        feed_step(b, &s, 1, logits);
    }
    free(table);
    free(logits);
}

/* A log and a question, as the model was trained on. */
static int32_t make_prompt(const struct tokenizer *t, int p, int32_t **ids) {
    static const char *const questions[] = {"add %d and %d>", "subtract %d from %d>",
                                            "larger of %d and %d>", "%d+%d="};
    char text[300], question[60];
    struct err e;
    snprintf(question, sizeof question, questions[p % 4], 10 + p * 37 % 90, 10 + p * 53 % 90);
    snprintf(text, sizeof text, "07:32 warn disk read 120 ms\nkey K7Q2 4815\n%s%s",
             p % 3 ? "11:05 info cache flush ok\n" : "", p % 5 == 4 ? "? K7Q2" : question);
    int32_t n = tokenizer_encode(t, text, strlen(text), true, ids, &e);
    ck_assert_int_gt(n, 0);
    return n;
}

/* The same tokens, up to one whose two best logits lie closer together than the tolerance. */
START_TEST(greedy_tokens) {
    struct model *m = open_stored_as(types[_i]);
    size_t vocab = (size_t)m->config.vocab_size;
    struct backend *native = feed_backend(m, 2, 4, 64, NULL),
                   *cuda = open_cuda(m, CUDA_WEIGHTS_STORED);
    struct err e;
    struct tokenizer *t = tokenizer_create(m->file, &e);
    ck_assert_ptr_nonnull(t);
    int compared = 0;
    for (int p = 0; p < PROMPTS; p++) {
        int32_t *prompt, n = make_prompt(t, p, &prompt), want[OUTPUT], got[OUTPUT];
        double margins[OUTPUT], other[OUTPUT];
        greedy(native, prompt, n, want, margins, vocab);
        greedy(cuda, prompt, n, got, other, vocab);
        free(prompt);
        for (int i = 0; i < OUTPUT && margins[i] >= 2 * TOLERANCE; i++, compared++)
            ck_assert_msg(got[i] == want[i], "%s, prompt %d, token %d: %d, native %d", names[_i], p,
                          i, got[i], want[i]);
    }
    printf("# %s: %d of %d tokens compared\n", names[_i], compared, PROMPTS * OUTPUT);
    ck_assert_int_ge(compared, PROMPTS * OUTPUT / 3);
    backend_free(native);
    backend_free(cuda);
    tokenizer_free(t);
    model_free(m);
}
END_TEST

int main(void) {
    Suite *s = suite_create("cuda quant");
    TCase *t = tcase_create("quant");
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, as_the_file_stores_them, 0, N_TYPES);
    tcase_add_loop_test(t, exact_in_every_type, 0, 5);
    tcase_add_loop_test(t, rounded_when_loaded, 0, N_ROUNDED);
    tcase_add_loop_test(t, rounded_when_loaded_token_by_token, 0, N_ROUNDED);
    tcase_add_test(t, cache_of_8_bits);
    tcase_add_loop_test(t, sliding_window, 0, 2);
    tcase_add_loop_test(t, greedy_tokens, 0, N_TYPES);
    return check_main(s);
}
