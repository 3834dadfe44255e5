/* test_attacks.c: grades every file of the attacks/ of labs 01, 02 and 04. An attack that the
 * examination of objects refuses is graded again with the examination switched off and without
 * bubblewrap, so that the limits of the process alone must hold. An attack that exhausts the
 * machine or writes to the channel runs a third time, in bubblewrap. Expected each time: no
 * unearned point, no hang, no crash, no process left behind, a message with the reason, and the
 * points of the other files kept.
 *
 * An attack is a file of the lab (percentile.c, policy.c or engine_step.c, if it says nothing else)
 * with a comment on top; each of these begins a line:
 *
 * watch: ID. The check that it attacks (slo.percentile_rank, quality.keeps_rules).
 *
 * examined: OUTCOME; says: A|B. The check's outcome, and alternative parts of the message.
 * "refused" is not_run, with the file named among the problems.
 *
 * trusted: earned. With the examination off: its answers are right. Or "nothing"; or "nothing; also
 * in bubblewrap", which runs a third time.
 *
 * The line "//reference F G" is replaced by the reference file with its function F renamed to G, so
 * that an attack can give right answers first.
 */
/* servelab-test: long */
#include "core/collect.h"
#include "core/grade.h"
#include "core/render.h"
#include "labs.h"
#include "tests/submission.h"

#include "base/clock.h"
#include "testing/check_main.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ATTACKS = 512 };

enum walls { EXAMINED, TRUSTED, TRUSTED_RLIMITS };

/* Each lab's attacks, and the checks that the other files still earn. */
struct target {
    const struct lab *lab;
    const char *reference, *folder, *file, *watch, *keeps, *keeps_too, *keeps_file;
};
static const struct target targets[] = {
    {&lab01, REFERENCE, "grader/tests/lab01/attacks", "percentile.c", "slo.percentile_rank",
     "intervals.rounding", "slo.strict", "slo.c"},
    {&lab02, REFERENCE02, "grader/tests/lab02/attacks", "policy.c", "quality.keeps_rules",
     "intervals.ttft", "slo.limits", "capacity.c"},
    {&lab04, REFERENCE04, "grader/tests/lab04/attacks", "engine_step.c", "quality.tokens",
     "intervals.stamp_kinds", "slo.regions", "report.c"},
};

static struct attack {
    const struct target *target;
    char name[64];
} attacks[MAX_ATTACKS];
static int n_attacks;

static void find_attacks(const struct target *target) {
    DIR *d = opendir(target->folder);
    for (struct dirent *de; d && (de = readdir(d));)
        if (de->d_name[0] != '.' && strstr(de->d_name, ".c")) {
            INVARIANT(n_attacks < MAX_ATTACKS);
            struct attack *a = &attacks[n_attacks++];
            a->target = target;
            snprintf(a->name, sizeof a->name, "%.63s", de->d_name);
        }
    if (d) closedir(d);
}

/* Copies the value of "key: value" in the opening comment to out. */
static bool header(const char *text, const char *key, char *out, size_t cap) {
    char line[64];
    snprintf(line, sizeof line, "\n * %s: ", key);
    const char *p = strstr(text, line);
    out[0] = '\0';
    if (!p) return false;
    p += strlen(line);
    size_t n = strcspn(p, ";\n");
    snprintf(out, cap, "%.*s", (int)n, p);
    return true;
}

/* Whether the text contains one of the parts "A|B". */
static bool says(const char *text, const char *parts) {
    for (const char *p = parts; *p;) {
        char part[80];
        size_t n = strcspn(p, "|");
        snprintf(part, sizeof part, "%.*s", (int)n, p);
        if (strstr(text, part)) return true;
        p += n + (p[n] == '|');
    }
    return false;
}

static const struct check_result *find(const struct grade_verdict *v, const char *id) {
    for (size_t i = 0; i < v->n; i++)
        if (!strcmp(v->checks[i].id, id)) return &v->checks[i];
    return NULL;
}

/* A rendering has no control bytes and no forged line of a verdict. */
static void check_renderings(const struct grade_verdict *v, const struct lab *lab) {
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    render_text(v, lab, false, f);
    ck_assert_int_eq(render_json(v, f), 0);
    fclose(f);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        ck_assert_msg(c >= 0x20 || c == '\n' || c == '\t', "byte %u at %zu", c, i);
        ck_assert_msg(c < 0x7f, "byte %u at %zu", c, i);
    }
    ck_assert_ptr_null(strstr(text, "\nok 1"));
    ck_assert_ptr_null(strstr(text, "\nscore: 100"));
    free(text);
}

