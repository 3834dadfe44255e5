/* sweep.h: the same workload offered at several loads, for one or more policies side by side: the
 * throughput-latency curve, where its knee and its saturation lie, and the highest load within
 * limits.
 *
 * Every point is a run of its own in a process of its own: they go on at one time, and a policy
 * that crashes ends the sweep with its name, its load and the signal, not with a crash of ours.
 * Nothing ends a policy that loops but the user. Knee, saturation, regions and
 * the search for the highest load are lab 02's (objective/point.h). Refuses: to print, to draw.
 *
 * Where no loads are given they are found. Each policy's saturation is guessed from a run that
 * offers everything at once (SWEEP_GUESS_REQUESTS of the workload: requests over the time to serve
 * them), and loads are laid around it (SWEEP_SHARES); further ones follow while the highest load is
 * still served (SWEEP_MORE at most).
 */
#ifndef SERVELAB_SIM_SWEEP_H
#define SERVELAB_SIM_SWEEP_H

#include "sim/run.h"

#include <stdio.h>

enum {
    SWEEP_MAX_POLICIES = 6, /* more lines can't be told apart in one picture */
    SWEEP_MAX_RATES = 64,
    SWEEP_GUESS_REQUESTS = 2000, /* a server */
    SWEEP_MORE = 4
};
#define SWEEP_RESOLUTION 0.01 /* of the highest load within the limits */

/* One run of the sweep. */
struct sweep_point {
    double rate_rps; /* as asked for; offered_rps is what came, which for random arrivals differs */
    struct operating_point point;
    double window_s;
    double output_tps, ips, busy_share, mean_batch, kv_peak_share, kv_mean_share;
    int64_t preemptions;
};

struct sweep_policy {
    char name[64];
    double guess_rps;           /* of its saturation; 0: loads were given */
    struct sweep_point *points; /* (n), by rate */
    size_t n;
    size_t knee, saturation; /* indices; n: none */
    struct capacity capacity;
    bool has_capacity; /* false: no limits, or interrupted before; capacity means nothing then */
};

struct sweep {
    struct sweep_policy policies[SWEEP_MAX_POLICIES];
    size_t n_policies;
    bool complete; /* every run that was planned is here */
    int64_t runs;  /* how many that were */
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

/* 0 and *out (sweep_release). SWEEP_INTERRUPTED after SIGINT or SIGTERM: *out holds the points that
 * were whole by then, complete is false. RUN_BAD, RUN_OURS or JOBS_NOT_ATTEMPTED (jobs.h) and *e:
 * nothing in *out. */
enum { SWEEP_INTERRUPTED = 1 };
int sweep_run(const struct sweep_spec *spec, struct sweep *out, struct err *e);
void sweep_release(struct sweep *s);

/* The operating points alone, for curve_region and its kin; (n), the caller frees them. */
struct operating_point *sweep_points(const struct sweep_policy *p);

#endif
