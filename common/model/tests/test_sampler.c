/* test_sampler.c: the sampler against a plain implementation that sorts everything, and against the
 * probabilities it promises (Pearson's chi-square, fixed seeds). */
#include "model/sampler.h"
#include "testing/check_main.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- the plain implementation ---------------------------------------------------------------- */

enum { MAX_VOCAB = 512 };
struct ranked {
    double p;
    int id;
};

static int by_weight(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (x->p != y->p) return x->p < y->p ? 1 : -1;
    return x->id - y->id;
}

/* Probabilities after temperature and top_p, heaviest first. Returns how many are kept. */
static int plain_distribution(const float *logits, int n, double temperature, double top_p,
                              struct ranked out[MAX_VOCAB]) {
    double highest = logits[0], sum = 0, mass = 0;
    for (int i = 1; i < n; i++) highest = fmax(highest, logits[i]);
    for (int i = 0; i < n; i++) {
        out[i] = (struct ranked){exp((logits[i] - highest) / temperature), i};
        sum += out[i].p;
    }
    qsort(out, (size_t)n, sizeof *out, by_weight);
    int kept = 0;
    while (kept < n && (kept == 0 || mass / sum < top_p)) mass += out[kept++].p;
    for (int i = 0; i < kept; i++) out[i].p /= mass;
    return kept;
}

static int by_id(const void *a, const void *b) {
    return ((const struct ranked *)a)->id - ((const struct ranked *)b)->id;
}

static void random_logits(struct rng *r, float *logits, int n, double spread) {
    for (int i = 0; i < n; i++) logits[i] = (float)((rng_unit(r) - 0.5) * spread);
}

