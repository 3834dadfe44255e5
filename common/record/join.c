/* join.c: the server's half and the client's half of a record become one. See record_join in
 * record.h.
 */
#include "record/record_internal.h"

#include <math.h>
#include <string.h>

static int conflict(struct err *e, const char *field);
static int join_fields(struct record *into, const struct record *from, struct err *e);
static int join_events(struct record *into, const struct record *from, struct err *e);
static int join_offsets(struct record *into, const struct record *from, struct err *e);
static int join_extra(cJSON **into, const cJSON *from, int levels, struct err *e);

int record_join(struct record *into, const struct record *from, struct err *e) {
    if (strcmp(into->request_id, from->request_id)) return conflict(e, "request_id");
    if (into->attempt != from->attempt) return conflict(e, "attempt");
    struct record saved = *into;
    cJSON *extra = into->extra ? cJSON_Duplicate(into->extra, true) : NULL;
    if (into->extra && !extra) return err_set(e, "memory is out");
    into->extra = extra;
    if (join_fields(into, from, e) || join_offsets(into, from, e) || join_events(into, from, e) ||
        join_extra(&into->extra, from->extra, 1, e) || record_validate_parts(into, e)) {
        for (size_t i = saved.n_events; i < into->n_events; i++)
            cJSON_Delete(into->events[i].extra);
        cJSON_Delete(into->extra);
        saved.events = into->events; /* the array may have moved */
        saved.cap_events = into->cap_events;
        *into = saved;
        return -1;
    }
    cJSON_Delete(saved.extra);
    return 0;
}

static int conflict(struct err *e, const char *field) {
    return err_at(e, 0, field, "the two halves of the record differ here; keep one");
}

static int join_text(char *into, const char *from, size_t cap, const char *field, struct err *e) {
    if (!*from || !strcmp(into, from)) return 0;
    if (*into) return conflict(e, field);
    memcpy(into, from, cap);
    return 0;
}

static int join_int(int32_t *into, int32_t from, int32_t absent, const char *field, struct err *e) {
    if (from == absent || *into == from) return 0;
    if (*into != absent) return conflict(e, field);
    *into = from;
    return 0;
}

static int join_number(double *into, double from, const char *field, struct err *e) {
    if (isnan(from) || *into == from) return 0;
    if (!isnan(*into)) return conflict(e, field);
    *into = from;
    return 0;
}

static int join_verdict(enum verdict *into, enum verdict from, enum verdict absent,
                        const char *field, struct err *e) {
    if (from == absent || *into == from) return 0;
    if (*into != absent) return conflict(e, field);
    *into = from;
    return 0;
}

#define JOIN_TEXT(member) join_text(into->member, from->member, sizeof into->member, #member, e)

static int join_fields(struct record *into, const struct record *from, struct err *e) {
    into->outcome.delivered |= from->outcome.delivered;
    if (JOIN_TEXT(workload.model) || JOIN_TEXT(workload.decoding) || JOIN_TEXT(workload.paced) ||
        JOIN_TEXT(outcome.finish_reason) || JOIN_TEXT(outcome.error) || JOIN_TEXT(quality.check) ||
        JOIN_TEXT(structure.check) || JOIN_TEXT(statement))
        return -1;
    if (join_int(&into->workload.prompt_tokens, from->workload.prompt_tokens, -1,
                 "workload.prompt_tokens", e) ||
        join_int(&into->workload.max_output_tokens, from->workload.max_output_tokens, -1,
                 "workload.max_output_tokens", e) ||
        join_int(&into->workload.output_tokens, from->workload.output_tokens, -1,
                 "workload.output_tokens", e) ||
        join_int(&into->workload.cached_prompt_tokens, from->workload.cached_prompt_tokens, -1,
                 "workload.cached_prompt_tokens", e) ||
        join_int(&into->workload.draft_steps, from->workload.draft_steps, -1,
                 "workload.draft_steps", e) ||
        join_int(&into->workload.draft_tokens, from->workload.draft_tokens, -1,
                 "workload.draft_tokens", e) ||
        join_int(&into->workload.accepted_draft_tokens, from->workload.accepted_draft_tokens, -1,
                 "workload.accepted_draft_tokens", e) ||
        join_int(&into->outcome.http_status, from->outcome.http_status, 0, "outcome.http_status",
                 e))
        return -1;
    if (join_number(&into->resources.gpu_seconds, from->resources.gpu_seconds,
                    "resources.gpu_seconds", e) ||
        join_number(&into->resources.joules, from->resources.joules, "resources.joules", e))
        return -1;
    if (join_verdict(&into->quality.verdict, from->quality.verdict, VERDICT_NOT_EVALUATED,
                     "quality.verdict", e))
        return -1;
    return join_verdict(&into->structure.verdict, from->structure.verdict, VERDICT_NOT_REQUIRED,
                        "structure.verdict", e);
}

