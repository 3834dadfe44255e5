/* evidence.c: examines lab 02's data files, findings.json and protocol.json. No code of a
 * submission runs.
 *
 * The checks, by what follows "evidence." in their id:
 *   findings_valid       the form is complete (evidence_findings.h) and has the handout's setting
 *   findings_numbers     each number is what the simulator gives for the setting stated with it
 *   findings_answers     each yes or no agrees with those numbers, the break-even set-up is one,
 *                        and the conclusion names both sides
 *   findings_purchase    tokens a second and good requests per dollar of two servers, and a choice
 *   protocol_valid       the form is complete (evidence_protocol.h)
 *   protocol_complete    everything that a benchmark needs is stated
 *   protocol_consistent  no part contradicts another, one thing varies, no result is claimed
 *
 * The others of a file are not run until the first is earned.
 *
 * The expected findings are not stored: the simulator runs each setting that the learner states,
 * under the two reference policies. Means and rates are computed here, with no code of a learner or
 * of the reference solution.
 */
#include "lab02/lab02.h"

#include "lab02/evidence_findings.h"
#include "lab02/evidence_protocol.h"

#include "core/collect.h"
#include "core/evidence_choice.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/lab_todo.h"
#include "base/strict.h"
#include "base/text.h"
#include "sched/policies.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* two decimals, with room for their rounding */
static const double TOLERANCE = 0.00501;

/* One file under examination; its text is kept to find line numbers. */
struct examined {
    const char *file, *text;
    size_t n;
    const cJSON *doc;
};

static void lost(struct evidence *out, const struct examined *x, const struct err *e, int more);
static void examine_findings(const struct examined *x, const char *which, struct evidence *out);
static void examine_protocol(const struct examined *x, const char *which, struct evidence *out);

void lab02_examine(const struct check_def *def, const char *folder, struct evidence *out) {
    struct examined x = {.file = def->file};
    char where[160];
    struct err e;
    const char *which = def->id + strlen("evidence.");
    char *text = collect_read(folder, def->file, COLLECT_MAX_DATA_BYTES, &x.n);
    if (!text) {
        evidence_say(out, OUTCOME_GRADER_FAULT, "%s was there and can't be read", def->file);
        return;
    }
    x.text = text;
    cJSON *doc = json_parse(text, x.n, 1, &e);
    x.doc = doc;
    if (!doc) {
        lost(out, &x, &e, 0);
    } else if (lab_todo_find(doc, where, sizeof where)) {
        evidence_say(out, OUTCOME_NOT_RUN, "%s still has a \"TODO\" at %s", def->file, where);
        out->todo = true;
    } else if (!strcmp(def->file, "findings.json")) {
        examine_findings(&x, which, out);
    } else {
        examine_protocol(&x, which, out);
    }
    cJSON_Delete(doc);
    free(text);
}

static int line_of(const struct examined *x, const char *field) {
    return json_line_of(x->text, x->n, 1, field);
}

/* Loses the check: "protocol.json:12: load.arrivals: ...", with the number of further faults. */
static void lost(struct evidence *out, const struct examined *x, const struct err *e, int more) {
    char text[600], and_more[40] = "";
    struct err at = *e;
    if (at.line == 0 && x->doc) at.line = line_of(x, at.field);
    if (more > 0) snprintf(and_more, sizeof and_more, " (and %d more)", more);
    evidence_say(out, OUTCOME_LOST, "%s%s", err_format(&at, x->file, text, sizeof text), and_more);
}

/* ---- findings.json --------------------------------------------------------------------------- */

static const double handout_arrivals_ms[] = {0, 1, 2, 3}, handout_setups_ms[] = {4, 2, 0};
static const double handout_per_request_ms = 1;
enum { HANDOUT_ARRIVALS = 4, HANDOUT_SETUPS = 3 };

static int64_t ns_of(double ms) {
    return llround(ms * 1e6);
}

struct ends {
    int64_t completion_ns[FINDINGS_MAX_ARRIVALS];
};

static void note_end(void *ctx, const struct sim_outcome *o) {
    struct ends *ends = ctx;
    ends->completion_ns[o->request.id] = o->completion_ns;
}

