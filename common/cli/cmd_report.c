/* cmd_report.c: `servelab report`: did the server meet its objective? Reads runs, prints the
 * report. The numbers: objective/report.h (lab 04); the report: report/report_tree.h.
 */
#include "cli/options.h"

#include "base/json.h"
#include "base/target.h"
#include "report/explain.h"
#include "report/report_predicted.h"
#include "report/report_print.h"
#include "report/report_tree.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum format { FORMAT_MARKDOWN, FORMAT_JSON, FORMAT_HTML };
static const char *const endings[] = {"md", "json", "html"};

struct options {
    const char *objective, *out, *predicted;
    double attainment;
    bool json, skip_torn, quiet, explain;
};

static int run(int argc, char **argv);

#define T struct options
static const struct option_flag flags[] = {
    OPTION_FILE(T, objective, "objective", "FILE", "what the server must keep"),
    OPTION_SWITCH(T, json, "json", "print JSON instead of Markdown (report/report.schema.json)"),
    OPTION_FILE(T, out, "out", "DIR",
                "write report.md, report.json and report.html there, and print where"),
    OPTION_SWITCH(T, quiet, "quiet", "with --out: print nothing"),
    OPTION_REAL(T, attainment, "attainment", "X", 0, 1,
                "the share of good requests at which the highest rate is looked for (0.9)"),
    OPTION_FILE(
        T, predicted, "predicted", "FILE",
        "sweep.json of `servelab sim sweep`: draw its first policy under the measured curve"),
    OPTION_SWITCH(T, explain, "explain-metrics",
                  "print what servelab and other tools mean by TTFT, TPOT and the others"),
    OPTION_SWITCH(T, skip_torn, "skip-torn",
                  "skip log lines that were cut off because a writer died, and count them"),
    {0}};
#undef T
static const struct option_rule rules[] = {{OPTION_EXCLUDE, {"json", "out"}},
                                           {OPTION_NEEDS, {"quiet", "out"}},
                                           {OPTION_ONE_OF, {"objective", "explain-metrics"}},
                                           {OPTION_EXCLUDE, {"explain-metrics", "json", "out"}},
                                           {OPTION_EXCLUDE, {"explain-metrics", "predicted"}},
                                           {0}};

const struct command report_command = {
    .name = "report",
    .summary = "did the server meet its objective: operating points, goodput, value, limits",
    .run = run,
    .usage = "(RUN... --objective FILE | --explain-metrics) [FLAGS]",
    .about = "Each RUN is one operating point: a folder of `servelab load --out` (run.json, "
             "records.jsonl, and steps.jsonl if the server's --step-log was put there), a log of "
             "records, or another tool's result: of vllm bench serve --save-detailed, AIPerf's "
             "profile_export.jsonl, or GuideLLM's JSON, each read by that tool's definitions. "
             "Prints every point with its verdict, valid or not, the point that was "
             "chosen, goodput in both of the field's senses, the value per resource, and what the "
             "measurement can't say. A number that isn't there is not computable, with the reason.",
    .flags = flags,
    .rules = rules,
    .args = {"RUN"},
    .max_args = OPTIONS_MANY,
    .exits = "0 a point meets the objective; 1 none does, or it is not computable; 2 bad usage or "
             "input; 3 a lab's file is unfinished; 4 an output can't be written",
    .examples = "servelab report common/report/example.jsonl --objective "
                "common/report/objective.json"};

/* ---- reading --------------------------------------------------------------------------------- */

static int complain(const struct options *f, const char *file, const struct err *e) {
    return cli_input_error("report", file, e, f->json);
}

/* The objective as JSON; lab 01's answer file has it as a member. */
static cJSON *objective_tree(const char *path, struct err *e) {
    cJSON *tree = json_parse_file(path, e);
    cJSON *inner = tree ? cJSON_DetachItemFromObjectCaseSensitive(tree, "objective") : NULL;
    if (!inner) return tree;
    cJSON_Delete(tree);
    return inner;
}

static int measure(struct report_run *run, struct report_point *point, const char *path,
                   const struct objective *o, const struct options *f) {
    char file[PATH_MAX];
    struct err e = {0};
    if (report_run_read(run, path, o, f->skip_torn, file, &e)) return complain(f, file, &e);
    if (report_measure(o, run->requests, run->n_requests, &run->window, point, &e))
        return complain(f, path, &e);
    return CLI_DONE;
}

