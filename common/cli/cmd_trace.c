/* cmd_trace.c: `servelab trace`: a run's records and engine steps as a Chrome trace. The format:
 * record/chrome_trace.h.
 */
#include "cli/options.h"

#include "base/json.h"
#include "base/target.h"
#include "record/chrome_trace.h"
#include "record/log.h"
#include "serve/step_log.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
    const char *out, *steps;
    bool json;
};

static int run(int argc, char **argv);

#define T struct options
static const struct option_flag flags[] = {
    OPTION_FILE(T, out, "out", "FILE", "write the trace there (standard output)"),
    OPTION_FILE(T, steps, "steps", "FILE",
                "the server's --step-log (RUN/steps.jsonl where RUN is a folder that has one)"),
    OPTION_SWITCH(T, json, "json", "with --out, report what was written as one JSON line"),
    {0}};
#undef T

const struct command trace_command = {
    .name = "trace",
    .summary = "show a run in a browser: records and engine steps as a Chrome trace",
    .run = run,
    .usage = "RUN [FLAGS]",
    .about = "Reads a run's folder (its records.jsonl) or a log of records, and writes a Chrome "
             "trace: one lane per request with its phases, one lane for the engine's steps. Open "
             "it in Chromium (developer tools, Performance, Load profile) or ui.perfetto.dev. Each "
             "clock is a separate process, "
             "because times of two clocks can't be compared.",
    .flags = flags,
    .args = {"RUN"},
    .min_args = 1,
    .max_args = 1,
    .exits = "0 the trace was written; 2 bad usage or input; 4 the trace can't be written",
    .examples = "servelab trace solutions/01_request_record/record.json --out build/trace.json"};

/* ---- reading ----------------------------------------------------------------------------------
 */

struct run {
    char records[PATH_MAX], steps[PATH_MAX]; /* "" for no steps */
};

static bool is_folder(const char *path) {
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int find_files(struct run *r, const char *path, const struct options *o, struct err *e) {
    bool folder = is_folder(path);
    int n = snprintf(r->records, sizeof r->records, folder ? "%s/records.jsonl" : "%s", path);
    int m = snprintf(r->steps, sizeof r->steps, "%s%s",
                     o->steps ? o->steps
                     : folder ? path
                              : "",
                     !o->steps && folder ? "/steps.jsonl" : "");
    if (n >= (int)sizeof r->records || m >= (int)sizeof r->steps)
        return err_set(e, "the path is too long");
    struct stat st;
    if (!o->steps && stat(r->steps, &st)) r->steps[0] = '\0';
    return 0;
}

/* Calls `each` for every record that is whole. Returns how many lines are torn, or -1 and *e; a
 * torn line is named on stderr if `name_torn`. */
static int walk_records(const char *path, void (*each)(void *ctx, const struct record *r),
                        void *ctx, bool name_torn, struct err *e) {
    struct record_reader *rd = record_reader_open(path, e);
    if (!rd) return -1;
    const struct record *r;
    int line, status, torn = 0;
    while ((status = record_reader_next(rd, &r, &line, e)) > 0) {
        if (status == RECORD_READ_OK) each(ctx, r);
        if (status == RECORD_READ_OK) continue;
        torn++;
        if (name_torn)
            fprintf(stderr, "servelab trace: %s:%d: the record is cut off and was left out\n", path,
                    line);
    }
    record_reader_close(rd);
    return status ? -1 : torn;
}

static void note_zero(void *ctx, const struct record *r) {
    chrome_trace_zero(r, ctx);
}

static void add_record(void *ctx, const struct record *r) {
    chrome_trace_record(ctx, r);
}

static void note_step_zero(void *ctx, const struct step *s, const char *line) {
    (void)line;
    int64_t *zero = &((int64_t *)ctx)[CLOCK_SERVER];
    if (*zero < 0 || s->start_ns < *zero) *zero = s->start_ns;
}

static void add_step(void *ctx, const struct step *s, const char *line) {
    const char *name = s->prefill_tokens == 0  ? "decode"
                       : s->decode_tokens == 0 ? "prefill"
                                               : "prefill and decode";
    chrome_trace_step(ctx, s->start_ns, s->end_ns, name, line);
}

/* ---- the command ------------------------------------------------------------------------------
 */

struct written {
    int64_t requests, steps, torn;
};

static int write_trace(const struct run *r, FILE *out, struct written *w, const char **input,
                       struct err *e) {
    int64_t zero[CLOCK_N];
    struct chrome_trace t;
    for (int c = 0; c < CLOCK_N; c++) zero[c] = -1;
    *input = r->records;
    if (walk_records(r->records, note_zero, zero, false, e) < 0) return -1;
    *input = r->steps;
    if (r->steps[0] && step_log_each(r->steps, note_step_zero, zero, e)) return -1;
    chrome_trace_begin(&t, out, zero);
    if (r->steps[0] && step_log_each(r->steps, add_step, &t, e)) return -1;
    *input = r->records;
    int torn = walk_records(r->records, add_record, &t, true, e);
    if (torn < 0) return -1;
    chrome_trace_end(&t);
    *w = (struct written){t.lanes, t.steps, torn};
    return 0;
}

static void report(const struct options *o, const struct written *w) {
    if (!o->json) {
        printf("%s: %lld requests, %lld steps; open it in Chromium (developer tools, Performance, "
               "Load profile) or ui.perfetto.dev\n",
               o->out, (long long)w->requests, (long long)w->steps);
        return;
    }
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "trace", o->out);
    cJSON_AddNumberToObject(root, "requests", (double)w->requests);
    cJSON_AddNumberToObject(root, "steps", (double)w->steps);
    cJSON_AddNumberToObject(root, "torn_records", (double)w->torn);
    char *text = json_print(root);
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(root);
}

static int run(int argc, char **argv) {
    struct options o = {0};
    struct option_words words;
    struct run r;
    struct err e;
    int status;
    if (!options_parse(&trace_command, &o, argc, argv, &words, &status)) return status;
    const char *input = words.args[0];
    char *text = NULL;
    size_t n = 0;
    if (find_files(&r, input, &o, &e)) return cli_input_error("trace", input, &e, false);
    FILE *out = o.out ? open_memstream(&text, &n) : stdout;
    if (!out) {
        fputs("servelab trace: no memory\n", stderr);
        return CLI_FAULT;
    }
    struct written w;
    int rc = write_trace(&r, out, &w, &input, &e);
    if (o.out) fclose(out);
    if (rc)
        status = cli_input_error("trace", input, &e, false);
    else if (o.out && target_write(o.out, text, n, &e)) {
        fprintf(stderr, "servelab trace: --out %s: %s\n", o.out, e.text);
        status = CLI_FAULT;
    } else {
        status = CLI_DONE;
        if (o.out) report(&o, &w);
    }
    free(text);
    return status;
}
