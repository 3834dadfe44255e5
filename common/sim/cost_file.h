/* cost_file.h: a fitted cost model as a file, schema "servelab.cost.v1": what `servelab sim
 * calibrate` writes and `servelab sim run --cost` reads.
 *
 *   {"schema": "servelab.cost.v1",
 *    "machine": "cpu, paced as llama-2-7b on a100", "steps": 1783,
 *    "kv_blocks": 7609, "token_budget": 2048, "max_batch": 256,
 *    "cost": {"memory_fixed_ps", "memory_per_context_ps", "compute_per_token_ps",
 *             "compute_per_attended_fs", "head_compute_ps", "overhead_ns", "tile_tokens",
 *             "tile_from_tokens", "overlap_loss_1024"},
 *    "residuals": {"prefill": {"steps", "median", "p90", "bias", "total"}, "decode", "mixed",
 * "all"}}
 *
 * The members of "cost" are those of struct cost_model. "tile_tokens" is 1 without tiles, and else
 * a power of two. Residuals are relative errors of a step's time; they are not read again.
 */
#ifndef SERVELAB_SIM_COST_FILE_H
#define SERVELAB_SIM_COST_FILE_H

#include "sim/cost_fit.h"

#include <cjson/cJSON.h>

#define COST_FILE_SCHEMA "servelab.cost.v1"

/* The server whose steps were fitted, and its cost. */
struct cost_file {
    char machine[200];
    int32_t kv_blocks, token_budget, max_batch;
    struct cost_model cost;
};

/* A new tree; NULL when memory is out. */
cJSON *cost_file_json(const struct cost_file *f, const struct cost_fit *fit);

/* 0, or -1 and *e with the field. */
int cost_file_read(struct cost_file *f, const char *path, struct err *e);

/* Can a step with these limits take more than 100 days? Its time could then overflow, so the
 * simulator refuses it. */
bool cost_overflows(const struct cost_model *m, int64_t token_budget, int64_t kv_blocks);

#endif
