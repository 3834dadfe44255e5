/* Another right stamps.c: one function over a table of sources, and no search where a loop does. */
#include "serve/stamps.h"

#include <stdio.h>

static bool there(const struct record *r, enum event_kind kind) {
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].kind == kind) return true;
    return false;
}

static void put(struct record *r, const struct clock *c, int64_t t_ns, enum event_kind kind,
                int32_t tokens) {
    struct event ev = {.kind = kind, .clock = CLOCK_SERVER, .t_ns = t_ns, .tokens = tokens};
    ev.source = kind >= EV_REQUEST_ADMITTED && kind <= EV_REQUEST_RESUMED ? SRC_SCHEDULER_LOG
                                                                          : SRC_SERVER_LOG;
    snprintf(ev.clock_api, sizeof ev.clock_api, "%s", c->api);
    record_add_event(r, &ev, NULL);
}

void stamp_accepted(struct record *r, const struct clock *c) {
    put(r, c, clock_now_ns(c), EV_REQUEST_ACCEPTED, 0);
}
void stamp_tokenized(struct record *r, const struct clock *c, int32_t prompt_tokens) {
    int64_t now = clock_now_ns(c);
    r->workload.prompt_tokens = prompt_tokens;
    put(r, c, now, EV_TOKENIZATION_FINISHED, 0);
}
void stamp_admitted(struct record *r, const struct clock *c) {
    int64_t now = clock_now_ns(c);
    put(r, c, now, there(r, EV_REQUEST_ADMITTED) ? EV_REQUEST_RESUMED : EV_REQUEST_ADMITTED, 0);
}
void stamp_preempted(struct record *r, const struct clock *c) {
    put(r, c, clock_now_ns(c), EV_REQUEST_PREEMPTED, 0);
}
void stamp_first_token(struct record *r, const struct clock *c) {
    int64_t now = clock_now_ns(c);
    if (!there(r, EV_FIRST_TOKEN)) put(r, c, now, EV_FIRST_TOKEN, 0);
}
void stamp_token_sent(struct record *r, const struct clock *c, int32_t tokens) {
    put(r, c, clock_now_ns(c), EV_TOKEN_SENT, tokens);
}
void stamp_finished(struct record *r, const struct clock *c) {
    put(r, c, clock_now_ns(c), EV_RESPONSE_FINISHED, 0);
}
void stamp_rejected(struct record *r, const struct clock *c) {
    put(r, c, clock_now_ns(c), EV_REQUEST_REJECTED, 0);
}
void stamp_cancelled(struct record *r, const struct clock *c) {
    put(r, c, clock_now_ns(c), EV_REQUEST_CANCELLED, 0);
}
void stamp_failed(struct record *r, const struct clock *c) {
    put(r, c, clock_now_ns(c), EV_REQUEST_FAILED, 0);
}
