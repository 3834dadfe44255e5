/* objective.h: reads an objective: the limits that a server must keep, stated before it is
 * measured. One JSON object:
 *
 *   {"schema": "servelab.objective.v1", "name": "interactive decoder", "kind": "serving",
 *    "unit_of_work": "useful_response",
 *    "quality": {"check": "key-recall/1", "min_pass_rate": 0.95},
 *    "structure": {"check": "tool-call/1", "required": false},
 *    "truncation": "reject",
 *    "latency": [{"interval": "client_ttft", "percentile": 99, "below_ms": 800,
 *                 "scope": "population"},
 *                {"interval": "e2e", "below_ms": 20000, "scope": "request"}],
 *    "throughput": {"min_rps": 10, "offered_rps": 12},
 *    "reliability": {"max_failure_rate": 0.001, "failures": ["internal_error", "timed_out"],
 *                    "max_recovery_s": 30},
 *    "resource": {"primary": "usd", "accelerators": 1, "usd_per_accelerator_hour": 2.5,
 *                 "reserve_fraction": 0.35, "count_idle": true},
 *    "hard_limits": {"gpu_memory_gib": 80, "joules_per_response": null},
 *    "workload": {"prompt_tokens": {"fixed": 2048}, "arrivals": "poisson"}}
 *
 * A limit of scope "request" decides whether one request is good. A limit of scope "population"
 * decides whether an operating point is valid. A "training" objective states a quality to reach and
 * the resource it saves; tokens per second is then only a proxy.
 *
 * Reading is strict, because a misspelt limit would be checked by no program: an unknown member is
 * an error that names it and the nearest known one, except under "workload". Required are schema,
 * name and kind; in a limit interval, scope, below_ms and, with scope "population", percentile;
 * check, if quality is there or structure is required; for training also quality.min_pass_rate and
 * resource.primary. For every other member null means the same as leaving it out, and a member that
 * is left out requires nothing. No list may have an entry twice.
 *
 * Not here: judging by an objective: slo.h (limits and value), classify.h (one request), report.h
 * (an operating point).
 */
#ifndef SERVELAB_OBJECTIVE_OBJECTIVE_H
#define SERVELAB_OBJECTIVE_OBJECTIVE_H

#include "base/err.h"
#include "record/intervals.h"

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stdint.h>

#define OBJECTIVE_SCHEMA        "servelab.objective.v1"
#define OBJECTIVE_ANSWER_SCHEMA "servelab.objective-answer.v1" /* lab 01's objective.json */

enum limit_scope { SCOPE_REQUEST, SCOPE_POPULATION };
enum truncation_rule { TRUNCATION_REJECT, TRUNCATION_FIXED_LENGTH }; /* "reject" | "fixed_length" */
enum objective_kind { OBJECTIVE_SERVING, OBJECTIVE_TRAINING };

/* A limit on one latency interval. It is met only if the value is below below_ns. JSON:
 * {"interval", "scope", "below_ms", "percentile"}. Scope "population" needs a percentile of at most
 * three decimals; scope "request" has none. */
struct latency_limit {
    enum interval_id interval;
    enum limit_scope scope;
    int32_t percentile_milli; /* thousandths of a per cent: p99 is 99000; 0 with SCOPE_REQUEST */
    int64_t below_ns;
};

enum { OBJECTIVE_MAX_LIMITS = 16, OBJECTIVE_MAX_FAILURES = 8 };

struct objective {
    char name[96];
    enum objective_kind kind;
    char unit_of_work[48]; /* "useful_response", also when absent */
    struct {
        char check[48];       /* "" when absent */
        double min_pass_rate; /* 0..1, NaN when absent */
    } quality;
    struct {
        char check[48]; /* "" when absent; stated where required */
        bool required;  /* false when absent */
    } structure;
    enum truncation_rule truncation; /* TRUNCATION_REJECT when absent */
    struct latency_limit latency[OBJECTIVE_MAX_LIMITS];
    int32_t n_latency;
    struct {
        double min_rps;     /* NaN when absent */
        double offered_rps; /* NaN when absent */
    } throughput;
    struct {
        double max_failure_rate;                   /* 0..1, NaN when absent */
        char failures[OBJECTIVE_MAX_FAILURES][24]; /* completion reasons that count as failures */
        int32_t n_failures;
        double max_recovery_s; /* NaN when absent */
    } reliability;
    struct {
        char primary[24];    /* "usd", "accelerator_seconds", "joules"; "" when absent */
        double accelerators; /* above 0, NaN when absent */
        double
            usd_per_accelerator_hour; /* NaN when absent: then a value in usd is not computable */
        double reserve_fraction;      /* 0 <= r < 1; 0 when absent */
        bool count_idle;              /* true when absent */
    } resource;
    struct {
        double gpu_memory_gib;      /* NaN when absent */
        double joules_per_response; /* NaN when absent */
    } hard_limits;
    cJSON *workload; /* kept as stated; owned; may be NULL */
};

/* Reads and checks one objective. 0, then objective_release; or -1 with *e naming the member, and
 * *o holds nothing. objective_read also takes lab 01's answer file (schema OBJECTIVE_ANSWER_SCHEMA)
 * and reads its member "objective". */
int objective_read(struct objective *o, const char *path, struct err *e);
int objective_from_json(struct objective *o, const cJSON *obj, struct err *e);
void objective_release(struct objective *o);

#endif
