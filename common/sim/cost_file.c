/* cost_file.c: see cost_file.h. */
#include "sim/cost_file.h"

#include "base/buffer.h"
#include "base/json.h"
#include "sched/policy.h"

#include <math.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

static void add_real(cJSON *o, const char *key, double v) {
    if (isfinite(v))
        cJSON_AddNumberToObject(o, key, round(v * 1e6) / 1e6);
    else
        cJSON_AddNullToObject(o, key);
}

static void add_cost(cJSON *o, const struct cost_model *m) {
    json_add_int(o, "memory_fixed_ps", m->memory_fixed_ps);
    json_add_int(o, "memory_per_context_ps", m->memory_per_context_ps);
    json_add_int(o, "compute_per_token_ps", m->compute_per_token_ps);
    json_add_int(o, "compute_per_attended_fs", m->compute_per_attended_fs);
    json_add_int(o, "head_compute_ps", m->head_compute_ps);
    json_add_int(o, "overhead_ns", m->overhead_ns);
    json_add_int(o, "tile_tokens", m->tile_mask + 1);
    json_add_int(o, "tile_from_tokens", m->tile_from);
    json_add_int(o, "overlap_loss_1024", m->overlap_loss_1024);
}

cJSON *cost_file_json(const struct cost_file *f, const struct cost_fit *fit) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "schema", COST_FILE_SCHEMA);
    cJSON_AddStringToObject(o, "machine", f->machine);
    json_add_int(o, "steps", fit->residuals[STEP_ALL].n);
    json_add_int(o, "kv_blocks", f->kv_blocks);
    json_add_int(o, "token_budget", f->token_budget);
    json_add_int(o, "max_batch", f->max_batch);
    add_cost(cJSON_AddObjectToObject(o, "cost"), &fit->model);
    cJSON *all = cJSON_AddObjectToObject(o, "residuals");
    for (int kind = 0; kind < STEP_KINDS; kind++) {
        const struct cost_residual *r = &fit->residuals[kind];
        cJSON *one = cJSON_AddObjectToObject(all, step_kind_names[kind]);
        json_add_int(one, "steps", r->n);
        add_real(one, "median", r->median);
        add_real(one, "p90", r->p90);
        add_real(one, "bias", r->bias);
        add_real(one, "total", r->total);
    }
    return o;
}

/* ---- reading --------------------------------------------------------------------------------- */

enum { MOST_TOKENS = 1 << 28 }; /* as the flags of `servelab sim` allow */
#define MOST_PS JSON_MAX_INT

static int read_cost(const cJSON *o, struct cost_model *m, struct err *e) {
    const char *path = "cost";
    int64_t tile, from, loss;
    *m = (struct cost_model){.kind = COST_TRANSFORMER};
    if (json_get_int(o, path, "memory_fixed_ps", 0, MOST_PS, &m->memory_fixed_ps, e) ||
        json_get_int(o, path, "memory_per_context_ps", 0, MOST_PS, &m->memory_per_context_ps, e) ||
        json_get_int(o, path, "compute_per_token_ps", 0, MOST_PS, &m->compute_per_token_ps, e) ||
        json_get_int(o, path, "compute_per_attended_fs", 0, MOST_PS, &m->compute_per_attended_fs,
                     e) ||
        json_get_int(o, path, "head_compute_ps", 0, MOST_PS, &m->head_compute_ps, e) ||
        json_get_int(o, path, "overhead_ns", 0, MOST_PS / 1000, &m->overhead_ns, e) ||
        json_get_int(o, path, "tile_tokens", 1, 1 << 16, &tile, e) ||
        json_get_int(o, path, "tile_from_tokens", 0, 1 << 16, &from, e) ||
        json_get_int(o, path, "overlap_loss_1024", 0, 1024, &loss, e))
        return -1;
    if (tile & (tile - 1))
        return err_at(e, 0, "cost.tile_tokens", "is %d, which is no power of two", (int)tile);
    m->tile_mask = (int32_t)tile - 1;
    m->tile_from = (int32_t)from;
    m->overlap_loss_1024 = (int32_t)loss;
    if (cost_iteration_ns(m, &(struct sim_work){.requests = 1, .new_tokens = 1}) > 0) return 0;
    return err_at(e, 0, "cost", "a step takes no time at all");
}

static int read_tree(struct cost_file *f, const cJSON *o, struct err *e) {
    const char *schema, *machine;
    const cJSON *cost;
    int64_t blocks, budget, batch;
    if (json_get_string(o, "", "schema", &schema, e)) return -1;
    if (strcmp(schema, COST_FILE_SCHEMA) != 0)
        return err_at(e, 0, "schema", "is '%.60s', not '" COST_FILE_SCHEMA "'", schema);
    if (json_get_string(o, "", "machine", &machine, e) ||
        json_get_int(o, "", "kv_blocks", 1, MOST_TOKENS, &blocks, e) ||
        json_get_int(o, "", "token_budget", 1, MOST_TOKENS, &budget, e) ||
        json_get_int(o, "", "max_batch", 1, MOST_TOKENS, &batch, e) ||
        json_get_object(o, "", "cost", &cost, e) || read_cost(cost, &f->cost, e))
        return -1;
    text_cut(f->machine, sizeof f->machine, machine);
    f->kv_blocks = (int32_t)blocks;
    f->token_budget = (int32_t)budget;
    f->max_batch = (int32_t)batch;
    return 0;
}

int cost_file_read(struct cost_file *f, const char *path, struct err *e) {
    *f = (struct cost_file){0};
    cJSON *o = json_parse_file(path, e);
    int rc = o ? read_tree(f, o, e) : -1;
    cJSON_Delete(o);
    return rc;
}

bool cost_overflows(const struct cost_model *m, int64_t token_budget, int64_t kv_blocks) {
    double tokens = (double)token_budget + m->tile_mask;
    double context = (double)kv_blocks * KV_BLOCK_TOKENS + tokens;
    double matrices =
        2 * fmax((double)m->memory_fixed_ps, tokens * (double)m->compute_per_token_ps);
    double attention = fmax(context * (double)m->memory_per_context_ps,
                            tokens * context * (double)m->compute_per_attended_fs / 1000);
    double head = tokens * (double)m->head_compute_ps;
    return matrices + attention + head + (double)m->overhead_ns * 1000 > 8.64e18;
}
