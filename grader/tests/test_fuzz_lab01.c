/* test_fuzz_lab01.c: fixed mutations of lab 01's cases, for `make test`. */
#include "fuzz_lab01.c"
#include "tests/fuzz_bytes.h"

START_TEST(any_bytes_are_refused_or_within_bounds) {
    fuzz_cases(&lab01);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_lab01");
    TCase *t = tcase_create("fuzz_lab01");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, any_bytes_are_refused_or_within_bounds);
    suite_add_tcase(s, t);
    return check_main(s);
}
