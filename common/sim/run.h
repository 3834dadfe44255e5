/* run.h: runs one workload against one policy, cost model and fleet, and measures the result.
 *
 * Offers: the run, the check of its accounting, and its measurement. Every interval, percentile and
 * verdict comes from the functions of labs 01 and 02 (objective/point.h). Not here: printing.
 *
 * The window. A measurement takes the requests that arrived within [first arrival + warm-up, last
 * arrival], both ends included. Requests of the warm-up are served, and slow down later ones, but
 * are in no percentile and no count. A request of the window counts whenever it ends, also after
 * the window. The window ends with the arrivals, because the offered load ends there.
 */
#ifndef SERVELAB_SIM_RUN_H
#define SERVELAB_SIM_RUN_H

#include "objective/point.h"
#include "sim/fleet.h"
#include "workload/workload.h"

struct run_spec {
    struct workload_spec workload;
    const char *policy; /* as policy_find takes it: "continuous", "static:8" */
    struct cost_model cost;
    int32_t kv_blocks, token_budget, max_running;
    int64_t max_in_system; /* INT64_MAX: no limit */
    int64_t prefix_tokens;
    int32_t servers;
    const char *router;
    int64_t warm_up_ns;
    struct point_limits limits; /* INT64_MAX where there is none */

    /* Callbacks, each may be NULL: every event, every outcome, and after each RUN_PROGRESS_EVERY
     * requests the number that has ended so far. ctx is passed to all three. */
    sim_event_fn *event;
    sim_outcome_fn *ended;
    void (*progress)(void *ctx, int64_t requests);
    void *ctx;

    /* Makes the policy that is asked of the one that is named, for a caller that wants to see its
     * plans: it is asked before every iteration then. NULL: the named one is asked. */
    const struct policy_ops *(*watch)(const struct policy_ops *policy);
};
enum { RUN_PROGRESS_EVERY = 4096 };

struct run {
    struct point_request *list; /* (n), by id */
    size_t n;
    struct sim_counters counters; /* of all servers */
    struct workload_facts facts;
    int64_t first_arrival_ns, last_arrival_ns;
    int64_t last_end_ns;        /* of any request: done, failed or rejected */
    int64_t last_completion_ns; /* of the requests that were done; first_arrival_ns: none was */
    int64_t by_policy, too_large, queue_full; /* rejected requests by reason, of all n */
    int64_t output_tokens;                    /* generated for requests that were done */
    int64_t prompt_tokens;                    /* of the same */
    __int128 sojourn_ns;                      /* sum of end - arrival over all n */
};

/* Is there any limit? */
bool run_has_limits(const struct point_limits *l);

/* What run_once returns besides 0. */
enum {
    RUN_BAD = -1, /* the input or the policy is at fault: *e says what */
    RUN_OURS = -2 /* the simulator's accounting is inconsistent: a bug; discard the results */
};

/* Runs to the end. 0 and *out, to be released with run_release; or RUN_BAD or RUN_OURS, *e, and an
 * empty *out. For an error in a trace, workload_err_input gives the file's name. */
int run_once(const struct run_spec *spec, struct run *out, struct err *e);
void run_release(struct run *r);

/* Checks the accounting: every request that arrived ended once, and Little's law holds: the
 * integral of the number in the system (kept by the servers) equals the sum of the times in the
 * system (from the list of requests). Both are integers and compared exactly. 0, or -1 and *e.
 * run_once calls it; it is public for its own test. */
int run_check(const struct run *r, struct err *e);

/* ---- what a run measured ---- */

struct run_measures {
    struct operating_point point; /* of the window */
    int64_t from_ns, to_ns;       /* the window is [from, to): to is 1 ns past the last arrival */
    bool has_rates; /* false: all its requests arrive at one instant, so that it has no rates
                       (offered load, throughput within it, stability) */
    /* of the complete requests of the window; the others count as failed */
    double mean_wait_ns; /* of the queue delay; NaN: none is complete */
    struct percentile queue_delay_p50;

    /* of the whole run, from the first arrival to the last completion */
    int64_t interval_ns;
    int64_t completed;     /* requests with all the tokens they wanted */
    double throughput_rps; /* QPS: complete requests / interval; NaN if the interval is 0, as are
                              the next three */
    double output_tps;     /* TPS: output tokens of the requests that were done / interval */
    double total_tps;      /* prompt and output tokens of the same / interval */
    double ips;            /* IPS: forward passes / interval, all servers together; a batch of 8 is
                              one pass */
    double busy_share;    /* busy time / ((last end - first arrival) * servers); NaN if that is 0 */
    double mean_batch;    /* sequences per iteration, averaged over busy time; NaN: never busy */
    double kv_peak_share; /* most blocks in use at once on one server / its blocks */
    double kv_mean_share; /* blocks in use, averaged over the time of busy_share / blocks of all
                             servers */
    double little_l;      /* number in the system, averaged over first arrival to last end */
    double little_lambda_rps; /* arrivals / the same time */
    double little_w_ns;       /* mean time in the system, of all that arrived */
};

/* 0, or -1 and *e: no request arrives after the warm-up, or memory is out. */
int run_measure(const struct run *r, const struct run_spec *spec, struct run_measures *out,
                struct err *e);

#endif
