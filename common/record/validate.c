/* validate.c: the rules of a record; record_validate in record.h lists them. Not here: types and
 * names (record_read.c).
 */
#include "base/json.h"
#include "record/record_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the events of each kind are, as indices; valid only if count is not 0. */
struct seen {
    size_t count[EV_N];
    size_t first[EV_N], last[EV_N];
    size_t first_carrying; /* the first token_sent that carries a token; SIZE_MAX: none */
};

static int fail_event(struct err *e, size_t i, const char *member, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static int fail_event(struct err *e, size_t i, const char *member, const char *fmt, ...) {
    char field[64], text[320];
    va_list ap;
    snprintf(field, sizeof field, "events[%zu].%s", i, member);
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return err_at(e, 0, field, "%s", text);
}

/* ---- one event ------------------------------------------------------------------------------- */

static bool may_repeat(enum event_kind k) {
    return k == EV_TOKEN_SENT || k == EV_REQUEST_PREEMPTED || k == EV_REQUEST_RESUMED ||
           k == EV_GPU_START || k == EV_GPU_END;
}

static enum clock_id home_clock(enum event_kind k) {
    switch (k) {
    case EV_REQUEST_SUBMITTED:
    case EV_FIRST_BYTE_RECEIVED:
    case EV_FINAL_BYTE_RECEIVED:
        return CLOCK_BROWSER;
    case EV_GPU_START:
    case EV_GPU_END:
        return CLOCK_GPU;
    default:
        return CLOCK_SERVER;
    }
}

static bool offset_stated(const struct record *r, enum clock_id a, enum clock_id b) {
    for (size_t i = 0; i < r->n_offsets; i++)
        if ((r->offsets[i].a == a && r->offsets[i].b == b) ||
            (r->offsets[i].a == b && r->offsets[i].b == a))
            return true;
    return false;
}

/* Clocks that follow the time of day. They are set forward and back, so their intervals are
 * unreliable. */
static bool is_wall_clock(const char *api) {
    static const char *const wall[] = {"CLOCK_REALTIME", "Date.now",    "Date.now()",
                                       "gettimeofday",   "time.time",   "time.time()",
                                       "time",           "system_clock"};
    for (size_t i = 0; i < sizeof wall / sizeof *wall; i++)
        if (!strcmp(api, wall[i])) return true;
    return false;
}

static int check_clock(const struct record *r, size_t i, const struct event *first_on_clock,
                       struct err *e) {
    const struct event *ev = &r->events[i];
    enum clock_id home = home_clock(ev->kind);
    bool simulated = r->events[0].clock == CLOCK_SIM;
    if (simulated != (ev->clock == CLOCK_SIM))
        return fail_event(e, i, "clock",
                          "a simulated record has every event on \"sim\"; this one is on \"%s\"",
                          clock_name(ev->clock));
    if (!simulated && ev->clock != home && !offset_stated(r, ev->clock, home))
        return fail_event(e, i, "clock",
                          "%s is read from the %s clock, not the %s clock: its intervals would "
                          "cross clocks; correct it or state clock_offsets",
                          event_name(ev->kind), clock_name(home), clock_name(ev->clock));
    if (!ev->clock_api[0])
        return fail_event(e, i, "clock_api", "is empty; name what was called to read the clock");
    if (ev == first_on_clock && is_wall_clock(ev->clock_api))
        return fail_event(e, i, "clock_api",
                          "%s is a wall clock, which jumps; read a monotonic one", ev->clock_api);
    if (strcmp(first_on_clock->clock_api, ev->clock_api))
        return fail_event(e, i, "clock_api",
                          "the %s clock is read through %s here and through %s before: two clocks",
                          clock_name(ev->clock), ev->clock_api, first_on_clock->clock_api);
    return 0;
}

static int check_event(const struct record *r, size_t i, struct err *e) {
    const struct event *ev = &r->events[i];
    bool gpu = ev->kind == EV_GPU_START || ev->kind == EV_GPU_END;
    if ((unsigned)ev->kind >= EV_N || (unsigned)ev->clock >= CLOCK_N ||
        (unsigned)ev->source >= SRC_N)
        return fail_event(e, i, "event", "event, clock or source has an unknown value");
    if (ev->t_ns < 0 || ev->t_ns > JSON_MAX_INT)
        return fail_event(e, i, "t_ns", "%" PRId64 " is outside 0 .. 2^53", ev->t_ns);
    if (ev->tokens < 0 || (ev->tokens > 0 && ev->kind != EV_TOKEN_SENT))
        return fail_event(e, i, "tokens", "only token_sent carries tokens, and never less than 0");
    if (gpu != (ev->range[0] != '\0'))
        return fail_event(e, i, "range",
                          gpu ? "is empty; name the range" : "only gpu events have a range");
    return 0;
}

/* Checks each event and fills *seen. */
static int check_events(const struct record *r, struct seen *seen, struct err *e) {
    const struct event *on_clock[CLOCK_N] = {0};
    memset(seen, 0, sizeof *seen);
    seen->first_carrying = SIZE_MAX;
    for (size_t i = 0; i < r->n_events; i++) {
        const struct event *ev = &r->events[i];
        if (check_event(r, i, e)) return -1;
        if (!on_clock[ev->clock]) on_clock[ev->clock] = ev;
        if (check_clock(r, i, on_clock[ev->clock], e)) return -1;
        if (seen->count[ev->kind]) {
            size_t before = seen->last[ev->kind];
            if (!may_repeat(ev->kind))
                return fail_event(e, i, "event", "%s is there twice (first at events[%zu])",
                                  event_name(ev->kind), before);
            if (r->events[before].clock != ev->clock)
                return fail_event(e, i, "clock", "%s is on two clocks", event_name(ev->kind));
        }
        if (!seen->count[ev->kind]) seen->first[ev->kind] = i;
        if (seen->first_carrying == SIZE_MAX && ev->tokens > 0) seen->first_carrying = i;
        seen->last[ev->kind] = i;
        seen->count[ev->kind]++;
    }
    return 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

static int check_pair(const struct record *r, size_t before, size_t after, struct err *e) {
    const struct event *a = &r->events[before], *b = &r->events[after];
    if (a->clock != b->clock || b->t_ns >= a->t_ns) return 0;
    return fail_event(e, after, "t_ns",
                      "%s at %" PRId64 " ns is before %s at %" PRId64 " ns (events[%zu]) on the "
                      "%s clock; they happen in the other order",
                      event_name(b->kind), b->t_ns, event_name(a->kind), a->t_ns, before,
                      clock_name(a->clock));
}

/* No event of a chain may be earlier than an event of a kind before it in the chain, on the same
 * clock. EV_N ends a chain. */
static const enum event_kind chains[][8] = {
    {EV_REQUEST_SUBMITTED, EV_REQUEST_ACCEPTED, EV_TOKENIZATION_FINISHED, EV_REQUEST_ADMITTED,
     EV_FIRST_TOKEN, EV_FIRST_BYTE_RECEIVED, EV_FINAL_BYTE_RECEIVED, EV_N},
    {EV_REQUEST_ACCEPTED, EV_TOKEN_SENT, EV_RESPONSE_FINISHED, EV_N},
    {EV_REQUEST_ADMITTED, EV_RESPONSE_FINISHED, EV_N},
    {EV_FIRST_TOKEN, EV_RESPONSE_FINISHED, EV_N},
    {EV_REQUEST_ADMITTED, EV_REQUEST_PREEMPTED, EV_N},
    {EV_REQUEST_ACCEPTED, EV_REQUEST_REJECTED, EV_N},
    {EV_REQUEST_ACCEPTED, EV_REQUEST_CANCELLED, EV_N},
    {EV_REQUEST_ACCEPTED, EV_REQUEST_FAILED, EV_N},
};

static int check_chains(const struct record *r, const struct seen *seen, struct err *e) {
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        size_t latest[CLOCK_N];
        memset(latest, 0xff, sizeof latest); /* SIZE_MAX: none yet */
        for (const enum event_kind *k = chains[c]; *k != EV_N; k++) {
            if (!seen->count[*k]) continue;
            enum clock_id clock = r->events[seen->first[*k]].clock;
            if (latest[clock] != SIZE_MAX && check_pair(r, latest[clock], seen->first[*k], e))
                return -1;
            latest[clock] = seen->last[*k];
        }
    }
    /* A chunk without a token (the role alone) may precede the first token; one with a token may
     * not. */
    if (!seen->count[EV_FIRST_TOKEN] || seen->first_carrying == SIZE_MAX) return 0;
    return check_pair(r, seen->last[EV_FIRST_TOKEN], seen->first_carrying, e);
}

/* Kinds that repeat: token_sent in order; preempted and resumed alternate, preempted first. */
static int check_repeats(const struct record *r, struct err *e) {
    size_t sent = SIZE_MAX, turn = SIZE_MAX;
    for (size_t i = 0; i < r->n_events; i++) {
        enum event_kind k = r->events[i].kind;
        if (k == EV_TOKEN_SENT) {
            if (sent != SIZE_MAX && check_pair(r, sent, i, e)) return -1;
            sent = i;
        }
        if (k != EV_REQUEST_PREEMPTED && k != EV_REQUEST_RESUMED) continue;
        bool preempted = turn != SIZE_MAX && r->events[turn].kind == EV_REQUEST_PREEMPTED;
        if (preempted != (k == EV_REQUEST_RESUMED))
            return fail_event(e, i, "event",
                              preempted ? "request_preempted while it is preempted"
                                        : "request_resumed without a preemption");
        if (turn != SIZE_MAX && check_pair(r, turn, i, e)) return -1;
        turn = i;
    }
    return 0;
}

static int compare_ranges(const void *a, const void *b) {
    const struct event *x = *(const struct event *const *)a, *y = *(const struct event *const *)b;
    int order = strcmp(x->range, y->range);
    return order ? order : (x > y) - (x < y);
}

/* The events of one gpu range, in file order, must not go back in time. Sorted by range, so that a
 * hostile record with many ranges takes n log n. */
static int check_ranges(const struct record *r, const struct seen *seen, struct err *e) {
    size_t n = 0, total = seen->count[EV_GPU_START] + seen->count[EV_GPU_END];
    int status = 0;
    if (total == 0) return 0;
    const struct event **sorted = malloc(total * sizeof(struct event *));
    if (!sorted) return err_at(e, 0, "events", "memory is out");
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].kind == EV_GPU_START || r->events[i].kind == EV_GPU_END)
            sorted[n++] = &r->events[i];
    qsort(sorted, n, sizeof(struct event *), compare_ranges);
    for (size_t i = 1; i < n && !status; i++)
        if (!strcmp(sorted[i - 1]->range, sorted[i]->range))
            status = check_pair(r, (size_t)(sorted[i - 1] - r->events),
                                (size_t)(sorted[i] - r->events), e);
    free(sorted);
    return status;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int check_offsets(const struct record *r, struct err *e) {
    char field[48];
    for (size_t i = 0; i < r->n_offsets; i++) {
        const struct clock_offset *o = &r->offsets[i];
        snprintf(field, sizeof field, "clock_offsets[%zu]", i);
        if (o->a == o->b) return err_at(e, 0, field, "relates a clock to itself");
        if (o->uncertainty_ns < 0) return err_at(e, 0, field, "has a negative uncertainty");
        for (size_t j = 0; j < i; j++)
            if ((r->offsets[j].a == o->a && r->offsets[j].b == o->b) ||
                (r->offsets[j].a == o->b && r->offsets[j].b == o->a))
                return err_at(e, 0, field, "these two clocks are related twice");
    }
    return 0;
}

