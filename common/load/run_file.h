/* run_file.h: writes run.json, the description of one run of a load: schema "servelab.run.v1".
 *
 *   {"schema", "started_utc", "command_line", "valid", "invalid_reasons": [..], "interrupted",
 *    "paced": null | "llama-2-7b on h100",
 *    "workload": {"arrivals", "requests", "rate_rps", ..., "seed", "prompt_salt",
 *                 "prompts": "token_ids" | "words", "route", "ignore_eos", ...},
 *    "schedule": {"clock_api", "ahead_of_monotonic_ns", "first_t_ns", "last_t_ns",
 * "window_from_t_ns", "window_to_t_ns", "warm_up_s", "cool_down_s", "duration_s", "rule"},
 *    "counts": {...}, "lag": {...}, "records": {...},
 *    "client": {"version", "libcurl", "machine", "busy_fraction", ...},
 *    "server": {"url", "model", "keeps_records", "models", "health_before", "health_after"}}
 *
 * The same seed and flags give the same schedule; the scheduled time of each request is in its
 * record, as "scheduled_t_ns" of request_submitted. Times "_t_ns" are of one clock, the client's;
 * "ahead_of_monotonic_ns" is how much more it reads than its machine's CLOCK_MONOTONIC.
 */
#ifndef SERVELAB_LOAD_RUN_FILE_H
#define SERVELAB_LOAD_RUN_FILE_H

#include "load/generator.h"
#include "load/results.h"

#include <cjson/cJSON.h>

#define RUN_SCHEMA "servelab.run.v1"

struct run_file {
    const struct load_job *job;
    const struct workload_spec *spec;
    const struct workload_facts *facts; /* of a trace */
    const struct load_results *results;
    const struct outbox_counts *records;
    const char *command_line, *url;
    const char *route;                         /* "/v1/completions" */
    char started_utc[32];                      /* "2026-01-31T12:00:00Z" */
    char paced[96];                            /* "": not paced, as far as the server says */
    const cJSON *models;                       /* of GET /v1/models; may be NULL */
    const cJSON *health_before, *health_after; /* of GET /health; may be NULL */
};

void run_file_stamp(struct run_file *f); /* started_utc is now */

/* A new tree. */
cJSON *run_file_json(const struct run_file *f);

/* Writes it as `path`, whole or not at all. */
int run_file_write(const char *path, const cJSON *tree, struct err *e);

#endif
