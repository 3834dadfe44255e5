/* load_print.c: the figures of a load as a table and as JSON. See load_flags.h. */
#include "cli/load_flags.h"

#include "base/clock.h"
#include "base/json.h"
#include "cli/record_print.h"
#include "cli/sim_print.h"
#include "workload/spec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const int32_t shown_milli[] = {50000, 90000, 99000};
enum { SHOWN = sizeof shown_milli / sizeof *shown_milli };

/* ---- the latencies of the table -------------------------------------------------------------- */

struct line {
    const char *label, *key, *formula;
    bool as_sent;
    enum interval_id id;
};
static const struct line lines[] = {
    {"TTFT", "ttft", "first text - scheduled send", false, IV_CLIENT_TTFT},
    {"e2e", "e2e", "end of the answer - scheduled send", false, IV_E2E},
    {"TPOT", "tpot", "(last - first token) / (output tokens - 1), a request", false, IV_TPOT},
    {"ITL", "itl", "token - token before, all of them pooled", false, IV_N},
    {"TTFT as sent", "ttft_as_sent", "first text - actual send", true, IV_CLIENT_TTFT},
    {"e2e as sent", "e2e_as_sent", "end of the answer - actual send", true, IV_E2E},
    {"server TTFT", "server_ttft", "first token - accepted, on the server's clock", false,
     IV_SERVER_TTFT},
    {"queue delay", "queue_delay", "admitted - accepted, on the server's clock", false,
     IV_QUEUE_DELAY},
};
enum { LINES = sizeof lines / sizeof *lines };

static struct percentile percentile_of(const struct load_summary *s, const struct line *l,
                                       enum population_part part, int32_t milli) {
    if (l->id == IV_N) return percentile_nearest_rank(s->itl_ns, s->n_itl, 0, milli);
    return population_percentile(l->as_sent ? s->sent : s->scheduled, l->id, part, milli);
}

