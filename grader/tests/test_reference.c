/* test_reference.c: right submissions get full marks: each lab's reference with 20 seeds, and
 * honest variants. In MODE=asan this also checks the grader's memory. */
/* servelab-test: long */
#include "core/grade.h"
#include "labs.h"
#include "tests/submission.h"

static void assert_full(const struct lab *lab, const char *folder, uint64_t seed,
                        const char *check) {
    struct grade_verdict v;
    struct err e;
    bool usage;
    struct grade_options o = {
        .lab = lab, .folder = folder, .seed = seed, .practice = true, .check = check, .home = "."};
    int rc = grade_run(&o, &v, &usage, &e);
    ck_assert_msg(rc == 0, "%s", rc ? e.text : "");
    for (size_t i = 0; i < v.n; i++)
        ck_assert_msg(v.checks[i].outcome == OUTCOME_EARNED,
                      "seed %llu: %s: %s (%s: got %s, want %s)", (unsigned long long)seed,
                      v.checks[i].id, v.checks[i].message, v.checks[i].kind, v.checks[i].got,
                      v.checks[i].want);
    struct totals t = verdict_totals(&v);
    ck_assert_int_eq(t.earned, t.total);
    if (!check) ck_assert_int_eq(t.total, 100);
    ck_assert_int_eq(verdict_exit_status(&v), 0);
    ck_assert(v.n > 0 && v.problem[0] == '\0');
    verdict_release(&v);
}

/* Small seeds, huge ones, and 0. */
static uint64_t seed_of(int i) {
    return i == 0 ? 0 : i < 10 ? (uint64_t)i : UINT64_MAX / (uint64_t)i;
}

START_TEST(reference_has_full_marks) {
    assert_full(&lab01, REFERENCE, seed_of(_i), NULL);
}
END_TEST

/* A seed does not change the data files' checks, and hardly the memory checks: three seeds in four
 * run without them. */
START_TEST(reference_of_lab02_has_full_marks) {
    const char *most = "intervals,quality,slo,safety.same_plan";
    assert_full(&lab02, REFERENCE02, seed_of(_i), _i % 4 ? most : NULL);
}
END_TEST

START_TEST(reference_of_lab04_has_full_marks) {
    assert_full(&lab04, REFERENCE04, seed_of(_i), _i % 4 ? "intervals,quality,slo" : NULL);
}
END_TEST

static const struct variant {
    const struct lab *lab;
    const char *reference, *folder;
} variants[] = {
    {&lab01, REFERENCE, "lab01/honest/counting"},
    {&lab01, REFERENCE, "lab01/honest/wide_and_flat"},
    {&lab01, REFERENCE, "lab01/honest/table_driven"},
    {&lab01, REFERENCE, "lab01/honest/one_helper_for_all"},
    {&lab01, REFERENCE, "lab01/honest/many_functions"},
    {&lab02, REFERENCE02, "lab02/honest/halves_and_quiet"},
    {&lab02, REFERENCE02, "lab02/honest/reserves_everything"},
    {&lab02, REFERENCE02, "lab02/honest/other_searches"},
    {&lab02, REFERENCE02, "lab02/honest/sweeps_and_doubles"},
    {&lab04, REFERENCE04, "lab04/honest/plain_arrays"},
    {&lab04, REFERENCE04, "lab04/honest/one_stamp"},
};
enum { N_VARIANTS = sizeof variants / sizeof *variants };

START_TEST(honest_variants_have_full_marks) {
    const struct variant *v = &variants[_i];
    struct submission s;
    char folder[128];
    submission_of(&s, v->lab, v->reference);
    snprintf(folder, sizeof folder, "grader/tests/%s", v->folder);
    submission_overlay(&s, folder);
    assert_full(v->lab, s.path, 42, NULL);
    assert_full(v->lab, s.path, 43, "intervals,quality,slo");
    submission_remove(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("reference");
    TCase *tc = tcase_create("full marks");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, reference_has_full_marks, 0, 20);
    tcase_add_loop_test(tc, reference_of_lab02_has_full_marks, 0, 20);
    tcase_add_loop_test(tc, reference_of_lab04_has_full_marks, 0, 20);
    tcase_add_loop_test(tc, honest_variants_have_full_marks, 0, N_VARIANTS);
    suite_add_tcase(suite, tc);
    return check_main(suite);
}
