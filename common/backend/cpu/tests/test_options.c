/* test_options.c: weights in other precisions, planted faults, limits and refusals. Each fault is
 * compared with a reference that has the same fault, and with the healthy model, from which it must
 * differ. */
#include "backend/cpu/tests/feeding.h"
#include "backend/cpu/tests/reference.h"
#include "testing/check_main.h"

#include <stdio.h>

enum { VOCAB = 96, N = 60 };
#define TOLERANCE 2e-5

static const struct model_config config = {.name = "random",
                                           .vocab_size = VOCAB,
                                           .d_model = 64,
                                           .n_layers = 3,
                                           .n_heads = 8,
                                           .n_kv_heads = 2,
                                           .head_dim = 16,
                                           .d_ffn = 96,
                                           .context_length = 256,
                                           .rope_theta = 10000,
                                           .rope_scale = 1,
                                           .rms_eps = 1e-5f};
static int32_t tokens[N];

static struct model *make(enum dtype type) {
    struct model *m = ref_model(config, ROPE_NEIGHBOURS, true, type, 5);
    ref_tokens(m, 8, tokens, N);
    return m;
}

static void logits_of(const struct model *m, struct backend_cpu_options o, float *out) {
    struct backend *b = feed_backend(m, 2, 1, 0, &o);
    int32_t *table = feed_table(0, policy_blocks_for(N), 3);
    feed_from(b, tokens, 0, N, 23, table, out);
    free(table);
    backend_free(b);
}

static void reference_of(const struct model *m, double *out) {
    double *all = malloc(sizeof *all * N * VOCAB);
    ref_forward(m, tokens, N, all);
    memcpy(out, all + (N - 1) * VOCAB, VOCAB * sizeof *out);
    free(all);
}

/* ---- weights --------------------------------------------------------------------------------- */

static const enum dtype types[] = {DTYPE_F32,  DTYPE_F16,  DTYPE_BF16,
                                   DTYPE_Q8_0, DTYPE_Q4_0, DTYPE_Q4_1};

START_TEST(widened_weights_give_the_same_bits) {
    struct model *m = make(types[_i]);
    float stored[VOCAB], widened[VOCAB];
    logits_of(m, (struct backend_cpu_options){0}, stored);
    logits_of(m, (struct backend_cpu_options){.weights = WEIGHTS_F32}, widened);
    ck_assert(compare_bits(widened, stored, VOCAB).ok);
    ref_model_free(m);
}
END_TEST

/* The same rounding, computed independently in double: to 8 significant bits, to 1/127 of a group's
 * greatest magnitude, to 1/8 of its greatest value, to 4 significant bits of 448 times its part of
 * a row's greatest magnitude. Scales are then cut to half precision, which the test's scales avoid
 * by being powers of two: each group's greatest value is set to one. */
static double rounded(double v, double greatest, enum backend_weights w) {
    int e;
    switch (w) {
    case WEIGHTS_BF16:
        frexp(v, &e);
        return ldexp(nearbyint(ldexp(v, 8 - e)), e - 8);
    case WEIGHTS_INT8:
        return nearbyint(v * 127 / greatest) * (greatest / 127);
    case WEIGHTS_INT4: {
        double d = greatest / -8, q = nearbyint(v / d);
        return (q > 7 ? 7 : q) * d;
    }
    case WEIGHTS_FP8: {
        double d = greatest / 448, step = 0;
        frexp(v / d, &e);
        step = ldexp(1, e < -5 ? -9 : e - 4); /* below 2^-6 they have one step */
        return nearbyint(v / d / step) * step * d;
    }
    default:
        return v;
    }
}

static void round_matrix(struct tensor *t, enum backend_weights w) {
    float *p = (float *)t->data;
    for (int64_t i = 0; i < (int64_t)t->rows * t->cols; i += 32) {
        double greatest = 0;
        for (int64_t j = i; j < i + 32; j++)
            if (fabs((double)p[j]) > fabs(greatest)) greatest = (double)p[j];
        if (w == WEIGHTS_INT8 || w == WEIGHTS_FP8) /* the scale isn't negative */
            greatest = fabs(greatest);
        for (int64_t j = i; j < i + 32; j++) p[j] = (float)rounded((double)p[j], greatest, w);
    }
}

