/* report_limits.c: what a report's measurements can't say. See report_tree.h. */
#include "report/report_tree.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void say(cJSON *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(cJSON *list, const char *fmt, ...) {
    char text[5000]; /* more than a run's name and any sentence */
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

/* What follows from how the times of all runs were made. */
static void say_kind(cJSON *list, const struct report_run *run) {
    if (run->kind == RUN_PACED && !strncmp(run->label, "dry run", 7)) /* gpu_plan.py's label */
        say(list,
            "Every time is of a %s: the plan was tried, and nothing was measured. No figure here "
            "says anything about a GPU.",
            run->label);
    else if (run->kind == RUN_PACED)
        say(list,
            "Every time is paced: %s, simulated. The answers are real, the speed is a cost "
            "model's. No figure here is a measurement of that hardware.",
            run->label);
    else if (run->kind == RUN_SIMULATED)
        say(list, "Every time is on a simulated clock: nothing was served.");
    else
        say(list, "The figures hold for the machine, the model and the client of these runs.");
}

/* Another tool's words, and what its file doesn't have. */
static void say_source(cJSON *list, const struct report_run *run) {
    const struct run_source *s = &run->source;
    say(list, "%s: measured by %s (%s%s), by its definitions. TTFT: %s. TPOT: %s. End to end: %s.",
        run->name, s->tool, s->version[0] ? "version " : "the file states no version", s->version,
        s->ttft, s->tpot, s->e2e);
    say(list,
        "%s: the file has no schedule, so a late client shortens every latency; no finish reason, "
        "so truncated answers count as completed; no half of the server's. Of a failure it has %s.",
        run->name, s->failures);
    if (s->loop_unknown)
        say(list, "%s: the file doesn't say whether the loop was open or closed.", run->name);
}

/* One percentile over intervals with different ends is that of neither. */
static void say_tpot(cJSON *list, const struct report_run *run) {
    long long n[3] = {0};
    for (size_t i = 0; i < run->n_requests; i++) n[run->requests[i].iv.tpot_boundary]++;
    if (n[TPOT_TOKEN_SENT] > 0 && n[TPOT_BROWSER_BYTES] > 0)
        say(list,
            "%s: TPOT of %lld requests is between bytes at the client, since the server noted no "
            "two tokens of them; of %lld it is between tokens at the server.",
            run->name, n[TPOT_BROWSER_BYTES], n[TPOT_TOKEN_SENT]);
    if (run->too_many)
        say(list,
            "%s: of %lld answers the server counts more tokens than were asked for at most. The "
            "count can't be right, so they have no TPOT, and tokens/s are too many.",
            run->name, (long long)run->too_many);
    if (run->in_one_piece)
        say(list,
            "%s: the text of %lld answers came in one piece. It has no pace, so they have no TPOT, "
            "and no limit on it applies to them.",
            run->name, (long long)run->in_one_piece);
}

static void say_of_run(cJSON *list, const struct objective *o, const struct report_run *run,
                       const struct report_point *p) {
    if (run->at_server)
        say(list,
            "%s: no record has the client's half. Arrivals are the server's, and what a user "
            "waited, and which answers arrived, is not known.",
            run->name);
    if (run->source.tool) say_source(list, run);
    if (run->left_out)
        say(list, "%s: %lld records lack the client's half and are in no figure.", run->name,
            (long long)run->left_out);
    if (run->torn)
        say(list, "%s: %lld lines were cut off and are in no figure.", run->name,
            (long long)run->torn);
    if (run->first_missing)
        say(list,
            "%s: %lld requests have a later attempt and no first one. What their users waited is "
            "not known.",
            run->name, (long long)run->first_missing);
    say_tpot(list, run);
    if (!run->run_file)
        say(list,
            "%s: no run file. The window goes from the first arrival to the last and a mean gap "
            "beyond, and nothing says whether the client kept up.",
            run->name);
    if (run->cut)
        say(list,
            "%s: %lld answers ended by the length that was asked for, and count as truncated. They "
            "are complete if the objective says \"truncation\": \"fixed_length\", or the load has "
            "--ignore-eos.",
            run->name, (long long)run->cut);
    if (run->closed_loop)
        say(list,
            "%s: the loop was closed: a slow server was asked less often, so its queue can't grow "
            "and its latencies look better than under an open loop.",
            run->name);
    if (p->unjudged > 0 && p->counts.useful < 0)
        say(list, "%s: no answer was checked. Useful completions are not known.", run->name);
    else if (p->unjudged > 0)
        say(list,
            "%s: %lld of %lld completed requests had no check. They count as not useful, so useful "
            "completions are a lower bound.",
            run->name, (long long)p->unjudged, (long long)p->completed);
    if (p->other_check > 0)
        say(list,
            "%s: %lld answers were judged by another check than the objective's, %s. They count by "
            "the verdict of their own.",
            run->name, (long long)p->other_check, o->quality.check);
    if (isnan(p->gpu_seconds) && !run->steps.present)
        say(list,
            "%s: nothing states how long the accelerator was busy, so idle capacity is not "
            "computable.",
            run->name);
    if (p->requests < 100)
        say(list, "%s: %lld requests are too few for a 99th percentile.", run->name,
            (long long)p->requests);
}

cJSON *report_cannot_say(const struct report_input *in) {
    cJSON *list = cJSON_CreateArray();
    say_kind(list, &in->runs[0]);
    for (size_t i = 0; i < in->n; i++) say_of_run(list, in->o, &in->runs[i], &in->points[i]);
    const cJSON *machine = cJSON_GetObjectItemCaseSensitive(in->predicted, "machine");
    const cJSON *policy = cJSON_GetObjectItemCaseSensitive(in->predicted, "policy");
    if (machine && policy)
        say(list, "The dashed curve was predicted by the simulator and not measured: %s, %s.",
            policy->valuestring, machine->valuestring);
    if (in->n < 3)
        say(list,
            "%zu operating point%s no curve: knee and saturation are those of the loads that "
            "were measured.",
            in->n, in->n == 1 ? " is" : "s are");
    if (!report_states_limit(in->o))
        say(list, "The objective states no limit: it is met wherever the queue keeps up.");
    if (in->o->resource.primary[0] == '\0')
        say(list, "The objective names no resource, so there is no value per resource.");
    say(list, "Confidence intervals take requests as independent. A queue delays neighbours "
              "together, so the true intervals are wider.");
    return list;
}
