/* test_reference.c: what is right gets full marks: the reference with 20 seeds, and submissions
 * that do the same in other ways. Run in MODE=asan as well, this
 * watches the grader itself.
 */
#include "grade.h"
#include "lab01/lab01.h"
#include "tests/submission.h"

static void assert_full(const char *folder, uint64_t seed, const char *check) {
    struct grade_verdict v;
    struct err e;
    bool usage;
    struct grade_options o = {.lab = &lab01,
                              .folder = folder,
                              .seed = seed,
                              .practice = true,
                              .check = check,
                              .home = "."};
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
START_TEST(reference_has_full_marks) {
    uint64_t seed = _i == 0 ? 0 : _i < 10 ? (uint64_t)_i : UINT64_MAX / (uint64_t)_i;
    assert_full(REFERENCE, seed, NULL);
}
END_TEST

static const char *const variants[] = {"counting", "wide_and_flat", "table_driven",
                                       "one_helper_for_all"};

START_TEST(honest_variants_have_full_marks) {
    struct submission s;
    char folder[128];
    submission_reference(&s);
    snprintf(folder, sizeof folder, "grader/tests/honest/%s", variants[_i]);
    DIR *d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *de; (de = readdir(d));) {
        size_t n = 0;
        char *text = de->d_name[0] == '.' ? NULL : collect_read(folder, de->d_name, 1 << 20, &n);
        if (text) submission_write(&s, de->d_name, text, n);
        free(text);
    }
    closedir(d);
    assert_full(s.path, 42, NULL);
    assert_full(s.path, 43, "intervals,quality,slo");
    submission_remove(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("reference");
    TCase *tc = tcase_create("full marks");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, reference_has_full_marks, 0, 20);
    tcase_add_loop_test(tc, honest_variants_have_full_marks, 0, 4);
    suite_add_tcase(suite, tc);
    return check_main(suite);
}
