/* evidence_protocol.h: reads lab 02's protocol.json, the plan of a benchmark written before it is
 * run, and checks that the plan is complete and consistent.
 *
 *   {"schema": "servelab.protocol.v1",
 *    "question": "...?",                     one question, which the runs can answer
 *    "varied": {"factor": F, "values": [..]} the one thing that differs: 2 to 8 values
 *    "fixed": {..}                           every other F, with the value that it has in all runs
 *    "prompts": {"name": "...", "count": N,  a named, fixed set
 *                "same_for_every_run": B, "cache_state": "cold" | "warm"},
 *    "output": {"rule": "fixed_length" | "until_stop",
 *               "tokens": N | null,          how long each answer is; null with until_stop
 *               "stop_token_ends": B,        does the stop token end an answer?
 *               "max_tokens": N},
 *    "load": {"loop": "closed" | "open",
 *             "concurrency": [N, ..] | null, closed: how many requests are under way; the levels
 *             "think_s": X | null,           closed: pause of a client between answer and request
 *             "offered_rps": [X, ..] | null, open: requests offered a second; the levels
 *             "arrivals": "poisson" | "gamma" | "constant" | null,  open
 *             "requests_per_level": N},      warm-up included
 *    "warm_up": {"requests": N,              of requests_per_level, the first so many
 *                "counted": B,
 *                "stragglers": "by_arrival" | "by_completion" | "dropped"},  a request that
 *                                            straddles an end of the measured part
 *    "repeats": {"count": N, "seeds": [N, ..], "spread": "range" | "standard_deviation" |
 *                "confidence_interval" | "none"},  how the spread between repeats is reported
 *    "failures": {"handling": "infinite_latency" | "drop" | "retry_until_done",
 *                 "counted": ["rejected", "timed_out", "internal_error", "truncated", ..],
 *                 "timeout_s": X, "retries": N},
 *    "percentiles": [{"interval": "client_ttft" | "server_ttft" | "queue_delay" | "tpot" | "itl" |
 *                     "e2e", "percentile": X}, ..],
 *    "decision": {"ttft_below_ms": X, "tpot_below_ms": X, "rule": "..."},  what will be concluded
 *                                            from which outcome
 *    "result": null}                         a protocol claims nothing
 *
 * F: "policy", "model", "gpu" (texts), "weight_bits", "kv_blocks", "token_budget", "max_running"
 * (whole numbers). N: a whole number, X: a number, B: true or false. Every member is required, no
 * other is known; null only where shown. Not judged: whether the benchmark is interesting.
 */
#ifndef SERVELAB_GRADER_LAB02_EVIDENCE_PROTOCOL_H
#define SERVELAB_GRADER_LAB02_EVIDENCE_PROTOCOL_H

#include "base/err.h"

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOCOL_SCHEMA "servelab.protocol.v1"

enum {
    PROTOCOL_FACTORS = 7,
    PROTOCOL_MAX_VALUES = 8,
    PROTOCOL_MAX_LEVELS = 32,
    PROTOCOL_MAX_REPEATS = 100,
    PROTOCOL_MAX_PERCENTILES = 16,
    PROTOCOL_MAX_FAILURES = 8
};

/* A factor's value: a text, or a whole number (then text is ""). */
struct protocol_value {
    char text[64];
    int64_t number;
};

enum protocol_rule { OUTPUT_FIXED_LENGTH, OUTPUT_UNTIL_STOP };
enum protocol_loop { LOOP_CLOSED, LOOP_OPEN };
enum protocol_stragglers { STRAGGLERS_BY_ARRIVAL, STRAGGLERS_BY_COMPLETION, STRAGGLERS_DROPPED };
enum protocol_spread { SPREAD_RANGE, SPREAD_DEVIATION, SPREAD_INTERVAL, SPREAD_NONE };
enum protocol_handling { HANDLING_INFINITE, HANDLING_DROP, HANDLING_RETRY };
enum protocol_failure {
    FAILURE_REJECTED,
    FAILURE_TIMED_OUT,
    FAILURE_INTERNAL_ERROR,
    FAILURE_TRUNCATED,
    FAILURE_IN_BAND_ERROR,
    FAILURE_CANCELLED,
    FAILURE_N
};
enum protocol_interval {
    PROTOCOL_CLIENT_TTFT,
    PROTOCOL_SERVER_TTFT,
    PROTOCOL_QUEUE_DELAY,
    PROTOCOL_TPOT,
    PROTOCOL_ITL,
    PROTOCOL_E2E
};

struct protocol {
    char question[400];
    int factor; /* index in lab02_protocol_factors */
    struct protocol_value values[PROTOCOL_MAX_VALUES];
    int n_values;
    bool fixed_twice; /* the varied factor has a value under "fixed", too */
    struct {
        char name[120];
        int64_t count;
        bool same, cold;
    } prompts;
    struct {
        int rule;
        int64_t tokens; /* -1: null */
        bool stop_ends;
        int64_t max_tokens;
    } output;
    struct {
        int loop;
        double concurrency[PROTOCOL_MAX_LEVELS], offered_rps[PROTOCOL_MAX_LEVELS];
        int n_concurrency, n_offered; /* -1: null */
        double think_s;               /* -1: null */
        int arrivals;                 /* -1: null */
        int64_t requests;
    } load;
    struct {
        int64_t requests;
        bool counted;
        int stragglers;
    } warm_up;
    struct {
        int64_t count, seeds[PROTOCOL_MAX_REPEATS];
        int n_seeds, spread;
    } repeats;
    struct {
        int handling;
        bool counted[FAILURE_N];
        double timeout_s;
        int64_t retries;
    } failures;
    struct {
        int interval;
        double percentile;
    } percentiles[PROTOCOL_MAX_PERCENTILES];
    int n_percentiles;
    double ttft_below_ms, tpot_below_ms;
    char rule[600];
    bool claims_result;
};

extern const char *const lab02_protocol_factors[PROTOCOL_FACTORS + 1];

/* 0, or -1 and *e with the field: an unknown or missing member, a wrong type, a value out of range.
 */
int lab02_protocol_read(struct protocol *p, const cJSON *doc, struct err *e);

/* lab02_protocol_gaps finds facts that a benchmark needs and the protocol does not state;
 * lab02_protocol_contradictions finds parts that contradict each other. Each returns the number of
 * faults, and the first, with its field, in *e. */
int lab02_protocol_gaps(const struct protocol *p, struct err *e);
int lab02_protocol_contradictions(const struct protocol *p, struct err *e);

#endif