/* One run that is named twice would be two points of the curve. */
static int apart(const struct report_run *runs, size_t n, const struct options *f) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            struct err e = {0};
            if (!report_run_same(&runs[k], &runs[i])) continue;
            err_set(&e, "has the same records as %.200s; name each run once", runs[k].name);
            return complain(f, runs[i].name, &e);
        }
    return CLI_DONE;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void print(struct buffer *b, const cJSON *tree, enum format format) {
    if (format == FORMAT_MARKDOWN) report_markdown(b, tree);
    if (format == FORMAT_HTML) report_html(b, tree);
    if (format != FORMAT_JSON) return;
    char *text = json_print(tree);
    buffer_puts(b, text ? text : "");
    buffer_puts(b, "\n");
    b->failed |= !text;
    cJSON_free(text);
}

static int write_all(const cJSON *tree, const char *folder) {
    struct err e;
    mkdir(folder, 0777); /* if it can't be made, writing says why */
    for (enum format format = FORMAT_MARKDOWN; format <= FORMAT_HTML; format++) {
        char path[PATH_MAX];
        struct buffer b = {0};
        print(&b, tree, format);
        int n = snprintf(path, sizeof path, "%s/report.%s", folder, endings[format]);
        int rc = b.failed                ? err_set(&e, "memory is out")
                 : n >= (int)sizeof path ? err_set(&e, "the path is too long")
                                         : target_write(path, b.bytes, b.n, &e);
        buffer_release(&b);
        if (rc) {
            fprintf(stderr, "servelab report: --out %.200s: %s\n", path, e.text);
            return CLI_FAULT;
        }
    }
    return CLI_DONE;
}

static int write_one(const cJSON *tree, enum format format) {
    struct buffer b = {0};
    print(&b, tree, format);
    bool lost = b.failed || fwrite(b.bytes, 1, b.n, stdout) != b.n || fflush(stdout);
    buffer_release(&b);
    if (!lost) return CLI_DONE;
    fprintf(stderr, "servelab report: the report can't be written\n");
    return CLI_FAULT;
}

static int write_report(const struct report_input *in, const struct options *f) {
    struct err e = {0};
    cJSON *tree = report_tree(in, &e);
    if (!tree) return complain(f, NULL, &e);
    int status =
        f->out ? write_all(tree, f->out) : write_one(tree, f->json ? FORMAT_JSON : FORMAT_MARKDOWN);
    bool met = cJSON_IsNumber(report_at(tree, "curve.chosen"));
    if (f->out && !f->quiet && status == CLI_DONE) {
        struct buffer b = {0};
        report_headline(&b, tree);
        printf("%s\nreport: %s/report.html\n", b.bytes ? b.bytes : "", f->out);
        buffer_release(&b);
    }
    cJSON_Delete(tree);
    return status != CLI_DONE ? status : met ? CLI_DONE : CLI_NO;
}

static int run(int argc, char **argv) {
    struct options f = {.attainment = 0.9};
    struct option_words words;
    struct objective o;
    struct err e = {0};
    int status;
    if (!options_parse(&report_command, &f, argc, argv, &words, &status)) return status;
    if (f.explain && words.n_args == 0)
        return fputs(report_definitions(), stdout) < 0 || fflush(stdout) ? CLI_FAULT : CLI_DONE;
    if (f.explain) return cli_usage("report", "--explain-metrics takes no RUN");
    if (words.n_args == 0) return cli_usage("report", "RUN is missing");
    cJSON *objective = objective_tree(f.objective, &e);
    if (!objective || objective_read(&o, f.objective, &e)) {
        cJSON_Delete(objective);
        return complain(&f, f.objective, &e);
    }
    cJSON *predicted = f.predicted ? report_predicted_read(f.predicted, &e) : NULL;
    if (f.predicted && !predicted) {
        objective_release(&o);
        cJSON_Delete(objective);
        return complain(&f, f.predicted, &e);
    }
    size_t n = (size_t)words.n_args, done = 0;
    struct report_run *runs = calloc(n, sizeof *runs);
    struct report_point *points = calloc(n, sizeof *points);
    if (!runs || !points) n = 0;
    status = n > 0 ? CLI_DONE : cli_usage("report", "memory is out");
    for (; done < n && status == CLI_DONE; done++)
        status = measure(&runs[done], &points[done], words.args[done], &o, &f);
    const struct report_input in = {&o, objective, runs, points, n, predicted, f.attainment};
    if (status == CLI_DONE) status = apart(runs, done, &f);
    if (status == CLI_DONE) status = write_report(&in, &f);
    for (size_t i = 0; i < done; i++) report_run_release(&runs[i]);
    free(runs);
    free(points);
    objective_release(&o);
    cJSON_Delete(objective);
    cJSON_Delete(predicted);
    return status;
}
