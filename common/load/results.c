/* results.c: see results.h. */
#include "load/results.h"

#include "base/clock.h"
#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void load_results_release(struct load_results *r) {
    free(r->rows);
    r->rows = NULL;
    r->n = r->cap = 0;
}

int64_t load_results_add(struct load_results *r) {
    if (r->n == r->cap) {
        int64_t cap = r->cap ? 2 * r->cap : 1024;
        struct load_row *more = realloc(r->rows, (size_t)cap * sizeof *more);
        if (!more) return -1;
        r->rows = more;
        r->cap = cap;
    }
    r->rows[r->n] = (struct load_row){.scheduled_ns = -1,
                                      .submitted_ns = -1,
                                      .first_ns = -1,
                                      .last_ns = -1,
                                      .ended_ns = -1,
                                      .usage_prompt_tokens = -1,
                                      .usage_output_tokens = -1};
    return r->n++;
}

struct load_window load_window_of(const struct load_results *r) {
    int64_t end_ns = r->n > 0 ? r->rows[r->n - 1].scheduled_ns : r->first_ns;
    /* an interrupted run ends where it was stopped */
    if (r->duration_ns > 0 && !r->interrupted) end_ns = r->first_ns + r->duration_ns;
    return (struct load_window){r->first_ns + r->warm_up_ns, end_ns - r->cool_down_ns};
}

static void count_row(const struct load_row *row, const struct load_window *w,
                      struct load_counts *c) {
    bool in = load_window_has(w, row->scheduled_ns);
    c->requests++;
    c->measured += in;
    c->sent += row->submitted_ns >= 0;
    c->whole += row->whole;
    c->timed_out += row->timed_out;
    c->interrupted += row->interrupted;
    c->http_errors += row->http_status != 0 && row->http_status != 200;
    c->no_answer += row->http_status == 0 && !row->interrupted;
    c->checks += row->check;
    c->resent += row->resent;
    c->straddle_warm_up += row->scheduled_ns < w->from_ns && load_window_has(w, row->ended_ns);
    c->straddle_end += in && row->ended_ns > w->to_ns;
    int32_t got = row->usage_output_tokens;
    c->chunks_over_usage += got >= 0 && row->chunks > got;
    c->over_asked += row->output_tokens > 0 && got > row->output_tokens;
    if (!row->whole || row->check) return;
    c->short_answers += got >= 0 && got < row->output_tokens;
    c->wrong_prompts +=
        row->usage_prompt_tokens >= 0 && row->usage_prompt_tokens != row->prompt_tokens;
}

void load_count(const struct load_results *r, struct load_counts *out) {
    struct load_window w = load_window_of(r);
    *out = (struct load_counts){0};
    for (int64_t i = 0; i < r->n; i++) count_row(&r->rows[i], &w, out);
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Nearest rank, of n sorted values. (The labs' percentile.h may not be written yet.) */
static int64_t rank(const int64_t *sorted, int64_t n, int64_t percent) {
    return n > 0 ? sorted[(percent * n + 99) / 100 - 1] : -1;
}

void load_lag_of(const struct load_results *r, struct load_lag *out) {
    struct load_window w = load_window_of(r);
    int64_t *lag = malloc(((size_t)r->n + 1) * 2 * sizeof *lag), n_lag = 0, n_ttft = 0;
    INVARIANT(lag != NULL);
    int64_t *ttft = lag + r->n + 1;
    for (int64_t i = 0; i < r->n; i++) {
        const struct load_row *row = &r->rows[i];
        if (!load_window_has(&w, row->scheduled_ns)) continue;
        if (row->submitted_ns >= 0) lag[n_lag++] = row->submitted_ns - row->scheduled_ns;
        if (row->first_ns >= 0) ttft[n_ttft++] = row->first_ns - row->scheduled_ns;
    }
    qsort(lag, (size_t)n_lag, sizeof *lag, compare);
    qsort(ttft, (size_t)n_ttft, sizeof *ttft, compare);
    *out = (struct load_lag){.p50_ns = rank(lag, n_lag, 50),
                             .p99_ns = rank(lag, n_lag, 99),
                             .max_ns = rank(lag, n_lag, 100),
                             .median_ttft_ns = rank(ttft, n_ttft, 50),
                             .limit_ns = LOAD_LAG_LEAST_NS,
                             .busy = NAN};
    free(lag);
    double share_ns = LOAD_LAG_SHARE * (double)out->median_ttft_ns;
    if (share_ns > (double)out->limit_ns)
        out->limit_ns = (int64_t)fmin(share_ns, (double)LOAD_LAG_MOST_NS);
    int64_t span_ns = r->sending_end_ns - r->first_ns;
    if (span_ns > 0) out->busy = (double)(r->cpu_ns + r->waited_ns) / (double)span_ns;
}

static void say(struct buffer *json, int *n, const char *text) {
    if ((*n)++) buffer_puts(json, ",");
    buffer_json_puts(json, text);
}

int load_invalid(const struct load_results *r, struct buffer *json) {
    struct load_counts c;
    struct load_lag lag;
    char text[200];
    int n = 0;
    load_count(r, &c);
    load_lag_of(r, &lag);
    struct load_window w = load_window_of(r);
    buffer_puts(json, "[");
    if (r->failure[0]) say(json, &n, r->failure);
    if (r->interrupted) say(json, &n, "the load was interrupted");
    if (c.measured == 0) say(json, &n, "no request was scheduled in the measured window");
    if (c.measured > 0 && w.to_ns <= w.from_ns)
        say(json, &n,
            "the measured window is one instant, so there are no rates; --duration-s gives it a "
            "length");
    if (c.requests > 0 && c.whole == 0) say(json, &n, "no request was answered whole");
    if (lag.p99_ns > lag.limit_ns) {
        snprintf(text, sizeof text,
                 "the client sent late: lag p99 %.3f ms, above %.3f ms (5 %% of the median TTFT, "
                 "from 1 to 10 ms)%s",
                 (double)lag.p99_ns / 1e6, (double)lag.limit_ns / 1e6,
                 r->streams_full ? "; no more streams could be open at once" : "");
        say(json, &n, text);
    }
    /* over a second: a shorter run is all start-up */
    if (lag.busy > LOAD_BUSY_MOST && r->sending_end_ns - r->first_ns >= NS_PER_S) {
        snprintf(text, sizeof text,
                 "the client's thread was busy or without a core for %.0f %% of the time, above "
                 "90 %%",
                 lag.busy * 100);
        say(json, &n, text);
    }
    if ((double)r->stalled > LOAD_STALLED_MOST * (double)c.requests) {
        snprintf(text, sizeof text,
                 "the client's thread stood still for 100 ms or more while %lld of %lld requests "
                 "were in flight, above 1 %%",
                 (long long)r->stalled, (long long)c.requests);
        say(json, &n, text);
    }
    if (r->pace_steps > 0 && (double)r->pace_late > LOAD_LATE_MOST * (double)r->pace_steps) {
        snprintf(text, sizeof text,
                 "the paced server was late at %lld of %lld steps, above 1 %%: its machine is too "
                 "slow for this pace",
                 (long long)r->pace_late, (long long)r->pace_steps);
        say(json, &n, text);
    }
    buffer_puts(json, "]");
    return n;
}
