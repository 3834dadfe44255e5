/* cmd_grade.c: `servelab grade LAB [DIR]`: grades one submission and renders the verdict. Grading
 * itself: grader/core/grade.h.
 */
#include "cli/options.h"

#include "core/build.h"
#include "core/grade.h"
#include "core/render.h"
#include "labs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

struct options {
    const char *check, *seed_file, *formats;
    long long seed, hint;
    int sandbox, device, own; /* indices in the choices below */
    bool list, json, keep, seed_given;
    struct grade_options g; /* from the flags */
};

static const char *const SANDBOXES[] = {"auto", "rlimits", "required", NULL};
static const char *const OWNS[] = {"none", "all", NULL};
static const char *const DEVICES[] = {"simt", "cuda", NULL};

#define T struct options
static const struct option_flag flags[] = {
    OPTION_TEXT(T, check, "check", "LIST",
                "only these: a check's name (intervals.tpot), a dimension (slo), or a list"),
    OPTION_SWITCH(T, list, "list", "the checks, with their points"),
    OPTION_INT(T, seed, "seed", "N", 0, 9007199254740992LL,
               "the practice seed of an earlier run, to see the same cases again"),
    OPTION_FILE(T, seed_file, "seed-file", "FILE",
                "the instructor's seed: any text; it and the cases made from it are not shown"),
    OPTION_INT(T, hint, "hint", "N", 0, CHECK_HINTS,
               "up to so many steps of help with each check that is not earned; none gives the "
               "answer"),
    OPTION_TEXT(T, formats, "format", "LIST",
                "text, json; each to standard output, or to a file: text,json=verdict.json"),
    OPTION_SWITCH(T, json, "json", "the same as --format json"),
    OPTION_CHOICE(T, device, "device", "NAME", DEVICES,
                  "simt (default): the counted run, on the CPU. cuda: lab 03 on a GPU: right or "
                  "wrong, speed beside the reference's; a table, no points. Needs a driver and "
                  "nvcc; exit status 1 also when a kernel isn't written"),
    OPTION_CHOICE(
        T, sandbox, "sandbox", "MODE", SANDBOXES,
        "auto (default): bubblewrap where it works, else rlimits; required: bubblewrap or "
        "nothing (exit status 4); rlimits: limits alone, which hide no files"),
    OPTION_CHOICE(T, own, "own", "LABS", OWNS,
                  "lab 04: none (default): on the reference's labs 01 and 02; all: on those in the "
                  "folders beside DIR"),
    OPTION_SWITCH(T, keep, "keep", "leave the work folder, and print where it is"),
    {0}};
#undef T
static const struct option_rule rules[] = {{OPTION_EXCLUDE, {"seed", "seed-file"}}, {0}};

static int run(int argc, char **argv);

const struct command grade_command = {
    .name = "grade",
    .summary = "grade a lab: points, what to do next, the command that repeats a check",
    .run = run,
    .usage = "LAB [DIR] [FLAGS]",
    .about = "Grades the files of lab LAB (01, or 01_request_record) in folder DIR; without DIR, "
             "the learner's own in labs/. Nothing in DIR is changed or run outside of a sandbox.",
    .flags = flags,
    .rules = rules,
    .args = {"LAB", "DIR"},
    .min_args = 1,
    .max_args = 2,
    .exits = "0 full marks, 1 points lost, 2 bad usage, 3 not attempted, 4 the grader's fault, or "
             "the verdict can't be written",
    .examples = "servelab grade 01 solutions/01_request_record --check intervals"};

/* ---- the seed -------------------------------------------------------------------------------- */

/* The seed is a hash of the file's bytes, without blanks at the ends. */
static int read_seed_file(const char *path, uint64_t *seed) {
    char text[4096];
    FILE *f = fopen(path, "r");
    if (!f) return cli_usage("grade", "--seed-file: %s", strerror(errno));
    size_t n = fread(text, 1, sizeof text, f), from = 0;
    fclose(f);
    while (n > 0 && (unsigned char)text[n - 1] <= ' ') n--;
    while (from < n && (unsigned char)text[from] <= ' ') from++;
    if (n - from < 8)
        return cli_usage("grade",
                         "--seed-file: needs at least 8 characters, so that it can't be guessed");
    *seed = case_seed(text + from, n - from);
    return 0;
}

static int choose_seed(struct options *o) {
    o->g.practice = o->seed_file == NULL;
    if (o->seed_file) return read_seed_file(o->seed_file, &o->g.seed);
    o->g.seed = (uint64_t)o->seed;
    if (!o->seed_given) {
        uint32_t r = 0;
        if (getrandom(&r, sizeof r, 0) != sizeof r) r = (uint32_t)getpid();
        o->g.seed = 1 + r % 999999; /* short enough to type */
    }
    return 0;
}

/* ---- output ---------------------------------------------------------------------------------- */

