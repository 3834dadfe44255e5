/* evidence_findings.h: reads lab 02's findings.json, the learner's results for several set-up
 * times. Not here: whether the numbers are right (evidence.c simulates them).
 *
 *   {"schema": "servelab.findings.v1",
 *    "arrivals_ms": [0, 1, 2, 3],     the four arrivals of the handout
 *    "per_request_ms": 1,
 *    "runs": [                        3 to 16, each with another set-up; 4, 2 and 0 among them
 *      {"setup_ms": 4,                0 .. 1000
 *       "single":       {"mean_latency_ms": N, "first_latency_ms": N, "throughput_rps": N},
 *       "wait_for_n_4": {"mean_latency_ms": N, "first_latency_ms": N, "throughput_rps": N},
 *       "batching_lowers_mean": B,    is the mean latency under wait-for-n:4 below single's?
 *       "batching_raises_throughput": B,
 *       "first_waits_longer": B}],    is the first request's latency above single's?
 *    "break_even_setup_ms": N,        at this set-up both policies have the same mean latency
 *    "conclusion": "...",             a sentence or two
 *    "purchase": {...}}               core/evidence_choice.h; not read here
 *
 * N: a number, to two decimals at least; B: true or false. Every member is required, no other is
 * known.
 */
#ifndef SERVELAB_GRADER_LAB02_EVIDENCE_FINDINGS_H
#define SERVELAB_GRADER_LAB02_EVIDENCE_FINDINGS_H

#include "base/err.h"

#include <cjson/cJSON.h>

#include <stdbool.h>

#define FINDINGS_SCHEMA "servelab.findings.v1"

enum { FINDINGS_MAX_ARRIVALS = 32, FINDINGS_MIN_RUNS = 3, FINDINGS_MAX_RUNS = 16 };

/* The results of one policy. */
struct finding {
    double mean_latency_ms, first_latency_ms, throughput_rps;
};

struct findings_run {
    double setup_ms;
    struct finding single, grouped;
    bool lowers_mean, raises_throughput, first_waits_longer;
};

struct findings {
    double arrivals_ms[FINDINGS_MAX_ARRIVALS];
    int n_arrivals;
    double per_request_ms;
    struct findings_run runs[FINDINGS_MAX_RUNS];
    int n_runs;
    double break_even_setup_ms;
    char conclusion[800];
};

/* 0, or -1 and *e with the field. */
int lab02_findings_read(struct findings *f, const cJSON *doc, struct err *e);

#endif
