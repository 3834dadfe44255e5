/* sweep.h: runs a workload at several loads for one or more policies: the throughput-latency curve,
 * its knee and saturation, and the highest load within limits.
 *
 * Every point is one run in a child process: several run at a time, and if a policy crashes, the
 * sweep ends with an error that has its name, its load and the signal. A policy that loops for ever
 * must be interrupted by the user. Knee, saturation, regions and the search for the highest load
 * are lab 02's (objective/point.h). Not here: printing and drawing.
 *
 * If no loads are given, the sweep chooses them: it estimates each policy's saturation from a run
 * in which all requests arrive at once (SWEEP_GUESS_REQUESTS of the workload; requests / time to
 * serve them) and takes fixed shares of it (SWEEP_SHARES), then up to SWEEP_MORE higher loads while
 * the highest one is still served.
 */
#ifndef SERVELAB_SIM_SWEEP_H
#define SERVELAB_SIM_SWEEP_H

#include "sim/run.h"

#include <stdio.h>

enum {
    SWEEP_MAX_POLICIES = 6, /* more lines can't be distinguished in one picture */
    SWEEP_MAX_RATES = 64,
    SWEEP_GUESS_REQUESTS = 2000, /* a server */
    SWEEP_MORE = 4
};
#define SWEEP_RESOLUTION 0.01 /* of the highest load within the limits */

/* One run of the sweep. */
struct sweep_point {
    double rate_rps; /* as requested; point.offered_rps is the actual one, which differs for random
                        arrivals */
    struct operating_point point;
    double window_s;
    double output_tps, ips, busy_share, mean_batch, kv_peak_share, kv_mean_share;
    int64_t preemptions;
};

struct sweep_policy {
    char name[64];
    double guess_rps;           /* estimated saturation; 0: loads were given */
    struct sweep_point *points; /* (n), by rate */
    size_t n;
    size_t knee, saturation; /* indices; n: none */
    struct capacity capacity;
    bool has_capacity; /* false: no limits, or interrupted before; ignore capacity then */
};

struct sweep {
    struct sweep_policy policies[SWEEP_MAX_POLICIES];
    size_t n_policies;
    bool complete; /* every planned run is in it */
    int64_t runs;  /* number of runs */
    double seconds;
};

struct sweep_spec {
    struct run_spec run; /* its rate and policy are set by the sweep */
    const char *policies[SWEEP_MAX_POLICIES];
    size_t n_policies;
    double rates_rps[SWEEP_MAX_RATES]; /* ascending */
    size_t n_rates;                    /* 0: find them */
    int jobs;                          /* runs at one time */
    FILE *progress;                    /* a terminal, or NULL */
};

/* 0 and *out, to be released with sweep_release. SWEEP_INTERRUPTED after SIGINT or SIGTERM: *out
 * has the points measured so far, complete is false. RUN_BAD, RUN_OURS or JOBS_NOT_ATTEMPTED
 * (jobs.h) and *e: *out is empty. */
enum { SWEEP_INTERRUPTED = 1 };
int sweep_run(const struct sweep_spec *spec, struct sweep *out, struct err *e);
void sweep_release(struct sweep *s);

/* (n) the operating points alone, as the functions of objective/point.h take them; the caller frees
 * them. */
struct operating_point *sweep_points(const struct sweep_policy *p);

#endif