static int render_one(const char *item, size_t n, const struct grade_verdict *v,
                      const struct lab *lab) {
    char path[PATH_MAX]; /* check_formats has seen that it fits */
    size_t len = strcspn(item, "=,");
    bool to_file = len < n;
    struct err e;
    if (to_file) snprintf(path, sizeof path, "%.*s", (int)(n - len - 1), item + len + 1);
    if (!render_file(v, lab, item[0] == 'j' ? RENDER_JSON : RENDER_TEXT, !to_file && cli_bold()[0],
                     to_file ? path : NULL, &e))
        return 0;
    cli_input_error("grade", NULL, &e, false);
    return CLI_FAULT;
}

static int check_formats(const char *formats) {
    for (const char *p = formats; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        size_t n = strcspn(p, "=,"), path = p[n] == '=' ? strcspn(p + n + 1, ",") : 1;
        if (!(n == 4 && (!strncmp(p, "text", 4) || !strncmp(p, "json", 4))))
            return cli_usage("grade", "--format knows text and json, not '%.*s'",
                             n < 60 ? (int)n : 60, p);
        if (path == 0 || path >= PATH_MAX)
            return cli_usage("grade", "--format %.4s= needs the path of a file%s", p,
                             path ? ", not one so long" : "");
    }
    return 0;
}

static int render_all(const char *formats, const struct grade_verdict *v, const struct lab *lab) {
    int rc = 0;
    for (const char *p = formats; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (render_one(p, strcspn(p, ","), v, lab)) rc = CLI_FAULT;
    return rc;
}

static void list_checks(const struct lab *lab) {
    printf("%sLab %s%s\n", cli_bold(), lab->name, cli_reset());
    for (size_t i = 0; i < lab->n_checks; i++)
        printf("  %-26s %2d  %s\n", lab->checks[i].id, lab->checks[i].points, lab->checks[i].title);
}

static void show_progress(const char *what, size_t done, size_t total) {
    if (!what)
        fprintf(stderr, "\r\033[K");
    else
        fprintf(stderr, "\r\033[K%s (%zu of %zu)", what, done + 1, total);
    fflush(stderr);
}

/* ---- entry ----------------------------------------------------------------------------------- */

static int grade(struct options *o) {
    struct grade_verdict v;
    struct err e;
    bool usage = false;
    int rc;
    if (grade_run(&o->g, &v, &usage, &e)) {
        if (o->g.progress) show_progress(NULL, 0, 0);
        cli_input_error("grade", usage && !e.field[0] ? o->g.folder : NULL, &e,
                        !strcmp(o->formats, "json"));
        rc = usage ? CLI_USAGE : CLI_FAULT;
    } else if (o->g.cuda) {
        if (o->g.practice && o->g.card_status) printf("seed %llu\n", (unsigned long long)o->g.seed);
        rc = o->g.card_status;
    } else {
        rc = render_all(o->formats, &v, o->g.lab);
        if (!rc) rc = verdict_exit_status(&v);
    }
    if (o->g.keep) fprintf(stderr, "work folder: %s\n", o->g.kept);
    verdict_release(&v);
    return rc;
}

static int run(int argc, char **argv) {
    struct options o = {.formats = "text"};
    struct option_words words;
    char home[1024], folder[1200];
    struct err e;
    int status;
    if (!options_parse(&grade_command, &o, argc, argv, &words, &status)) return status;
    const char *dir = words.n_args == 2 ? words.args[1] : NULL;
    o.seed_given = option_given(&words, "seed");
    if (o.json) o.formats = "json";
    o.g = (struct grade_options){.check = o.check,
                                 .hints = (int)o.hint,
                                 .force_rlimits = o.sandbox == 1,
                                 .require_bwrap = o.sandbox == 2,
                                 .cuda = o.device == 1,
                                 .keep = o.keep,
                                 .lab = lab_find(words.args[0])};
    if (!o.g.lab)
        return cli_usage("grade", "there is no lab '%s' here; there are 01, 02, 03 and 04",
                         words.args[0]);
    if (o.own && !lab_with_own(o.g.lab))
        return cli_usage("grade", "--own all is for lab 04, which builds on labs 01 and 02");
    if (o.own) o.g.lab = lab_with_own(o.g.lab);
    o.g.own = o.own > 0;
    if (o.list) return list_checks(o.g.lab), CLI_DONE;
    if (o.g.cuda && !o.g.lab->on_card)
        return cli_usage("grade", "--device cuda is for lab 03, whose files are kernels");
    if (o.g.cuda && strcmp(o.formats, "text") != 0)
        return cli_usage("grade", "--device cuda prints one table; leave --format and --json out");
    if (check_formats(o.formats) || choose_seed(&o)) return CLI_USAGE;
    if (build_find_home(home, sizeof home, &e)) {
        cli_input_error("grade", NULL, &e, false);
        return CLI_FAULT;
    }
    o.g.home = home;
    snprintf(folder, sizeof folder, "%s/labs/%s", home, o.g.lab->name);
    o.g.folder = dir ? dir : folder;
    o.g.rerun_folder = dir;
    if (isatty(STDERR_FILENO)) o.g.progress = show_progress;
    return grade(&o);
}
