/* record_summary.c: the summary of many records, as text and as JSON, and the objective's verdict.
 * See record_print.h.
 */
#include "base/json.h"
#include "cli/cli.h"
#include "cli/record_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const int32_t shown_milli[] = {50000, 90000, 99000};
enum { SHOWN = sizeof shown_milli / sizeof *shown_milli };

/* ---- the objective --------------------------------------------------------------------------- */

#define UNMEASURED                                                                                 \
    "%" PRId64 " requests have no client's half, so this interval of theirs wasn't measured"

/* What the limits are compared with, by limit: the percentile, and how many requests lack the half
 * of a record that it needs (population_limit). */
struct judged {
    struct percentile limits[OBJECTIVE_MAX_LIMITS];
    int64_t unmeasured[OBJECTIVE_MAX_LIMITS];
    struct slo_counts counts;
};

static enum slo_answer judge(const struct summary *s, struct judged *j) {
    struct population_summary sum;
    const struct objective *o = s->objective;
    *j = (struct judged){0};
    population_summarize(s->population, &sum);
    j->counts = sum.counts;
    if (!o) return SLO_MET;
    for (int32_t i = 0; i < o->n_latency; i++)
        if (o->latency[i].scope == SCOPE_POPULATION)
            j->limits[i] = population_limit(s->population, &o->latency[i], &j->unmeasured[i]);
    return slo_verdict(o, j->limits, &j->counts);
}

enum slo_answer summary_verdict(const struct summary *s) {
    struct judged j;
    return judge(s, &j);
}

/* "812.345 ms", "+infinity" or "absent". */
static const char *percentile_text(const struct percentile *p, char *buf, size_t cap) {
    if (!p->present) return "absent";
    if (p->infinite) return "+infinity";
    snprintf(buf, cap, "%.3f ms", (double)p->ns / 1e6);
    return buf;
}

static void percentile_label(int32_t milli, char *buf, size_t cap) {
    snprintf(buf, cap, "p%.6g", milli / 1000.0);
}

