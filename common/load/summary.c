/* summary.c: see summary.h. */
#include "load/summary.h"

#include "base/clock.h"
#include "record/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one record ------------------------------------------------------------------------------ */

/* "load-RUN-NUMBER" is row NUMBER - 1. NULL: it is none of this run. */
static const struct load_row *row_of(const struct load_results *r, const struct record *rec) {
    const char *dash = strrchr(rec->request_id, '-');
    long long number = dash ? atoll(dash + 1) : 0;
    return number >= 1 && number <= r->n ? &r->rows[number - 1] : NULL;
}

static int check_interval(const struct record *rec, int line, const struct intervals *iv,
                          struct err *e) {
    for (enum interval_id id = 0; id < IV_N; id++)
        if (interval_get(iv, id)->status == INTERVAL_NEGATIVE)
            return err_at(e, line, interval_name(id),
                          "is negative in record '%s': its end lies before its start",
                          rec->request_id);
    return 0;
}

static bool clients_only(const struct record *rec) {
    return record_event(rec, EV_REQUEST_ACCEPTED) == NULL;
}

static int make_room(struct load_summary *s, size_t more, struct err *e) {
    if (s->n_itl + more <= s->cap_itl) return 0;
    size_t cap = s->cap_itl ? s->cap_itl : 4096;
    while (cap < s->n_itl + more) cap *= 2;
    int64_t *grown = realloc(s->itl_ns, cap * sizeof *grown);
    if (!grown) return err_set(e, "no memory for the gaps between tokens");
    s->itl_ns = grown;
    s->cap_itl = cap;
    return 0;
}

static int add_gaps(struct load_summary *s, const struct record *rec, struct err *e) {
    const cJSON *client = cJSON_GetObjectItemCaseSensitive(rec->extra, "client");
    const cJSON *gaps = cJSON_GetObjectItemCaseSensitive(client, "chunk_gaps_ns"), *gap;
    size_t n = clients_only(rec) ? 0 : intervals_itl(rec, NULL, 0);
    if (cJSON_IsArray(gaps) && clients_only(rec) && !record_in_one_piece(rec)) {
        if (make_room(s, (size_t)cJSON_GetArraySize(gaps), e)) return -1;
        s->itl_of_chunks = true;
        cJSON_ArrayForEach(gap, gaps) s->itl_ns[s->n_itl++] = (int64_t)gap->valuedouble;
    }
    if (make_room(s, n, e)) return -1;
    if (n > 0) s->n_itl += intervals_itl(rec, s->itl_ns + s->n_itl, n);
    return 0;
}

static void note_workload(struct load_summary *s, const struct record *rec) {
    if (rec->workload.paced[0]) text_cut(s->paced, sizeof s->paced, rec->workload.paced);
    if (rec->workload.prompt_tokens > 0) s->prompt_tokens += rec->workload.prompt_tokens;
    if (rec->workload.cached_prompt_tokens < 0) return;
    if (s->cached_prompt_tokens < 0) s->cached_prompt_tokens = 0;
    s->cached_prompt_tokens += rec->workload.cached_prompt_tokens;
}

static bool within_limits(const struct load_summary *s, const struct classification *c,
                          const struct intervals *iv) {
    struct classification as_if_useful = *c;
    struct objective latency_only = *s->objective;
    if (!c->completed) return false;
    as_if_useful.useful = true;
    latency_only.structure.required = false;
    return classify_good(&as_if_useful, iv, &latency_only);
}

struct sums {
    struct load_window window;
    int64_t ended_in, tokens_in, good;
    int64_t uncounted; /* of ended_in: the server doesn't say how many tokens they have */
};

