/* sim_flags.h: the flags of `servelab sim run` and `servelab sim sweep`, in one table, and the run
 * that they describe.
 *
 * sim_setup_make turns flags into a run_spec, or into an error that names the flag. Not here: the
 * checks of a workload (workload/spec.h), the names of models and GPUs (sim/hardware.h), the run
 * itself.
 */
#ifndef SERVELAB_CLI_SIM_FLAGS_H
#define SERVELAB_CLI_SIM_FLAGS_H

#include "cli/cli.h"
#include "sim/cost_file.h"
#include "sim/hardware.h"
#include "sim/run.h"

enum sim_mode { SIM_RUN = 1, SIM_SWEEP = 2 };

struct sim_flags {
    enum sim_mode mode;
    const char *arrivals_ms, *arrivals, *trace, *trace_format, *prompt_tokens, *output_tokens;
    double rate_rps, cv, on_s, off_s, think_s, fail_rate, time_scale;
    long long requests, seed, clients, max_output_tokens;
    bool skip_bad_rows;

    const char *policy, *model, *gpu, *cost;
    double setup_ms, per_request_ms, acceptance, draft_cost;
    long long weight_bits, kv_bits, draft_tokens;
    bool no_fusion;
    long long kv_blocks, token_budget, max_running, max_in_system, prefix_tokens;

    long long servers;
    const char *router;

    double ttft_below_ms, tpot_below_ms, e2e_below_ms, warm_up_s;
    double usd_per_gpu_hour, reserve_fraction;

    const char *records;
    bool json, per_request, plans;

    const char *rates, *policies, *out;
    long long jobs;
};

/* `servelab sim run` and `servelab sim sweep` after their flags are read. Exit statuses. */
int sim_run(const struct sim_flags *f);   /* cmd_sim.c */
int sim_sweep(const struct sim_flags *f); /* sim_sweep.c */

/* The run that the flags describe. Owns list_ns; sim_setup_release frees it. */
struct sim_setup {
    struct run_spec run;
    struct deployment deployment; /* .model NULL: of `fitted`, or setup plus per request */
    struct cost_file fitted;      /* of --cost */
    int64_t *list_ns;
    bool default_limits;         /* the user gave no limits: the defaults apply */
    struct workload_facts facts; /* of a trace, after reading it */
};

/* The default limits with a model, from a public benchmark. */
#define SIM_DEFAULT_LIMITS "those of MLPerf Inference for llama3.1-8b in its server scenario"
enum { SIM_DEFAULT_TTFT_MS = 2000, SIM_DEFAULT_TPOT_MS = 100 };

/* 0, or -1 and *e with the flag in e->field. */
int sim_setup_make(const struct sim_flags *f, struct sim_setup *out, struct err *e);
void sim_setup_release(struct sim_setup *s);
/* The part of it that is the workload: out->run.workload, and out->list_ns. */
int sim_workload_make(const struct sim_flags *f, struct sim_setup *out, struct err *e);

/* One line each that describes the workload ("poisson arrivals, 2000 requests, ...") and the
 * server. Both return buf. */
const char *sim_workload_text(const struct sim_flags *f, const struct sim_setup *s, char *buf,
                              size_t cap);
const char *sim_machine_text(const struct sim_flags *f, const struct sim_setup *s, char *buf,
                             size_t cap);

#endif