enum slo_answer print_verdict_text(FILE *out, const struct summary *s) {
    struct judged j;
    const struct objective *o = s->objective;
    enum slo_answer verdict = judge(s, &j);
    char value[48], label[24], reason[300];
    double worth = NAN;
    if (!o) return verdict;
    fprintf(out, "\n%sobjective '", cli_bold());
    print_clean(out, o->name);
    fprintf(out, "': %s%s\n", slo_answer_name(verdict), cli_reset());
    for (int32_t i = 0; i < o->n_latency; i++) {
        const struct latency_limit *l = &o->latency[i];
        if (l->scope != SCOPE_POPULATION) continue;
        percentile_label(l->percentile_milli, label, sizeof label);
        const struct percentile *p = &j.limits[i];
        fprintf(out, "  %-12s %-6s %14s below %.3f ms: %s (n = %zu, %zu failed%s)\n",
                interval_name(l->interval), label, percentile_text(p, value, sizeof value),
                (double)l->below_ns / 1e6, slo_answer_name(slo_limit(l, p)), p->n, p->failed,
                p->few ? "; too few for this percentile" : "");
        if (j.unmeasured[i]) fprintf(out, "               " UNMEASURED "\n", j.unmeasured[i]);
    }
    if (!isnan(o->reliability.max_failure_rate))
        fprintf(out, "  failure rate at most %g: %s (%" PRId64 " of %" PRId64 ")\n",
                o->reliability.max_failure_rate, slo_answer_name(slo_failure_rate(o, &j.counts)),
                j.counts.failed, j.counts.requests);
    if (!isnan(o->quality.min_pass_rate))
        fprintf(out, "  quality pass rate at least %g: %s (%" PRId64 " of %" PRId64 " evaluated)\n",
                o->quality.min_pass_rate, slo_answer_name(slo_quality(o, &j.counts)),
                j.counts.quality_passed, j.counts.quality_evaluated);
    if (!isnan(o->throughput.min_rps))
        fprintf(out,
                "  throughput at least %g useful/s: %s (a log doesn't say how long it "
                "measured)\n",
                o->throughput.min_rps, slo_answer_name(slo_throughput(o, &j.counts)));
    if (slo_objective_value(o, &j.counts, &worth, reason, sizeof reason) == SLO_MET)
        fprintf(out, "  value: %g useful completions per %s\n", worth, o->resource.primary);
    else
        fprintf(out, "  value: %s\n", reason);
    return verdict;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_counts(FILE *out, const struct summary *s, const struct population_summary *sum) {
    const char *separator = ": ";
    fprintf(out, "%s%" PRId64 " records of %" PRId64 " user requests%s", cli_bold(), sum->records,
            sum->requests, cli_reset());
    fprintf(out,
            " (%" PRId64 " tried more than once; each counts once as work, by its last "
            "attempt)\n",
            sum->retried);
    fprintf(out, "  completed %" PRId64 " of %" PRId64, sum->completed, sum->requests);
    for (enum completion_reason r = 0; r < REASON_N; r++) {
        if (!sum->by_reason[r]) continue;
        fprintf(out, "%s%s %" PRId64, separator, completion_reason_name(r), sum->by_reason[r]);
        separator = ", ";
    }
    if (sum->finished_by_server)
        fprintf(out, "%s" FINISHED_BY_SERVER " %" PRId64, separator, sum->finished_by_server);
    fprintf(out, "\n  quality passed %" PRId64 ", failed %" PRId64 ", not_evaluated %" PRId64 "\n",
            sum->quality[VERDICT_PASSED], sum->quality[VERDICT_FAILED],
            sum->quality[VERDICT_NOT_EVALUATED]);
    fprintf(out, "  useful %" PRId64, sum->useful);
    if (s->objective) fprintf(out, ", good %" PRId64, sum->good);
    fputc('\n', out);
    if (sum->repeated)
        fprintf(out,
                "  %" PRId64 " records repeat an attempt that was read before; only the first "
                "counts\n",
                sum->repeated);
    if (s->torn_lines)
        fprintf(out,
                "  %" PRId64 " torn lines were skipped (--skip-torn); their records are "
                "in none of these figures\n",
                s->torn_lines);
}

static bool any_observation(const struct summary *s, enum interval_id id) {
    return population_percentile(s->population, id, POPULATION_COMPLETED, 50000).present;
}

enum slo_answer print_summary_text(FILE *out, const struct summary *s) {
    struct population_summary sum;
    char label[24], all_text[48], ok_text[48];
    bool few = false;
    population_summarize(s->population, &sum);
    print_counts(out, s, &sum);
    fprintf(out, "\n  %s%-14s %-6s %16s %9s %9s   %16s %9s%s\n", cli_bold(), "interval", "p",
            "all requests", "n", "failed", "completed only", "n", cli_reset());
    for (enum interval_id id = 0; id < IV_N; id++) {
        if (id == IV_GPU_EXECUTION && !any_observation(s, id)) continue;
        for (int k = 0; k < SHOWN; k++) {
            struct percentile all =
                population_percentile(s->population, id, POPULATION_ALL, shown_milli[k]);
            struct percentile ok = all;
            if (all.failed)
                ok = population_percentile(s->population, id, POPULATION_COMPLETED, shown_milli[k]);
            percentile_label(shown_milli[k], label, sizeof label);
            if (all.few || ok.few) strcat(label, "*");
            few |= all.few || ok.few;
            fprintf(out, "  %-14s %-6s %16s %9zu %9zu   %16s %9zu\n", k ? "" : interval_name(id),
                    label, percentile_text(&all, all_text, sizeof all_text), all.n, all.failed,
                    percentile_text(&ok, ok_text, sizeof ok_text), ok.n);
        }
    }
    fprintf(out,
            "  nearest rank over user requests; in \"all requests\" one that was not completed "
            "is +infinity;\n  completed ones for which an interval is not defined are in "
            "neither column\n");
    if (sum.finished_by_server)
        fprintf(out,
                "  " FINISHED_BY_SERVER ": the client's half never came; these requests are in "
                "both columns of the\n  server's intervals and in neither of the client's\n");
    if (few) fprintf(out, "  * fewer observations than the percentile can resolve (p99: 100)\n");
    return print_verdict_text(out, s);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_percentile(cJSON *list, enum interval_id id, int32_t milli, const char *population,
                           const struct percentile *p) {
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "interval", interval_name(id));
    cJSON_AddNumberToObject(item, "percentile", milli / 1000.0);
    cJSON_AddStringToObject(item, "population", population);
    if (p->present && !p->infinite)
        json_add_int(item, "value_ns", p->ns);
    else
        cJSON_AddNullToObject(item, "value_ns");
    cJSON_AddBoolToObject(item, "infinite", p->present && p->infinite);
    cJSON_AddNumberToObject(item, "n", (double)p->n);
    cJSON_AddNumberToObject(item, "failed", (double)p->failed);
    cJSON_AddBoolToObject(item, "few", p->few);
    cJSON_AddItemToArray(list, item);
}

static void add_percentiles(cJSON *root, const struct summary *s) {
    cJSON *list = cJSON_AddArrayToObject(root, "percentiles");
    for (enum interval_id id = 0; id < IV_N; id++)
        for (int k = 0; k < SHOWN; k++) {
            struct percentile all =
                population_percentile(s->population, id, POPULATION_ALL, shown_milli[k]);
            struct percentile ok = all;
            if (all.failed)
                ok = population_percentile(s->population, id, POPULATION_COMPLETED, shown_milli[k]);
            add_percentile(list, id, shown_milli[k], "all", &all);
            add_percentile(list, id, shown_milli[k], "completed", &ok);
        }
}

static void add_answer(cJSON *obj, const char *key, enum slo_answer a) {
    cJSON_AddStringToObject(obj, key, slo_answer_name(a));
}

static enum slo_answer add_objective(cJSON *root, const struct summary *s) {
    struct judged j;
    const struct objective *o = s->objective;
    enum slo_answer verdict = judge(s, &j);
    char reason[300];
    double worth = NAN;
    if (!o) return verdict;
    cJSON *obj = cJSON_AddObjectToObject(root, "objective");
    cJSON_AddStringToObject(obj, "name", o->name);
    add_answer(obj, "verdict", verdict);
    cJSON *list = cJSON_AddArrayToObject(obj, "limits");
    for (int32_t i = 0; i < o->n_latency; i++) {
        const struct latency_limit *l = &o->latency[i];
        if (l->scope != SCOPE_POPULATION) continue;
        add_percentile(list, l->interval, l->percentile_milli, "all", &j.limits[i]);
        cJSON *item = cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1);
        json_add_int(item, "below_ns", l->below_ns);
        add_answer(item, "answer", slo_limit(l, &j.limits[i]));
        if (!j.unmeasured[i]) continue;
        snprintf(reason, sizeof reason, UNMEASURED, j.unmeasured[i]);
        cJSON_AddStringToObject(item, "answer_reason", reason);
    }
    add_answer(obj, "failure_rate", slo_failure_rate(o, &j.counts));
    add_answer(obj, "quality", slo_quality(o, &j.counts));
    add_answer(obj, "throughput", slo_throughput(o, &j.counts));
    if (slo_objective_value(o, &j.counts, &worth, reason, sizeof reason) == SLO_MET) {
        cJSON_AddNumberToObject(obj, "value", worth);
    } else {
        cJSON_AddNullToObject(obj, "value");
        cJSON_AddStringToObject(obj, "value_reason", reason);
    }
    return verdict;
}

