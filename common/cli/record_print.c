/* record_print.c: one record as text and as JSON. See record_print.h; the summary of many is in
 * record_summary.c.
 */
#include "cli/record_print.h"
#include "cli/cli.h"
#include "objective/record_numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLD_OVER = 4 }; /* a run of more token_sent events is shown by its first and last */

/* ---- text of the record ---------------------------------------------------------------------- */

void print_clean(FILE *out, const char *text) {
    char copy[1024]; /* longer than any text of a record */
    snprintf(copy, sizeof copy, "%s", text);
    fputs(err_clean(copy), out);
}

void print_json_string(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f)
            fprintf(out, "\\u%04x", *p);
        else
            fputc(*p, out);
    }
    fputc('"', out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void print_record_json(FILE *out, const struct checked *c) {
    struct buffer b = {0};
    record_numbers_json(&b, c->record, &c->intervals, &c->class, c->objective ? &c->good : NULL);
    INVARIANT(!b.failed);
    fwrite(b.bytes, 1, b.n, out);
    buffer_release(&b);
}

/* ---- the table of events --------------------------------------------------------------------- */

static int by_cause(const void *a, const void *b) {
    const struct event *x = *(const struct event *const *)a, *y = *(const struct event *const *)b;
    if (x->kind != y->kind) return (x->kind > y->kind) - (x->kind < y->kind);
    return (x > y) - (x < y);
}

static void print_event(FILE *out, const struct event *ev, const int64_t first_ns[CLOCK_N]) {
    fprintf(out, "  %-22s %-8s %-14s ", event_name(ev->kind), clock_name(ev->clock),
            source_name(ev->source));
    print_clean(out, ev->clock_api);
    int pad = 17 - (int)strlen(ev->clock_api);
    fprintf(out, "%*s %12.3f  %17" PRId64, pad > 0 ? pad : 0, "",
            (double)(ev->t_ns - first_ns[ev->clock]) / 1e6, ev->t_ns);
    if (ev->kind == EV_TOKEN_SENT) fprintf(out, "  tokens %d", ev->tokens);
    if (ev->range[0]) {
        fputs("  range ", out);
        print_clean(out, ev->range);
    }
    fputc('\n', out);
}

/* Prints sorted[0..n), all of one run of token_sent events longer than FOLD_OVER folded. */
static void print_sorted(FILE *out, const struct event **sorted, size_t n, bool all,
                         const int64_t first_ns[CLOCK_N]) {
    for (size_t i = 0; i < n; i++) {
        size_t run = i;
        while (run < n && sorted[run]->kind == EV_TOKEN_SENT) run++;
        if (all || run - i <= FOLD_OVER) {
            print_event(out, sorted[i], first_ns);
            continue;
        }
        print_event(out, sorted[i], first_ns);
        fprintf(out, "  %-22s %zu more; --all-events lists them\n", "...", run - i - 2);
        print_event(out, sorted[run - 1], first_ns);
        i = run - 1;
    }
}

static void print_events(FILE *out, const struct record *r, bool all) {
    int64_t first_ns[CLOCK_N];
    const struct event **sorted = malloc((r->n_events + 1) * sizeof(struct event *));
    INVARIANT(sorted != NULL);
    for (int c = 0; c < CLOCK_N; c++) first_ns[c] = INT64_MAX;
    for (size_t i = 0; i < r->n_events; i++) {
        const struct event *ev = sorted[i] = &r->events[i];
        if (ev->t_ns < first_ns[ev->clock]) first_ns[ev->clock] = ev->t_ns;
    }
    qsort(sorted, r->n_events, sizeof(struct event *), by_cause);
    fprintf(out, "\n  %s%-22s %-8s %-14s %-17s %12s  %17s%s\n", cli_bold(), "event", "clock",
            "observer", "clock_api", "since ms", "timestamp ns", cli_reset());
    print_sorted(out, sorted, r->n_events, all, first_ns);
    if (r->n_events == 0) fprintf(out, "  (no event)\n");
    fprintf(out, "  since: from the first event of the same clock; times of two clocks can't be "
                 "subtracted\n");
    free(sorted);
}

/* ---- intervals ------------------------------------------------------------------------------- */

static void print_interval(FILE *out, const struct intervals *iv, enum interval_id id) {
    const struct interval *i = interval_get(iv, id);
    char value[64] = "absent", exact[48] = "";
    if (i->status == INTERVAL_OK) {
        snprintf(value, sizeof value, "%.3f ms", (double)i->ns / 1e6);
        snprintf(exact, sizeof exact, "%" PRId64 " ns", i->ns);
    }
    fprintf(out, "  %-14s %15s %18s  %s", interval_name(id), value, exact,
            interval_formula(iv, id));
    if (i->status == INTERVAL_OK && i->uncertainty_ns)
        fprintf(out, ", +-%.3f ms between clocks", (double)i->uncertainty_ns / 1e6);
    fputc('\n', out);
}

/* Gaps between tokens: their number, mean and two percentiles. */
static void print_itl(FILE *out, const struct record *r) {
    size_t n = intervals_itl(r, NULL, 0);
    int64_t *itl = n ? malloc(n * sizeof *itl) : NULL;
    if (!itl) return;
    double sum = 0;
    intervals_itl(r, itl, n);
    for (size_t i = 0; i < n; i++) sum += (double)itl[i];
    struct percentile p50 = percentile_nearest_rank(itl, n, 0, 50000);
    struct percentile p99 = percentile_nearest_rank(itl, n, 0, 99000);
    fprintf(out, "  %-14s %12.3f ms %18s  mean gap between token_sent events, pooled per token\n",
            "itl", sum / (double)n / 1e6, "");
    fprintf(out, "  %-14s p50 %.3f ms, p99%s %.3f ms over n = %zu gaps of this record%s\n", "",
            (double)p50.ns / 1e6, p99.few ? "*" : "", (double)p99.ns / 1e6, n,
            p99.few ? " (* p99 of fewer than 100)" : "");
    free(itl);
}

/* A server whose writer woke late hands over several pieces at once: their times say nothing about
 * the model's pace. Seen by token_sent events that lie far closer to each other than to
 * first_token. */
static void note_burst(FILE *out, const struct checked *c) {
    enum { FAR = 10 };
    const struct event *token = record_event(c->record, EV_FIRST_TOKEN), *first = NULL,
                       *last = NULL;
    if (c->intervals.tpot_boundary != TPOT_TOKEN_SENT || !token) return;
    for (size_t i = 0; i < c->record->n_events; i++) {
        const struct event *ev = &c->record->events[i];
        if (ev->kind != EV_TOKEN_SENT || ev->tokens == 0) continue;
        if (!first) first = ev;
        last = ev;
    }
    if (!first || first == last || token->clock != first->clock || first->clock != last->clock)
        return;
    if ((last->t_ns - first->t_ns) >= (last->t_ns - token->t_ns) / FAR) return;
    fprintf(out,
            "  %-14s the pieces left together after a delay: tpot shows the hand-over, not the "
            "model's pace\n",
            "note");
}

static void print_intervals(FILE *out, const struct checked *c) {
    fprintf(out, "\n  %s%-14s %15s %18s  %s%s\n", cli_bold(), "interval", "value", "exact",
            "formula", cli_reset());
    for (enum interval_id id = 0; id < IV_N; id++)
        if (id != IV_GPU_EXECUTION || record_event(c->record, EV_GPU_START))
            print_interval(out, &c->intervals, id);
    print_itl(out, c->record);
    note_burst(out, c);
}

/* ---- classification -------------------------------------------------------------------------- */

static void print_checked_by(FILE *out, const char *label, enum verdict v, const char *check) {
    fprintf(out, "  %-11s %s", label, verdict_name(v));
    if (*check) {
        fputs(" by ", out);
        print_clean(out, check);
    }
    fputc('\n', out);
}

/* The outcome that the record states. */
static void print_outcome(FILE *out, const struct record *r) {
    fprintf(out, "\n  %-11s %s", "outcome", r->outcome.delivered ? "delivered" : "not delivered");
    if (r->outcome.http_status) fprintf(out, ", HTTP %d", r->outcome.http_status);
    if (r->outcome.finish_reason[0]) {
        fputs(", finish reason ", out);
        print_clean(out, r->outcome.finish_reason);
    }
    if (r->outcome.error[0]) {
        fputs(", error: ", out);
        print_clean(out, r->outcome.error);
    }
    fputc('\n', out);
}

static void print_classification(FILE *out, const struct checked *c) {
    const struct classification *k = &c->class;
    const struct record *r = c->record;
    char why[400];
    print_outcome(out, r);
    fprintf(out, "  %-11s %s (%s)\n", "completion", k->completed ? "completed" : "incomplete",
            attempt_reason_name(r, k->reason));
    print_checked_by(out, "quality", k->quality, r->quality.check);
    print_checked_by(out, "structure", k->structure, r->structure.check);
    fprintf(out, "  %-11s %s\n", "useful", k->useful ? "yes" : "no");
    if (c->objective) {
        fprintf(out, "  %-11s %s by the limits for one request of '", "good",
                c->good ? "yes" : "no");
        print_clean(out, c->objective->name);
        fputs("'\n", out);
    }
    if (!r->outcome.delivered) return;
    bool plausible = record_plausible(r, &c->intervals, why, sizeof why);
    fprintf(out, "  %-11s %s: ", "plausible", plausible ? "yes" : "no");
    print_clean(out, why);
    fputc('\n', out);
}

static void print_experience(FILE *out, const struct checked *c) {
    const struct interval *start = &c->intervals.client_ttft, *end = &c->intervals.e2e;
    fprintf(out, "\n  %sWhat the person experienced%s: ", cli_bold(), cli_reset());
    if (finished_by_server(c->record, c->class.reason)) {
        fputs("not measured; the server finished the answer, and no client sent its half.\n", out);
        return;
    }
    if (start->status == INTERVAL_OK)
        fprintf(out, "the answer began after %.3f ms (client_ttft)", (double)start->ns / 1e6);
    else
        fputs("no beginning of an answer", out);
    if (end->status == INTERVAL_OK)
        fprintf(out, " and was over after %.3f ms (e2e).\n", (double)end->ns / 1e6);
    else
        fputs(" and no end of one.\n", out);
    if (!c->record->statement[0]) return;
    fputs("  The record says: \"", out);
    print_clean(out, c->record->statement);
    fputs("\"\n", out);
}

static void print_count(FILE *out, const char *label, int32_t n) {
    if (n >= 0)
        fprintf(out, ", %s %d tokens", label, n);
    else
        fprintf(out, ", %s tokens unknown", label);
}

void print_record_text(FILE *out, const struct checked *c, bool all_events) {
    const struct record *r = c->record;
    fprintf(out, "%srecord ", cli_bold());
    print_clean(out, r->request_id);
    fprintf(out, ", attempt %d%s  (", r->attempt, cli_reset());
    print_clean(out, c->file);
    fprintf(out, ":%d)\n  ", c->line);
    print_clean(out, r->workload.model[0] ? r->workload.model : "model unknown");
    print_count(out, "prompt", r->workload.prompt_tokens);
    if (r->workload.cached_prompt_tokens > 0)
        fprintf(out, " (%d found in the cache)", r->workload.cached_prompt_tokens);
    print_count(out, "output", r->workload.output_tokens);
    if (r->workload.max_output_tokens >= 0)
        fprintf(out, " of at most %d", r->workload.max_output_tokens);
    if (r->workload.decoding[0]) {
        fputs(", ", out);
        print_clean(out, r->workload.decoding);
    }
    if (r->workload.paced[0]) {
        fputs("\n  paced: ", out);
        print_clean(out, r->workload.paced);
        fputs(", simulated: the times below are that machine's, not this one's", out);
    }
    fputc('\n', out);
    print_events(out, r, all_events);
    print_intervals(out, c);
    print_classification(out, c);
    print_experience(out, c);
}
