/* record_read.c: reads struct record from a JSON tree or from text. See record.h. This reader
 * defines what a record is; record_fast.c does the same faster for usual lines. Not here: rules
 * about more than one member (validate.c).
 */
#include "base/json.h"
#include "record/record_internal.h"

#include <stdio.h>
#include <string.h>

/* Copies a text member into dst[cap]. If it is not `required`, null and missing leave dst empty. */
static int read_text(const cJSON *obj, const char *path, const char *key, bool required, char *dst,
                     size_t cap, struct err *e) {
    const char *text = "";
    bool found;
    int status = required ? json_get_string(obj, path, key, &text, e)
                          : json_get_string_opt(obj, path, key, &text, &found, e);
    if (status) return -1;
    size_t length = strlen(text);
    if (length >= cap) {
        char field[sizeof e->field];
        snprintf(field, sizeof field, "%s%s%s", path, *path ? "." : "", key);
        return err_at(e, 0, field, "has %zu bytes; at most %zu are kept", length, cap - 1);
    }
    memcpy(dst, text, length + 1);
    return 0;
}

static int read_count(const cJSON *obj, const char *path, const char *key, int32_t lo, int32_t hi,
                      int32_t *out, struct err *e) {
    int64_t value;
    bool found;
    if (json_get_int_opt(obj, path, key, lo, hi, &value, &found, e)) return -1;
    if (found) *out = (int32_t)value;
    return 0;
}

/* A text member that must be a name that `from_name` knows. */
static int read_name(const cJSON *obj, const char *path, const char *key,
                     int (*from_name)(const char *), const char *known, int *out, struct err *e) {
    const char *name;
    char field[sizeof e->field];
    if (json_get_string(obj, path, key, &name, e)) return -1;
    *out = from_name(name);
    if (*out >= 0) return 0;
    snprintf(field, sizeof field, "%s%s%s", path, *path ? "." : "", key);
    return err_at(e, 0, field, "'%.60s' is unknown; known are %s", name, known);
}

/* Adds copies of the members of `obj` that are not in `known` (NULL-terminated) to *extra. */
static int keep_unknown(const cJSON *obj, const char *const *known, cJSON **extra, struct err *e) {
    const cJSON *member;
    cJSON_ArrayForEach(member, obj) {
        const char *const *k = known;
        while (*k && strcmp(*k, member->string)) k++;
        if (*k) continue;
        if (!*extra) *extra = cJSON_CreateObject();
        cJSON *copy = cJSON_Duplicate(member, true);
        if (!*extra || !copy || !cJSON_AddItemToObject(*extra, member->string, copy)) {
            cJSON_Delete(copy);
            return err_set(e, "memory is out");
        }
    }
    return 0;
}

/* The same for a section; the copies are in r->extra under the section's name. */
static int keep_unknown_of(struct record *r, const cJSON *section, const char *name,
                           const char *const *known, struct err *e) {
    cJSON *extra = NULL;
    if (keep_unknown(section, known, &extra, e)) {
        cJSON_Delete(extra);
        return -1;
    }
    if (!extra) return 0;
    if (!r->extra) r->extra = cJSON_CreateObject();
    if (r->extra && cJSON_AddItemToObject(r->extra, name, extra)) return 0;
    cJSON_Delete(extra);
    return err_set(e, "memory is out");
}

/* An optional section: NULL when it is missing or null. */
static int optional_section(const cJSON *obj, const char *key, const cJSON **out, struct err *e) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(obj, key);
    *out = NULL;
    if (!v || cJSON_IsNull(v)) return 0;
    return json_get_object(obj, "", key, out, e);
}

static int read_workload(struct record *r, const cJSON *obj, struct err *e) {
    static const char *const known[] = {"model",
                                        "prompt_tokens",
                                        "max_output_tokens",
                                        "output_tokens",
                                        "decoding",
                                        "cached_prompt_tokens",
                                        "paced",
                                        "draft_steps",
                                        "draft_tokens",
                                        "accepted_draft_tokens",
                                        NULL};
    const cJSON *w;
    if (json_get_object(obj, "", "workload", &w, e)) return -1;
    if (read_text(w, "workload", "model", false, r->workload.model, sizeof r->workload.model, e) ||
        read_count(w, "workload", "prompt_tokens", 0, INT32_MAX, &r->workload.prompt_tokens, e) ||
        read_count(w, "workload", "max_output_tokens", 0, INT32_MAX, &r->workload.max_output_tokens,
                   e) ||
        read_count(w, "workload", "output_tokens", 0, INT32_MAX, &r->workload.output_tokens, e) ||
        read_count(w, "workload", "cached_prompt_tokens", 0, INT32_MAX,
                   &r->workload.cached_prompt_tokens, e) ||
        read_count(w, "workload", "draft_steps", 0, INT32_MAX, &r->workload.draft_steps, e) ||
        read_count(w, "workload", "draft_tokens", 0, INT32_MAX, &r->workload.draft_tokens, e) ||
        read_count(w, "workload", "accepted_draft_tokens", 0, INT32_MAX,
                   &r->workload.accepted_draft_tokens, e) ||
        read_text(w, "workload", "decoding", false, r->workload.decoding,
                  sizeof r->workload.decoding, e) ||
        read_text(w, "workload", "paced", false, r->workload.paced, sizeof r->workload.paced, e))
        return -1;
    return keep_unknown_of(r, w, "workload", known, e);
}