static void add_verdicts(cJSON *root, const char *key, const int64_t n[4]) {
    cJSON *obj = cJSON_AddObjectToObject(root, key);
    for (enum verdict v = VERDICT_NOT_EVALUATED; v <= VERDICT_NOT_REQUIRED; v++)
        cJSON_AddNumberToObject(obj, verdict_name(v), (double)n[v]);
}

enum slo_answer print_summary_json(FILE *out, const struct summary *s) {
    struct population_summary sum;
    population_summarize(s->population, &sum);
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "records", (double)sum.records);
    cJSON_AddNumberToObject(root, "repeated", (double)sum.repeated);
    cJSON_AddNumberToObject(root, "requests", (double)sum.requests);
    cJSON_AddNumberToObject(root, "retried", (double)sum.retried);
    cJSON_AddNumberToObject(root, "completed", (double)sum.completed);
    cJSON_AddNumberToObject(root, "useful", (double)sum.useful);
    if (s->objective) cJSON_AddNumberToObject(root, "good", (double)sum.good);
    cJSON *reasons = cJSON_AddObjectToObject(root, "by_reason");
    for (enum completion_reason r = 0; r < REASON_N; r++)
        cJSON_AddNumberToObject(reasons, completion_reason_name(r), (double)sum.by_reason[r]);
    cJSON_AddNumberToObject(reasons, FINISHED_BY_SERVER, (double)sum.finished_by_server);
    add_verdicts(root, "quality", sum.quality);
    add_verdicts(root, "structure", sum.structure);
    cJSON_AddNumberToObject(root, "torn_lines", (double)s->torn_lines);
    add_percentiles(root, s);
    enum slo_answer verdict = add_objective(root, s);
    char *text = json_print(root);
    INVARIANT(text != NULL);
    fputs(text, out);
    cJSON_free(text);
    cJSON_Delete(root);
    return verdict;
}
