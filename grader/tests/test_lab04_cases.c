/* test_lab04_cases.c: lab 04's cases: equal seeds give equal cases, they survive the codec, a part
 * of one is not a case, and no constant answer earns a check. */
#include "lab04/lab04.h"
#include "labs.h"

#include "testing/check_main.h"

#include <string.h>

static bool constant_is_right(const struct hidden_case *h, int64_t constant) {
    for (size_t i = 0; i < h->n_wants; i++) {
        const struct want *w = &h->wants[i];
        if (w->care && w->value != constant) return false;
    }
    return true;
}

START_TEST(cases_survive_the_codec) {
    static struct lab04_case c;
    for (size_t i = 0; i < lab04.n_checks; i++) {
        const struct check_def *def = &lab04.checks[i];
        for (int k = 0; def->maker < MAKE_ANY && k < def->n_cases; k++) {
            struct hidden_case h = {0}, twin = {0};
            struct err e;
            ck_assert_int_eq(lab04.make(def, 5, k, &h, &e), 0);
            ck_assert_int_eq(lab04.make(def, 5, k, &twin, &e), 0);
            ck_assert_uint_eq(h.n_bytes, twin.n_bytes);
            ck_assert_mem_eq(h.bytes, twin.bytes, h.n_bytes);
            ck_assert(h.kind[0] != '\0');
            struct wire w = wire_reader(h.bytes, h.n_bytes), part;
            ck_assert_int_eq(lab04_case_codec(&w, &c), 0);
            ck_assert_uint_eq(c.n_slots, h.n_wants);
            part = wire_reader(h.bytes, h.n_bytes - 8);
            ck_assert_int_eq(lab04_case_codec(&part, &c), -1);
            hidden_case_release(&h);
            hidden_case_release(&twin);
        }
    }
}
END_TEST

START_TEST(a_constant_earns_nothing) {
    for (size_t i = 0; i < lab04.n_checks; i++) {
        const struct check_def *def = &lab04.checks[i];
        for (int64_t constant = -1; def->kind == CHECK_CASES && constant <= 2; constant++) {
            bool earned = true;
            for (int k = 0; k < def->n_cases && earned; k++) {
                struct hidden_case h = {0};
                struct err e;
                ck_assert_int_eq(lab04.make(def, 5, k, &h, &e), 0);
                earned = constant_is_right(&h, constant);
                hidden_case_release(&h);
            }
            ck_assert_msg(!earned, "%s is earned by %d", def->id, (int)constant);
        }
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("lab04_cases");
    TCase *t = tcase_create("lab04_cases");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, cases_survive_the_codec);
    tcase_add_test(t, a_constant_earns_nothing);
    suite_add_tcase(s, t);
    return check_main(s);
}