static int read_event(struct record *r, const cJSON *item, const char *path, struct err *e) {
    static const char *const known[] = {"event",     "clock",  "t_ns",  "source",
                                        "clock_api", "tokens", "range", NULL};
    struct event ev = {0};
    int kind, clock, source;
    bool found;
    int64_t tokens = 0;
    if (read_name(item, path, "event", event_from_name,
                  "request_submitted, request_accepted, request_admitted, first_token, "
                  "first_byte_received, final_byte_received and those in record.h",
                  &kind, e) ||
        read_name(item, path, "clock", clock_from_name, "browser, server, gpu, sim", &clock, e) ||
        json_get_int(item, path, "t_ns", 0, JSON_MAX_INT, &ev.t_ns, e) ||
        read_name(item, path, "source", source_from_name,
                  "browser, client, server_log, scheduler_log, cuda_event, profiler, simulator, "
                  "authored",
                  &source, e) ||
        read_text(item, path, "clock_api", true, ev.clock_api, sizeof ev.clock_api, e) ||
        read_text(item, path, "range", kind == EV_GPU_START || kind == EV_GPU_END, ev.range,
                  sizeof ev.range, e))
        return -1;
    int status = kind == EV_TOKEN_SENT
                     ? json_get_int(item, path, "tokens", 0, INT32_MAX, &tokens, e)
                     : json_get_int_opt(item, path, "tokens", 0, INT32_MAX, &tokens, &found, e);
    if (status) return -1;
    ev.kind = kind;
    ev.clock = clock;
    ev.source = source;
    ev.tokens = (int32_t)tokens;
    if (record_add_event(r, &ev, e)) return -1;
    return keep_unknown(item, known, &r->events[r->n_events - 1].extra, e);
}

static int read_events(struct record *r, const cJSON *obj, struct err *e) {
    const cJSON *events, *item;
    char path[32];
    if (json_get_array(obj, "", "events", &events, e)) return -1;
    cJSON_ArrayForEach(item, events) {
        snprintf(path, sizeof path, "events[%zu]", r->n_events);
        if (!cJSON_IsObject(item)) return err_at(e, 0, path, "must be an object");
        if (read_event(r, item, path, e)) return -1;
    }
    return 0;
}

static int read_offset(struct record *r, const cJSON *item, const char *path, struct err *e) {
    int a, b;
    struct clock_offset *o = &r->offsets[r->n_offsets];
    if (!cJSON_IsObject(item)) return err_at(e, 0, path, "must be an object");
    if (r->n_offsets == sizeof r->offsets / sizeof *r->offsets)
        return err_at(e, 0, path, "more offsets than the clocks can need");
    if (read_name(item, path, "a", clock_from_name, "browser, server, gpu, sim", &a, e) ||
        read_name(item, path, "b", clock_from_name, "browser, server, gpu, sim", &b, e) ||
        json_get_int(item, path, "offset_ns", -JSON_MAX_INT, JSON_MAX_INT, &o->offset_ns, e) ||
        json_get_int(item, path, "uncertainty_ns", 0, JSON_MAX_INT, &o->uncertainty_ns, e))
        return -1;
    o->a = a;
    o->b = b;
    r->n_offsets++;
    return 0;
}

/* Unknown members of offsets are in r->extra as an array parallel to the offsets. */
static int read_offsets(struct record *r, const cJSON *obj, struct err *e) {
    static const char *const known[] = {"a", "b", "offset_ns", "uncertainty_ns", NULL};
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(obj, "clock_offsets"), *item;
    char path[48];
    bool any = false;
    if (!offsets || cJSON_IsNull(offsets)) return 0;
    if (json_get_array(obj, "", "clock_offsets", &offsets, e)) return -1;
    cJSON *kept = cJSON_CreateArray();
    cJSON_ArrayForEach(item, offsets) {
        cJSON *extra = cJSON_CreateObject();
        snprintf(path, sizeof path, "clock_offsets[%zu]", r->n_offsets);
        if (!cJSON_AddItemToArray(kept, extra)) cJSON_Delete(extra);
        if (read_offset(r, item, path, e) || keep_unknown(item, known, &extra, e)) {
            cJSON_Delete(kept);
            return -1;
        }
        any = any || extra->child;
    }
    if (!any) {
        cJSON_Delete(kept);
        return 0;
    }
    if (!r->extra) r->extra = cJSON_CreateObject();
    if (r->extra && cJSON_AddItemToObject(r->extra, "clock_offsets", kept)) return 0;
    cJSON_Delete(kept);
    return err_set(e, "memory is out");
}