static void attack(const struct attack *a, enum walls walls) {
    const struct target *t = a->target;
    const char *name = a->name;
    struct submission s;
    char watch[64], file[32], expect[32], part[80], checks[128];
    size_t n = 0;
    char *text = collect_read(t->folder, name, 65536, &n);
    ck_assert_ptr_nonnull(text);
    if (!header(text, "watch", watch, sizeof watch)) snprintf(watch, sizeof watch, "%s", t->watch);
    if (!header(text, "file", file, sizeof file)) snprintf(file, sizeof file, "%s", t->file);
    ck_assert(header(text, walls == EXAMINED ? "examined" : "trusted", expect, sizeof expect));
    snprintf(checks, sizeof checks, "%s,%s,%s", watch, t->keeps, t->keeps_too);
    submission_of(&s, t->lab, t->reference);
    submission_attack(&s, file, text);

    struct grade_verdict v;
    struct err e;
    bool usage;
    struct grade_options o = {.lab = t->lab,
                              .folder = s.path,
                              .seed = 7,
                              .practice = true,
                              .check = checks,
                              .trust_objects = walls != EXAMINED,
                              .force_rlimits = walls == TRUSTED_RLIMITS,
                              .home = "."};
    int64_t start = clock_monotonic_ns();
    int rc = grade_run(&o, &v, &usage, &e);
    ck_assert_msg(rc == 0, "%s", rc ? e.text : "");
    ck_assert_int_lt(clock_monotonic_ns() - start, 90 * NS_PER_S);

    const struct check_result *r = find(&v, watch);
    bool earned = !strcmp(expect, "earned"), refused = !strcmp(expect, "refused");
    ck_assert_msg((r->outcome == OUTCOME_EARNED) == earned, "%s: %s: %s", name,
                  outcome_name(r->outcome), r->message);
    ck_assert_msg(r->outcome != OUTCOME_GRADER_FAULT, "%s: %s", name, r->message);
    ck_assert_int_eq(verdict_exit_status(&v), earned ? 0 : 1);
    if (walls == EXAMINED) {
        ck_assert_str_eq(outcome_name(r->outcome), refused ? "not_run" : expect);
        if (refused) ck_assert_msg(strstr(v.problem, file), "%s: '%s'", name, v.problem);
        const char *want = strstr(text, "; says: ");
        if (want) snprintf(part, sizeof part, "%.*s", (int)strcspn(want + 8, "\n"), want + 8);
        ck_assert_msg(!want || says(r->message, part), "%s: '%s' doesn't say '%s'", name,
                      r->message, part);
        /* the other files' points stay */
        ck_assert_int_eq(find(&v, t->keeps)->outcome, OUTCOME_EARNED);
        if (strcmp(file, t->keeps_file) != 0)
            ck_assert_int_eq(find(&v, t->keeps_too)->outcome, OUTCOME_EARNED);
    }
    check_renderings(&v, t->lab);
    ck_assert_msg(!submission_processes_left(), "%s left a process behind", name);
    verdict_release(&v);
    submission_remove(&s);
    free(text);
}

START_TEST(examined) {
    attack(&attacks[_i], EXAMINED);
}
END_TEST

START_TEST(trusted) {
    attack(&attacks[_i], TRUSTED);
}
END_TEST

START_TEST(trusted_rlimits) {
    attack(&attacks[_i], TRUSTED_RLIMITS);
}
END_TEST

START_TEST(there_are_attacks) {
    ck_assert_int_gt(n_attacks, 100);
}
END_TEST

/* Functions that return the same constant for every case: they earn nothing. */
static const char lazy_intervals[] =
    "#include \"record/intervals.h\"\n#include <string.h>\n"
    "struct interval interval_between(const struct record *r, const struct event *s, const struct "
    "event "
    "*e) { (void)r, (void)s, (void)e; return (struct interval){V, V, 0}; }\n"
    "int64_t interval_divide(int64_t n, int64_t d) { (void)n, (void)d; return V; }\n"
    "void intervals_compute(const struct record *r, struct intervals *o) { (void)r; struct "
    "interval i = "
    "{V, V, 0}; *o = (struct intervals){i, i, i, i, i, i, V % 3}; }\n"
    "size_t intervals_itl(const struct record *r, int64_t *o, size_t c) { (void)r, (void)o, "
    "(void)c; "
    "return V; }\n";
static const char lazy_classify[] =
    "#include \"objective/classify.h\"\n"
    "enum completion_reason classify_attempt(const struct record *r, enum truncation_rule t) { "
    "(void)r, "
    "(void)t; return V; }\n"
    "void classify_request(const struct record *const *a, size_t n, enum truncation_rule t, struct "
    "classification *o) { (void)a, (void)n, (void)t; *o = (struct classification){V & 1, V, V & 3, "
    "V & "
    "3, V & 1, V}; }\n"
    "bool classify_good(const struct classification *c, const struct intervals *iv, const struct "
    "objective *o) { (void)c, (void)iv, (void)o; return V & 1; }\n";
