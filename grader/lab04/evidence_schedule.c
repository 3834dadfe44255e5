/* evidence_schedule.c: see evidence_schedule.h. What it finds are requests that were left out,
 * moved or added, and times that were changed. Whoever changes the run file along with the records
 * is not found. */
#include "lab04/reference.h"

#include "lab04/evidence_schedule.h"

#include "base/json.h"
#include "workload/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR_NS = 1000 }; /* times of a year-old machine are no longer exact in JSON */

static const cJSON *at(const cJSON *o, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(o, key);
}

/* "load-8b26d6e4-17": run 0x8b26d6e4, and the 17th arrival, whose number is 16. */
static bool read_id(const char *id, unsigned *run, int64_t *number) {
    long long n;
    char end;
    bool whole = sscanf(id, "load-%8x-%lld%c", run, &n, &end) == 2 && n >= 1;
    *number = whole ? n - 1 : -1;
    return whole;
}

static bool read_lengths(const cJSON *o, const char *key, struct lengths *out) {
    const cJSON *pair = at(o, key);
    double lo = cJSON_GetNumberValue(at(pair, "lo")), hi = cJSON_GetNumberValue(at(pair, "hi"));
    if (!pair) return true;
    if (!(lo >= 1 && hi >= lo && hi <= SPEC_MAX_TOKENS)) return false;
    *out = (struct lengths){(int32_t)lo, (int32_t)hi};
    return true;
}

/* The times of a list, which the run file has. The caller frees out->list_ns. */
static int read_list(const cJSON *w, struct workload_spec *out, struct err *e) {
    const cJSON *list = at(w, "list_ns"), *item;
    int n = cJSON_GetArraySize(list);
    int64_t *ns = n > 0 ? calloc((size_t)n, sizeof *ns) : NULL;
    if (!ns)
        return err_at(e, 0, "workload.list_ns",
                      "in run.json is missing; measure again, and the times are written");
    *out = (struct workload_spec){.arrivals = ARRIVALS_LIST, .list_ns = ns};
    cJSON_ArrayForEach(item, list) {
        double v = cJSON_GetNumberValue(item);
        if (!(v >= 0 && v <= JSON_MAX_INT) ||
            (out->requests > 0 && v < (double)ns[out->requests - 1]))
            return err_at(e, 0, "workload.list_ns", "in run.json has a time that no list has");
        ns[out->requests++] = (int64_t)v;
    }
    return 1;
}

/* 1: *out generates the first `most` arrivals, or all of a list; 0: they can't be computed again;
 * -1 and *e. The caller frees out->list_ns in each case. */
static int read_spec(const cJSON *w, int64_t most, struct workload_spec *out, struct err *e) {
    const char *arrivals = cJSON_GetStringValue(at(w, "arrivals"));
    double number[] = {cJSON_GetNumberValue(at(w, "rate_rps")), cJSON_GetNumberValue(at(w, "cv")),
                       cJSON_GetNumberValue(at(w, "on_s")), cJSON_GetNumberValue(at(w, "off_s"))};
    int64_t seed;
    *out = (struct workload_spec){.requests = most};
    if (arrivals && !strcmp(arrivals, "list")) return read_list(w, out, e);
    if (!arrivals || !strcmp(arrivals, "trace")) return 0;
    if (spec_arrivals("workload.arrivals", arrivals, &out->arrivals, e)) return -1;
    if (out->arrivals == ARRIVALS_CLOSED) return 0;
    if (json_get_int(w, "workload", "seed", 0, JSON_MAX_INT, &seed, e)) return -1;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (isnan(number[i])) number[i] = 0;
    out->seed = (uint64_t)seed;
    out->rate_rps = number[0];
    out->cv = number[1];
    out->on_s = number[2];
    out->off_s = number[3];
    if (!read_lengths(w, "prompt_tokens", &out->prompt_tokens) ||
        !read_lengths(w, "output_tokens", &out->output_tokens))
        return err_at(e, 0, "workload", "has lengths that no workload has");
    return 1;
}

