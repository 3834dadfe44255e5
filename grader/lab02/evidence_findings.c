/* evidence_findings.c: see evidence_findings.h. */
#include "lab02/evidence_findings.h"

#include "base/strict.h"

#include <math.h>
#include <string.h>

/* set-ups that are closer give the same numbers, to two decimals */
static const double LEAST_STEP_MS = 0.01;
/* milliseconds, at most ten minutes, so that no run takes long */
static const double MAX_MS = 600000, MAX_SETUP_MS = 1000, MAX_RPS = 1e9;

static int read_finding(const cJSON *v, const char *path, struct finding *out, struct err *e) {
    static const char *const known[] = {"mean_latency_ms", "first_latency_ms", "throughput_rps",
                                        NULL};
    char at[STRICT_PATH_BYTES];
    if (strict_members(v, path, known, e)) return -1;
    if (strict_number(strict_at(v, known[0]), strict_path(at, path, known[0], 0), 0, MAX_MS,
                      &out->mean_latency_ms, e) ||
        strict_number(strict_at(v, known[1]), strict_path(at, path, known[1], 0), 0, MAX_MS,
                      &out->first_latency_ms, e))
        return -1;
    return strict_number(strict_at(v, known[2]), strict_path(at, path, known[2], 0), 0, MAX_RPS,
                         &out->throughput_rps, e);
}

static int read_run(const cJSON *v, const char *path, struct findings_run *out, struct err *e) {
    static const char *const known[] = {"setup_ms",
                                        "single",
                                        "wait_for_n_4",
                                        "batching_lowers_mean",
                                        "batching_raises_throughput",
                                        "first_waits_longer",
                                        NULL};
    char at[STRICT_PATH_BYTES];
    if (strict_members(v, path, known, e) ||
        strict_number(strict_at(v, known[0]), strict_path(at, path, known[0], 0), 0, MAX_SETUP_MS,
                      &out->setup_ms, e) ||
        read_finding(strict_at(v, known[1]), strict_path(at, path, known[1], 0), &out->single, e) ||
        read_finding(strict_at(v, known[2]), strict_path(at, path, known[2], 0), &out->grouped, e))
        return -1;
    bool *const answers[] = {&out->lowers_mean, &out->raises_throughput, &out->first_waits_longer};
    for (int i = 0; i < 3; i++)
        if (strict_bool(strict_at(v, known[3 + i]), strict_path(at, path, known[3 + i], 0),
                        answers[i], e))
            return -1;
    return 0;
}

static int read_arrivals(const cJSON *v, struct findings *f, struct err *e) {
    char at[STRICT_PATH_BYTES];
    if (strict_list(v, "arrivals_ms", 2, FINDINGS_MAX_ARRIVALS, &f->n_arrivals, e)) return -1;
    for (int i = 0; i < f->n_arrivals; i++) {
        strict_path(at, "arrivals_ms", NULL, i);
        if (strict_number(cJSON_GetArrayItem(v, i), at, 0, MAX_MS, &f->arrivals_ms[i], e))
            return -1;
        if (i > 0 && f->arrivals_ms[i] < f->arrivals_ms[i - 1])
            return err_at(e, 0, at, "comes before the arrival in front of it; sort them");
    }
    return 0;
}

static int read_runs(const cJSON *v, struct findings *f, struct err *e) {
    char at[STRICT_PATH_BYTES];
    if (strict_list(v, "runs", FINDINGS_MIN_RUNS, FINDINGS_MAX_RUNS, &f->n_runs, e)) return -1;
    for (int i = 0; i < f->n_runs; i++) {
        strict_path(at, "runs", NULL, i);
        if (read_run(cJSON_GetArrayItem(v, i), at, &f->runs[i], e)) return -1;
        for (int k = 0; k < i; k++)
            if (fabs(f->runs[k].setup_ms - f->runs[i].setup_ms) < LEAST_STEP_MS)
                return err_at(e, 0, at, "has the same setup_ms as runs[%d]; vary it", k);
    }
    return 0;
}

int lab02_findings_read(struct findings *f, const cJSON *doc, struct err *e) {
    static const char *const known[] = {
        "schema",   "arrivals_ms", "per_request_ms", "runs", "break_even_setup_ms", "conclusion",
        "purchase", NULL};
    static const char *const schemas[] = {FINDINGS_SCHEMA, NULL};
    int schema;
    memset(f, 0, sizeof *f);
    if (strict_members(doc, "", known, e) ||
        strict_choice(strict_at(doc, "schema"), "schema", schemas, &schema, e) ||
        read_arrivals(strict_at(doc, "arrivals_ms"), f, e) ||
        strict_number(strict_at(doc, "per_request_ms"), "per_request_ms", 0, MAX_SETUP_MS,
                      &f->per_request_ms, e) ||
        read_runs(strict_at(doc, "runs"), f, e) ||
        strict_number(strict_at(doc, "break_even_setup_ms"), "break_even_setup_ms", 0, MAX_SETUP_MS,
                      &f->break_even_setup_ms, e))
        return -1;
    return strict_text(strict_at(doc, "conclusion"), "conclusion", 40, f->conclusion,
                       sizeof f->conclusion, e);
}