static int read_outcome(struct record *r, const cJSON *obj, struct err *e) {
    static const char *const known[] = {"delivered", "http_status", "finish_reason", "error", NULL};
    const cJSON *o;
    if (json_get_object(obj, "", "outcome", &o, e)) return -1;
    if (json_get_bool(o, "outcome", "delivered", &r->outcome.delivered, e) ||
        read_count(o, "outcome", "http_status", 100, 599, &r->outcome.http_status, e) ||
        read_text(o, "outcome", "finish_reason", false, r->outcome.finish_reason,
                  sizeof r->outcome.finish_reason, e) ||
        read_text(o, "outcome", "error", false, r->outcome.error, sizeof r->outcome.error, e))
        return -1;
    return keep_unknown_of(r, o, "outcome", known, e);
}

/* "quality" or "structure": a check and its verdict. */
static int read_checked(struct record *r, const cJSON *obj, const char *name, char *check,
                        size_t cap, enum verdict *verdict, struct err *e) {
    static const char *const known[] = {"check", "verdict", NULL};
    const cJSON *section;
    int v;
    if (optional_section(obj, name, &section, e)) return -1;
    if (!section) return 0;
    if (read_text(section, name, "check", false, check, cap, e) ||
        read_name(section, name, "verdict", verdict_from_name,
                  "passed, failed, not_evaluated (quality), not_required (structure)", &v, e))
        return -1;
    *verdict = v;
    return keep_unknown_of(r, section, name, known, e);
}

static int read_resources(struct record *r, const cJSON *obj, struct err *e) {
    static const char *const known[] = {"gpu_seconds", "joules", NULL};
    const cJSON *section;
    bool found;
    if (optional_section(obj, "resources", &section, e)) return -1;
    if (!section) return 0;
    if (json_get_number_opt(section, "resources", "gpu_seconds", &r->resources.gpu_seconds, &found,
                            e) ||
        json_get_number_opt(section, "resources", "joules", &r->resources.joules, &found, e))
        return -1;
    return keep_unknown_of(r, section, "resources", known, e);
}

static int read_schema(const cJSON *obj, struct err *e) {
    const char *schema;
    if (!cJSON_IsObject(obj))
        return err_at(e, 0, "", "a record is a JSON object: {\"schema\": ...}");
    if (json_get_string(obj, "", "schema", &schema, e)) return -1;
    if (!strcmp(schema, RECORD_SCHEMA)) return 0;
    return err_at(e, 0, "schema", "'%.60s' is unknown; this program reads %s", schema,
                  RECORD_SCHEMA);
}

int record_fill(struct record *r, const cJSON *obj, struct err *e) {
    static const char *const known[] = {"schema",    "request_id", "attempt",       "workload",
                                        "events",    "outcome",    "clock_offsets", "quality",
                                        "structure", "resources",  "statement",     NULL};
    int64_t attempt;
    if (read_schema(obj, e) ||
        read_text(obj, "", "request_id", true, r->request_id, sizeof r->request_id, e) ||
        json_get_int(obj, "", "attempt", 1, INT32_MAX, &attempt, e) || read_workload(r, obj, e) ||
        read_events(r, obj, e) || read_offsets(r, obj, e) || read_outcome(r, obj, e) ||
        read_checked(r, obj, "quality", r->quality.check, sizeof r->quality.check,
                     &r->quality.verdict, e) ||
        read_checked(r, obj, "structure", r->structure.check, sizeof r->structure.check,
                     &r->structure.verdict, e) ||
        read_resources(r, obj, e) ||
        read_text(obj, "", "statement", false, r->statement, sizeof r->statement, e) ||
        keep_unknown(obj, known, &r->extra, e))
        return -1;
    r->attempt = (int32_t)attempt;
    return record_validate(r, e);
}

int record_from_json(struct record *r, const cJSON *obj, int first_line, struct err *e) {
    record_init(r);
    if (!record_fill(r, obj, e)) return 0;
    record_release(r);
    if (e) e->line = first_line;
    return -1;
}

int record_parse(struct record *r, const char *text, size_t n, int first_line, struct err *e) {
    struct err mine;
    if (!e) e = &mine;
    cJSON *tree = json_parse(text, n, first_line, e);
    if (!tree) return -1;
    int status = record_from_json(r, tree, first_line, e);
    if (status) e->line = json_line_of(text, n, first_line, e->field);
    cJSON_Delete(tree);
    return status;
}