/* Gives every group of 32 a greatest value that its format's scale holds exactly. */
static void level_matrix(struct tensor *t, enum backend_weights w) {
    float *p = (float *)t->data;
    for (int64_t i = 0; i < (int64_t)t->rows * t->cols; i += 32)
        p[i + i / 32 % 32] = w == WEIGHTS_INT8  ? 127.0f / 512
                             : w == WEIGHTS_FP8 ? 448.0f / 1024
                             : i % 64           ? 0.25f
                                                : -0.25f;
}

static void each_matrix(struct model *m, enum backend_weights w,
                        void (*f)(struct tensor *, enum backend_weights)) {
    f(&m->embedding, w);
    f(&m->head, w);
    for (int32_t i = 0; i < m->config.n_layers; i++) {
        struct model_layer *y = &m->layers[i];
        struct tensor *all[] = {&y->wq, &y->wk, &y->wv, &y->wo, &y->w_gate, &y->w_up, &y->w_down};
        for (int k = 0; k < 7; k++) f(all[k], w);
    }
}

static void clamp_matrix(struct tensor *t, enum backend_weights w) {
    (void)w;
    float *p = (float *)t->data;
    for (int64_t i = 0; i < (int64_t)t->rows * t->cols; i++)
        p[i] = p[i] > 0.24f ? 0.24f : p[i] < -0.24f ? -0.24f : p[i];
}

START_TEST(rounded_weights_are_rounded_as_documented) {
    enum backend_weights w = (enum backend_weights)_i;
    struct model *m = make(DTYPE_F32);
    each_matrix(m, w, clamp_matrix);
    each_matrix(m, w, level_matrix);
    float got[VOCAB], exact[VOCAB];
    double want[VOCAB];
    logits_of(m, (struct backend_cpu_options){.weights = w}, got);
    logits_of(m, (struct backend_cpu_options){0}, exact);
    each_matrix(m, w, round_matrix);
    reference_of(m, want);
    char text[200];
    struct comparison c = compare_floats(got, want, NULL, VOCAB, TOLERANCE);
    ck_assert_msg(c.ok, "%s: %s", backend_weights_name(w), comparison_text(&c, text, sizeof text));
    c = compare_floats(exact, want, NULL, VOCAB, 10 * TOLERANCE);
    ck_assert_msg(!c.ok, "%s: rounding changed nothing", backend_weights_name(w));
    ref_model_free(m);
}
END_TEST

/* ---- planted faults -------------------------------------------------------------------------- */

static void expect(const struct model *healthy, struct backend_cpu_options o, const double *want) {
    float got[VOCAB], plain[VOCAB];
    char text[200];
    const char *name = backend_fault_name(o.fault);
    logits_of(healthy, o, got);
    struct comparison c = compare_floats(got, want, NULL, VOCAB, TOLERANCE);
    ck_assert_msg(c.ok, "%s: %s", name, comparison_text(&c, text, sizeof text));
    logits_of(healthy, (struct backend_cpu_options){0}, plain);
    c = compare_floats(plain, want, NULL, VOCAB, 100 * TOLERANCE);
    ck_assert_msg(!c.ok, "%s changes nothing", name);
}

START_TEST(fault_lost_block) {
    struct model *m = make(DTYPE_F32);
    double want[VOCAB];
    for (int32_t lost = 0; lost < policy_blocks_for(N); lost++) {
        ref_lost_block = lost;
        reference_of(m, want);
        expect(m, (struct backend_cpu_options){.fault = FAULT_LOST_KV_BLOCK, .fault_arg = lost},
               want);
    }
    ref_lost_block = -1;
    ref_model_free(m);
}
END_TEST

START_TEST(fault_rope) {
    struct model *m = make(DTYPE_F32);
    double want[VOCAB];
    ref_query_shift = 1;
    reference_of(m, want);
    ref_query_shift = 0;
    expect(m, (struct backend_cpu_options){.fault = FAULT_ROPE_OFF_BY_ONE}, want);
    ref_model_free(m);
}
END_TEST

