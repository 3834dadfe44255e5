/* test_slo.c: the reference verdicts against cases by hand, the worked example of the handout, and
 * the rule of the three answers on every combination of parts. */
#include "base/rng.h"
#include "objective/slo.h"
#include "testing/check_main.h"

#include <math.h>
#include <string.h>

#define MS INT64_C(1000000)

/* States nothing: every part is optional. */
static struct objective nothing(void) {
    struct objective o = {.resource = {.accelerators = 1}};
    o.quality.min_pass_rate = o.reliability.max_failure_rate = o.throughput.min_rps = NAN;
    o.resource.usd_per_accelerator_hour = NAN;
    strcpy(o.resource.primary, "usd");
    return o;
}

static const struct slo_counts nothing_counted = {-1, -1, -1, -1, -1, NAN};

static struct percentile of_ns(int64_t ns) {
    return (struct percentile){.present = true, .ns = ns, .n = 1000};
}

START_TEST(a_limit_is_strict) {
    struct latency_limit limit = {IV_E2E, SCOPE_POPULATION, 99000, 100};
    struct percentile below = of_ns(99), equal = of_ns(100), above = of_ns(101);
    ck_assert_int_eq(slo_limit(&limit, &below), SLO_MET);
    ck_assert_int_eq(slo_limit(&limit, &equal), SLO_MISSED);
    ck_assert_int_eq(slo_limit(&limit, &above), SLO_MISSED);
}
END_TEST

START_TEST(no_percentile_is_not_computable_and_infinity_is_missed) {
    struct latency_limit limit = {IV_E2E, SCOPE_POPULATION, 99000, 100};
    struct percentile absent = {.few = true}, infinite = {.present = true, .infinite = true};
    ck_assert_int_eq(slo_limit(&limit, &absent), SLO_NOT_COMPUTABLE);
    ck_assert_int_eq(slo_limit(&limit, &infinite), SLO_MISSED);
}
END_TEST

START_TEST(rates_may_reach_their_bounds) {
    struct objective o = nothing();
    struct slo_counts c = nothing_counted;
    o.reliability.max_failure_rate = 0.001;
    c.requests = 1000, c.failed = 1;
    ck_assert_int_eq(slo_failure_rate(&o, &c), SLO_MET);
    c.failed = 2;
    ck_assert_int_eq(slo_failure_rate(&o, &c), SLO_MISSED);
    o.quality.min_pass_rate = 0.95;
    c.quality_evaluated = 600, c.quality_passed = 570;
    ck_assert_int_eq(slo_quality(&o, &c), SLO_MET);
    c.quality_passed = 569;
    ck_assert_int_eq(slo_quality(&o, &c), SLO_MISSED);
    o.throughput.min_rps = 10;
    c.useful = 600, c.interval_s = 60;
    ck_assert_int_eq(slo_throughput(&o, &c), SLO_MET);
    c.useful = 599;
    ck_assert_int_eq(slo_throughput(&o, &c), SLO_MISSED);
}
END_TEST

START_TEST(rates_at_zero_and_one) {
    struct objective o = nothing();
    struct slo_counts c = {
        .requests = 10, .failed = 0, .quality_evaluated = 10, .quality_passed = 10};
    o.reliability.max_failure_rate = 0;
    o.quality.min_pass_rate = 1;
    ck_assert_int_eq(slo_failure_rate(&o, &c), SLO_MET);
    ck_assert_int_eq(slo_quality(&o, &c), SLO_MET);
    c.failed = 1, c.quality_passed = 9;
    ck_assert_int_eq(slo_failure_rate(&o, &c), SLO_MISSED);
    ck_assert_int_eq(slo_quality(&o, &c), SLO_MISSED);
}
END_TEST

