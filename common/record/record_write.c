/* record_write.c: makes a JSON tree from struct record. See record.h. Not here: files (append.c).
 */
#include "base/json.h"
#include "record/record_internal.h"

#include <math.h>
#include <string.h>

/* Each helper returns false when memory is out. */

static bool put_text(cJSON *obj, const char *key, const char *text) {
    return (*text ? cJSON_AddStringToObject(obj, key, text) : cJSON_AddNullToObject(obj, key)) !=
           NULL;
}

static bool put_count(cJSON *obj, const char *key, int32_t value, int32_t absent) {
    return (value == absent ? cJSON_AddNullToObject(obj, key) : json_add_int(obj, key, value)) !=
           NULL;
}

static bool put_number(cJSON *obj, const char *key, double value) {
    return (isnan(value) ? cJSON_AddNullToObject(obj, key)
                         : cJSON_AddNumberToObject(obj, key, value)) != NULL;
}

/* Adds copies of the members of `extra`, which may be NULL, except those that `obj` has. */
static bool put_extra(cJSON *obj, const cJSON *extra) {
    const cJSON *member;
    cJSON_ArrayForEach(member, extra) {
        if (cJSON_GetObjectItemCaseSensitive(obj, member->string)) continue;
        cJSON *copy = cJSON_Duplicate(member, true);
        if (!copy) return false;
        if (!cJSON_AddItemToObject(obj, member->string, copy)) {
            cJSON_Delete(copy);
            return false;
        }
    }
    return true;
}

static const cJSON *extra_of(const struct record *r, const char *section) {
    return cJSON_GetObjectItemCaseSensitive(r->extra, section);
}

static bool put_workload(cJSON *root, const struct record *r) {
    cJSON *w = cJSON_AddObjectToObject(root, "workload");
    return w && put_text(w, "model", r->workload.model) &&
           put_count(w, "prompt_tokens", r->workload.prompt_tokens, -1) &&
           put_count(w, "max_output_tokens", r->workload.max_output_tokens, -1) &&
           put_count(w, "output_tokens", r->workload.output_tokens, -1) &&
           put_text(w, "decoding", r->workload.decoding) &&
           (r->workload.cached_prompt_tokens < 0 ||
            put_count(w, "cached_prompt_tokens", r->workload.cached_prompt_tokens, -1)) &&
           (r->workload.draft_steps < 0 ||
            put_count(w, "draft_steps", r->workload.draft_steps, -1)) &&
           (r->workload.draft_tokens < 0 ||
            put_count(w, "draft_tokens", r->workload.draft_tokens, -1)) &&
           (r->workload.accepted_draft_tokens < 0 ||
            put_count(w, "accepted_draft_tokens", r->workload.accepted_draft_tokens, -1)) &&
           (!r->workload.paced[0] || put_text(w, "paced", r->workload.paced)) &&
           put_extra(w, extra_of(r, "workload"));
}

static bool put_event(cJSON *events, const struct event *ev) {
    cJSON *item = cJSON_CreateObject();
    if (!item) return false;
    if (!cJSON_AddItemToArray(events, item)) {
        cJSON_Delete(item);
        return false;
    }
    bool ok = cJSON_AddStringToObject(item, "event", event_name(ev->kind)) &&
              cJSON_AddStringToObject(item, "clock", clock_name(ev->clock)) &&
              json_add_int(item, "t_ns", ev->t_ns) &&
              cJSON_AddStringToObject(item, "source", source_name(ev->source)) &&
              cJSON_AddStringToObject(item, "clock_api", ev->clock_api);
    if (ev->kind == EV_TOKEN_SENT) ok = ok && json_add_int(item, "tokens", ev->tokens);
    if (ev->kind == EV_GPU_START || ev->kind == EV_GPU_END)
        ok = ok && cJSON_AddStringToObject(item, "range", ev->range);
    return ok && put_extra(item, ev->extra);
}

static bool put_events(cJSON *root, const struct record *r) {
    cJSON *events = cJSON_AddArrayToObject(root, "events");
    for (size_t i = 0; events && i < r->n_events; i++)
        if (!put_event(events, &r->events[i])) return false;
    return events;
}

static bool put_offsets(cJSON *root, const struct record *r) {
    if (!r->n_offsets) return true;
    cJSON *offsets = cJSON_AddArrayToObject(root, "clock_offsets");
    const cJSON *extra = extra_of(r, "clock_offsets");
    for (size_t i = 0; offsets && i < r->n_offsets; i++) {
        const struct clock_offset *o = &r->offsets[i];
        cJSON *item = cJSON_CreateObject();
        if (!item) return false;
        if (!cJSON_AddItemToArray(offsets, item)) {
            cJSON_Delete(item);
            return false;
        }
        if (!cJSON_AddStringToObject(item, "a", clock_name(o->a)) ||
            !cJSON_AddStringToObject(item, "b", clock_name(o->b)) ||
            !json_add_int(item, "offset_ns", o->offset_ns) ||
            !json_add_int(item, "uncertainty_ns", o->uncertainty_ns) ||
            !put_extra(item, cJSON_GetArrayItem(extra, (int)i)))
            return false;
    }
    return offsets;
}

static bool put_outcome(cJSON *root, const struct record *r) {
    cJSON *o = cJSON_AddObjectToObject(root, "outcome");
    return o && cJSON_AddBoolToObject(o, "delivered", r->outcome.delivered) &&
           put_count(o, "http_status", r->outcome.http_status, 0) &&
           put_text(o, "finish_reason", r->outcome.finish_reason) &&
           put_text(o, "error", r->outcome.error) && put_extra(o, extra_of(r, "outcome"));
}

static bool put_checked(cJSON *root, const struct record *r, const char *name, const char *check,
                        enum verdict verdict) {
    cJSON *section = cJSON_AddObjectToObject(root, name);
    return section && put_text(section, "check", check) &&
           cJSON_AddStringToObject(section, "verdict", verdict_name(verdict)) &&
           put_extra(section, extra_of(r, name));
}

static bool put_resources(cJSON *root, const struct record *r) {
    cJSON *section = cJSON_AddObjectToObject(root, "resources");
    return section && put_number(section, "gpu_seconds", r->resources.gpu_seconds) &&
           put_number(section, "joules", r->resources.joules) &&
           put_extra(section, extra_of(r, "resources"));
}

cJSON *record_to_json(const struct record *r) {
    cJSON *root = cJSON_CreateObject();
    bool ok = root && cJSON_AddStringToObject(root, "schema", RECORD_SCHEMA) &&
              cJSON_AddStringToObject(root, "request_id", r->request_id) &&
              json_add_int(root, "attempt", r->attempt) && put_workload(root, r) &&
              put_events(root, r) && put_offsets(root, r) && put_outcome(root, r) &&
              put_checked(root, r, "quality", r->quality.check, r->quality.verdict) &&
              put_checked(root, r, "structure", r->structure.check, r->structure.verdict) &&
              put_resources(root, r) && put_text(root, "statement", r->statement) &&
              put_extra(root, r->extra);
    if (ok) return root;
    cJSON_Delete(root);
    return NULL;
}
