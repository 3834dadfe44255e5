/* test_sweep_search.c: the search of load sweep, on servers whose answers are known. */
#include "load/sweep.h"
#include "testing/check_main.h"

#include <math.h>

/* Meets the objective below `met_below`; can't be measured from `blind_from` on; stops at the probe
 * number `stop_at`; no request is due below `empty_below`, or between the two of `gap`. */
struct server {
    double met_below, blind_from, empty_below, gap[2];
    int stop_at, n;
    double asked[SWEEP_MOST_PROBES];
};

static enum sweep_answer answer_of(void *ctx, double rps) {
    struct server *s = ctx;
    ck_assert_int_lt(s->n, SWEEP_MOST_PROBES);
    s->asked[s->n++] = rps;
    if (s->n == s->stop_at) return SWEEP_STOP;
    if (rps < s->empty_below || (rps > s->gap[0] && rps < s->gap[1])) return SWEEP_EMPTY;
    if (rps >= s->blind_from) return SWEEP_NOT_MEASURED;
    return rps < s->met_below ? SWEEP_MET : SWEEP_NOT_MET;
}

static const struct sweep_search by_two = {1, 100, 2, 0.1};

START_TEST(between_the_highest_met_and_the_lowest_missed) {
    struct server s = {.met_below = 10, .blind_from = INFINITY};
    struct sweep_result r = sweep_find(&by_two, answer_of, &s);
    ck_assert(r.met_rps < 10 && r.missed_rps >= 10 && r.missed_rps <= r.met_rps * 1.1);
    ck_assert_int_eq(r.probes, s.n);
    for (int i = 0; i < 6; i++) ck_assert_double_eq(s.asked[i], 1 << i); /* 16 and 32 missed */
    for (int i = 6; i < s.n; i++) ck_assert(s.asked[i] > 8 && s.asked[i] < 16);
}
END_TEST

START_TEST(a_load_without_a_request_is_passed_over) {
    struct server s = {.met_below = 10, .blind_from = INFINITY, .empty_below = 3};
    struct sweep_result r = sweep_find(&by_two, answer_of, &s);
    ck_assert(r.met_rps > 8 && r.met_rps < 10 && r.missed_rps >= 10 && r.missed_rps < 16);
    s = (struct server){.met_below = 10, .blind_from = INFINITY, .empty_below = 1000};
    r = sweep_find(&by_two, answer_of, &s);
    ck_assert(r.met_rps == 0 && isinf(r.missed_rps) && r.probes == 7); /* 1 to 64 */
    s = (struct server){.met_below = 10, .blind_from = INFINITY, .gap = {9, 15}};
    r = sweep_find(&by_two, answer_of, &s); /* it would ask for 11.3 again and again */
    ck_assert(r.met_rps == 8 && r.missed_rps == 16 && r.probes == 7);
}
END_TEST

START_TEST(none_is_met) {
    struct server s = {.met_below = 0, .blind_from = INFINITY};
    struct sweep_result r = sweep_find(&by_two, answer_of, &s);
    ck_assert(r.met_rps == 0 && r.missed_rps == 1 && r.probes == 2);
}
END_TEST

START_TEST(all_are_met) {
    struct server s = {.met_below = INFINITY, .blind_from = INFINITY};
    struct sweep_result r = sweep_find(&by_two, answer_of, &s);
    ck_assert(r.met_rps == 64 && isinf(r.missed_rps) && r.probes == 7);
    struct sweep_search one = {4, 4, 2, 0.1};
    r = sweep_find(&one, answer_of, &(struct server){.met_below = 9, .blind_from = 9});
    ck_assert(r.met_rps == 4 && isinf(r.missed_rps) && r.probes == 1);
}
END_TEST

START_TEST(no_load_above_one_that_cant_be_measured_is_asked) {
    struct server s = {.met_below = INFINITY, .blind_from = 5};
    struct sweep_result r = sweep_find(&by_two, answer_of, &s);
    ck_assert(r.met_rps < 5 && r.missed_rps >= 5 && r.missed_rps <= r.met_rps * 1.1);
    for (int i = 0; i < s.n; i++) ck_assert(s.asked[i] <= 8);
}
END_TEST

START_TEST(a_stop_is_the_last_probe) {
    for (int at = 1; at < 9; at++) {
        struct server s = {.met_below = 10, .blind_from = INFINITY, .stop_at = at};
        ck_assert_int_eq(sweep_find(&by_two, answer_of, &s).probes, at);
    }
}
END_TEST

START_TEST(probes_are_bounded) {
    struct server s = {.met_below = INFINITY, .blind_from = INFINITY};
    struct sweep_search long_one = {1, 1e6, 1.01, 0.001};
    ck_assert_int_eq(sweep_find(&long_one, answer_of, &s).probes, SWEEP_MOST_PROBES);
}
END_TEST

int main(void) {
    Suite *s = suite_create("sweep search");
    TCase *t = tcase_create("sweep search");
    tcase_add_test(t, between_the_highest_met_and_the_lowest_missed);
    tcase_add_test(t, a_load_without_a_request_is_passed_over);
    tcase_add_test(t, none_is_met);
    tcase_add_test(t, all_are_met);
    tcase_add_test(t, no_load_above_one_that_cant_be_measured_is_asked);
    tcase_add_test(t, a_stop_is_the_last_probe);
    tcase_add_test(t, probes_are_bounded);
    suite_add_tcase(s, t);
    return check_main(s);
}