START_TEST(a_decimal_rate_equals_its_quotient) {
    /* k failures of n against the limit k/n written as a decimal of up to six digits */
    struct objective o = nothing();
    struct slo_counts c = nothing_counted;
    char text[32];
    for (int64_t n = 1; n <= 1000000; n *= 10)
        for (int64_t k = 0; k <= n; k += n > 1000 ? n / 997 : 1) {
            snprintf(text, sizeof text, "%lld.%06lld", (long long)(k / n),
                     (long long)(k % n * (1000000 / n)));
            o.reliability.max_failure_rate = o.quality.min_pass_rate = strtod(text, NULL);
            c.requests = c.quality_evaluated = n;
            c.failed = c.quality_passed = k;
            ck_assert_int_eq(slo_failure_rate(&o, &c), SLO_MET);
            ck_assert_int_eq(slo_quality(&o, &c), SLO_MET);
            c.failed = k + 1, c.quality_passed = k - 1;
            ck_assert_int_eq(slo_failure_rate(&o, &c), SLO_MISSED);
            if (k > 0) ck_assert_int_eq(slo_quality(&o, &c), SLO_MISSED);
        }
}
END_TEST

START_TEST(without_numbers_a_rate_is_not_computable) {
    struct objective stated = nothing(), unstated = nothing();
    stated.reliability.max_failure_rate = stated.quality.min_pass_rate = 0.5;
    stated.throughput.min_rps = 1;
    struct slo_counts all = {100, 90, 1, 99, 100, 10};
    ck_assert_int_eq(slo_failure_rate(&stated, &all), SLO_MET);
    ck_assert_int_eq(slo_failure_rate(&unstated, &all), SLO_NOT_COMPUTABLE);
    ck_assert_int_eq(slo_quality(&unstated, &all), SLO_NOT_COMPUTABLE);
    ck_assert_int_eq(slo_throughput(&unstated, &all), SLO_NOT_COMPUTABLE);

    struct slo_counts c = all;
    for (int64_t bad = -1; bad <= 0; bad++) {
        c = all, c.requests = bad;
        ck_assert_int_eq(slo_failure_rate(&stated, &c), SLO_NOT_COMPUTABLE);
        c = all, c.quality_evaluated = bad;
        ck_assert_int_eq(slo_quality(&stated, &c), SLO_NOT_COMPUTABLE);
        c = all, c.interval_s = (double)bad;
        ck_assert_int_eq(slo_throughput(&stated, &c), SLO_NOT_COMPUTABLE);
    }
    c = all, c.failed = -1;
    ck_assert_int_eq(slo_failure_rate(&stated, &c), SLO_NOT_COMPUTABLE);
    c = all, c.quality_passed = -1;
    ck_assert_int_eq(slo_quality(&stated, &c), SLO_NOT_COMPUTABLE);
    c = all, c.useful = -1;
    ck_assert_int_eq(slo_throughput(&stated, &c), SLO_NOT_COMPUTABLE);
    c.useful = 0; /* none is a count */
    ck_assert_int_eq(slo_throughput(&stated, &c), SLO_MISSED);
    c = all, c.interval_s = NAN;
    ck_assert_int_eq(slo_throughput(&stated, &c), SLO_NOT_COMPUTABLE);
    c.interval_s = INFINITY;
    ck_assert_int_eq(slo_throughput(&stated, &c), SLO_NOT_COMPUTABLE);
}
END_TEST

/* ---- the objective's value ---- */

static void assert_value(const struct objective *o, const struct slo_counts *c, double want) {
    double value = NAN;
    char reason[200] = "x";
    ck_assert_int_eq(slo_objective_value(o, c, &value, reason, sizeof reason), SLO_MET);
    ck_assert_double_eq_tol(value, want, fabs(want) * 1e-12 + 1e-300); /* the bound is strict */
    ck_assert_str_eq(reason, "");
}

static void assert_not_computable(const struct objective *o, const struct slo_counts *c,
                                  const char *why) {
    double value = 42;
    char reason[200] = "";
    ck_assert_int_eq(slo_objective_value(o, c, &value, reason, sizeof reason), SLO_NOT_COMPUTABLE);
    ck_assert_double_eq(value, 42);
    ck_assert_str_eq(reason, why);
}