static const char lazy_percentile[] =
    "#include \"objective/percentile.h\"\n"
    "struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t "
    "n_failed, "
    "int32_t p) { (void)p; return (struct percentile){V & 1, V & 2, n_ok ? obs_ns[0] : 0, n_ok + "
    "n_failed, n_failed, V & 1}; }\n";
static const char lazy_slo[] = "#include \"objective/slo.h\"\n"
                               "#define C (void)o, (void)c\n"
                               "enum slo_answer slo_limit(const struct latency_limit *l, const "
                               "struct percentile *p) { (void)l, "
                               "(void)p; return V % 3; }\n"
                               "enum slo_answer slo_failure_rate(const struct objective *o, const "
                               "struct slo_counts *c) { C; return "
                               "V % 3; }\n"
                               "enum slo_answer slo_quality(const struct objective *o, const "
                               "struct slo_counts *c) { C; return V % "
                               "3; }\n"
                               "enum slo_answer slo_throughput(const struct objective *o, const "
                               "struct slo_counts *c) { C; return V "
                               "% 3; }\n"
                               "enum slo_answer slo_objective_value(const struct objective *o, "
                               "const struct slo_counts *c, double "
                               "*v, char *r, size_t n) { C; (void)v; for (size_t i = 0; i + 1 < n; "
                               "i++) r[i] = 'x'; r[n - 1] = 0; "
                               "return V % 3; }\n"
                               "enum slo_answer slo_verdict(const struct objective *o, const "
                               "struct percentile *p, const struct "
                               "slo_counts *c) { C; (void)p; return V % 3; }\n";

START_TEST(constants_earn_nothing) {
    static const char *const files[4] = {"intervals.c", "classify.c", "percentile.c", "slo.c"};
    static const char *const texts[4] = {lazy_intervals, lazy_classify, lazy_percentile, lazy_slo};
    struct submission s;
    struct grade_verdict v;
    struct err e;
    bool usage;
    submission_reference(&s);
    for (int i = 0; i < 4; i++) {
        char text[4096];
        snprintf(text, sizeof text, "#define V %d\n%s", _i, texts[i]);
        submission_write(&s, files[i], text, strlen(text));
    }
    struct grade_options o = {.lab = &lab01,
                              .folder = s.path,
                              .seed = 3,
                              .practice = true,
                              .check = "intervals,quality,slo,safety",
                              .home = "."};
    ck_assert_int_eq(grade_run(&o, &v, &usage, &e), 0);
    ck_assert_str_eq(v.problem, "");
    for (size_t i = 0; i < v.n; i++)
        ck_assert_msg(v.checks[i].outcome != OUTCOME_EARNED, "%s is earned by a constant",
                      v.checks[i].id);
    verdict_release(&v);
    submission_remove(&s);
}
END_TEST

static bool refused_by_examination(const struct attack *a) {
    size_t n = 0;
    char expect[32] = "", *text = collect_read(a->target->folder, a->name, 65536, &n);
    if (text) header(text, "examined", expect, sizeof expect);
    free(text);
    return !strcmp(expect, "refused");
}

static bool also_in_bubblewrap(const struct attack *a) {
    size_t n = 0;
    char *text = collect_read(a->target->folder, a->name, 65536, &n);
    bool also = text && strstr(text, "; also in bubblewrap\n");
    free(text);
    return also;
}

/* One test case for each attack, so that the results show its name. */
static void add(Suite *suite, const char *label, const TTest *test, int i) {
    static char kept[3 * MAX_ATTACKS][96]; /* Check keeps the pointer */
    static int n_kept;
    char *name = kept[n_kept++];
    snprintf(name, sizeof kept[0], "%s lab %s %.63s", label, attacks[i].target->lab->number,
             attacks[i].name);
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 200);
    tcase_add_loop_test(tc, test, i, i + 1);
    suite_add_tcase(suite, tc);
}

int main(void) {
    Suite *suite = suite_create("attacks");
    TCase *tc = tcase_create("corpus");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) find_attacks(&targets[i]);
    tcase_set_timeout(tc, 200);
    tcase_add_test(tc, there_are_attacks);
    tcase_add_loop_test(tc, constants_earn_nothing, 0, 9);
    suite_add_tcase(suite, tc);
    for (int i = 0; i < n_attacks; i++) {
        bool both = also_in_bubblewrap(&attacks[i]);
        add(suite, "examined", examined, i);
        if (both || refused_by_examination(&attacks[i])) add(suite, "rlimits", trusted_rlimits, i);
        if (both) add(suite, "trusted", trusted, i);
    }
    return check_main(suite);
}