static bool same_event(const struct event *a, const struct event *b) {
    return a->kind == b->kind && a->clock == b->clock && a->source == b->source &&
           a->t_ns == b->t_ns && a->tokens == b->tokens && !strcmp(a->clock_api, b->clock_api) &&
           !strcmp(a->range, b->range);
}

/* Index of the first event of the kind at or after `at`, or n. */
static size_t next_of_kind(const struct event *events, size_t n, size_t at, enum event_kind kind) {
    while (at < n && events[at].kind != kind) at++;
    return at;
}

/* Takes over the events of a kind that *into lacks. If both have events of a kind, they must be the
 * same. */
static int join_events(struct record *into, const struct record *from, struct err *e) {
    size_t had = into->n_events;
    for (enum event_kind kind = 0; kind < EV_N; kind++) {
        size_t i = next_of_kind(into->events, had, 0, kind);
        size_t j = next_of_kind(from->events, from->n_events, 0, kind);
        bool take = i == had;
        if (j == from->n_events) continue;
        while (j < from->n_events || (!take && i < had)) {
            if (take) {
                if (record_add_event(into, &from->events[j], e)) return -1;
                struct event *added = &into->events[into->n_events - 1];
                if (from->events[j].extra &&
                    !(added->extra = cJSON_Duplicate(from->events[j].extra, true)))
                    return err_at(e, 0, "events", "memory is out");
            } else if (i == had || j == from->n_events ||
                       !same_event(&into->events[i], &from->events[j])) {
                return err_at(e, 0, "events", "the two halves of the record have different %s",
                              event_name(kind));
            } else {
                i = next_of_kind(into->events, had, i + 1, kind);
            }
            j = next_of_kind(from->events, from->n_events, j + 1, kind);
        }
    }
    return 0;
}

static int join_offsets(struct record *into, const struct record *from, struct err *e) {
    for (size_t j = 0; j < from->n_offsets; j++) {
        const struct clock_offset *o = &from->offsets[j];
        bool known = false;
        for (size_t i = 0; i < into->n_offsets; i++) {
            const struct clock_offset *mine = &into->offsets[i];
            if (mine->a != o->a || mine->b != o->b) continue;
            if (mine->offset_ns != o->offset_ns || mine->uncertainty_ns != o->uncertainty_ns)
                return conflict(e, "clock_offsets");
            known = true;
        }
        if (known) continue;
        if (into->n_offsets == sizeof into->offsets / sizeof *into->offsets)
            return err_at(e, 0, "clock_offsets", "more offsets than one record can state");
        into->offsets[into->n_offsets++] = *o;
    }
    return 0;
}

/* Copies the members of `from` into *into. A member of both must be equal; if both are objects,
 * they are joined in the same way, one level down. */
static int join_extra(cJSON **into, const cJSON *from, int levels, struct err *e) {
    const cJSON *member;
    if (!from) return 0;
    if (!*into) *into = cJSON_CreateObject();
    cJSON_ArrayForEach(member, from) {
        cJSON *mine = cJSON_GetObjectItemCaseSensitive(*into, member->string);
        if (!mine) {
            cJSON *copy = cJSON_Duplicate(member, true);
            if (!copy || !cJSON_AddItemToObject(*into, member->string, copy))
                return err_set(e, "memory is out");
        } else if (levels > 0 && cJSON_IsObject(mine) && cJSON_IsObject(member)) {
            if (join_extra(&mine, member, levels - 1, e)) return -1;
        } else if (!cJSON_Compare(mine, member, true)) {
            return conflict(e, member->string);
        }
    }
    return *into ? 0 : err_set(e, "memory is out");
}