/* Runs the learner's setting. 0, or -1 with *e: the grader's fault, since the form was checked. */
static int simulate(const struct findings *f, const char *policy_text, double setup_ms,
                    struct finding *out, struct err *e) {
    const char *arg;
    const struct policy_ops *policy = policy_find(policy_text, &arg, e);
    void *state = policy ? policy->create(arg, e) : NULL;
    if (!state) return -1;
    struct ends ends = {{0}};
    struct sim_config c = {.policy = policy,
                           .policy_state = state,
                           .cost = {.kind = COST_PER_REQUEST,
                                    .setup_ns = ns_of(setup_ms),
                                    .per_request_ns = ns_of(f->per_request_ms)},
                           .kv_blocks = INT32_MAX / 2,
                           .token_budget = INT32_MAX / 2,
                           .max_running = INT32_MAX / 2,
                           .max_in_system = INT64_MAX,
                           .each = note_end,
                           .ctx = &ends};
    struct sim *s = sim_create(&c, e);
    int failed = s == NULL;
    for (int i = 0; i < f->n_arrivals && !failed; i++) {
        struct sim_request r = {.id = i,
                                .arrival_ns = ns_of(f->arrivals_ms[i]),
                                .prompt_tokens = 1,
                                .output_tokens = 1,
                                .max_output_tokens = 1};
        failed = sim_run_until(s, r.arrival_ns, e) || sim_push(s, &r, e);
    }
    failed = failed || sim_finish(s, e);
    sim_free(s);
    policy->destroy(state);
    if (failed) return -1;
    double sum_ms = 0, last_ms = 0;
    for (int i = 0; i < f->n_arrivals; i++) {
        double end_ms = (double)ends.completion_ns[i] / 1e6, arrival_ms = f->arrivals_ms[i];
        sum_ms += end_ms - arrival_ms;
        last_ms = fmax(last_ms, end_ms);
        if (i == 0) out->first_latency_ms = end_ms - arrival_ms;
    }
    out->mean_latency_ms = sum_ms / f->n_arrivals;
    out->throughput_rps = f->n_arrivals / ((last_ms - f->arrivals_ms[0]) / 1000);
    return 0;
}

static const char *const policy_of[] = {"single", "wait-for-n:4"};
static const char *const member_of[] = {"single", "wait_for_n_4"};

static bool has_setup(const struct findings *f, double setup_ms) {
    for (int i = 0; i < f->n_runs; i++)
        if (f->runs[i].setup_ms == setup_ms) return true;
    return false;
}

/* Whether it is the handout's setting, with its set-ups and one more. 0, or -1 and *e. */
static int check_setting(const struct findings *f, struct err *e) {
    bool same = f->n_arrivals == HANDOUT_ARRIVALS;
    for (int i = 0; same && i < HANDOUT_ARRIVALS; i++)
        same = f->arrivals_ms[i] == handout_arrivals_ms[i];
    if (!same) return err_at(e, 0, "arrivals_ms", "are the handout's four arrivals: 0, 1, 2, 3");
    if (f->per_request_ms != handout_per_request_ms)
        return err_at(e, 0, "per_request_ms", "is 1 in the handout; only the set-up varies");
    for (int k = 0; k < HANDOUT_SETUPS; k++)
        if (!has_setup(f, handout_setups_ms[k]))
            return err_at(e, 0, "runs", "hold no run with a set-up of %g ms", handout_setups_ms[k]);
    if (f->n_runs == HANDOUT_SETUPS)
        return err_at(e, 0, "runs", "hold 4, 2 and 0 ms; choose one more set-up yourself");
    return 0;
}

/* The name of the first of the three numbers that is wrong, or NULL. */
static const char *wrong_number(const struct finding *got, const struct finding *want) {
    if (fabs(got->mean_latency_ms - want->mean_latency_ms) > TOLERANCE) return "mean_latency_ms";
    if (fabs(got->first_latency_ms - want->first_latency_ms) > TOLERANCE) return "first_latency_ms";
    if (fabs(got->throughput_rps - want->throughput_rps) > TOLERANCE) return "throughput_rps";
    return NULL;
}

static int check_numbers(const struct examined *x, const struct findings *f, struct evidence *out,
                         struct err *e) {
    int wrong = 0;
    struct err first;
    for (int i = 0; i < f->n_runs; i++)
        for (int k = 0; k < 2; k++) {
            struct finding want;
            const struct findings_run *r = &f->runs[i];
            char field[96];
            if (simulate(f, policy_of[k], r->setup_ms, &want, e)) return -1;
            const char *which = wrong_number(k ? &r->grouped : &r->single, &want);
            if (!which || wrong++ > 0) continue;
            snprintf(field, sizeof field, "runs[%d].%s.%s", i, member_of[k], which);
            err_at(&first, 0, field,
                   "isn't what the simulator says, to two decimals; try build/bin/servelab sim run "
                   "--arrivals-ms 0,1,2,3 --policy %s --setup-ms %g --per-request-ms 1",
                   policy_of[k], r->setup_ms);
        }
    out->outcome = OUTCOME_EARNED;
    if (wrong > 0) lost(out, x, &first, wrong - 1);
    return 0;
}

/* Whether the conclusion names both sides. Only looks for words. */
static bool speaks_of_both(const char *conclusion) {
    return strcasestr(conclusion, "throughput") &&
           (strcasestr(conclusion, "latenc") || strcasestr(conclusion, "wait"));
}