/* A model with its heads in another order reads KV head h % n_kv. */
START_TEST(fault_head_map) {
    struct model *m = make(DTYPE_F32), *other = make(DTYPE_F32);
    int32_t hd = config.head_dim, kv = config.n_kv_heads, group = config.n_heads / kv;
    for (int32_t l = 0; l < config.n_layers; l++)
        for (int32_t h = 0; h < config.n_heads; h++) {
            int32_t from = h / group + h % group * kv; /* h's group member in the wrong map */
            const struct model_layer *a = &m->layers[l], *b = &other->layers[l];
            memcpy((float *)b->wq.data + h * hd * config.d_model,
                   (const float *)a->wq.data + from * hd * config.d_model,
                   sizeof(float) * (size_t)(hd * config.d_model));
            memcpy((float *)b->bq.data + h * hd, (const float *)a->bq.data + from * hd,
                   sizeof(float) * (size_t)hd);
            for (int32_t r = 0; r < config.d_model; r++)
                memcpy((float *)b->wo.data + r * a->wo.cols + h * hd,
                       (const float *)a->wo.data + r * a->wo.cols + from * hd,
                       sizeof(float) * (size_t)hd);
        }
    double want[VOCAB];
    reference_of(other, want);
    expect(m, (struct backend_cpu_options){.fault = FAULT_WRONG_HEAD_MAP}, want);
    ref_model_free(m);
    ref_model_free(other);
}
END_TEST

static void scale(const struct tensor *t, float by) {
    for (int64_t i = 0; i < (int64_t)t->rows * t->cols; i++) ((float *)t->data)[i] *= by;
}

/* Scores that aren't divided by sqrt(16) are those of a model with queries four times as long. */
START_TEST(fault_no_scale) {
    struct model *m = make(DTYPE_F32), *longer = make(DTYPE_F32);
    for (int32_t l = 0; l < config.n_layers; l++) {
        scale(&longer->layers[l].wq, 4);
        scale(&longer->layers[l].bq, 4);
    }
    double want[VOCAB];
    reference_of(longer, want);
    expect(m, (struct backend_cpu_options){.fault = FAULT_NO_SOFTMAX_SCALE}, want);
    ref_model_free(m);
    ref_model_free(longer);
}
END_TEST

