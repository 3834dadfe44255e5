/* report_latency.c: the percentiles of a point with their confidence, and the requests that stand
 * for its median and its tail. See report_tree.h. */
#include "base/json.h"
#include "report/confidence.h"
#include "report/report_tree.h"

#include <stdio.h>
#include <stdlib.h>

#define CONFIDENCE 0.95

static const int32_t percentiles[] = {50000, 90000, 99000};

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool arrived_in(const struct report_point *p, const struct report_request *q) {
    return q->arrival_ns >= p->window.from_ns && q->arrival_ns <= p->window.to_ns;
}

/* A rank's observation: null where the rank is not known or among the failed requests. */
static void add_rank(cJSON *o, const char *key, const int64_t *sorted, size_t n_ok, size_t rank,
                     bool known) {
    report_add_count(o, key, known && rank >= 1 && rank <= n_ok ? sorted[rank - 1] : -1);
}

static void add_percentile(cJSON *to, int32_t milli, const int64_t *sorted, size_t n_ok,
                           size_t n_failed) {
    char name[16];
    snprintf(name, sizeof name, "p%g", milli / 1000.0);
    struct percentile all = percentile_nearest_rank(sorted, n_ok, n_failed, milli);
    struct percentile ok = percentile_nearest_rank(sorted, n_ok, 0, milli);
    struct rank_interval ci = rank_interval(n_ok + n_failed, milli, CONFIDENCE);
    cJSON *o = cJSON_AddObjectToObject(to, name);
    report_add_count(o, "ns", all.present && !all.infinite ? all.ns : -1);
    cJSON_AddBoolToObject(o, "infinite", all.infinite);
    report_add_count(o, "of_completed_ns", ok.present ? ok.ns : -1);
    json_add_int(o, "n", (int64_t)all.n);
    json_add_int(o, "failed", (int64_t)all.failed);
    cJSON_AddBoolToObject(o, "too_few", !ci.lo_known || !ci.hi_known);
    cJSON *bounds = cJSON_AddObjectToObject(o, "ci95");
    add_rank(bounds, "lo_ns", sorted, n_ok, ci.lo, ci.lo_known);
    add_rank(bounds, "hi_ns", sorted, n_ok, ci.hi, ci.hi_known);
}

cJSON *report_latency(const struct report_run *run, const struct report_point *p) {
    cJSON *root = cJSON_CreateObject();
    int64_t *obs = malloc((run->n_requests + 1) * sizeof *obs);
    size_t n_failed = (size_t)(p->requests - p->completed - p->finished_by_server);
    for (enum interval_id id = 0; obs && root && id < IV_N; id++) {
        size_t n_ok = 0;
        for (size_t i = 0; i < run->n_requests; i++) {
            const struct report_request *q = &run->requests[i];
            const struct interval *iv = interval_get(&q->iv, id);
            bool finished = q->c.completed || q->deciding->finished_by_server;
            if (arrived_in(p, q) && finished && iv->status == INTERVAL_OK) obs[n_ok++] = iv->ns;
        }
        if (n_ok == 0) {
            cJSON_AddNullToObject(root, interval_name(id));
            continue;
        }
        qsort(obs, n_ok, sizeof *obs, ascending);
        cJSON *o = cJSON_AddObjectToObject(root, interval_name(id));
        for (size_t k = 0; k < sizeof percentiles / sizeof *percentiles; k++)
            add_percentile(o, percentiles[k], obs, n_ok, n_failed);
    }
    free(obs);
    return root;
}

/* ---- the timeline of a request --------------------------------------------------------------- */

static void add_interval(cJSON *o, const char *key, const struct interval *iv) {
    report_add_count(o, key, iv->status == INTERVAL_OK ? iv->ns : -1);
}

static void add_request(cJSON *to, const char *name, const struct report_request *q) {
    cJSON *o = cJSON_AddObjectToObject(to, name);
    cJSON_AddStringToObject(o, "request_id", q->deciding->request_id);
    report_add_count(o, "prompt_tokens", q->deciding->prompt_tokens);
    report_add_count(o, "output_tokens", q->deciding->output_tokens);
    cJSON_AddNumberToObject(o, "attempts", q->attempts);
    add_interval(o, "queue_delay_ns", &q->iv.queue_delay);
    add_interval(o, "server_ttft_ns", &q->iv.server_ttft);
    add_interval(o, "client_ttft_ns", &q->iv.client_ttft);
    add_interval(o, "e2e_ns", &q->iv.e2e);
    add_interval(o, "tpot_ns", &q->iv.tpot);
}

static int by_e2e(const void *a, const void *b) {
    const struct report_request *x = *(const struct report_request *const *)a;
    const struct report_request *y = *(const struct report_request *const *)b;
    return (x->iv.e2e.ns > y->iv.e2e.ns) - (x->iv.e2e.ns < y->iv.e2e.ns);
}

/* By nearest rank of e2e over the completed requests, which have a timeline to show. */
cJSON *report_timelines(const struct report_run *run, const struct report_point *p) {
    cJSON *root = cJSON_CreateObject();
    const struct report_request **sorted = malloc((run->n_requests + 1) * sizeof *sorted);
    size_t n = 0;
    for (size_t i = 0; sorted && i < run->n_requests; i++) {
        const struct report_request *q = &run->requests[i];
        if (arrived_in(p, q) && q->c.completed && q->iv.e2e.status == INTERVAL_OK) sorted[n++] = q;
    }
    if (n > 0) {
        qsort(sorted, n, sizeof *sorted, by_e2e);
        add_request(root, "median", sorted[(n + 1) / 2 - 1]);
        add_request(root, "p99", sorted[(99 * n + 99) / 100 - 1]);
    }
    free(sorted);
    return root;
}
