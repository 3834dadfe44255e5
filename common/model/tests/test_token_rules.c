/* test_token_rules.c: biases, penalties and what comes after them, against values computed by hand
 * and against Hugging Face's LogitsProcessors (check_sampler_hf.py wrote golden/sampler.json). */
#include "model/sampler.h"
#include "testing/check_main.h"

#include "base/json.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define GOLDEN "common/model/tests/golden/sampler.json"
enum { VOCAB = 24, DRAWS = 400 };

static void expect(const float *got, const float *want, int n, const char *what) {
    for (int i = 0; i < n; i++)
        ck_assert_msg(fabsf(got[i] - want[i]) <= 1e-6f * (1 + fabsf(want[i])),
                      "%s: logit %d is %.9g, want %.9g", what, i, (double)got[i], (double)want[i]);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static const float logits[6] = {2, -1, 0.5f, -4, 3, 1};
static const int32_t prompt[] = {0, 1, 1}, output[] = {4, 4, 3, 4}, ends[] = {4, 5};

/* The logits after the output was chosen. */
static void expect_rules(const struct token_rules_config *c, const float want[6],
                         const char *what) {
    struct token_rules *r;
    ck_assert_int_eq(token_rules_create(&r, c, 6, NULL), 0);
    ck_assert_ptr_nonnull(r);
    for (size_t i = 0; i < sizeof output / sizeof *output; i++) token_rules_note(r, output[i]);
    expect(token_rules_apply(r, logits, NULL), want, 6, what);
    token_rules_free(r);
}

START_TEST(each_rule_by_hand) {
    static const struct token_bias bias[] = {{2, 100}, {5, -0.25f}};
    expect_rules(&(struct token_rules_config){.presence_penalty = 1.5f},
                 (float[]){2, -1, 0.5f, -5.5f, 1.5f, 1}, "presence: output only, once a token");
    expect_rules(&(struct token_rules_config){.frequency_penalty = -0.5f},
                 (float[]){2, -1, 0.5f, -3.5f, 4.5f, 1}, "frequency: 1 and 3 times");
    expect_rules(
        &(struct token_rules_config){.repetition_penalty = 2, .prompt = prompt, .n_prompt = 3},
        (float[]){1, -2, 0.5f, -8, 1.5f, 1}, "repetition: prompt and output");
    expect_rules(&(struct token_rules_config){.bias = bias, .n_bias = 2},
                 (float[]){2, -1, 100.5f, -4, 3, 0.75f}, "bias");
    expect_rules(&(struct token_rules_config){.min_tokens = 5, .ends = ends, .n_ends = 2},
                 (float[]){2, -1, 0.5f, -4, -FLT_MAX, -FLT_MAX}, "four of five tokens");
    expect_rules(&(struct token_rules_config){.min_tokens = 4, .ends = ends, .n_ends = 2}, logits,
                 "four of four tokens");
}
END_TEST

START_TEST(the_order_of_the_rules) {
    static const struct token_bias bias[] = {{4, -5}, {0, 2}, {5, 50}};
    /* 4: (3 - 5) * 2 - 3 * 0.5 - 1; 0: (2 + 2) / 2; 3: -4 * 2 - 0.5 - 1; 5 stays excluded */
    expect_rules(&(struct token_rules_config){.presence_penalty = 1,
                                              .frequency_penalty = 0.5f,
                                              .repetition_penalty = 2,
                                              .bias = bias,
                                              .n_bias = 3,
                                              .min_tokens = 9,
                                              .ends = ends + 1,
                                              .n_ends = 1,
                                              .prompt = prompt,
                                              .n_prompt = 3},
                 (float[]){2, -2, 0.5f, -9.5f, -6.5f, -FLT_MAX}, "all");
}
END_TEST

START_TEST(neutral_values_have_no_state) {
    struct token_rules *r = (struct token_rules *)&r;
    struct token_rules_config c = {
        .repetition_penalty = 1, .ends = ends, .n_ends = 2, .prompt = prompt, .n_prompt = 3};
    ck_assert_int_eq(token_rules_create(&r, &c, 6, NULL), 0);
    ck_assert_ptr_null(r);
    token_rules_free(r);
}
END_TEST

START_TEST(the_sampler_counts_its_own_tokens) {
    struct sampler s;
    struct err e = {0};
    struct sampler_config c = {
        0, 1, 0, .rules = {.frequency_penalty = 1, .min_tokens = 2, .ends = ends, .n_ends = 1}};
    ck_assert_int_eq(sampler_init(&s, 6, &c, &e), 0);
    /* 4 would be the highest; it ends the answer, so it has to wait; 0 falls by 1 at each use */
    static const int32_t want[] = {0, 0, 4, 4, 4, 5};
    for (int i = 0; i < 6; i++) ck_assert_int_eq(sampler_next(&s, logits, &e), want[i]);
    float broken[6] = {2, -1, 0.5f, -4, NAN, 1};
    ck_assert_int_eq(sampler_next(&s, broken, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "logit 4"));
    sampler_release(&s);
    c = (struct sampler_config){.temperature = 1, .top_p = 1, .min_p = 1.5f};
    ck_assert_int_eq(sampler_init(&s, 6, &c, &e), -1);
    ck_assert_str_eq(e.field, "min_p");
}
END_TEST

/* ---- golden values --------------------------------------------------------------------------- */

struct golden {
    float logits[VOCAB], changed[VOCAB];
    double p[VOCAB];
    int32_t prompt[VOCAB], output[VOCAB], ends[VOCAB];
    int32_t n_prompt, n_output, n_ends;
    struct token_bias bias[VOCAB];
    struct sampler_config c;
};

static int32_t ids_of(const cJSON *list, int32_t *ids) {
    int32_t n = 0;
    for (const cJSON *v = list->child; v; v = v->next) ids[n++] = v->valueint;
    return n;
}

static float number(const cJSON *obj, const char *key, float absent) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(obj, key);
    return v ? (float)v->valuedouble : absent;
}