static int check_verdict(const char *section, const char *check, enum verdict v,
                         enum verdict when_none, struct err *e) {
    char field[32];
    bool judged = v == VERDICT_PASSED || v == VERDICT_FAILED;
    if (!judged && v != when_none) {
        snprintf(field, sizeof field, "%s.verdict", section);
        return err_at(e, 0, field, "must be passed, failed or %s", verdict_name(when_none));
    }
    if (judged && !*check) {
        snprintf(field, sizeof field, "%s.check", section);
        return err_at(e, 0, field, "a verdict of %s needs the name of the check that gave it",
                      verdict_name(v));
    }
    return 0;
}

int record_validate_parts(const struct record *r, struct err *e) {
    struct seen seen;
    if (!r->request_id[0]) return err_at(e, 0, "request_id", "is empty");
    if (r->attempt < 1) return err_at(e, 0, "attempt", "is %d; attempts count from 1", r->attempt);
    if (check_offsets(r, e) || check_events(r, &seen, e) || check_chains(r, &seen, e) ||
        check_repeats(r, e) || check_ranges(r, &seen, e))
        return -1;
    if (check_verdict("quality", r->quality.check, r->quality.verdict, VERDICT_NOT_EVALUATED, e) ||
        check_verdict("structure", r->structure.check, r->structure.verdict, VERDICT_NOT_REQUIRED,
                      e))
        return -1;
    if (r->resources.gpu_seconds < 0 || isinf(r->resources.gpu_seconds))
        return err_at(e, 0, "resources.gpu_seconds", "must be 0 or more");
    if (r->resources.joules < 0 || isinf(r->resources.joules))
        return err_at(e, 0, "resources.joules", "must be 0 or more");
    return 0;
}

int record_validate(const struct record *r, struct err *e) {
    static const enum event_kind required[] = {EV_REQUEST_SUBMITTED,   EV_FIRST_BYTE_RECEIVED,
                                               EV_FINAL_BYTE_RECEIVED, EV_REQUEST_ACCEPTED,
                                               EV_REQUEST_ADMITTED,    EV_FIRST_TOKEN};
    if (record_validate_parts(r, e)) return -1;
    size_t n = record_client_only(r) ? 3 : sizeof required / sizeof *required;
    for (size_t i = 0; r->outcome.delivered && i < n; i++)
        if (!record_event(r, required[i]))
            return err_at(e, 0, "events",
                          "outcome.delivered is true, but there is no %s; add it, or set delivered "
                          "to false",
                          event_name(required[i]));
    return 0;
}
