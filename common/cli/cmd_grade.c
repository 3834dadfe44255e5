/* cmd_grade.c: `servelab grade LAB [DIR]`: grades one submission and renders the verdict. What
 * grading is stands in grader/core/grade.h. */
#include "cli/cli.h"

#include "core/build.h"
#include "core/grade.h"
#include "core/render.h"
#include "labs.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static const char help[] =
    "usage: servelab grade LAB [DIR] [FLAGS]\n\n"
    "Grades the files of lab LAB (01, or 01_request_record) that stand in DIR; without DIR, the\n"
    "learner's own in labs/. Nothing in DIR is changed or run outside of a sandbox.\n\n"
    "  --check LIST     only these: a check's name (intervals.tpot), a dimension (slo), or a list\n"
    "  --list           the checks, with their points\n"
    "  --seed N         the practice seed of an earlier run, to see the same cases again\n"
    "  --seed-file F    the instructor's seed: any text; never shown, nor are cases made from it\n"
    "  --hint N         up to 3 steps of help with what is not earned; none tells the answer\n"
    "  --format LIST    text, json; each to standard output, or to a file: text,json=verdict.json\n"
    "  --json           the same as --format json\n"
    "  --device cuda    lab 03 on a GPU: right or wrong, speed beside the reference's; a table, "
    "no\n"
    "                   points. Needs a driver and nvcc; exit status 1 also when one isn't "
    "written\n"
    "  --sandbox MODE   auto (bubblewrap where it works) or rlimits\n"
    "  --keep           leave the work folder, and say where it is\n\n"
    "example: servelab grade 01 solutions/01_request_record --check intervals\n"
    "exit status: 0 full marks, 1 points lost, 2 bad usage, 3 not attempted, 4 the grader's "
    "fault\n";

enum { MAX_FORMATS = 4 };

struct options {
    struct grade_options g;
    const char *seed_file;
    const char *formats;
    bool list;
    bool seed_given;
};

/* ---- flags ----------------------------------------------------------------------------------- */

static int set_seed(struct options *o, const char *text) {
    long long v;
    if (cli_int("grade", "--seed", text, 0, 9007199254740992LL, &v)) return CLI_USAGE;
    o->g.seed = (uint64_t)v;
    o->seed_given = true;
    return 0;
}

static int set_hint(struct options *o, const char *text) {
    long long v;
    if (cli_int("grade", "--hint", text, 0, CHECK_HINTS, &v)) return CLI_USAGE;
    o->g.hints = (int)v;
    return 0;
}

static int set_sandbox(struct options *o, const char *text) {
    if (strcmp(text, "auto") != 0 && strcmp(text, "rlimits") != 0)
        return cli_usage("grade", "--sandbox takes auto or rlimits");
    o->g.force_rlimits = text[0] == 'r';
    return 0;
}

static int set_device(struct options *o, const char *text) {
    if (strcmp(text, "cuda") != 0 && strcmp(text, "simt") != 0)
        return cli_usage("grade", "--device takes simt (the counted run, on the CPU) or cuda");
    o->g.cuda = text[0] == 'c';
    return 0;
}

static int read_flags(int argc, char **argv, struct options *o) {
    static const struct option flags[] = {{"check", required_argument, NULL, 'c'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"seed-file", required_argument, NULL, 'S'},
                                          {"hint", required_argument, NULL, 'i'},
                                          {"format", required_argument, NULL, 'f'},
                                          {"sandbox", required_argument, NULL, 'x'},
                                          {"device", required_argument, NULL, 'd'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"list", no_argument, NULL, 'l'},
                                          {"keep", no_argument, NULL, 'k'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int flag, rc = 0;
    opterr = 0;
    optind = 1;
    while (!rc && (flag = getopt_long(argc, argv, ":h", flags, NULL)) != -1) {
        if (flag == 'c') o->g.check = optarg;
        if (flag == 's') rc = set_seed(o, optarg);
        if (flag == 'S') o->seed_file = optarg;
        if (flag == 'i') rc = set_hint(o, optarg);
        if (flag == 'f') o->formats = optarg;
        if (flag == 'x') rc = set_sandbox(o, optarg);
        if (flag == 'd') rc = set_device(o, optarg);
        if (flag == 'j') o->formats = "json";
        if (flag == 'l') o->list = true;
        if (flag == 'k') o->g.keep = true;
        if (flag == 'h') return fputs(help, stdout), -1;
        if (flag == '?' || flag == ':') return cli_bad_flag("grade", argc, argv, flag == ':');
    }
    return rc;
}

/* ---- the seed -------------------------------------------------------------------------------- */

/* Any text will do; its bytes, without blanks at the ends, become a number. */
static int read_seed_file(const char *path, uint64_t *seed) {
    char text[4096];
    FILE *f = fopen(path, "r");
    if (!f) return cli_usage("grade", "--seed-file: %s", strerror(errno));
    size_t n = fread(text, 1, sizeof text, f), from = 0;
    fclose(f);
    while (n > 0 && (unsigned char)text[n - 1] <= ' ') n--;
    while (from < n && (unsigned char)text[from] <= ' ') from++;
    if (n - from < 8)
        return cli_usage("grade", "--seed-file: at least 8 characters, so that nobody guesses it");
    *seed = UINT64_C(0xcbf29ce484222325);
    for (; from < n; from++) *seed = (*seed ^ (unsigned char)text[from]) * UINT64_C(0x100000001b3);
    return 0;
}

static int choose_seed(struct options *o) {
    o->g.practice = o->seed_file == NULL;
    if (o->seed_file && o->seed_given)
        return cli_usage("grade", "--seed and --seed-file: one of them");
    if (o->seed_file) return read_seed_file(o->seed_file, &o->g.seed);
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
    char path[1024];
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
        size_t n = strcspn(p, "=,");
        if (!(n == 4 && (!strncmp(p, "text", 4) || !strncmp(p, "json", 4))))
            return cli_usage("grade", "--format knows text and json, not '%.*s'", (int)n, p);
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

int cmd_grade(int argc, char **argv) {
    struct options o = {.formats = "text"};
    char home[1024], folder[1200];
    struct err e;
    int rc = read_flags(argc, argv, &o);
    if (rc) return rc < 0 ? CLI_DONE : rc;
    if (optind >= argc) return cli_usage("grade", "which lab? (01, 02, 03)");
    if (argc - optind > 2) return cli_usage("grade", "one lab and one folder, please");
    o.g.lab = lab_find(argv[optind]);
    if (!o.g.lab)
        return cli_usage("grade", "there is no lab '%s' here; there are 01 and 02", argv[optind]);
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
    o.g.folder = argc - optind == 2 ? argv[optind + 1] : folder;
    o.g.rerun_folder = argc - optind == 2 ? argv[optind + 1] : NULL;
    if (isatty(STDERR_FILENO)) o.g.progress = show_progress;
    return grade(&o);
}