static int check_answers(const struct examined *x, const struct findings *f, struct evidence *out,
                         struct err *e) {
    int wrong = 0;
    struct err first;
    for (int i = 0; i < f->n_runs; i++) {
        const struct findings_run *r = &f->runs[i];
        struct finding single, grouped;
        if (simulate(f, policy_of[0], r->setup_ms, &single, e) ||
            simulate(f, policy_of[1], r->setup_ms, &grouped, e))
            return -1;
        const struct {
            const char *name;
            bool got, want;
        } answers[] = {{"batching_lowers_mean", r->lowers_mean,
                        grouped.mean_latency_ms < single.mean_latency_ms - 1e-9},
                       {"batching_raises_throughput", r->raises_throughput,
                        grouped.throughput_rps > single.throughput_rps + 1e-9},
                       {"first_waits_longer", r->first_waits_longer,
                        grouped.first_latency_ms > single.first_latency_ms + 1e-9}};
        for (int k = 0; k < 3; k++) {
            char field[96];
            if (answers[k].got == answers[k].want || wrong++ > 0) continue;
            snprintf(field, sizeof field, "runs[%d].%s", i, answers[k].name);
            err_at(&first, 0, field, "disagrees with the two tables of a set-up of %g ms",
                   r->setup_ms);
        }
    }
    struct finding single, grouped;
    if (simulate(f, policy_of[0], f->break_even_setup_ms, &single, e) ||
        simulate(f, policy_of[1], f->break_even_setup_ms, &grouped, e))
        return -1;
    if (fabs(single.mean_latency_ms - grouped.mean_latency_ms) > TOLERANCE && wrong++ == 0)
        err_at(&first, 0, "break_even_setup_ms",
               "is not such a set-up: with %g ms the two mean latencies differ",
               f->break_even_setup_ms);
    if (!speaks_of_both(f->conclusion) && wrong++ == 0)
        err_at(&first, 0, "conclusion",
               "must name both sides: what batching does to the throughput, and to the latency of "
               "the first (by those words)");
    else if (evidence_words(f->conclusion) < EVIDENCE_SENTENCE_WORDS && wrong++ == 0)
        err_at(&first, 0, "conclusion", "is no sentence: what does batching change, and for whom?");
    out->outcome = OUTCOME_EARNED;
    if (wrong > 0) lost(out, x, &first, wrong - 1);
    return 0;
}

/* The two servers of the handout's exercise 6, over a window of 20 s. */
static const struct choice_number purchase_numbers[] = {
    {"output_tokens_per_s",
     {1127.0 / 20, 505.0 / 20},
     "all tokens that came, in the window of 20 s",
     {{{322.0 / 20, 505.0 / 20}, "only the tokens of good requests are counted"}}},
    {"good_requests",
     {2, 5},
     "good is complete, with a TTFT below 2 s and a TPOT below 100 ms",
     {{{6, 5}, "late and slow requests count as good"},
      {{5, 5}, "a value equal to its limit counts as below it"},
      {{3, 5}, "a value equal to its limit counts as below it"},
      {{7, 6}, "all requests that came to an end count as good"}}},
    {"good_per_usd",
     {90, 360},
     "good requests over what the GPUs cost in 20 s, busy or idle",
     {{{180, 360}, "only one of the two GPUs is paid for"},
      {{270, 360}, "late and slow requests count as good"}}},
};
static const struct choice purchase = {"buy", "b", purchase_numbers, 3};

static void check_purchase(const struct examined *x, struct evidence *out) {
    struct err e;
    out->outcome = OUTCOME_EARNED;
    if (evidence_choice(strict_at(x->doc, "purchase"), "purchase", &purchase, &e))
        lost(out, x, &e, 0);
}

static void examine_findings(const struct examined *x, const char *which, struct evidence *out) {
    struct findings f;
    struct err e;
    int fault = 0;
    bool valid = lab02_findings_read(&f, x->doc, &e) == 0 && check_setting(&f, &e) == 0;
    out->outcome = OUTCOME_EARNED;
    if (!strcmp(which, "findings_valid")) {
        if (!valid) lost(out, x, &e, 0);
        return;
    }
    if (!valid)
        evidence_say(out, OUTCOME_NOT_RUN,
                     "findings.json must have its form first (evidence.findings_valid)");
    else if (!strcmp(which, "findings_purchase"))
        check_purchase(x, out);
    else if (!strcmp(which, "findings_numbers"))
        fault = check_numbers(x, &f, out, &e);
    else
        fault = check_answers(x, &f, out, &e);
    if (fault)
        evidence_say(out, OUTCOME_GRADER_FAULT,
                     "the simulator failed on a setting of findings.json: %s", e.text);
}

/* ---- protocol.json --------------------------------------------------------------------------- */

static void examine_protocol(const struct examined *x, const char *which, struct evidence *out) {
    struct protocol p;
    struct err e;
    bool valid = lab02_protocol_read(&p, x->doc, &e) == 0;
    if (!strcmp(which, "protocol_valid")) {
        out->outcome = OUTCOME_EARNED;
        if (!valid) lost(out, x, &e, 0);
        return;
    }
    if (!valid) {
        evidence_say(out, OUTCOME_NOT_RUN,
                     "protocol.json must have its form first (evidence.protocol_valid)");
        return;
    }
    int faults = !strcmp(which, "protocol_complete") ? lab02_protocol_gaps(&p, &e)
                                                     : lab02_protocol_contradictions(&p, &e);
    out->outcome = OUTCOME_EARNED;
    if (faults > 0) lost(out, x, &e, faults - 1);
}
