/* sim_print.h: prints the results of `servelab sim run` and `sim sweep`, as text and as JSON.
 * Computes nothing: every value comes from sim/run.h, sim/sweep.h and the labs' functions. */
#ifndef SERVELAB_CLI_SIM_PRINT_H
#define SERVELAB_CLI_SIM_PRINT_H

#include "cli/sim_flags.h"
#include "sim/recorder.h"
#include "sim/sweep.h"

#include <cjson/cJSON.h>

/* A run and its results. */
struct run_report {
    const struct sim_flags *flags;
    const struct sim_setup *setup;
    const struct run *run;
    const struct run_measures *m;
    const struct recorder *recorder; /* NULL: inter-token latencies weren't recorded */
};

void print_run_text(const struct run_report *r);
void print_run_json(const struct run_report *r);

/* Complete responses per dollar at an operating point whose window is window_s long: SLO_MET and
 * *value, or SLO_NOT_COMPUTABLE and the reason, by slo_objective_value. */
enum slo_answer sim_dollars(const struct sim_flags *f, const struct operating_point *p,
                            double window_s, double *value, char *reason, size_t cap);

/* Milliseconds with six digits, without an exponent or trailing zeros: "11", "9.5", "3420730".
 * Returns buf. */
const char *ms_text(double ns, char *buf, size_t cap);
/* Decimals of a printed rate: two; below 1 as many as three significant digits need. */
int rate_decimals(double per_s);
/* "12.30 ", "infinite ", "absent ", in milliseconds; the last character is a star instead of a
 * blank if there are too few observations. Returns buf. */
const char *percentile_text(const struct percentile *p, int decimals, char *buf, size_t cap);

/* The given limits with their names; returns their number. */
enum { SIM_LIMITS = 3 };
struct named_limit {
    const char *name; /* "p99 TTFT" */
    int64_t below_ns;
};
int named_limits(const struct point_limits *l, struct named_limit out[SIM_LIMITS]);

/* Adds a number; NaN and infinity become null. */
void json_real(cJSON *o, const char *key, double v);
/* {"ns", "infinite", "n", "failed", "few"}; ns is null if absent or infinite. */
cJSON *json_percentile(cJSON *o, const char *key, const struct percentile *p);
/* Adds the members of an operating point and its verdict. */
void json_point(cJSON *o, const struct operating_point *p, const struct point_limits *limits);
void json_limits(cJSON *o, const struct sim_setup *s);
/* Adds the facts of a trace; nothing for other workloads. */
void json_facts(cJSON *o, const struct workload_facts *f);
const char *region_name(enum curve_region r);
const char *class_name(enum point_class c);
void json_dump(const cJSON *tree, FILE *out);

/* ---- sweeps (sim_sweep_print.c) ---- */

struct sweep_report {
    const struct sim_flags *flags;
    const struct sim_setup *setup;
    const struct sweep *sweep;
};
void print_sweep_text(const struct sweep_report *r);
/* A new tree. */
cJSON *sweep_json(const struct sweep_report *r);
/* A small plot for a terminal. */
void print_sweep_plot(const struct sweep *s);

/* A policy that prints each plan of `policy` and then returns it, for run_spec.watch. One at a
 * time. (sim_plans.c) */
const struct policy_ops *sim_print_plans(const struct policy_ops *policy);

#endif
