/* test_lab03_reference.c: lab 03's reference with 20 seeds: every kernel right, clean, and at its
 * last version; the C functions with full marks. The kernels are built once, since their build does
 * not depend on the seed. LAB03_SEEDS sets another number. */
/* servelab-test: long */
#include "core/grade.h"
#include "lab03/kernel_build.h"
#include "lab03/kernel_trial.h"
#include "lab03/lab03.h"
#include "labs.h"

#include "testing/check_main.h"

#include <stdlib.h>
#include <string.h>

#define REFERENCE "solutions/03_kernels"

/* Small seeds, huge ones, and 0. */
static uint64_t seed_number(int i) {
    return i == 0 ? 0 : i < 10 ? (uint64_t)i : UINT64_MAX / (uint64_t)i;
}

static int seeds(void) {
    const char *set = getenv("LAB03_SEEDS");
    return set ? atoi(set) : 20;
}

static void assert_trial(const struct grading *b, const struct kernel_program *p) {
    static struct trial t;
    const struct kernel_budget *missed = NULL;
    lab03_trial_run(b, p, &t);
    ck_assert_msg(!t.fault.text[0], "%s: our fault: %s", p->spec->name, t.fault.text);
    ck_assert_msg(t.right && t.shapes_right == t.shapes, "%s, seed %llu: %s (%s)", p->spec->name,
                  (unsigned long long)b->seed, t.wrong, t.input);
    ck_assert_msg(!t.finding[0], "%s: %s", p->spec->name, t.finding);
    ck_assert(t.counted);
    int reached = kernel_version_reached(&t.sizes, &t.counts, &missed);
    ck_assert_msg(reached == kernel_version_count(p->spec), "%s, seed %llu: version %d (%s)",
                  p->spec->name, (unsigned long long)b->seed, reached, t.input);
}

START_TEST(kernels_are_right_clean_and_fast) {
    static struct workplace w;
    static struct kernel_program programs[64];
    struct sandbox sb;
    struct err e = {0};
    bool usage;
    sandbox_probe(&sb, false);
    ck_assert_msg(workplace_create(&w, sb.drop, &e) == 0, "%s", e.text);
    ck_assert_msg(collect(&w, &lab03, REFERENCE, &usage, &e) == 0, "%s", e.text);
    for (int i = 0; i < kernel_spec_count; i++)
        programs[i] = (struct kernel_program){.spec = &kernel_specs[i], .state = KERNEL_ABSENT};
    ck_assert_msg(lab03_kernel_build(&sb, &lab03, &w, ".", programs, &e) == 0, "%s", e.text);
    for (int i = 0; i < kernel_spec_count; i++)
        ck_assert_msg(programs[i].state == KERNEL_BUILT, "%s: %s", kernel_specs[i].name,
                      programs[i].why);
    for (int s = 0; s < seeds(); s++) {
        struct grading b = {
            .lab = &lab03, .sandbox = &sb, .place = &w, .seed = seed_number(s), .practice = true};
        for (int i = 0; i < kernel_spec_count; i++) assert_trial(&b, &programs[i]);
    }
    workplace_remove(&w);
}
END_TEST

static const char checks[] =
    "intervals,evidence,quality.compare.tolerance,quality.compare.worst,quality.compare.finite,"
    "quality.compare.zeros,quality.compare.no_answer";

START_TEST(functions_have_full_marks) {
    for (int s = 0; s < seeds(); s++) {
        struct grade_verdict v;
        struct err e;
        bool usage;
        struct grade_options o = {.lab = &lab03,
                                  .folder = REFERENCE,
                                  .seed = seed_number(s),
                                  .practice = true,
                                  .check = checks,
                                  .home = "."};
        int rc = grade_run(&o, &v, &usage, &e);
        ck_assert_msg(rc == 0, "%s", rc ? e.text : "");
        for (size_t i = 0; i < v.n; i++)
            ck_assert_msg(v.checks[i].outcome == OUTCOME_EARNED,
                          "seed %llu: %s: %s (%s: got %s, want %s)\n%s", (unsigned long long)o.seed,
                          v.checks[i].id, v.checks[i].message, v.checks[i].kind, v.checks[i].got,
                          v.checks[i].want, v.checks[i].input);
        ck_assert_uint_eq(v.n, 13 + 6 + 5);
        verdict_release(&v);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lab03_reference");
    TCase *tc = tcase_create("full marks");
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, kernels_are_right_clean_and_fast);
    tcase_add_test(tc, functions_have_full_marks);
    suite_add_tcase(suite, tc);
    return check_main(suite);
}