START_TEST(fault_skipped_layer) {
    struct model *m = make(DTYPE_F32);
    for (int32_t skip = 0; skip < config.n_layers; skip++) {
        struct model shorter = *m;
        struct model_layer left[3];
        for (int32_t l = 0, n = 0; l < config.n_layers; l++)
            if (l != skip) left[n++] = m->layers[l];
        shorter.layers = left;
        shorter.config.n_layers = config.n_layers - 1;
        double want[VOCAB];
        reference_of(&shorter, want);
        expect(m, (struct backend_cpu_options){.fault = FAULT_SKIPPED_LAYER, .fault_arg = skip},
               want);
    }
    ref_model_free(m);
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------------- */

static void refused(const struct model *m, struct backend_config c, struct backend_cpu_options o,
                    const char *field, const char *part) {
    struct err e = {0};
    c.model = m;
    struct backend *b = backend_cpu_create_with(&c, &o, &e);
    ck_assert_msg(b == NULL, "accepted, although '%s' was expected", part);
    ck_assert_str_eq(e.field, field);
    ck_assert_msg(strstr(e.text, part) != NULL, "'%s' doesn't say '%s'", e.text, part);
}

START_TEST(refusals) {
    struct model *m = make(DTYPE_F32);
    struct backend_config c = {0};
    struct backend_cpu_options o = {0};
    refused(m, (struct backend_config){.threads = 257}, o, "", "1 to 256");
    refused(m, (struct backend_config){.max_seqs = -1}, o, "max_seqs", "is -1");
    refused(m, (struct backend_config){.max_seq_tokens = 257}, o, "max_seq_tokens", "1 and 256");
    refused(m, (struct backend_config){.max_step_tokens = -5}, o, "max_step_tokens", "is -5");
    refused(m, (struct backend_config){.kv_blocks = -1}, o, "kv_blocks", "is -1");
    o.fault = FAULT_LOST_KV_BLOCK;
    o.fault_arg = 16;
    refused(m, c, o, "fault_arg", "16 blocks");
    o.fault = FAULT_SKIPPED_LAYER;
    o.fault_arg = 3;
    refused(m, c, o, "fault_arg", "3 layers");
    o.fault = (enum backend_fault)99;
    refused(m, c, o, "fault", "no such");
    o = (struct backend_cpu_options){.weights = (enum backend_weights)99};
    refused(m, c, o, "weights", "no such");
    o = (struct backend_cpu_options){.precision = (enum backend_precision)99};
    refused(m, c, o, "precision", "neither exact nor fast");
    o = (struct backend_cpu_options){.kv = (enum backend_kv)99};
    refused(m, c, o, "kv", "neither f32, f16 nor int8");
    m->config.n_kv_heads = 8; /* is not run */
    o = (struct backend_cpu_options){.fault = FAULT_WRONG_HEAD_MAP};
    refused(m, c, o, "fault", "changes nothing");
    m->config.n_kv_heads = 2;
    int32_t cols = m->layers[0].w_down.cols;
    m->layers[0].w_down.cols = 90;
    o = (struct backend_cpu_options){.weights = WEIGHTS_INT4};
    refused(m, c, o, "", "multiple of 32");
    m->layers[0].w_down.cols = cols;
    ref_model_free(m);
}
END_TEST

START_TEST(wrong_batches) {
    struct model *m = make(DTYPE_F32);
    struct err e;
    struct backend_config c = {.model = m, .threads = 1, .max_seqs = 2, .max_step_tokens = 20};
    struct backend *b = backend_cpu_create(&c, &e);
    ck_assert_int_eq(b->info.kv_blocks, 32);
    ck_assert_int_eq((int)b->info.kv_bytes_per_token, 2 * 4 * 3 * 2 * 16);
    ck_assert_int_eq((int)b->info.weight_bytes,
                     4 * (2 * 96 * 64 + 3 * (2 * 128 * 64 + 2 * 32 * 64 + 3 * 64 * 96)));
    int32_t good[16], bad_token[1] = {VOCAB}, bad_block[1] = {32};
    for (int32_t i = 0; i < 16; i++) good[i] = i;
    const struct {
        struct backend_seq seq;
        const char *part;
    } wrong[] = {
        {{tokens, 0, 0, good, 16, true}, "don't fit"},
        {{tokens, 1, -1, good, 16, true}, "don't fit"},
        {{tokens, 2, 255, good, 16, true}, "don't fit"},
        {{tokens, 1, 16, good, 1, true}, "need 2 blocks"},
        {{tokens, 1, 0, bad_block, 1, true}, "block 32"},
        {{bad_token, 1, 0, good, 1, true}, "token id 96"},
        {{tokens, 21, 0, good, 16, true}, "step of 21 tokens"},
    };
    float logits[2 * VOCAB];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(backend_step(b, &(struct backend_batch){&wrong[i].seq, 1}, logits, &e),
                         -1);
        ck_assert_msg(strstr(e.text, wrong[i].part) != NULL, "%zu: %s", i, e.text);
    }
    struct backend_seq s[3] = {{tokens, 1, 0, good, 1, true}};
    ck_assert_int_eq(backend_step(b, &(struct backend_batch){s, 0}, logits, &e), -1);
    ck_assert_int_eq(backend_step(b, &(struct backend_batch){s, 3}, logits, &e), -1);
    ck_assert_int_eq(backend_step(b, &(struct backend_batch){s, 1}, logits, &e), 0);
    backend_free(b);
    ref_model_free(m);
}
END_TEST

int main(void) {
    Suite *s = suite_create("options");
    TCase *t = tcase_create("options");
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, widened_weights_give_the_same_bits, 0, 6);
    tcase_add_loop_test(t, rounded_weights_are_rounded_as_documented, WEIGHTS_BF16,
                        WEIGHTS_FP8 + 1);
    tcase_add_test(t, fault_lost_block);
    tcase_add_test(t, fault_rope);
    tcase_add_test(t, fault_head_map);
    tcase_add_test(t, fault_no_scale);
    tcase_add_test(t, fault_skipped_layer);
    tcase_add_test(t, refusals);
    tcase_add_test(t, wrong_batches);
    return check_main(s);
}
