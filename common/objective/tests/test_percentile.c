/* test_percentile.c: the reference percentile against examples by hand, and against its definition
 * (the smallest observation with at least p % at or below it) taken literally. */
#include "base/rng.h"
#include "objective/percentile.h"
#include "testing/check_main.h"

#include <signal.h>
#include <string.h>

enum { P50 = 50000, P90 = 90000, P99 = 99000, P999 = 99900, P100 = 100000 };

/* Observations 1..n in a mixed order, so that the value tells the rank, and `failed` failures. */
static struct percentile upto(size_t n, size_t failed, int32_t milli) {
    static int64_t obs[2000];
    ck_assert_uint_le(n, 2000);
    for (size_t i = 0; i < n; i++) { /* grow the list from the inside: 1; 1 2; 1 3 2; ... */
        size_t at = i / 2;
        memmove(obs + at + 1, obs + at, (i - at) * sizeof *obs);
        obs[at] = (int64_t)i + 1;
    }
    return percentile_nearest_rank(obs, n, failed, milli);
}

static void assert_value(struct percentile p, int64_t ns) {
    ck_assert(p.present && !p.infinite);
    ck_assert_int_eq(p.ns, ns);
}

START_TEST(ranks_by_hand) {
    assert_value(upto(5, 0, P50), 3);
    assert_value(upto(4, 0, P50), 2);
    assert_value(upto(10, 0, P90), 9);
    assert_value(upto(11, 0, P90), 10);
    assert_value(upto(100, 0, P99), 99);
    assert_value(upto(99, 0, P99), 99); /* 98.01 rounds up */
    assert_value(upto(101, 0, P99), 100);
    assert_value(upto(1000, 0, P999), 999);
    assert_value(upto(7, 0, P100), 7);
    assert_value(upto(7, 0, 1), 1);
}
END_TEST

START_TEST(one_observation_is_every_percentile) {
    int64_t one = -5;
    for (int32_t milli = 1; milli <= P100; milli += 9999)
        assert_value(percentile_nearest_rank(&one, 1, 0, milli), -5);
}
END_TEST

START_TEST(an_empty_population_has_no_percentile) {
    struct percentile p = percentile_nearest_rank(NULL, 0, 0, P99);
    ck_assert(!p.present && !p.infinite && p.few);
    ck_assert_int_eq(p.ns, 0);
    ck_assert_uint_eq(p.n, 0);
    ck_assert_uint_eq(p.failed, 0);
}
END_TEST

START_TEST(failures_stand_behind_every_success) {
    struct percentile p = percentile_nearest_rank(NULL, 0, 3, P50);
    ck_assert(p.present && p.infinite);
    ck_assert_uint_eq(p.n, 3);
    ck_assert_uint_eq(p.failed, 3);
    p = upto(99, 1, P99); /* one failure of 100: p99 is the slowest success */
    assert_value(p, 99);
    ck_assert_uint_eq(p.n, 100);
    ck_assert_uint_eq(p.failed, 1);
    ck_assert(upto(98, 2, P99).infinite); /* the second reaches it */
    ck_assert(upto(999, 1, P100).infinite);
    assert_value(upto(1, 1, P50), 1);
    ck_assert(upto(1, 2, P50).infinite);
}
END_TEST

START_TEST(refusing_load_never_improves_a_percentile) {
    for (size_t refused = 0; refused < 40; refused++) {
        struct percentile before = upto(40 - refused, refused, P90);
        struct percentile after = upto(40 - refused - 1, refused + 1, P90);
        ck_assert(after.infinite || (!before.infinite && after.ns >= before.ns));
    }
}
END_TEST

START_TEST(few_observations_are_marked) {
    static const struct {
        int32_t milli;
        size_t enough;
    } table[] = {{P50, 2}, {P90, 10}, {P99, 100}, {P999, 1000}, {1, 2}, {66667, 4}, {75000, 4}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ck_assert(upto(table[i].enough - 1, 0, table[i].milli).few);
        ck_assert(!upto(table[i].enough, 0, table[i].milli).few);
        ck_assert(
            !upto(table[i].enough - 1, 1, table[i].milli).few); /* a failure is observed too */
    }
    ck_assert(upto(2000, 0, P100).few);
}
END_TEST

