/* test_compare.c: what the comparator lets pass and what it must not. */
#include "base/compare.h"
#include "testing/check_main.h"

#include <float.h>
#include <math.h>

static const double want[4] = {1.0, -2.0, 0.0, 0.5};

START_TEST(equal_passes_and_uses_nothing) {
    float got[4] = {1.0f, -2.0f, 0.0f, 0.5f};
    struct comparison c = compare_floats(got, want, NULL, 4, 1e-6);
    ck_assert(c.ok);
    ck_assert(c.error == 0 && c.used == 0 && c.n == 4);
    float ref[4] = {1.0f, -2.0f, 0.0f, 0.5f};
    ck_assert(compare_bits(got, ref, 4).ok);
}
END_TEST

START_TEST(worst_element_is_named) {
    float got[4] = {1.0f, -2.0f, 0.002f, 0.501f};
    struct comparison c = compare_floats(got, want, NULL, 4, 1e-4);
    ck_assert(!c.ok);
    ck_assert_uint_eq(c.worst, 2);
    ck_assert_double_eq_tol(c.error, 0.001, 1e-6); /* 0.002 of the greatest magnitude 2 */
    ck_assert_double_eq_tol(c.used, 10, 1e-2);
    char text[200];
    ck_assert_ptr_nonnull(strstr(comparison_text(&c, text, sizeof text), "element 2 of 4"));
}
END_TEST

START_TEST(edge_of_the_tolerance) {
    float got[1] = {1.25f};
    double one[1] = {1.0};
    ck_assert(compare_floats(got, one, NULL, 1, 0.25).ok);
    ck_assert(!compare_floats(got, one, NULL, 1, 0.2499).ok);
}
END_TEST

/* NaN, Inf and Inf - Inf never pass, even with a huge tolerance. */
START_TEST(not_finite_never_passes) {
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 4; i++)
        for (int at = 0; at < 4; at++) {
            float got[4] = {1.0f, -2.0f, 0.0f, 0.5f};
            got[at] = bad[i];
            struct comparison c = compare_floats(got, want, NULL, 4, 1e30);
            ck_assert(!c.ok);
            ck_assert_uint_eq(c.worst, (size_t)at);
            float ref[4] = {1.0f, -2.0f, 0.0f, 0.5f};
            ck_assert(!compare_bits(got, ref, 4).ok);
            ref[at] =
                bad[i]; /* a reference that isn't finite is refused, even compared with itself */
            ck_assert(!compare_bits(got, ref, 4).ok);
        }
    double inf[1] = {INFINITY};
    float got[1] = {INFINITY};
    ck_assert(!compare_floats(got, inf, NULL, 1, 1).ok);
}
END_TEST

/* zeros never pass, and a reference of zeros is refused. */
START_TEST(zeros_never_pass) {
    float zeros[4] = {0};
    double tiny[4] = {1e-30, -1e-30, 0, 1e-31};
    ck_assert(!compare_floats(zeros, want, NULL, 4, 1e-2).ok);
    ck_assert(!compare_floats(zeros, tiny, NULL, 4, 1e-2).ok);
    double none[4] = {0};
    struct comparison c = compare_floats(zeros, none, NULL, 4, 1e-2);
    ck_assert(!c.ok);
    ck_assert_str_eq(c.fault, "the reference is all zeros");
    ck_assert(!compare_bits(zeros, zeros, 4).ok);
}
END_TEST

START_TEST(denormals_and_minus_zero) {
    float got[2] = {FLT_MIN / 4, -0.0f};
    double ref[2] = {(double)(FLT_MIN / 4), 0.0};
    ck_assert(compare_floats(got, ref, NULL, 2, 1e-6).ok);
    float bits[2] = {FLT_MIN / 4, 0.0f};
    struct comparison c = compare_bits(got, bits, 2); /* -0 and 0 are different bits */
    ck_assert(!c.ok);
    ck_assert_uint_eq(c.worst, 1);
}
END_TEST

START_TEST(own_magnitudes) {
    float got[4] = {1.0f, -2.0f, 0.001f, 0.5f};
    double magnitude[4] = {1, 2, 10, 1};
    ck_assert(compare_floats(got, want, magnitude, 4, 2e-4).ok);
    magnitude[3] = 0;
    ck_assert(!compare_floats(got, want, magnitude, 4, 2e-4).ok);
    magnitude[3] = NAN;
    ck_assert(!compare_floats(got, want, magnitude, 4, 2e-4).ok);
}
END_TEST

START_TEST(nothing_is_not_ok) {
    float got[1] = {1};
    double one[1] = {1};
    ck_assert(!compare_floats(got, one, NULL, 0, 1).ok);
    ck_assert(!compare_bits(got, got, 0).ok);
    ck_assert(!compare_floats(got, one, NULL, 1, 0).ok);
    ck_assert(!compare_floats(got, one, NULL, 1, NAN).ok);
}
END_TEST

int main(void) {
    Suite *s = suite_create("compare");
    TCase *t = tcase_create("compare");
    suite_add_tcase(s, t);
    tcase_add_test(t, equal_passes_and_uses_nothing);
    tcase_add_test(t, worst_element_is_named);
    tcase_add_test(t, edge_of_the_tolerance);
    tcase_add_test(t, not_finite_never_passes);
    tcase_add_test(t, zeros_never_pass);
    tcase_add_test(t, denormals_and_minus_zero);
    tcase_add_test(t, own_magnitudes);
    tcase_add_test(t, nothing_is_not_ok);
    return check_main(s);
}
