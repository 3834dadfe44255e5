/* test_lessons.c: policies that miss a lesson of lab 02 get no more points than their files say.
 * Each file of lab02/lessons has an opening comment with the checks that it must lose, and how many
 * of the 16 points of these checks it reaches; then its switches for policy.body, the policy that
 * they all are. */
/* servelab-test: long */
#include "core/grade.h"
#include "labs.h"
#include "tests/submission.h"

#include <dirent.h>
#include <stdio.h>

#define LESSONS "grader/tests/lab02/lessons"
/* joining, admission, chunking, grouping, and create()'s arguments */
#define CHECKS                                                                                     \
    "quality.keeps_rules,quality.starves_nobody,quality.create_arguments,slo.goodput_par,"         \
    "slo.goodput_margin,slo.goodput_admission,slo.goodput_chunking,slo.batch_margin,"              \
    "slo.batch_waits,slo.batch_starts"

enum { MAX_NAMES = 64, NAME_BYTES = 64, SEEDS = 3 };
static char names[MAX_NAMES][NAME_BYTES];
static int n_names;

/* These miss nothing. */
static const char *const full[] = {"policy", "room_for_two_blocks"};
enum { N_FULL = sizeof full / sizeof *full };

static bool misses_nothing(const char *name) {
    for (int i = 0; i < N_FULL; i++)
        if (!strcmp(name, full[i])) return true;
    return false;
}

/* Each other .c file of the folder. */
static void list_lessons(void) {
    struct dirent **list;
    int n = scandir(LESSONS, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char *dot = strrchr(list[i]->d_name, '.');
        if (dot && !strcmp(dot, ".c")) {
            INVARIANT(n_names < MAX_NAMES && dot - list[i]->d_name < NAME_BYTES);
            snprintf(names[n_names], NAME_BYTES, "%.*s", (int)(dot - list[i]->d_name),
                     list[i]->d_name);
            n_names += !misses_nothing(names[n_names]);
        }
        free(list[i]);
    }
    INVARIANT(n_names > 0); /* run it from the project's folder */
    free(list);
}

/* The text after `label` on its line of the opening comment. */
static void stated(const char *text, const char *label, char *out, size_t cap) {
    const char *at = strstr(text, label);
    ck_assert_msg(at, "the opening comment doesn't say '%s'", label);
    at += strlen(label);
    snprintf(out, cap, "%.*s", (int)strcspn(at, "\n"), at);
}

static void hand_in(struct submission *s, const char *name) {
    char file[64], *all = NULL;
    size_t n = 0, n_body = 0, len = 0;
    snprintf(file, sizeof file, "%s.c", name);
    char *head = collect_read(LESSONS, file, 1 << 20, &n);
    char *body = collect_read(LESSONS, "policy.body", 1 << 20, &n_body);
    ck_assert_msg(head && body, "%s", file);
    FILE *f = open_memstream(&all, &len);
    fprintf(f, "%s%s", head, body);
    fclose(f);
    submission_of(s, &lab02, REFERENCE02);
    submission_write(s, "policy.c", all, len);
    free(all);
    free(head);
    free(body);
}

static int grade_lessons(const char *name, uint64_t seed, char *lost, size_t cap) {
    struct submission s;
    struct grade_verdict v;
    struct err e;
    bool usage;
    hand_in(&s, name);
    struct grade_options o = {.lab = &lab02,
                              .folder = s.path,
                              .seed = seed,
                              .practice = true,
                              .check = CHECKS,
                              .home = "."};
    ck_assert_msg(grade_run(&o, &v, &usage, &e) == 0, "%s", e.text);
    lost[0] = '\0';
    for (size_t i = 0; i < v.n; i++)
        if (v.checks[i].outcome != OUTCOME_EARNED) {
            size_t at = strlen(lost);
            snprintf(lost + at, cap - at, "%s%s", at ? " " : "", v.checks[i].id);
            printf("# %s: %s: %s\n", name, v.checks[i].id, v.checks[i].message);
        }
    int earned = verdict_totals(&v).earned;
    verdict_release(&v);
    submission_remove(&s);
    return earned;
}

START_TEST(a_missed_lesson_costs_its_points) {
    char file[64], want[400], reach[16], lost[400];
    size_t n = 0;
    snprintf(file, sizeof file, "%s.c", names[_i]);
    char *text = collect_read(LESSONS, file, 1 << 20, &n);
    ck_assert_msg(text, "%s", file);
    stated(text, "* loses: ", want, sizeof want);
    stated(text, "* reaches: ", reach, sizeof reach);
    free(text);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        int earned = grade_lessons(names[_i], seed, lost, sizeof lost);
        char copy[sizeof want];
        strcpy(copy, want);
        ck_assert_msg(earned <= atoi(reach), "%s, seed %d: %d points, may reach %s; loses: %s",
                      names[_i], (int)seed, earned, reach, lost);
        for (char *id = strtok(copy, " "); id; id = strtok(NULL, " "))
            ck_assert_msg(strstr(lost, id), "%s, seed %d: keeps %s; loses: %s", names[_i],
                          (int)seed, id, lost);
    }
}
END_TEST

/* The body itself, without a switch, misses nothing: what a file loses, its switch has cost. */
START_TEST(the_body_misses_nothing) {
    char lost[400];
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        ck_assert_msg(grade_lessons(full[_i], seed, lost, sizeof lost) == 16, "%s, seed %d: %s",
                      full[_i], (int)seed, lost);
}
END_TEST

int main(void) {
    list_lessons();
    Suite *suite = suite_create("lessons");
    TCase *tc = tcase_create("lab 02");
    tcase_set_timeout(tc, 240);
    tcase_add_loop_test(tc, a_missed_lesson_costs_its_points, 0, n_names);
    tcase_add_loop_test(tc, the_body_misses_nothing, 0, N_FULL);
    suite_add_tcase(suite, tc);
    return check_main(suite);
}