static struct sampler make(int n, float temperature, float top_p, uint64_t seed) {
    struct sampler s;
    struct sampler_config c = {.temperature = temperature, .top_p = top_p, .seed = seed};
    struct err e;
    ck_assert_int_eq(sampler_init(&s, n, &c, &e), 0);
    return s;
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST(greedy_takes_the_lowest_of_equal) {
    float logits[] = {-3, 2, 5, 5, -1, 5};
    struct sampler s = make(6, 0, 1, 1);
    ck_assert_int_eq(sampler_next(&s, logits, NULL), 2);
    float same[] = {0.0f, -0.0f, 0.0f};
    struct sampler t = make(3, 0, 1, 1);
    ck_assert_int_eq(sampler_next(&t, same, NULL), 0);
    float low[] = {-3e38f, -1e38f, -2e38f};
    ck_assert_int_eq(sampler_next(&t, low, NULL), 1);
}
END_TEST

START_TEST(broken_logits_are_an_error) {
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    for (int where = 0; where < 5; where++)
        for (int k = 0; k < 4; k++)
            for (int hot = 0; hot < 2; hot++) {
                float logits[5] = {1, 2, 3, 4, 5};
                struct err e = {0};
                struct sampler s = make(5, hot ? 0.7f : 0.0f, 0.9f, 1);
                logits[where] = bad[k];
                ck_assert_int_eq(sampler_next(&s, logits, &e), -1);
                char want[32];
                snprintf(want, sizeof want, "logit %d is", where);
                ck_assert_msg(strstr(e.text, want), "got: %s", e.text);
                sampler_release(&s);
            }
}
END_TEST

START_TEST(bad_settings_name_the_field) {
    const struct {
        float temperature, top_p;
        const char *field;
    } bad[] = {{-0.1f, 1, "temperature"}, {NAN, 1, "temperature"}, {INFINITY, 1, "temperature"},
               {101, 1, "temperature"},   {1, 0, "top_p"},         {1, 1.01f, "top_p"},
               {1, NAN, "top_p"},         {1, -1, "top_p"},        {0, 0, "top_p"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sampler s;
        struct err e = {0};
        struct sampler_config c = {.temperature = bad[i].temperature, .top_p = bad[i].top_p};
        ck_assert_int_eq(sampler_init(&s, 8, &c, &e), -1);
        ck_assert_str_eq(e.field, bad[i].field);
    }
}
END_TEST

/* Draws with the same uniform numbers as the sampler: the same ids, but where a number falls within
 * rounding of a border. */
START_TEST(agrees_with_the_plain_implementation) {
    const float temperatures[] = {0.05f, 0.7f, 1, 2, 100}, top_ps[] = {0.01f, 0.3f, 0.9f, 0.999f};
    struct rng r;
    rng_seed(&r, 20240611);
    long compared = 0;
    for (int round = 0; round < 200; round++) {
        int n = 1 + (int)rng_below(&r, MAX_VOCAB);
        float logits[MAX_VOCAB], t = temperatures[round % 5], p = top_ps[round / 5 % 4];
        random_logits(&r, logits, n, 20);
        struct ranked d[MAX_VOCAB];
        int kept = plain_distribution(logits, n, t, p, d);
        qsort(d, (size_t)kept, sizeof *d, by_id); /* the order in which the sampler walks */
        struct sampler s = make(n, t, p, (uint64_t)round);
        struct rng same;
        rng_seed(&same, (uint64_t)round);
        for (int draw = 0; draw < 50; draw++) {
            double u = rng_unit(&same), below = 0;
            int want = kept - 1;
            bool near = false;
            for (int i = 0; i < kept; i++) {
                near |= fabs(u - below) < 1e-9;
                if (u >= below && u < below + d[i].p) want = i;
                below += d[i].p;
            }
            int got = sampler_next(&s, logits, NULL);
            if (near) continue;
            ck_assert_msg(got == d[want].id, "round %d draw %d: got %d, want %d", round, draw, got,
                          d[want].id);
            compared++;
        }
        sampler_release(&s);
    }
    ck_assert_int_gt(compared, 9900);
}
END_TEST

/* 1 - P(chi-square with k degrees of freedom <= x), by Wilson and Hilferty's cube-root normal
 * approximation; good to a few per mille where it matters here. */
static double chi_square_p(double x, double k) {
    double z = (cbrt(x / k) - (1 - 2 / (9 * k))) / sqrt(2 / (9 * k));
    return 0.5 * erfc(z / sqrt(2));
}

static double test_frequencies(const float *logits, int n, float t, float p, uint64_t seed,
                               int draws) {
    struct ranked d[MAX_VOCAB];
    int kept = plain_distribution(logits, n, t, p, d);
    int count[MAX_VOCAB] = {0};
    struct sampler s = make(n, t, p, seed);
    for (int i = 0; i < draws; i++) {
        int id = sampler_next(&s, logits, NULL);
        ck_assert(id >= 0 && id < n);
        count[id]++;
    }
    sampler_release(&s);
    double x = 0;
    int seen = 0;
    for (int i = 0; i < kept; i++) {
        double want = d[i].p * draws;
        x += (count[d[i].id] - want) * (count[d[i].id] - want) / want;
        seen += count[d[i].id];
    }
    ck_assert_msg(seen == draws, "%d draws fell outside the nucleus of %d", draws - seen, kept);
    return kept < 2 ? 1 : chi_square_p(x, kept - 1);
}

START_TEST(frequencies_follow_the_probabilities) {
    struct rng r;
    rng_seed(&r, 7);
    for (int round = 0; round < 12; round++) {
        float logits[24];
        random_logits(&r, logits, 24, 4);
        double p = test_frequencies(logits, 24, round % 2 ? 0.8f : 1.5f, round % 3 ? 0.85f : 1,
                                    (uint64_t)(100 + round), 40000);
        /* Twelve fixed seeds: all clear 0.001 now, and a wrong weight gives 1e-20. */
        ck_assert_msg(p > 0.001, "round %d: chi-square p = %g", round, p);
    }
}
END_TEST

/* The check above can fail: the same frequencies against another temperature. */
START_TEST(frequencies_expose_a_wrong_temperature) {
    float logits[8] = {0, 0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f};
    struct ranked d[MAX_VOCAB];
    plain_distribution(logits, 8, 1.1, 1, d);
    struct sampler s = make(8, 1.0f, 1, 5);
    int count[8] = {0};
    for (int i = 0; i < 40000; i++) count[sampler_next(&s, logits, NULL)]++;
    double x = 0;
    for (int i = 0; i < 8; i++) x += pow(count[d[i].id] - d[i].p * 40000, 2) / (d[i].p * 40000);
    ck_assert_double_lt(chi_square_p(x, 7), 1e-6);
    sampler_release(&s);
}
END_TEST

START_TEST(corners) {
    float one[] = {-7};
    struct sampler s = make(1, 1, 0.5f, 3);
    ck_assert_int_eq(sampler_next(&s, one, NULL), 0);
    sampler_release(&s);
    /* A tiny temperature is greedy, a tiny top_p too; equal logits go by id. */
    float logits[] = {1, 3, 3, 2};
    s = make(4, 1e-38f, 1, 3);
    for (int i = 0; i < 100; i++) {
        int id = sampler_next(&s, logits, NULL);
        ck_assert(id == 1 || id == 2);
    }
    sampler_release(&s);
    s = make(4, 1, 1e-30f, 3);
    for (int i = 0; i < 100; i++) ck_assert_int_eq(sampler_next(&s, logits, NULL), 1);
    sampler_release(&s);
    /* Weights that underflow are never chosen. */
    float far[] = {0, -3e38f, 3e38f, -3e38f};
    s = make(4, 1, 1, 3);
    for (int i = 0; i < 100; i++) ck_assert_int_eq(sampler_next(&s, far, NULL), 2);
    sampler_release(&s);
}
END_TEST

START_TEST(seeds_repeat) {
    float logits[64];
    struct rng r;
    rng_seed(&r, 1);
    random_logits(&r, logits, 64, 3);
    struct sampler a = make(64, 1, 0.95f, 42), b = make(64, 1, 0.95f, 42),
                   c = make(64, 1, 0.95f, 43);
    int differs = 0;
    for (int i = 0; i < 200; i++) {
        int id = sampler_next(&a, logits, NULL);
        ck_assert_int_eq(id, sampler_next(&b, logits, NULL));
        differs += id != sampler_next(&c, logits, NULL);
    }
    ck_assert_int_gt(differs, 50);
    sampler_release(&a);
    sampler_release(&b);
    sampler_release(&c);
}
END_TEST

/* What another machine needs for the same choice: the draws to come, and the ids that it gave. */
START_TEST(foreseen_and_decided_choices) {
    float logits[64];
    struct rng r;
    rng_seed(&r, 4);
    random_logits(&r, logits, 64, 6);
    struct sampler a = make(64, 0.9f, 0.8f, 42), b = make(64, 0.9f, 0.8f, 42);
    struct sampler_draw d[20], again;
    for (int i = 0; i < 20; i++) ck_assert(sampler_foresee(&a, i, &d[i]));
    for (int i = 0; i < 20; i++) {
        ck_assert(sampler_foresee(&a, 0, &again) && again.unit == d[i].unit);
        ck_assert(d[i].temperature == 0.9f && d[i].top_p == 0.8f && d[i].top_k == 0);
        int id = sampler_next(&b, logits, NULL);
        /* NULL: the logits of a decided choice are not read */
        if (i % 3) sampler_decide(&a, id);
        if (i % 3 == 2) sampler_decide(&a, -1);
        ck_assert_int_eq(sampler_next(&a, i % 3 == 1 ? NULL : logits, NULL), id);
    }
    sampler_release(&a);
    sampler_release(&b);
    struct sampler_config c = {.temperature = 1, .top_p = 1, .min_p = 0.1f};
    struct err e;
    ck_assert_int_eq(sampler_init(&a, 8, &c, &e), 0);
    ck_assert(!sampler_foresee(&a, 0, &again));
    sampler_release(&a);
    c = (struct sampler_config){.top_p = 1, .rules.repetition_penalty = 1.2f};
    ck_assert_int_eq(sampler_init(&a, 8, &c, &e), 0);
    ck_assert(!sampler_foresee(&a, 0, &again));
    sampler_release(&a);
    a = make(8, 0, 1, 1);
    ck_assert(sampler_foresee(&a, 3, &again) && again.temperature == 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("sampler");
    TCase *t = tcase_create("sampler");
    tcase_add_test(t, greedy_takes_the_lowest_of_equal);
    tcase_add_test(t, broken_logits_are_an_error);
    tcase_add_test(t, bad_settings_name_the_field);
    tcase_add_test(t, agrees_with_the_plain_implementation);
    tcase_add_test(t, frequencies_follow_the_probabilities);
    tcase_add_test(t, frequencies_expose_a_wrong_temperature);
    tcase_add_test(t, corners);
    tcase_add_test(t, seeds_repeat);
    tcase_add_test(t, foreseen_and_decided_choices);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