/* The requests by their numbers: all of one run, none twice. */
static int by_number(const struct report_run *run, const struct report_request **out,
                     struct err *e) {
    unsigned first = 0, id;
    for (size_t i = 0; i < run->n_requests; i++) {
        const struct report_request *q = &run->requests[i];
        int64_t n;
        if (!read_id(q->deciding->request_id, &id, &n) || n >= (int64_t)run->n_requests)
            return err_at(e, q->deciding->line, "request_id",
                          "'%.40s' is none of the %zu that this run sent", q->deciding->request_id,
                          run->n_requests);
        if (i == 0) first = id;
        if (id != first)
            return err_at(e, q->deciding->line, "request_id", "'%.40s' is of another run",
                          q->deciding->request_id);
        out[n] = q;
    }
    return 0;
}

static int compare(const struct report_run *run, struct workload *w,
                   const struct report_request *const *by, struct err *e) {
    double first = cJSON_GetNumberValue(at(at(run->run_file, "schedule"), "first_t_ns"));
    double duration_s = cJSON_GetNumberValue(at(at(run->run_file, "schedule"), "duration_s"));
    double most = cJSON_GetNumberValue(at(at(run->run_file, "workload"), "requests"));
    size_t n = 0;
    for (struct sim_request s; workload_next(w, &s, e) == 1; n++) {
        if ((most > 0 && (double)n >= most) ||
            (duration_s > 0 && (double)s.arrival_ns >= duration_s * 1e9))
            break;
        if (n >= run->n_requests || !by[n])
            return err_at(e, 0, "schedule", "in run.json has request %zu, and the records lack it",
                          n + 1);
        if (fabs((double)by[n]->arrival_ns - first - (double)s.arrival_ns) > NEAR_NS)
            return err_at(e, by[n]->deciding->line, "scheduled_t_ns",
                          "is %.6f s after the schedule's begin; the workload and the seed in "
                          "run.json give %.6f s",
                          ((double)by[n]->arrival_ns - first) / 1e9, (double)s.arrival_ns / 1e9);
    }
    if (n != run->n_requests)
        return err_at(e, 0, "schedule", "in run.json has %zu requests, the records have %zu", n,
                      run->n_requests);
    return 0;
}

static int compare_times(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The median wait, from the scheduled send, of what arrived in the window and began. */
static int check_median(const struct report_run *run, int64_t *wait, struct err *e) {
    double stated = cJSON_GetNumberValue(at(at(run->run_file, "lag"), "median_ttft_ns"));
    size_t n = 0;
    for (size_t i = 0; i < run->n_requests; i++) {
        const struct report_request *q = &run->requests[i];
        if (q->arrival_ns >= run->window.from_ns && q->arrival_ns <= run->window.to_ns &&
            q->iv.client_ttft.status == INTERVAL_OK)
            wait[n++] = q->iv.client_ttft.ns;
    }
    qsort(wait, n, sizeof *wait, compare_times);
    double is = n > 0 ? (double)wait[(n + 1) / 2 - 1] : -1;
    if (n == 0 || fabs(stated - is) <= NEAR_NS) return 0;
    if (isnan(stated))
        return err_at(e, 0, "lag.median_ttft_ns",
                      "in run.json is missing, and its records give %.0f", is);
    return err_at(e, 0, "lag.median_ttft_ns", "in run.json is %.0f, and its records give %.0f",
                  stated, is);
}

int lab04_check_schedule(const struct report_run *run, struct err *e) {
    struct workload_spec spec = {0};
    struct workload *w = NULL;
    const struct report_request **by = calloc(run->n_requests + 1, sizeof *by);
    int64_t *room = calloc(run->n_requests + 1, sizeof *room);
    int rc = by && room ? by_number(run, by, e) : err_set(e, "no memory for a schedule");
    int known =
        rc ? -1 : read_spec(at(run->run_file, "workload"), (int64_t)run->n_requests + 1, &spec, e);
    if (known < 0) rc = -1;
    if (known > 0) rc = (w = workload_open(&spec, e)) ? compare(run, w, by, e) : -1;
    if (!rc) rc = check_median(run, room, e);
    if (w) workload_close(w);
    free((void *)spec.list_ns);
    free(by);
    free(room);
    return rc;
}
