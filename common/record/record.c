/* record.c: a request record in memory: its life and its events. See record.h.
 * Not here: JSON (record_read.c, record_write.c), the rules (validate.c), the join of two halves
 * (join.c), files (log.c).
 */
#include "record/record_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void record_init(struct record *r) {
    *r = (struct record){
        .attempt = 1,
        .workload = {.prompt_tokens = -1,
                     .max_output_tokens = -1,
                     .output_tokens = -1,
                     .cached_prompt_tokens = -1,
                     .draft_steps = -1,
                     .draft_tokens = -1,
                     .accepted_draft_tokens = -1},
        .quality.verdict = VERDICT_NOT_EVALUATED,
        .structure.verdict = VERDICT_NOT_REQUIRED,
        .resources = {.gpu_seconds = NAN, .joules = NAN},
    };
}

static void delete_extras(struct record *r) {
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].extra) cJSON_Delete(r->events[i].extra);
    cJSON_Delete(r->extra);
}

void record_release(struct record *r) {
    delete_extras(r);
    free(r->events);
    record_init(r);
}

void record_reset(struct record *r) {
    struct event *events = r->events;
    size_t cap = r->cap_events;
    delete_extras(r);
    record_init(r);
    r->events = events;
    r->cap_events = cap;
}

int record_copy(struct record *to, const struct record *from, struct err *e) {
    *to = *from;
    to->cap_events = from->n_events;
    to->events = malloc(from->n_events * sizeof *to->events + 1);
    to->extra = from->extra ? cJSON_Duplicate(from->extra, true) : NULL;
    to->n_events = 0;
    bool ok = to->events && !to->extra == !from->extra;
    for (size_t i = 0; ok && i < from->n_events; i++) {
        struct event *ev = &to->events[to->n_events++];
        *ev = from->events[i];
        if (ev->extra) ok = (ev->extra = cJSON_Duplicate(ev->extra, true)) != NULL;
    }
    if (ok) return 0;
    record_release(to);
    return err_set(e, "no memory for a copy of a record");
}

int record_add_event(struct record *r, const struct event *ev, struct err *e) {
    if (r->n_events == RECORD_MAX_EVENTS)
        return err_at(e, 0, "events", "more than %d events in one record", RECORD_MAX_EVENTS);
    if (r->n_events == r->cap_events) {
        size_t cap = r->cap_events ? r->cap_events * 2 : 16;
        struct event *wider = realloc(r->events, cap * sizeof *wider);
        if (!wider) return err_at(e, 0, "events", "memory is out for %zu events", cap);
        r->events = wider;
        r->cap_events = cap;
    }
    r->events[r->n_events] = *ev;
    r->events[r->n_events++].extra = NULL;
    return 0;
}

const struct event *record_event(const struct record *r, enum event_kind kind) {
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].kind == kind) return &r->events[i];
    return NULL;
}

bool record_client_only(const struct record *r) {
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].kind != EV_REQUEST_SUBMITTED &&
            r->events[i].kind != EV_FIRST_BYTE_RECEIVED &&
            r->events[i].kind != EV_FINAL_BYTE_RECEIVED)
            return false;
    return true;
}

const struct event *record_last_event(const struct record *r, enum event_kind kind) {
    for (size_t i = r->n_events; i-- > 0;)
        if (r->events[i].kind == kind) return &r->events[i];
    return NULL;
}
