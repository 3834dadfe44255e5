/* cmd_sim_calibrate.c: `servelab sim calibrate` fits the simulator's cost model to the step log of
 * a server (serve/step_log.h). The fit: sim/cost_fit.h; the file: sim/cost_file.h.
 */
#include "base/buffer.h"
#include "base/json.h"
#include "base/regular.h"
#include "base/target.h"
#include "cli/options.h"
#include "serve/step_log.h"
#include "sim/cost_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *out;
    bool json;
};

static int run(int argc, char **argv);

#define T struct options
static const struct option_flag flags[] = {
    OPTION_FILE(T, out, "out", "FILE", "write the cost model there, for `servelab sim run --cost`"),
    OPTION_SWITCH(T, json, "json", "print the same JSON that --out writes"),
    {0}};
#undef T

const struct command sim_calibrate_command = {
    .name = "sim calibrate",
    .summary = "fit the simulator's cost model to the measured steps of a server",
    .run = run,
    .usage = "STEPLOG [FLAGS]",
    .about = "STEPLOG is what `servelab serve --step-log FILE` wrote under a load. Prints the "
             "parameters and how far the fitted times are from the measured ones. With --out, "
             "`servelab sim run --cost FILE` predicts that machine under other loads and policies. "
             "A log whose steps are too much alike is refused, with the load that would do.",
    .notes = "A step's time is from its start to its end on the server's clock. Where requests of "
             "the step before go on, it is from the end of that step, so that planning, sampling "
             "and sending are in it.\n"
             "median, p90: of the absolute errors; bias: median of the signed ones; total: of all "
             "steps together. A total far below 0 says that other programs delayed some steps to "
             "1.9 times their time or more: the fit is of the machine without them, and "
             "predictions are as much too low. So is a fit to the first steps of a server, whose "
             "memory is new.",
    .flags = flags,
    .args = {"STEPLOG"},
    .min_args = 1,
    .max_args = 1,
    .exits = "0 done; 2 bad usage or input; 4 the output can't be written",
    .examples = "servelab sim calibrate common/sim/calibration/steps.jsonl"};

/* ---- reading --------------------------------------------------------------------------------- */

struct samples {
    struct cost_sample *all;
    size_t n, cap;
    int64_t last_end_ns;
    bool waiting, failed, speculates;
};

static void add_step(void *ctx, const struct step *s, const char *line) {
    struct samples *l = ctx;
    (void)line;
    l->speculates |= s->speculates;
    /* Sequences that decode, and requests that waited, were there when the last step ended. */
    bool goes_on = l->n > 0 && (s->decode_tokens > 0 || l->waiting) && l->last_end_ns < s->end_ns;
    int64_t start_ns = goes_on ? l->last_end_ns : s->start_ns;
    l->last_end_ns = s->end_ns;
    l->waiting = s->waiting > 0;
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 1024;
        struct cost_sample *wider = realloc(l->all, cap * sizeof *wider);
        l->failed |= !wider;
        if (!wider) return;
        l->all = wider;
        l->cap = cap;
    }
    struct cost_sample *c = &l->all[l->n];
    *c = (struct cost_sample){.work = {.requests = s->sequences,
                                       .new_tokens = (int64_t)s->prefill_tokens + s->decode_tokens,
                                       .context_tokens = s->context_tokens,
                                       .attended = s->attended_tokens},
                              .kind = s->prefill_tokens == 0  ? STEP_DECODE
                                      : s->decode_tokens == 0 ? STEP_PREFILL
                                                              : STEP_MIXED,
                              .ns = s->end_ns - start_ns};
    l->n += c->ns > 0 && c->work.new_tokens > 0 && c->work.context_tokens > 0;
}

/* The log's first line: the server and its limits. */
static int read_head(const char *path, struct cost_file *f, struct err *e) {
    const char *backend, *paced = NULL;
    int64_t blocks, budget, batch;
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    FILE *file = regular_open(path, e);
    ssize_t len = file ? regular_line(&line, &room, file, 1, e) : -1;
    if (file) fclose(file);
    cJSON *o = len > 0 ? json_parse(line, (size_t)len, 1, e) : NULL;
    int rc = len != 0 ? -!o : err_set(e, "is empty; `servelab serve --step-log FILE` writes a log");
    if (!rc && !cJSON_GetObjectItemCaseSensitive(o, "schema"))
        rc = err_at(e, 1, "schema", "is missing: the first line of a step log describes the run");
    if (!rc && (json_get_string(o, "", "backend", &backend, e) ||
                json_get_string_opt(o, "", "paced", &paced, &found, e) ||
                json_get_int(o, "", "kv_blocks", 1, INT32_MAX, &blocks, e) ||
                json_get_int(o, "", "token_budget", 1, INT32_MAX, &budget, e) ||
                json_get_int(o, "", "max_batch", 1, INT32_MAX, &batch, e))) {
        e->line = 1;
        rc = -1;
    }
    if (!rc) {
        snprintf(f->machine, sizeof f->machine, "%.60s%s%.90s", backend, found ? ", paced as " : "",
                 found ? paced : "");
        f->kv_blocks = (int32_t)blocks;
        f->token_budget = (int32_t)budget;
        f->max_batch = (int32_t)batch;
    }
    cJSON_Delete(o);
    free(line);
    return rc;
}

