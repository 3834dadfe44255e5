/* test_select.c: select_i64 against qsort, at every rank or at some. */
#include "base/select.h"

#include "base/rng.h"
#include "testing/check_main.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 20000 };

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Every step-th rank and the last one; v must be unchanged afterwards. */
static void assert_like_qsort(const int64_t *v, size_t n, size_t step) {
    int64_t *given = malloc(n * sizeof *given), *sorted = malloc(n * sizeof *sorted);
    memcpy(given, v, n * sizeof *v);
    memcpy(sorted, v, n * sizeof *v);
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t k = 0; k < n; k += step) ck_assert_int_eq(select_i64(given, n, k), sorted[k]);
    ck_assert_int_eq(select_i64(given, n, n - 1), sorted[n - 1]);
    ck_assert_int_eq(memcmp(given, v, n * sizeof *v), 0);
    free(given);
    free(sorted);
}

START_TEST(few_values_at_every_rank) {
    struct rng r;
    rng_seed(&r, 1);
    for (int round = 0; round < 300; round++) {
        int64_t v[40];
        size_t n = 1 + rng_below(&r, 40);
        int shift = (int)rng_below(&r, 64); /* from equal values to all of int64_t */
        for (size_t i = 0; i < n; i++) v[i] = (int64_t)rng_next(&r) >> shift;
        assert_like_qsort(v, n, 1);
    }
}
END_TEST

enum shape { RANDOM, NARROW, EQUAL, SORTED, REVERSED, OUTLIERS, N_SHAPES };
START_TEST(many_values_of_every_shape) {
    static int64_t v[MANY];
    struct rng r;
    rng_seed(&r, 2);
    for (int64_t i = 0; i < MANY; i++) {
        v[i] = _i == RANDOM     ? (int64_t)rng_next(&r)
               : _i == NARROW   ? (int64_t)rng_below(&r, 3000) - 1500
               : _i == EQUAL    ? -7
               : _i == SORTED   ? i * 1000003 - 5
               : _i == REVERSED ? -i * 1000003
                                : (int64_t)rng_below(&r, 100000);
        if (_i == OUTLIERS && i % 5000 == 0) v[i] = i % 10000 ? INT64_MAX : INT64_MIN + i;
    }
    assert_like_qsort(v, MANY, 997);
}
END_TEST

START_TEST(the_extremes_of_the_type) {
    const int64_t v[] = {INT64_MAX, INT64_MIN, 0, -1, INT64_MIN + 1, INT64_MAX - 1, 1, INT64_MIN};
    assert_like_qsort(v, sizeof v / sizeof *v, 1);
    const int64_t top[] = {INT64_MAX, INT64_MAX}, bottom[] = {INT64_MIN};
    assert_like_qsort(top, 2, 1);
    assert_like_qsort(bottom, 1, 1);
}
END_TEST

START_TEST(a_rank_that_there_is_not_is_a_bug) {
    const int64_t one = 1;
    select_i64(&one, (size_t)_i, 1); /* rank 1 of none, and of one */
}
END_TEST

int main(void) {
    Suite *s = suite_create("select");
    TCase *t = tcase_create("select");
    tcase_add_test(t, few_values_at_every_rank);
    tcase_add_loop_test(t, many_values_of_every_shape, 0, N_SHAPES);
    tcase_add_test(t, the_extremes_of_the_type);
    tcase_add_loop_test_raise_signal(t, a_rank_that_there_is_not_is_a_bug, SIGABRT, 0, 2);
    suite_add_tcase(s, t);
    return check_main(s);
}