START_TEST(the_ends_of_int64) {
    int64_t obs[] = {INT64_MAX, INT64_MIN, 0, INT64_MAX, INT64_MIN};
    assert_value(percentile_nearest_rank(obs, 5, 0, 20000), INT64_MIN);
    assert_value(percentile_nearest_rank(obs, 5, 0, 40000), INT64_MIN);
    assert_value(percentile_nearest_rank(obs, 5, 0, 40001), 0);
    assert_value(percentile_nearest_rank(obs, 5, 0, 60001), INT64_MAX);
}
END_TEST

START_TEST(populations_beyond_memory_still_have_a_rank) {
    /* failures are only counted, so their number may be anything */
    int64_t one = 4;
    size_t many = SIZE_MAX / 2 / P100;
    struct percentile p = percentile_nearest_rank(&one, 1, many, 1);
    ck_assert(p.infinite && !p.few);
    ck_assert_uint_eq(p.n, many + 1);
    assert_value(percentile_nearest_rank(&one, 1, 99999, 1), 4);
    ck_assert(percentile_nearest_rank(&one, 1, 100000, 1).infinite);
}
END_TEST

START_TEST(the_observations_stay_as_they_were) {
    int64_t obs[] = {3, 1, 2}, copy[3];
    memcpy(copy, obs, sizeof obs);
    percentile_nearest_rank(obs, 3, 0, P50);
    ck_assert_int_eq(memcmp(copy, obs, sizeof obs), 0);
}
END_TEST

START_TEST(a_percentile_beyond_its_range_is_a_bug) {
    int64_t one = 1;
    percentile_nearest_rank(&one, 1, 0, _i == 0 ? 0 : P100 + 1);
}
END_TEST

/* The definition, taken literally: try every observation, count what is at or below it. */
static bool literal(const int64_t *obs, size_t n_ok, size_t failed, int32_t milli, int64_t *out) {
    bool found = false;
    for (size_t i = 0; i < n_ok; i++) {
        size_t at_or_below = 0;
        for (size_t j = 0; j < n_ok; j++) at_or_below += obs[j] <= obs[i];
        if ((__int128)at_or_below * P100 < (__int128)milli * (__int128)(n_ok + failed)) continue;
        if (!found || obs[i] < *out) *out = obs[i];
        found = true;
    }
    return found;
}

START_TEST(random_populations_agree_with_the_definition) {
    struct rng rng;
    rng_seed(&rng, 21);
    for (int round = 0; round < 20000; round++) {
        int64_t obs[60], want = 0;
        size_t n_ok = rng_below(&rng, 60), failed = rng_below(&rng, 4) ? 0 : rng_below(&rng, 60);
        uint64_t spread = 1 + rng_below(&rng, 50); /* small: many equal observations */
        for (size_t i = 0; i < n_ok; i++) obs[i] = (int64_t)rng_below(&rng, spread) - 20;
        int32_t milli = 1 + (int32_t)rng_below(&rng, P100);
        if (rng_below(&rng, 2))
            milli = (milli / 1000 + (milli < 1000)) * 1000; /* whole per cents */
        struct percentile p = percentile_nearest_rank(obs, n_ok, failed, milli);
        bool finite = literal(obs, n_ok, failed, milli, &want);
        ck_assert_int_eq(p.present, n_ok + failed > 0);
        ck_assert_int_eq(p.infinite, p.present && !finite);
        ck_assert_int_eq(p.ns, finite ? want : 0);
        ck_assert_int_eq(p.few, (n_ok + failed) * (size_t)(P100 - milli) < P100);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("percentile");
    TCase *t = tcase_create("percentile");
    tcase_add_test(t, ranks_by_hand);
    tcase_add_test(t, one_observation_is_every_percentile);
    tcase_add_test(t, an_empty_population_has_no_percentile);
    tcase_add_test(t, failures_stand_behind_every_success);
    tcase_add_test(t, refusing_load_never_improves_a_percentile);
    tcase_add_test(t, few_observations_are_marked);
    tcase_add_test(t, the_ends_of_int64);
    tcase_add_test(t, populations_beyond_memory_still_have_a_rank);
    tcase_add_test(t, the_observations_stay_as_they_were);
    tcase_add_loop_test_raise_signal(t, a_percentile_beyond_its_range_is_a_bug, SIGABRT, 0, 2);
    tcase_add_test(t, random_populations_agree_with_the_definition);
    suite_add_tcase(s, t);
    return check_main(s);
}