static int fit_log(const char *path, struct cost_file *f, struct cost_fit *fit, struct err *e) {
    struct samples l = {0};
    int rc = step_log_each(path, add_step, &l, e);
    if (!rc) rc = read_head(path, f, e);
    if (!rc && l.speculates)
        rc = err_set(
            e, "was written with a draft model, whose time is in its steps; log a run without "
               "--draft-model, and give `sim run` --draft-tokens and --acceptance");
    if (!rc && l.failed) rc = err_set(e, "no memory for its steps");
    if (!rc) rc = cost_fit(l.all, l.n, fit, e);
    free(l.all);
    return rc;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void parameter(const char *name, bool seen, double value, const char *unit,
                      const char *what) {
    if (seen)
        printf("  %-24s %10.4g %s  %s\n", name, value, unit, what);
    else
        printf("  %-24s %10s     %s\n", name, "not seen", what);
}

static void print_parameters(const struct cost_file *f, const struct cost_fit *fit) {
    const struct cost_model *m = &fit->model;
    printf("Cost of a step of %s, fitted to %lld steps\n", f->machine,
           (long long)fit->residuals[STEP_ALL].n);
    parameter("new token", true, (double)m->compute_per_token_ps / 1e6, "us", "its operations");
    parameter("weights", fit->memory_seen, (double)m->memory_fixed_ps / 1e9, "ms",
              "reading them: no step's tokens take less");
    parameter("context token", fit->context_seen, (double)m->memory_per_context_ps / 1e3, "ns",
              "reading its keys and values");
    parameter("attended position", fit->attended_seen, (double)m->compute_per_attended_fs / 1e6,
              "ns", "its operations, for each new token");
    parameter("sequence", m->head_compute_ps > 0, (double)m->head_compute_ps / 1e6, "us",
              "logits and sampling");
    parameter("step", m->overhead_ns > 0, (double)m->overhead_ns / 1e6, "ms", "whatever is in it");
    printf("  %-24s %10.4g     %s\n", "overlap loss", m->overlap_loss_1024 / 1024.0,
           "of bytes and operations (sim/cost.h)");
    printf("  %-24s %10d     %s\n\n", "tile", m->tile_mask + 1, "tokens, 1: none");
}

static void print_text(const struct cost_file *f, const struct cost_fit *fit, const char *out) {
    print_parameters(f, fit);
    printf("Fitted against measured times, relative\n  %-10s %8s %9s %9s %9s %9s\n", "steps", "n",
           "median", "p90", "bias", "total");
    for (int kind = 0; kind < STEP_KINDS; kind++) {
        const struct cost_residual *r = &fit->residuals[kind];
        printf("  %-10s %8lld", step_kind_names[kind], (long long)r->n);
        if (r->n)
            printf(" %8.2f%% %8.2f%% %+8.2f%% %+8.2f%%\n", 100 * r->median, 100 * r->p90,
                   100 * r->bias, 100 * r->total);
        else
            printf(" %9s %9s %9s %9s\n", "absent", "absent", "absent", "absent");
    }
    if (out) printf("\nwritten: %s (`servelab sim run --cost %s` takes it)\n", out, out);
}

static int write_file(const char *path, const char *text) {
    struct err e;
    if (!target_write(path, text, strlen(text), &e)) return CLI_DONE;
    fprintf(stderr, "servelab sim calibrate: --out %.200s: %s\n", path, e.text);
    return CLI_FAULT;
}

static int run(int argc, char **argv) {
    struct options f = {0};
    struct option_words words;
    struct cost_file file = {0};
    struct cost_fit fit;
    struct err e = {0};
    int status;
    if (!options_parse(&sim_calibrate_command, &f, argc, argv, &words, &status)) return status;
    if (fit_log(words.args[0], &file, &fit, &e))
        return cli_input_error("sim calibrate", words.args[0], &e, f.json);
    cJSON *tree = cost_file_json(&file, &fit);
    char *text = json_print(tree);
    struct buffer b = {0};
    buffer_puts(&b, text ? text : "");
    buffer_puts(&b, "\n");
    status = b.failed || !text ? CLI_FAULT : f.out ? write_file(f.out, b.bytes) : CLI_DONE;
    if (status == CLI_DONE && f.json) fputs(b.bytes, stdout);
    if (status == CLI_DONE && !f.json) print_text(&file, &fit, f.out);
    buffer_release(&b);
    cJSON_free(text);
    cJSON_Delete(tree);
    return status;
}
