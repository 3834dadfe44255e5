/* stamps.c: the server's own events, stamped where they happen (serve/stamps.h has the rules).
 *
 * One idea: read the clock first, then do everything else. Work between the event and the reading
 * of the clock would be measured as part of the interval. Not here: whether an event happened; the
 * caller calls these functions where it does.
 */
#include "serve/stamps.h"
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include <string.h>

static struct event at(const struct clock *c, enum event_kind kind, enum event_source source) {
    struct event ev = {.t_ns = clock_now_ns(c), .kind = kind, .clock = CLOCK_SERVER};
    ev.source = source;
    strcpy(ev.clock_api, c->api);
    return ev;
}

/* A record that is full takes no more events: a missing stamp is absent, never invented. */
static void add(struct record *r, const struct event *ev) {
    (void)record_add_event(r, ev, NULL);
}

static void stamp(struct record *r, const struct clock *c, enum event_kind kind,
                  enum event_source source) {
    struct event ev = at(c, kind, source);
    add(r, &ev);
}
// END SOLUTION

void stamp_accepted(struct record *r, const struct clock *c) {
    // BEGIN SOLUTION
    //| LAB_TODO("stamp_accepted");
    stamp(r, c, EV_REQUEST_ACCEPTED, SRC_SERVER_LOG);
    // END SOLUTION
}

void stamp_tokenized(struct record *r, const struct clock *c, int32_t prompt_tokens) {
    // BEGIN SOLUTION
    //| LAB_TODO("stamp_tokenized");
    stamp(r, c, EV_TOKENIZATION_FINISHED, SRC_SERVER_LOG);
    r->workload.prompt_tokens = prompt_tokens;
    // END SOLUTION
}

void stamp_admitted(struct record *r, const struct clock *c) {
    // BEGIN SOLUTION
    //| LAB_TODO("stamp_admitted");
    struct event ev = at(c, EV_REQUEST_ADMITTED, SRC_SCHEDULER_LOG);
    if (record_event(r, EV_REQUEST_ADMITTED)) ev.kind = EV_REQUEST_RESUMED;
    add(r, &ev);
    // END SOLUTION
}

void stamp_preempted(struct record *r, const struct clock *c) {
    // BEGIN SOLUTION
    //| LAB_TODO("stamp_preempted");
    stamp(r, c, EV_REQUEST_PREEMPTED, SRC_SCHEDULER_LOG);
    // END SOLUTION
}

void stamp_first_token(struct record *r, const struct clock *c) {
    // BEGIN SOLUTION
    //| LAB_TODO("stamp_first_token");
    struct event ev = at(c, EV_FIRST_TOKEN, SRC_SERVER_LOG);
    if (!record_event(r, EV_FIRST_TOKEN)) add(r, &ev);
    // END SOLUTION
}

void stamp_token_sent(struct record *r, const struct clock *c, int32_t tokens) {
    // BEGIN SOLUTION
    //| LAB_TODO("stamp_token_sent");
    struct event ev = at(c, EV_TOKEN_SENT, SRC_SERVER_LOG);
    ev.tokens = tokens;
    add(r, &ev);
    // END SOLUTION
}

void stamp_finished(struct record *r, const struct clock *c) {
    // BEGIN SOLUTION
    //| LAB_TODO("stamp_finished");
    stamp(r, c, EV_RESPONSE_FINISHED, SRC_SERVER_LOG);
    // END SOLUTION
}

void stamp_rejected(struct record *r, const struct clock *c) {
    // BEGIN SOLUTION
    //| LAB_TODO("stamp_rejected");
    stamp(r, c, EV_REQUEST_REJECTED, SRC_SERVER_LOG);
    // END SOLUTION
}

void stamp_cancelled(struct record *r, const struct clock *c) {
    // BEGIN SOLUTION
    //| LAB_TODO("stamp_cancelled");
    stamp(r, c, EV_REQUEST_CANCELLED, SRC_SERVER_LOG);
    // END SOLUTION
}

void stamp_failed(struct record *r, const struct clock *c) {
    // BEGIN SOLUTION
    //| LAB_TODO("stamp_failed");
    stamp(r, c, EV_REQUEST_FAILED, SRC_SERVER_LOG);
    // END SOLUTION
}
