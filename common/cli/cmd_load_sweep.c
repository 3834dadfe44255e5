/* cmd_load_sweep.c: `servelab load sweep`: one load after the other until the objective is missed,
 * then the highest load that keeps it, by bisection. Each load is a run of load_run.c; its verdict
 * is the report's (objective/report.h).
 */
#include "cli/load_flags.h"

#include "base/json.h"
#include "load/sweep.h"
#include "report/report_tree.h"
#include "report/run_read.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    TRIES = 3, /* of a load at which the client could not keep up: a machine hiccups */
    MOST_RUNS = TRIES * SWEEP_MOST_PROBES,
    PATH_ROOM = 4096
};

struct flags {
    struct load_flags l;
    double from_rps, to_rps, factor, resolution;
};

static int run(int argc, char **argv);

#define T struct flags
static const struct option_flag flags[] = {
    OPTION_TEXT(T, l.url, "url", "URL",
                "the server, such as http://127.0.0.1:8080, with or without /v1"),
    OPTION_TEXT(T, l.model, "model", "NAME", "(the server's first)"),
    OPTION_FILE(T, l.objective, "objective", "FILE", "what the server must keep"),
    OPTION_FILE(T, l.out, "out", "DIR",
                "each run is kept there, as DIR/RATE-rps, and the report as DIR/report"),
    OPTION_SWITCH(T, l.force, "force", "write over the runs that are in DIR"),

    OPTION_HEADING("The loads"),
    OPTION_ABOVE(T, from_rps, "from-rps", "R", 0, 1e6, "the first, in requests/s (1)"),
    OPTION_ABOVE(T, to_rps, "to-rps", "R", 0, 1e6, "none is higher (1000)"),
    OPTION_REAL(T, factor, "factor", "X", 1.01, 100, "each is X times the one before (1.5)"),
    OPTION_REAL(T, resolution, "resolution", "X", 0.001, 10,
                "bisect until the lowest that missed is at most 1 + X times the highest that was "
                "met (0.1)"),

    OPTION_HEADING("Each load, as in `servelab load`"),
    OPTION_TEXT(T, l.w.arrivals, "arrivals", "KIND", "poisson or gamma (poisson)"),
    OPTION_ABOVE(T, l.w.cv, "cv", "X", 0, 1e3, "gamma: coefficient of variation of the gaps"),
    OPTION_ABOVE(T, l.duration_s, "duration-s", "S", 0, 1e6, "no request is scheduled later (30)"),
    OPTION_REAL(T, l.warm_up_s, "warm-up-s", "S", 0, 1e6,
                "requests scheduled in the first S seconds aren't counted; at least as long as an "
                "answer takes (a fifth of --duration-s)"),
    OPTION_REAL(T, l.cool_down_s, "cool-down-s", "S", 0, 1e6, "the same of the last S seconds (0)"),
    OPTION_TEXT(T, l.w.prompt_tokens, "prompt-tokens", "N|LO:HI", "length of prompts (512)"),
    OPTION_TEXT(T, l.w.output_tokens, "output-tokens", "N|LO:HI", "length of answers (128)"),
    OPTION_SWITCH(
        T, l.ignore_eos, "ignore-eos",
        "go on to the asked length, which is complete then (with a servelab server always)"),
    OPTION_INT(T, l.shared_prefix, "shared-prefix", "N", 0, 100000000,
               "the first N tokens of all prompts are the same (0)"),
    OPTION_REAL(T, l.check_share, "check-share", "X", 0, 1,
                "share of the requests that ask a preset of the server, judged by its check (0)"),
    OPTION_INT(T, l.seed, "seed", "N", 0, JSON_MAX_INT, "of everything random (1)"),
    OPTION_INT(T, l.timeout_s, "timeout-s", "N", 1, 86400,
               "for one request (600); to connect, at most 10 of them"),
    OPTION_SWITCH(T, l.json, "json", "print the loads and the highest one as JSON"),
    {0}};
#undef T
static const struct option_rule rules[] = {
    {OPTION_ONE_OF, {"url"}}, {OPTION_ONE_OF, {"objective"}}, {OPTION_ONE_OF, {"out"}}, {0}};

const struct command load_sweep_command = {
    .name = "load sweep",
    .summary = "the highest load at which a server meets an objective, and the curve to it",
    .run = run,
    .usage = "--url URL --objective FILE --out DIR [FLAGS]",
    .about =
        "Sends one load after the other, each higher than the one before, and judges each by "
        "the objective. Stops after two loads in a row that don't meet it, then bisects. A "
        "load at which the client itself can't keep up is tried again, twice; if that does not "
        "help, the search ends below it. A load so low that no request is due is passed over. "
        "Ends with `servelab report` over all runs.",
    .flags = flags,
    .rules = rules,
    .exits = "0 a load meets the objective; 1 none does; 2 bad usage, or no server; 4 an output "
             "can't be written; 130 interrupted: the runs so far are kept",
    .examples = "servelab load sweep --url http://127.0.0.1:8080 --objective "
                "common/report/objective.json --check-share 1 --duration-s 10 --out build/sweep"};