static const char *formula_of(const struct load_summary *s, const struct line *l) {
    bool text_only = s->client_only > 0 && s->client_only == s->counts.requests;
    if (l->id == IV_N && s->itl_of_chunks)
        return "chunk with text - chunk before, pooled: tokens only where each has its chunk";
    if (l->id == IV_TPOT && text_only)
        return "(last - first text) / (output tokens - 1), a request";
    if (l->id == IV_TPOT && s->client_only == 0)
        return "(last - first token sent) / (output tokens - 1), a request";
    return l->formula;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_head(const struct load_report *r) {
    const struct workload_spec *w = r->run->spec;
    const struct load_job *j = r->run->job;
    if (r->run->paced[0])
        printf("PACED: %s, simulated. No time below is a measurement of hardware.\n",
               r->run->paced);
    printf("%sload of %s at %s%s\n", cli_bold(), j->model, r->run->url, cli_reset());
    printf("  %s arrivals", spec_arrivals_name(w->arrivals));
    if (w->rate_rps > 0) printf(", %g requests/s", w->rate_rps);
    if (w->cv > 0) printf(", cv %g", w->cv);
    if (w->on_s > 0) printf(", on %g s, off %g s", w->on_s, w->off_s);
    if (w->clients > 0) printf(", %d clients, think %g s", w->clients, w->think_s);
    if (w->time_scale > 0) printf(", gaps times %g", w->time_scale);
    printf(", seed %" PRIu64 "; prompts are %s to %s", w->seed, j->ids ? "token ids" : "words",
           r->run->route);
    if (j->prompts.shared_tokens) printf(", the first %d tokens shared", j->prompts.shared_tokens);
    printf("; answers %s\n",
           j->ignore_eos ? "go on to their length" : "may end before their length");
}

static void print_validity(const struct load_report *r) {
    struct buffer json = {0};
    if (load_invalid(r->results, &json) > 0) {
        cJSON *list = json_parse(json.bytes, json.n, 1, NULL);
        const cJSON *reason;
        cJSON_ArrayForEach(reason, list)
            printf("  %sINVALID%s: %s\n", cli_bold(), cli_reset(), reason->valuestring);
        cJSON_Delete(list);
    }
    buffer_release(&json);
}

/* What casts a doubt on the figures without making them wrong. */
static void print_doubts(const struct load_report *r, const struct load_counts *c) {
    const struct load_summary *s = r->summary;
    const struct outbox_counts *o = r->run->records;
    if (c->short_answers)
        printf("  %" PRId64 " answers ended before the length that was asked for\n",
               c->short_answers);
    if (c->wrong_prompts && r->run->job->ids)
        printf("  of %" PRId64
               " prompts the server counted another number of tokens than was sent\n",
               c->wrong_prompts);
    if (c->chunks_over_usage)
        printf("  %" PRId64
               " answers came in more chunks with text than the server counts tokens\n",
               c->chunks_over_usage);
    if (c->over_asked)
        printf("  %" PRId64
               " answers have more tokens, as the server counts, than were asked for at most: its "
               "TPOT and tokens/s can't be right\n",
               c->over_asked);
    if (c->resent)
        printf("  %" PRId64 " requests met a kept connection that broke; none was sent again\n",
               c->resent);
    if (s->uncounted)
        printf(
            "  %" PRId64
            " answers came without usage: their tokens, and so TPOT and tokens/s, aren't known\n",
            s->uncounted);
    if (s->in_one_piece)
        printf("  %" PRId64 " answers came in one piece: they have no TPOT\n", s->in_one_piece);
    if (o->forgotten || o->refused || o->unasked)
        printf("  %" PRId64
               " records hold the client's half alone: the server had forgotten %" PRId64
               ", did not take %" PRId64 ", and was not asked about %" PRId64
               ", because it had fallen silent or the load was stopped\n",
               o->forgotten + o->refused + o->unasked, o->forgotten, o->refused, o->unasked);
    if (s->cached_prompt_tokens > 0)
        printf("  %" PRId64 " of %" PRId64 " prompt tokens came out of the server's prefix cache\n",
               s->cached_prompt_tokens, s->prompt_tokens);
}

static void print_rate(const char *label, double per_s, const char *what) {
    if (isnan(per_s)) return;
    printf("  %-12s %12.*f  %s\n", label, rate_decimals(per_s), per_s, what);
}

static void print_counts(const struct load_report *r) {
    const struct load_summary *s = r->summary;
    const struct population_summary *p = &s->counts;
    struct load_window w = load_window_of(r->results);
    struct load_counts c;
    const char *separator = ": ";
    load_count(r->results, &c);
    printf("\n%sRequests%s  scheduled from %.3f s to %.3f s: %" PRId64 " of %" PRId64 "; %" PRId64
           " before them ended in that time, %" PRId64 " of them after it\n",
           cli_bold(), cli_reset(), (double)(w.from_ns - r->results->first_ns) / 1e9,
           (double)(w.to_ns - r->results->first_ns) / 1e9, c.measured, c.requests,
           c.straddle_warm_up, c.straddle_end);
    printf("  %-12s %12" PRId64 "  of %" PRId64, "completed", p->completed, p->requests);
    for (enum completion_reason i = REASON_DELIVERED + 1; i < REASON_N; i++) {
        if (!p->by_reason[i]) continue;
        printf("%s%s %" PRId64, separator, completion_reason_name(i), p->by_reason[i]);
        separator = ", ";
    }
    if (r->results->first_problem[0])
        printf("\n  the first failure: %s", r->results->first_problem);
    printf("\n  %-12s %12" PRId64 "  passed, %" PRId64 " failed, %" PRId64 " not evaluated\n",
           "quality", p->quality[VERDICT_PASSED], p->quality[VERDICT_FAILED],
           p->quality[VERDICT_NOT_EVALUATED]);
    print_rate("offered", s->offered_rps, "requests/s, scheduled in that time");
    print_rate("achieved", s->achieved_rps, "completed/s, ended in that time");
    print_rate("output", s->output_tps, "output tokens/s, of these");
    if (s->objective) {
        printf("  %-12s %12" PRId64 "  completed within the limits of one request, judged or not\n",
               "in limits", s->within_limits);
        print_rate("goodput", s->good_rps, "good/s: passed its check, and within these limits");
    }
    if (!isnan(s->window_s) && p->requests >= POINT_SAMPLES)
        printf("  %-12s %12s  %s\n", "queue", s->stable ? "stable" : "growing",
               s->stable ? "ends keep up with sends over the second half"
                         : "over the second half more is sent than ends");
    print_doubts(r, &c);
}

static void print_lag(const struct load_report *r) {
    struct load_lag lag;
    load_lag_of(r->results, &lag);
    if (lag.p99_ns < 0) return;
    printf(
        "\n%sClient%s  lag (actual - scheduled send) p50 %.3f, p99 %.3f, max %.3f ms; p99 may be "
        "%.3f\n",
        cli_bold(), cli_reset(), (double)lag.p50_ns / 1e6, (double)lag.p99_ns / 1e6,
        (double)lag.max_ns / 1e6, (double)lag.limit_ns / 1e6);
    if (isnan(lag.busy)) return;
    double span_ns = (double)(r->results->sending_end_ns - r->results->first_ns);
    printf("          its thread computed %.1f %% of the time and waited for a core %.1f %%%s\n",
           (double)r->results->cpu_ns / span_ns * 100,
           (double)r->results->waited_ns / span_ns * 100,
           r->results->real_time ? ", with real-time priority" : "");
}

static void print_latencies(const struct load_report *r) {
    const struct load_summary *s = r->summary;
    bool few = false;
    printf("\n%sLatency, ms%s  nearest rank; a request that was not completed is infinite, and "
           "left out in the last column\n",
           cli_bold(), cli_reset());
    printf("  %-12s %11s %11s %11s %9s %11s\n", "", "p50 ", "p90 ", "p99 ", "n", "p99 of ok ");
    for (size_t i = 0; i < LINES; i++) {
        struct percentile p[SHOWN], ok;
        char text[SHOWN + 1][32];
        for (int k = 0; k < SHOWN; k++) {
            p[k] = percentile_of(s, &lines[i], POPULATION_ALL, shown_milli[k]);
            percentile_text(&p[k], 3, text[k], sizeof text[k]);
            few |= p[k].present && p[k].few;
        }
        if (p[0].n == p[0].failed) continue; /* no such interval in this run */
        ok = percentile_of(s, &lines[i], POPULATION_COMPLETED, 99000);
        printf("  %-12s %11s %11s %11s %9zu %11s  %s\n", lines[i].label, text[0], text[1], text[2],
               p[0].n, percentile_text(&ok, 3, text[SHOWN], sizeof text[SHOWN]),
               formula_of(s, &lines[i]));
    }
    if (few) printf("  * too few observations for that percentile (p99: 100)\n");
}

enum slo_answer load_print_text(const struct load_report *r) {
    const struct load_summary *s = r->summary;
    print_head(r);
    print_validity(r);
    print_counts(r);
    print_lag(r);
    print_latencies(r);
    if (!s->objective) return SLO_MET;
    const struct summary judged = {.population = s->scheduled, .objective = s->objective};
    struct percentile limits[OBJECTIVE_MAX_LIMITS] = {0};
    struct slo_counts counts;
    print_verdict_text(stdout, &judged);
    enum slo_answer verdict = load_verdict(s, limits, &counts);
    if (!isnan(s->objective->throughput.min_rps))
        printf("  with the window's length: %.3g useful/s, %s\n",
               (double)counts.useful / counts.interval_s,
               slo_answer_name(slo_throughput(s->objective, &counts)));
    printf("  together: %s%s\n", slo_answer_name(verdict),
           r->run->paced[0] ? ", in simulated time: it says nothing about measured hardware" : "");
    return verdict;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_latencies(cJSON *root, const struct load_summary *s) {
    cJSON *all = cJSON_AddObjectToObject(root, "latency");
    for (size_t i = 0; i < LINES; i++) {
        cJSON *o = cJSON_AddObjectToObject(all, lines[i].key);
        cJSON_AddStringToObject(o, "formula", formula_of(s, &lines[i]));
        for (int k = 0; k < SHOWN; k++) {
            char key[24];
            struct percentile p = percentile_of(s, &lines[i], POPULATION_ALL, shown_milli[k]);
            struct percentile ok =
                percentile_of(s, &lines[i], POPULATION_COMPLETED, shown_milli[k]);
            snprintf(key, sizeof key, "p%d", shown_milli[k] / 1000);
            json_percentile(o, key, &p);
            snprintf(key, sizeof key, "p%d_completed", shown_milli[k] / 1000);
            json_percentile(o, key, &ok);
        }
    }
}

static enum slo_answer add_objective(cJSON *root, const struct load_report *r) {
    const struct load_summary *s = r->summary;
    const struct objective *o = s->objective;
    struct percentile limits[OBJECTIVE_MAX_LIMITS] = {0};
    struct slo_counts counts;
    if (!o) return SLO_MET;
    enum slo_answer verdict = load_verdict(s, limits, &counts);
    cJSON *obj = cJSON_AddObjectToObject(root, "objective");
    cJSON_AddStringToObject(obj, "name", o->name);
    cJSON_AddStringToObject(obj, "verdict", slo_answer_name(verdict));
    cJSON_AddBoolToObject(obj, "of_measured_hardware", !r->run->paced[0]);
    cJSON *list = cJSON_AddArrayToObject(obj, "limits");
    for (int32_t i = 0; i < o->n_latency; i++) {
        const struct latency_limit *l = &o->latency[i];
        if (l->scope != SCOPE_POPULATION) continue;
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "interval", interval_name(l->interval));
        cJSON_AddNumberToObject(item, "percentile", l->percentile_milli / 1000.0);
        json_add_int(item, "below_ns", l->below_ns);
        json_percentile(item, "value", &limits[i]);
        cJSON_AddStringToObject(item, "answer", slo_answer_name(slo_limit(l, &limits[i])));
        cJSON_AddItemToArray(list, item);
    }
    cJSON_AddStringToObject(obj, "failure_rate", slo_answer_name(slo_failure_rate(o, &counts)));
    cJSON_AddStringToObject(obj, "quality", slo_answer_name(slo_quality(o, &counts)));
    cJSON_AddStringToObject(obj, "throughput", slo_answer_name(slo_throughput(o, &counts)));
    return verdict;
}

static void add_figures(cJSON *root, const struct load_summary *s) {
    const struct population_summary *p = &s->counts;
    json_add_int(root, "requests", p->requests);
    json_add_int(root, "completed", p->completed);
    json_add_int(root, "useful", p->useful);
    cJSON *reasons = cJSON_AddObjectToObject(root, "by_reason");
    for (enum completion_reason i = 0; i < REASON_N; i++)
        json_add_int(reasons, completion_reason_name(i), p->by_reason[i]);
    json_add_int(reasons, FINISHED_BY_SERVER, p->finished_by_server);
    cJSON *quality = cJSON_AddObjectToObject(root, "quality");
    for (enum verdict v = VERDICT_NOT_EVALUATED; v <= VERDICT_FAILED; v++)
        json_add_int(quality, verdict_name(v), p->quality[v]);
    json_real(root, "window_s", s->window_s);
    json_real(root, "offered_rps", s->offered_rps);
    json_real(root, "achieved_rps", s->achieved_rps);
    json_real(root, "output_tokens_per_s", s->output_tps);
    if (s->objective) {
        json_add_int(root, "good", p->good);
        json_add_int(root, "within_limits", s->within_limits);
        json_real(root, "good_rps", s->good_rps);
    }
    cJSON_AddBoolToObject(root, "stable", s->stable);
    json_add_int(root, "client_half_only", s->client_only);
    json_add_int(root, "in_one_piece_without_tpot", s->in_one_piece);
    json_add_int(root, "prompt_tokens", s->prompt_tokens);
    if (s->cached_prompt_tokens >= 0)
        json_add_int(root, "cached_prompt_tokens", s->cached_prompt_tokens);
    else
        cJSON_AddNullToObject(root, "cached_prompt_tokens");
}

enum slo_answer load_print_json(const struct load_report *r) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddItemToObject(root, "run", run_file_json(r->run));
    cJSON *summary = cJSON_AddObjectToObject(root, "summary");
    add_figures(summary, r->summary);
    add_latencies(summary, r->summary);
    enum slo_answer verdict = add_objective(summary, r);
    char *text = json_print(root);
    INVARIANT(text != NULL);
    puts(text);
    cJSON_free(text);
    cJSON_Delete(root);
    return verdict;
}
