/* sim_print.h: how `servelab sim run` and `sim sweep` show what they measured: text for people,
 * JSON for programs. Only rendering: every value comes from sim/run.h, sim/sweep.h and the labs'
 * functions. */
#ifndef SERVELAB_CLI_SIM_PRINT_H
#define SERVELAB_CLI_SIM_PRINT_H

#include "cli/sim_flags.h"
#include "sim/recorder.h"
#include "sim/sweep.h"

#include <cjson/cJSON.h>

/* A run with all that was found out about it. */
struct run_report {
    const struct sim_flags *flags;
    const struct sim_setup *setup;
    const struct run *run;
    const struct run_measures *m;
    const struct recorder *recorder; /* NULL: inter-token latencies weren't watched */
};

void print_run_text(const struct run_report *r);
void print_run_json(const struct run_report *r);

/* Complete responses per dollar at an operating point whose window is window_s long. SLO_MET and
 * *value, or SLO_NOT_COMPUTABLE and the reason (slo_objective_value: its rules, its words). */
enum slo_answer sim_dollars(const struct sim_flags *f, const struct operating_point *p,
                            double window_s, double *value, char *reason, size_t cap);

/* Milliseconds for a reader: six digits, never an exponent, no zeros at the end: "11", "9.5",
 * "3420730". Returns buf. */
const char *ms_text(double ns, char *buf, size_t cap);
/* How many decimals a rate is shown with: two, and below 1 as many as three digits need, since slow
 * is not 0. */
int rate_decimals(double per_s);
/* "12.30 ", "infinite ", "absent ", in milliseconds; a star in place of the blank where there are
 * too few observations, so that columns stay aligned. Returns buf. */
const char *percentile_text(const struct percentile *p, int decimals, char *buf, size_t cap);

/* The limits that there are, with their names, and how many. */
enum { SIM_LIMITS = 3 };
struct named_limit {
    const char *name; /* "p99 TTFT" */
    int64_t below_ns;
};
int named_limits(const struct point_limits *l, struct named_limit out[SIM_LIMITS]);

/* Numbers that may be NaN or infinite become null. */
void json_real(cJSON *o, const char *key, double v);
/* {"ns", "infinite", "n", "failed", "few"}; ns is null where there is none. */
cJSON *json_percentile(cJSON *o, const char *key, const struct percentile *p);
/* The members of an operating point and what they are taken over. */
void json_point(cJSON *o, const struct operating_point *p, const struct point_limits *limits);
void json_limits(cJSON *o, const struct sim_setup *s);
/* What a trace holds; nothing for other workloads. */
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

#endif