static int add_record(struct load_summary *s, const struct load_results *r, struct sums *sums,
                      const struct record *rec, int line, struct err *e) {
    const struct load_row *row = row_of(r, rec);
    struct intervals iv, as_sent;
    struct classification c;
    if (!row) return 0;
    enum truncation_rule truncation = TRUNCATION_FIXED_LENGTH;
    if (row->check) truncation = s->objective ? s->objective->truncation : TRUNCATION_REJECT;
    intervals_compute(rec, &iv);
    if (check_interval(rec, line, &iv, e)) return -1;
    classify_request(&rec, 1, truncation, &c);
    if (c.completed && load_window_has(&sums->window, row->ended_ns)) {
        sums->ended_in++;
        sums->tokens_in += rec->workload.output_tokens > 0 ? rec->workload.output_tokens : 0;
        sums->uncounted += rec->workload.output_tokens < 0;
    }
    if (!load_window_has(&sums->window, row->scheduled_ns)) return 0;
    intervals_of_client(rec, &iv);
    s->in_one_piece += record_in_one_piece(rec);
    s->uncounted += c.completed && rec->workload.output_tokens < 0;
    as_sent = iv;
    int64_t lag_ns = row->submitted_ns - row->scheduled_ns;
    if (iv.client_ttft.status == INTERVAL_OK) iv.client_ttft.ns += lag_ns;
    if (iv.e2e.status == INTERVAL_OK) iv.e2e.ns += lag_ns;
    bool good = s->objective && classify_good(&c, &iv, s->objective);
    s->within_limits += s->objective && within_limits(s, &c, &iv);
    sums->good += good;
    s->client_only += clients_only(rec);
    note_workload(s, rec);
    if (c.completed && add_gaps(s, rec, e)) return -1;
    return population_add(s->scheduled, rec, &iv, &c, good, e) ||
                   population_add(s->sent, rec, &as_sent, &c, good, e)
               ? -1
               : 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Only arrivals and ends are read of these. */
static int find_stable(struct load_summary *s, const struct load_results *r,
                       const struct load_window *w, struct err *e) {
    struct point_request *list = calloc((size_t)r->n + 1, sizeof *list);
    size_t n = 0;
    if (!list) return err_set(e, "no memory to judge the queue");
    for (int64_t i = 0; i < r->n; i++) {
        const struct load_row *row = &r->rows[i];
        list[n++] = (struct point_request){.arrival_ns = row->scheduled_ns - r->first_ns,
                                           .admitted_ns = -1,
                                           .first_token_ns = -1,
                                           .end_ns = row->ended_ns - r->first_ns};
    }
    const struct point_limits none = {INT64_MAX, INT64_MAX, INT64_MAX};
    struct operating_point point;
    int rc =
        point_measure(list, n, w->from_ns - r->first_ns, w->to_ns - r->first_ns, &none, &point, e);
    s->stable = !rc && point.stable;
    free(list);
    return rc;
}

static int finish(struct load_summary *s, const struct load_results *r, const struct sums *sums,
                  struct err *e) {
    const struct load_window *w = &sums->window;
    population_summarize(s->scheduled, &s->counts);
    s->window_s = s->offered_rps = s->achieved_rps = s->output_tps = s->good_rps = NAN;
    if (w->to_ns <= w->from_ns) return 0;
    s->window_s = (double)(w->to_ns - w->from_ns) / 1e9;
    s->offered_rps = (double)s->counts.requests / s->window_s;
    s->achieved_rps = (double)sums->ended_in / s->window_s;
    if (sums->uncounted == 0) s->output_tps = (double)sums->tokens_in / s->window_s;
    if (s->objective) s->good_rps = (double)sums->good / s->window_s;
    return find_stable(s, r, w, e);
}

int load_summarize(struct load_summary *s, const struct load_results *r, const char *log_path,
                   const struct objective *o, struct err *e) {
    struct sums sums = {.window = load_window_of(r)};
    *s = (struct load_summary){.objective = o, .cached_prompt_tokens = -1};
    s->scheduled = population_create(o);
    s->sent = population_create(o);
    if (!s->scheduled || !s->sent) return err_set(e, "no memory for the summary");
    if (r->n == 0) return finish(s, r, &sums, e);
    struct record_reader *reader = record_reader_open(log_path, e);
    if (!reader) return -1;
    const struct record *rec;
    int line, rc = 0;
    enum record_read got = RECORD_READ_OK;
    while (!rc && (got = record_reader_next(reader, &rec, &line, e)) == RECORD_READ_OK)
        rc = add_record(s, r, &sums, rec, line, e);
    record_reader_close(reader);
    if (rc || got != RECORD_READ_END) return -1;
    return finish(s, r, &sums, e);
}

void load_summary_release(struct load_summary *s) {
    population_free(s->scheduled);
    population_free(s->sent);
    free(s->itl_ns);
}

enum slo_answer load_verdict(const struct load_summary *s, struct percentile *limits,
                             struct slo_counts *counts) {
    const struct objective *o = s->objective;
    int64_t unmeasured; /* always 0: this client has its half of every record */
    *counts = s->counts.counts;
    counts->interval_s = s->window_s;
    for (int32_t i = 0; i < o->n_latency; i++)
        if (o->latency[i].scope == SCOPE_POPULATION)
            limits[i] = population_limit(s->scheduled, &o->latency[i], &unmeasured);
    return slo_verdict(o, limits, counts);
}