/* ---- one load -------------------------------------------------------------------------------- */

struct probe {
    double rps;
    char folder[PATH_ROOM];
    enum slo_answer verdict;
    bool valid;    /* the client kept up */
    bool empty;    /* no request was due: the run is no point of the report */
    char why[160]; /* the first reason where it did not */
    double good_rps;
};

struct sweep {
    const struct flags *f;
    const char *command_line;
    struct objective o;
    struct probe *probes; /* (MOST_RUNS), in the order in which they ran */
    int n;
    int status; /* of the run that ended the search; CLI_DONE: none */
};

static void show_probe(const struct sweep *s, const struct probe *p) {
    if (s->f->l.json) return;
    printf("%8.4g requests/s: %s%s", p->rps,
           p->valid ? slo_answer_name(p->verdict) : "not counted, the run is invalid: ", p->why);
    if (isfinite(p->good_rps)) printf(", %.4g good/s", p->good_rps);
    printf("\n");
    fflush(stdout);
}

static int judge(struct sweep *s, struct probe *p) {
    char file[PATH_ROOM];
    struct report_run run;
    struct report_point point;
    struct err e = {0};
    int bad = report_run_read(&run, p->folder, &s->o, false, file, &e);
    if (!bad) bad = report_measure(&s->o, run.requests, run.n_requests, &run.window, &point, &e);
    p->empty = run.no_point;
    if (p->empty) bad = 0;
    p->valid = !bad && run.valid;
    const cJSON *reasons = cJSON_GetObjectItemCaseSensitive(run.run_file, "invalid_reasons");
    const cJSON *first = bad || run.valid ? NULL : cJSON_GetArrayItem(reasons, 0);
    if (cJSON_IsString(first)) text_cut(p->why, sizeof p->why, first->valuestring);
    report_run_release(&run);
    if (bad) return cli_input_error("load sweep", file, &e, s->f->l.json);
    if (p->empty) return CLI_DONE;
    p->verdict = report_verdict(&s->o, &point);
    p->good_rps = point.counts.useful < 0 ? NAN : (double)point.good / point.counts.interval_s;
    return CLI_DONE;
}

/* Runs and judges a load. false when the search has to end, with s->status. */
static bool try_once(struct sweep *s, double rps, int number) {
    struct load_flags l = s->f->l;
    struct probe *p = &s->probes[s->n];
    char again[16] = "", label[40];
    *p = (struct probe){.rps = rps, .verdict = SLO_NOT_COMPUTABLE, .good_rps = NAN};
    if (number > 1) snprintf(again, sizeof again, "-try-%d", number);
    snprintf(p->folder, sizeof p->folder, "%.4000s/%.6g-rps%s", s->f->l.out, rps, again);
    l.w.rate_rps = rps;
    l.out = p->folder;
    l.objective = NULL;
    l.quiet = true;
    l.command = "load sweep";
    snprintf(label, sizeof label, "%.4g requests/s, ", rps);
    l.label = label;
    s->status = load_run(&l, s->command_line);
    if (s->status == CLI_DONE) s->status = judge(s, p);
    if (s->status != CLI_DONE) return false;
    s->n++;
    show_probe(s, p);
    return true;
}

/* A signal between two runs; during one, load_run takes it. */
static volatile sig_atomic_t stopped;
static void on_signal(int number) {
    (void)number;
    stopped = 1;
}

static enum sweep_answer try_load(void *ctx, double rps) {
    struct sweep *s = ctx;
    for (int number = 1; number <= TRIES; number++) {
        if (stopped) s->status = CLI_INTERRUPTED;
        if (stopped || !try_once(s, rps, number)) return SWEEP_STOP;
        const struct probe *p = &s->probes[s->n - 1];
        if (p->empty) return SWEEP_EMPTY; /* another try has the same schedule */
        if (p->valid) return p->verdict == SLO_MET ? SWEEP_MET : SWEEP_NOT_MET;
    }
    return SWEEP_NOT_MEASURED;
}

/* ---- the result ------------------------------------------------------------------------------ */

/* `folder` of the report; NULL: no run is a point of one. */
static void print_json(const struct sweep *s, const struct sweep_result *r, const char *folder) {
    cJSON *root = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(root, "loads");
    for (int i = 0; i < s->n; i++) {
        const struct probe *p = &s->probes[i];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddNumberToObject(o, "offered_rps", p->rps);
        cJSON_AddStringToObject(o, "run", p->folder);
        cJSON_AddStringToObject(o, "verdict", slo_answer_name(p->verdict));
        cJSON_AddBoolToObject(o, "run_valid", p->valid);
        if (isfinite(p->good_rps))
            cJSON_AddNumberToObject(o, "good_rps", p->good_rps);
        else
            cJSON_AddNullToObject(o, "good_rps");
        cJSON_AddItemToArray(list, o);
    }
    if (r->met_rps > 0)
        cJSON_AddNumberToObject(root, "highest_rps", r->met_rps);
    else
        cJSON_AddNullToObject(root, "highest_rps");
    cJSON_AddBoolToObject(root, "at_top", r->met_rps > 0 && !isfinite(r->missed_rps));
    if (folder)
        cJSON_AddStringToObject(root, "report", folder);
    else
        cJSON_AddNullToObject(root, "report");
    char *text = json_print(root);
    printf("%s\n", text ? text : "");
    cJSON_free(text);
    cJSON_Delete(root);
}