START_TEST(value_by_hand) {
    struct objective o = nothing();
    struct slo_counts c = {.useful = 4680, .interval_s = 3600};
    o.resource.usd_per_accelerator_hour = 2.5;
    assert_value(&o, &c, 4680 / 2.5);
    o.resource.reserve_fraction = 0.35; /* 1 used, 1/0.65 provisioned */
    assert_value(&o, &c, 4680 / (2.5 / 0.65));
    o.resource.accelerators = 2;
    c.interval_s = 1800; /* half as long on twice as many: the same money */
    assert_value(&o, &c, 4680 / (2.5 / 0.65));
    strcpy(o.resource.primary, "accelerator_seconds");
    assert_value(&o, &c, 4680 / (3600 / 0.65));
    o.resource.usd_per_accelerator_hour = NAN; /* seconds need no price */
    assert_value(&o, &c, 4680 / (3600 / 0.65));
    c.useful = 0;
    assert_value(&o, &c, 0);
}
END_TEST

START_TEST(a_missing_piece_is_named) {
    struct objective o = nothing();
    struct slo_counts c = {.useful = 10, .interval_s = 1};
    assert_not_computable(&o, &c, "not computable without a price per accelerator hour");
    o.resource.usd_per_accelerator_hour = 0;
    assert_not_computable(&o, &c, "not computable without a price per accelerator hour");
    o.resource.usd_per_accelerator_hour = 1;
    c.useful = -1;
    assert_not_computable(&o, &c, "not computable without a count of useful completions");
    c.useful = 10, c.interval_s = 0;
    assert_not_computable(&o, &c, "not computable without the length of the measured interval");
    c.interval_s = 1, o.resource.accelerators = NAN;
    assert_not_computable(&o, &c, "not computable without the number of accelerators");
    o.resource.accelerators = 0;
    assert_not_computable(&o, &c, "not computable without the number of accelerators");
    o.resource.accelerators = 1, strcpy(o.resource.primary, "joules");
    assert_not_computable(&o, &c,
                          "not computable without a resource that can be computed from counts");
    o.resource.primary[0] = '\0';
    assert_not_computable(&o, &c,
                          "not computable without a resource that can be computed from counts");
    strcpy(o.resource.primary, "usd");
    assert_value(&o, &c, 36000);
}
END_TEST

START_TEST(the_reason_fits_whatever_the_room) {
    struct objective o = nothing();
    double value;
    o.resource.accelerators = NAN;
    char whole[256];
    slo_objective_value(&o, &nothing_counted, &value, whole, sizeof whole);
    ck_assert_str_eq(whole,
                     "not computable without a count of useful completions, the length of the "
                     "measured interval, the number of accelerators and a price per "
                     "accelerator hour");
    for (size_t cap = 1; cap <= sizeof whole; cap++) {
        char room[257];
        memset(room, '#', sizeof room);
        ck_assert_int_eq(slo_objective_value(&o, &nothing_counted, &value, room, cap),
                         SLO_NOT_COMPUTABLE);
        ck_assert_int_eq(room[cap], '#');
        ck_assert_int_eq(strncmp(room, whole, strlen(room)), 0);
        ck_assert_uint_eq(strlen(room), cap - 1 < strlen(whole) ? cap - 1 : strlen(whole));
    }
}
END_TEST

/* ---- all together ---- */

START_TEST(the_worked_example) {
    struct objective o = nothing();
    o.n_latency = 2;
    o.latency[0] = (struct latency_limit){IV_CLIENT_TTFT, SCOPE_POPULATION, 99000, 800 * MS};
    o.latency[1] = (struct latency_limit){IV_TPOT, SCOPE_POPULATION, 99000, 80 * MS};
    o.quality.min_pass_rate = 0.95;
    o.resource.reserve_fraction = 0.35;
    struct percentile p[] = {of_ns(1400 * MS), of_ns(170 * MS)};
    ck_assert_int_eq(slo_limit(&o.latency[0], &p[0]), SLO_MISSED);
    ck_assert_int_eq(slo_limit(&o.latency[1], &p[1]), SLO_MISSED);
    ck_assert_int_eq(slo_verdict(&o, p, &nothing_counted), SLO_MISSED);
    assert_not_computable(&o, &nothing_counted,
                          "not computable without a count of useful completions, the length of the "
                          "measured interval and a price per accelerator hour");
}
END_TEST