static const cJSON *member(const cJSON *obj, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(obj, key);
}

static void read_golden(const cJSON *v, struct golden *g) {
    *g = (struct golden){0};
    const cJSON *set = member(v, "settings"), *x = member(v, "logits")->child,
                *y = member(v, "changed")->child, *p = member(v, "probability")->child;
    for (int i = 0; i < VOCAB; i++, x = x->next, y = y->next, p = p->next) {
        g->logits[i] = (float)x->valuedouble;
        g->changed[i] = cJSON_IsNull(y) ? -FLT_MAX : (float)y->valuedouble;
        g->p[i] = p->valuedouble;
    }
    g->n_prompt = ids_of(member(v, "prompt"), g->prompt);
    g->n_output = ids_of(member(v, "output"), g->output);
    g->n_ends = ids_of(member(v, "ends"), g->ends);
    int32_t n_bias = 0;
    const cJSON *bias = member(set, "logit_bias");
    for (const cJSON *b = bias ? bias->child : NULL; b; b = b->next)
        g->bias[n_bias++] =
            (struct token_bias){b->child->valueint, (float)b->child->next->valuedouble};
    g->c = (struct sampler_config){.temperature = number(set, "temperature", 1),
                                   .top_p = number(set, "top_p", 1),
                                   .top_k = (int32_t)number(set, "top_k", 0),
                                   .min_p = number(set, "min_p", 0)};
    g->c.rules =
        (struct token_rules_config){.repetition_penalty = number(set, "repetition_penalty", 1),
                                    .bias = g->bias,
                                    .n_bias = n_bias,
                                    .min_tokens = (int32_t)number(set, "min_tokens", 0),
                                    .ends = g->ends,
                                    .n_ends = g->n_ends,
                                    .prompt = g->prompt,
                                    .n_prompt = g->n_prompt};
}

/* The id that a uniform number means: the kept tokens stand in the order of their ids. -1: too near
 * to a border. */
static int32_t id_of(const struct golden *g, double unit) {
    double below = 0;
    for (int32_t at = 0; at < VOCAB; at++) {
        if (fabs(unit - below) < 1e-5) return -1;
        if (g->p[at] > 0 && unit < below + g->p[at] - 1e-5) return at;
        below += g->p[at];
    }
    return -1;
}

START_TEST(hugging_face_agrees) {
    struct err e = {0};
    cJSON *tree = json_parse_file(GOLDEN, &e);
    ck_assert_msg(tree != NULL, "%s", e.text);
    int compared = 0, cases = 0;
    for (const cJSON *v = tree->child; v; v = v->next, cases++) {
        static struct golden g;
        read_golden(v, &g);
        struct token_rules *r;
        ck_assert_int_eq(token_rules_create(&r, &g.c.rules, VOCAB, &e), 0);
        for (int32_t i = 0; r && i < g.n_output; i++) token_rules_note(r, g.output[i]);
        expect(r ? token_rules_apply(r, g.logits, NULL) : g.logits, g.changed, VOCAB, "golden");
        token_rules_free(r);

        struct sampler s; /* over the changed logits, without the rules */
        struct rng same;
        g.c.rules = (struct token_rules_config){0};
        g.c.seed = (uint64_t)cases;
        ck_assert_int_eq(sampler_init(&s, VOCAB, &g.c, &e), 0);
        rng_seed(&same, (uint64_t)cases);
        for (int i = 0; i < DRAWS; i++) {
            int32_t want = id_of(&g, rng_unit(&same)), got = sampler_next(&s, g.changed, &e);
            ck_assert_msg(want < 0 || got == want, "case %d draw %d: got %d, want %d", cases, i,
                          got, want);
            compared += want >= 0;
        }
        sampler_release(&s);
    }
    ck_assert_int_eq(cases, 11);
    ck_assert_int_gt(compared, cases * DRAWS - 20);
    cJSON_Delete(tree);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("token rules");
    TCase *t = tcase_create("token rules");
    tcase_add_test(t, each_rule_by_hand);
    tcase_add_test(t, the_order_of_the_rules);
    tcase_add_test(t, neutral_values_have_no_state);
    tcase_add_test(t, the_sampler_counts_its_own_tokens);
    tcase_add_test(t, hugging_face_agrees);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