static void print_text(const struct sweep *s, const struct sweep_result *r, const char *folder) {
    bool measured = false;
    for (int i = 0; i < s->n; i++) measured |= s->probes[i].valid;
    if (r->met_rps > 0 && isfinite(r->missed_rps))
        printf("highest load that meets the objective: %.4g requests/s; %.4g does not or can't be "
               "measured from here\n",
               r->met_rps, r->missed_rps);
    else if (r->met_rps > 0)
        printf("%.4g requests/s meet the objective; no higher load was measured\n", r->met_rps);
    else if (measured)
        printf("no load meets the objective\n");
    else
        printf("no load could be measured: every run is invalid\n");
    if (!report_states_limit(&s->o))
        printf("no limit stated: the objective is met wherever the queue keeps up\n");
    if (folder) printf("report: %s/report.html\n", folder);
}

/* Runs `servelab report` over all runs, without its lines. */
static int write_report(const struct sweep *s, const char *folder) {
    char *argv[MOST_RUNS + 8], *objective = (char *)s->f->l.objective;
    int n = 0;
    argv[n++] = "";
    argv[n++] = "--objective";
    argv[n++] = objective;
    argv[n++] = "--out";
    argv[n++] = (char *)folder;
    argv[n++] = "--quiet";
    for (int i = 0; i < s->n; i++)
        if (!s->probes[i].empty) argv[n++] = s->probes[i].folder;
    argv[n] = NULL;
    return report_command.run(n, argv);
}

static int finish(const struct sweep *s, const struct sweep_result *r) {
    char folder[PATH_ROOM];
    bool points = false;
    if (s->n == 0) return s->status;
    for (int i = 0; i < s->n; i++) points |= !s->probes[i].empty;
    snprintf(folder, sizeof folder, "%.4000s/report", s->f->l.out);
    int status = points ? write_report(s, folder) : CLI_DONE;
    if (status != CLI_DONE && status != CLI_NO) return status;
    if (s->f->l.json)
        print_json(s, r, points ? folder : NULL);
    else
        print_text(s, r, points ? folder : NULL);
    return s->status != CLI_DONE ? s->status : r->met_rps > 0 ? CLI_DONE : CLI_NO;
}

static int run(int argc, char **argv) {
    struct flags f = {.l = {.timeout_s = 600, .duration_s = 30, .w = {.arrivals = "poisson"}},
                      .from_rps = 1,
                      .to_rps = 1000,
                      .factor = 1.5,
                      .resolution = 0.1};
    struct option_words words;
    struct err e = {0};
    int status;
    struct buffer typed = load_command_line("servelab load sweep", argc, argv);
    struct sweep s = {.f = &f, .command_line = typed.bytes};
    if (!options_parse(&load_sweep_command, &f, argc, argv, &words, &status)) goto done;
    f.l.has_seed = option_given(&words, "seed");
    if (!option_given(&words, "warm-up-s")) f.l.warm_up_s = f.l.duration_s / 5;
    status = CLI_USAGE;
    if (f.from_rps > f.to_rps)
        cli_usage("load sweep", "--from-rps is above --to-rps: no load is left");
    else if (f.l.warm_up_s + f.l.cool_down_s >= f.l.duration_s)
        cli_usage("load sweep", "--warm-up-s and --cool-down-s leave nothing of --duration-s");
    else if (objective_read(&s.o, f.l.objective, &e))
        cli_input_error("load sweep", f.l.objective, &e, f.l.json);
    else if (mkdir(f.l.out, 0777) && errno != EEXIST) {
        err_at(&e, 0, "--out", "%.200s can't be made: %s", f.l.out, strerror(errno));
        cli_input_error("load sweep", NULL, &e, f.l.json);
        status = CLI_FAULT;
        objective_release(&s.o);
    } else if ((s.probes = calloc(MOST_RUNS, sizeof *s.probes)) != NULL) {
        struct sigaction action = {.sa_handler = on_signal};
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        struct sweep_search search = {f.from_rps, f.to_rps, f.factor, f.resolution};
        struct sweep_result found = sweep_find(&search, try_load, &s);
        status = finish(&s, &found);
        objective_release(&s.o);
    }
    free(s.probes);
done:
    buffer_release(&typed);
    return status;
}