START_TEST(an_objective_that_states_nothing_is_met) {
    struct objective o = nothing();
    ck_assert_int_eq(slo_verdict(&o, NULL, &nothing_counted), SLO_MET);
    o.n_latency = 1; /* a limit of one request isn't part of the verdict */
    o.latency[0] = (struct latency_limit){IV_E2E, SCOPE_REQUEST, 0, 1};
    o.latency[1] = (struct latency_limit){IV_E2E, SCOPE_POPULATION, 99000, 1}; /* beyond the list */
    struct percentile slow[] = {of_ns(5), of_ns(5)};
    ck_assert_int_eq(slo_verdict(&o, slow, &nothing_counted), SLO_MET);
}
END_TEST

/* Part i of the verdict: 0 latency, 1 latency, 2 failure rate, 3 quality, 4 throughput. `say`: met,
 * missed, not computable, or 3 for not stated. */
static void set_part(struct objective *o, struct percentile *p, struct slo_counts *c, int i,
                     int say) {
    bool stated = say != 3;
    int64_t count = say == SLO_NOT_COMPUTABLE ? -1 : say == SLO_MET ? 5 : 6;
    switch (i) {
    case 0:
    case 1:
        o->latency[i].scope = stated ? SCOPE_POPULATION : SCOPE_REQUEST;
        o->latency[i].below_ns = 6;
        p[i] = of_ns(count);
        p[i].present = count >= 0;
        break;
    case 2:
        o->reliability.max_failure_rate = stated ? 0.05 : NAN;
        c->requests = 100, c->failed = count;
        break;
    case 3:
        o->quality.min_pass_rate = stated ? 0.94 : NAN;
        c->quality_evaluated = 100, c->quality_passed = count < 0 ? -1 : 100 - count - (say == 1);
        break;
    default:
        o->throughput.min_rps = stated ? 2 : NAN;
        c->useful = 10, c->interval_s = count < 0 ? NAN : (double)count;
    }
}

START_TEST(missed_beats_not_computable_beats_met) {
    for (int all = 0; all < 1024; all++) { /* four sayings of five parts */
        struct objective o = nothing();
        struct percentile p[2];
        struct slo_counts c = nothing_counted;
        int want = SLO_MET;
        o.n_latency = 2;
        for (int i = 0; i < 5; i++) {
            int say = all >> 2 * i & 3;
            set_part(&o, p, &c, i, say);
            if (say == SLO_MISSED || (say == SLO_NOT_COMPUTABLE && want == SLO_MET)) want = say;
        }
        ck_assert_int_eq(slo_verdict(&o, p, &c), want);
    }
}
END_TEST

START_TEST(answers_have_names) {
    ck_assert_str_eq(slo_answer_name(SLO_MET), "met");
    ck_assert_str_eq(slo_answer_name(SLO_MISSED), "missed");
    ck_assert_str_eq(slo_answer_name(SLO_NOT_COMPUTABLE), "not_computable");
}
END_TEST

int main(void) {
    Suite *s = suite_create("slo");
    TCase *t = tcase_create("slo");
    tcase_add_test(t, a_limit_is_strict);
    tcase_add_test(t, no_percentile_is_not_computable_and_infinity_is_missed);
    tcase_add_test(t, rates_may_reach_their_bounds);
    tcase_add_test(t, rates_at_zero_and_one);
    tcase_add_test(t, a_decimal_rate_equals_its_quotient);
    tcase_add_test(t, without_numbers_a_rate_is_not_computable);
    tcase_add_test(t, value_by_hand);
    tcase_add_test(t, a_missing_piece_is_named);
    tcase_add_test(t, the_reason_fits_whatever_the_room);
    tcase_add_test(t, the_worked_example);
    tcase_add_test(t, an_objective_that_states_nothing_is_met);
    tcase_add_test(t, missed_beats_not_computable_beats_met);
    tcase_add_test(t, answers_have_names);
    suite_add_tcase(s, t);
    return check_main(s);
}
