/* make_intervals.c: cases for the interval functions. The first values of m->k are the edges, one
 * each; later values repeat them with other numbers. See lab01.h. */
#include "lab01/lab01.h"

#include <stdio.h>
#include <string.h>

static const enum event_kind browser_events[] = {EV_REQUEST_SUBMITTED, EV_FIRST_BYTE_RECEIVED,
                                                 EV_FINAL_BYTE_RECEIVED};

static void offset(struct record *r, enum clock_id a, enum clock_id b, int64_t ns,
                   int64_t plus_minus) {
    r->offsets[r->n_offsets++] = (struct clock_offset){a, b, ns, plus_minus};
}

/* ---- one named interval ---------------------------------------------------------------------- */

/* Moves the events for which `first` is true to the front; otherwise keeps the order. */
static void reorder(struct record *r, bool (*first)(const struct event *ev)) {
    struct event kept[CASE_MAX_EVENTS];
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < r->n_events; i++)
            if (first(&r->events[i]) == (pass == 0)) kept[n++] = r->events[i];
    memcpy(r->events, kept, n * sizeof *kept);
}

/* The browser's events come last, as after a join of two logs. */
static bool of_the_server(const struct event *ev) {
    return ev->clock != CLOCK_BROWSER;
}

static bool of_a_token(const struct event *ev) {
    return ev->kind == EV_TOKEN_SENT;
}

static bool of_the_gpu(const struct event *ev) {
    return ev->kind == EV_GPU_START || ev->kind == EV_GPU_END;
}

static void shift_clock(struct record *r, enum clock_id clock, int64_t by) {
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].clock == clock) r->events[i].t_ns += by;
}

/* Gives an interval's start and end the same time: exactly 0 ns is a valid interval. */
static void no_time_between(struct record *r, enum event_kind start, enum event_kind end) {
    lab01_make_find(r, end)->t_ns = lab01_make_find(r, start)->t_ns;
}

/* Moves the newest event to index `at`. */
static void move_newest(struct record *r, size_t at) {
    struct event newest = r->events[r->n_events - 1];
    memmove(&r->events[at + 1], &r->events[at], (r->n_events - 1 - at) * sizeof newest);
    r->events[at] = newest;
}

static void preempt(struct lab01_making *m, struct record *r) {
    static const enum event_kind story[] = {EV_REQUEST_PREEMPTED, EV_REQUEST_RESUMED,
                                            EV_REQUEST_ADMITTED};
    const struct event *first = lab01_make_find(r, EV_FIRST_TOKEN);
    size_t at = (size_t)(first - r->events);
    int64_t t = first->t_ns;
    for (int i = 0; i < 3; i++) {
        lab01_make_event(r, story[i], CLOCK_SERVER, t, 0, NULL);
        move_newest(r, ++at);
    }
    lab01_make_kind(m, "a request that was preempted, resumed and admitted again");
}

static void make_named(struct lab01_making *m, const char *focus, enum event_kind start,
                       enum event_kind end) {
    struct record *r = lab01_make_record(m, 0, (int)lab01_make_between(m, 2, 12));
    m->c->fn = FN_COMPUTE;
    m->focus = focus;
    switch (m->k % 6) {
    case 0:
        lab01_make_kind(m, "an ordinary delivered request");
        break;
    case 1:
        lab01_make_kind(m, "the browser's events come after the server's in the record");
        reorder(r, of_the_server);
        break;
    case 2:
        lab01_make_kind(m, "both ends at the same nanosecond: an interval of 0 ns");
        no_time_between(r, start, end);
        break;
    case 3:
        lab01_make_kind(m, "clocks close to 2^53 ns");
        shift_clock(r, CLOCK_BROWSER, (INT64_C(1) << 52) + lab01_make_between(m, 0, 1000));
        shift_clock(r, CLOCK_SERVER, (INT64_C(1) << 52) + lab01_make_between(m, 0, 1000));
        break;
    case 4:
        preempt(m, r);
        break;
    default:
        lab01_make_kind(m, "an answer whose server clock began at 0");
        shift_clock(r, CLOCK_SERVER, -lab01_make_find(r, EV_REQUEST_ACCEPTED)->t_ns);
    }
}

/* ---- absent, across clocks, negative --------------------------------------------------------- */

static void make_absent(struct lab01_making *m) {
    static const enum event_kind gone[] = {EV_REQUEST_SUBMITTED,   EV_REQUEST_ACCEPTED,
                                           EV_REQUEST_ADMITTED,    EV_FIRST_TOKEN,
                                           EV_FIRST_BYTE_RECEIVED, EV_FINAL_BYTE_RECEIVED};
    m->strict = true;
    m->focus = "client_ttft.|server_ttft.|queue_delay.|e2e.|status|ns|uncertainty_ns";
    struct record *r = lab01_make_record(m, 0, 3);
    if (m->k % 9 == 8) { /* NULL ends */
        m->c->fn = FN_BETWEEN;
        m->c->start = m->k % 2 ? -1 : 0;
        m->c->end = m->k % 2 && lab01_make_chance(m, 50) ? 0 : -1;
        lab01_make_kind(m, "an end that isn't there (NULL)");
        return;
    }
    m->c->fn = FN_COMPUTE;
    if (m->k % 9 == 7) {
        r->n_events = 0;
        lab01_make_kind(m, "a record without events");
    } else if (m->k % 9 == 6) {
        lab01_make_drop(r, EV_FIRST_TOKEN);
        lab01_make_drop(r, EV_TOKEN_SENT);
        lab01_make_drop(r, EV_FIRST_BYTE_RECEIVED);
        lab01_make_drop(r, EV_FINAL_BYTE_RECEIVED);
        r->outcome.delivered = false;
        lab01_make_kind(m, "a request that was admitted and then cancelled");
    } else {
        lab01_make_drop(r, gone[m->k % 9]);
        lab01_make_kind(m, "a record that lacks one of the six events");
    }
}

/* A record that holds just two events. */
static struct record *two_events(struct lab01_making *m, enum clock_id ca, int64_t ta,
                                 enum clock_id cb, int64_t tb) {
    struct record *r = lab01_make_record(m, 0, 0);
    m->c->fn = FN_BETWEEN;
    m->c->start = 0;
    m->c->end = 1;
    r->n_events = 0;
    lab01_make_event(r, EV_REQUEST_SUBMITTED, ca, ta, 0, NULL);
    lab01_make_event(r, EV_FIRST_TOKEN, cb, tb, 0, NULL);
    return r;
}

static void make_cross_clock(struct lab01_making *m) {
    int64_t t = lab01_make_between(m, 1000, INT64_C(1000000000000));
    int64_t u = t + lab01_make_between(m, 0, 1000000000);
    struct record *r;
    m->strict = true;
    switch (m->k % 6) {
    case 0:
        two_events(m, CLOCK_BROWSER, t, CLOCK_SERVER, u);
        lab01_make_kind(m, "the start on the browser's clock, the end on the server's");
        break;
    case 1:
        r = two_events(m, CLOCK_SERVER, t, CLOCK_GPU, u);
        offset(r, CLOCK_BROWSER, CLOCK_SERVER, lab01_make_between(m, -1000, 1000), 5);
        lab01_make_kind(m, "two clocks, and an offset that is stated for other clocks");
        break;
    case 2:
        r = two_events(m, CLOCK_BROWSER, t, CLOCK_GPU, u);
        offset(r, CLOCK_BROWSER, CLOCK_SERVER, 70, 5);
        offset(r, CLOCK_SERVER, CLOCK_GPU, 80, 5);
        lab01_make_kind(m, "two clocks that only a third one connects");
        break;
    case 3:
        r = lab01_make_record(m, 0, 3);
        m->c->fn = FN_COMPUTE;
        m->focus = "client_ttft.|server_ttft.|queue_delay.|e2e.";
        lab01_make_find(r, EV_FIRST_TOKEN)->clock = CLOCK_GPU;
        lab01_make_kind(m, "first_token was read from the GPU's clock");
        break;
    case 4:
        r = two_events(m, CLOCK_SERVER, t, CLOCK_GPU, u);
        for (int i = 0; i < 4; i++)
            offset(r, CLOCK_BROWSER, i % 2 ? CLOCK_GPU : CLOCK_SERVER, i, 1);
        lab01_make_kind(m, "as many offsets as there can be, none for these two clocks");
        break;
    default: /* one clock: offsets to others don't matter */
        r = two_events(m, CLOCK_SERVER, t, CLOCK_SERVER, u);
        offset(r, CLOCK_SERVER, CLOCK_BROWSER, 4000, 77);
        lab01_make_kind(m, "both ends on one clock, and an offset to another is stated");
    }
}

static void make_clock_offset(struct lab01_making *m) {
    int64_t t = lab01_make_between(m, 1000, 1000000000), d = lab01_make_between(m, 0, 500000000);
    int64_t o = lab01_make_between(m, -1000000000, 1000000000),
            u = lab01_make_between(m, 1, 100000);
    /* start (browser) and end (server) lie d apart when the server's clock is brought to the
     * browser's: t_browser - t_server = o */
    struct record *r =
        two_events(m, CLOCK_BROWSER, t + 2000000000, CLOCK_SERVER, t + 2000000000 + d - o);
    m->strict = true;
    switch (m->k % 5) {
    case 0:
        offset(r, CLOCK_BROWSER, CLOCK_SERVER, o, u);
        lab01_make_kind(m, "an offset stated as start's clock minus end's clock");
        break;
    case 1:
        offset(r, CLOCK_SERVER, CLOCK_BROWSER, -o, u);
        lab01_make_kind(m, "an offset stated as end's clock minus start's clock");
        break;
    case 2:
        offset(r, CLOCK_GPU, CLOCK_SERVER, 12345, 9);
        offset(r, CLOCK_BROWSER, CLOCK_GPU, -777, 3);
        offset(r, CLOCK_BROWSER, CLOCK_SERVER, o, u);
        offset(r, CLOCK_SERVER, CLOCK_BROWSER, o + 50, u + 1);
        lab01_make_kind(m, "several offsets; the first that names both clocks counts");
        break;
    case 3:
        r->events[1].t_ns -= d + lab01_make_between(m, 1, 1000);
        offset(r, CLOCK_BROWSER, CLOCK_SERVER, o, 1000000);
        lab01_make_kind(
            m, "below 0 once the clocks are brought together, though within the uncertainty");
        break;
    default:
        r->events[1].t_ns -= d;
        offset(r, CLOCK_SERVER, CLOCK_BROWSER, -o, u);
        lab01_make_kind(m, "exactly 0 once the clocks are brought together");
    }
}

static void make_negative(struct lab01_making *m) {
    int64_t t = lab01_make_between(m, 1000000, 1000000000);
    m->strict = true;
    if (m->k % 3 == 0) {
        two_events(m, CLOCK_SERVER, t, CLOCK_SERVER,
                   t - (m->k ? lab01_make_between(m, 1, 900000) : 1));
        lab01_make_kind(m, "the end lies before the start");
        return;
    }
    struct record *r = lab01_make_record(m, 0, 3);
    m->c->fn = FN_COMPUTE;
    m->focus = "client_ttft.|server_ttft.|queue_delay.|e2e.";
    if (m->k % 3 == 1) {
        struct event *first = lab01_make_find(r, EV_FIRST_BYTE_RECEIVED);
        first->t_ns =
            lab01_make_find(r, EV_REQUEST_SUBMITTED)->t_ns - lab01_make_between(m, 1, 500);
        lab01_make_kind(m, "first_byte_received before request_submitted");
    } else {
        struct event *admitted = lab01_make_find(r, EV_REQUEST_ADMITTED);
        admitted->t_ns =
            lab01_make_find(r, EV_REQUEST_ACCEPTED)->t_ns - lab01_make_between(m, 1, 500);
        lab01_make_kind(m, "request_admitted before request_accepted");
    }
}

/* ---- rounding -------------------------------------------------------------------------------- */

static void make_rounding(struct lab01_making *m) {
    int64_t top = INT64_C(1) << 54, half = lab01_make_between(m, 1, 1000000);
    int64_t q = lab01_make_between(m, 0, 1000000);
    m->c->fn = FN_DIVIDE;
    m->c->d = lab01_make_between(m, 1, 1000000);
    switch (m->k % 8) {
    case 0:
        m->c->d = 2 * half;
        m->c->n = m->c->d * q + half;
        lab01_make_kind(m, "exactly half way between two integers");
        break;
    case 1:
        m->c->d = 2 * half;
        m->c->n = -(m->c->d * q + half);
        lab01_make_kind(m, "exactly half way, negative");
        break;
    case 2:
        m->c->d = 2 * half + 1;
        m->c->n = m->c->d * q + half + (m->k / 8 % 2);
        lab01_make_kind(m, "just below and just above half way, with an odd divisor");
        break;
    case 3:
        m->c->d = 2 * half + 1;
        m->c->n = -(m->c->d * q + half + (m->k / 8 % 2));
        lab01_make_kind(m, "close to half way, negative");
        break;
    case 4:
        m->c->n = lab01_make_chance(m, 50) ? 0 : m->c->d * q;
        lab01_make_kind(m, "divides without a remainder");
        break;
    case 5:
        m->c->d = lab01_make_between(m, 1, 3);
        m->c->n = lab01_make_chance(m, 50) ? top - lab01_make_between(m, 0, 3)
                                           : -top + lab01_make_between(m, 0, 3);
        lab01_make_kind(m, "close to 2^54");
        break;
    case 6:
        m->c->d = top - lab01_make_between(m, 0, 3);
        m->c->n = m->c->d / 2 + lab01_make_between(m, 0, 1);
        lab01_make_kind(m, "a divisor close to 2^54");
        break;
    default:
        m->c->n = lab01_make_between(m, -INT64_C(1000000000000), INT64_C(1000000000000));
        lab01_make_kind(m, "any two numbers");
    }
}

/* ---- time per output token ------------------------------------------------------------------- */

/* Replaces the one-token events by `events` events that share `tokens` tokens. */
static void bundle_tokens(struct lab01_making *m, struct record *r, int events, int tokens) {
    int64_t t = lab01_make_find(r, EV_TOKEN_SENT)->t_ns;
    lab01_make_drop(r, EV_TOKEN_SENT);
    for (int i = 0; i < events; i++) {
        int share = tokens / events + (i < tokens % events);
        lab01_make_event(r, EV_TOKEN_SENT, CLOCK_SERVER, t, share, NULL);
        t += lab01_make_between(m, 1, 90000000);
    }
}

/* Adds an event without a token, after the last one or before the first. */
static void empty_event(struct lab01_making *m, struct record *r, bool last) {
    size_t at = (size_t)(lab01_make_find(r, EV_TOKEN_SENT) - r->events);
    for (size_t i = at; last && i < r->n_events; i++)
        if (r->events[i].kind == EV_TOKEN_SENT) at = i;
    int64_t t = r->events[at].t_ns, apart = lab01_make_between(m, 1, 5000000);
    lab01_make_event(r, EV_TOKEN_SENT, CLOCK_SERVER, last ? t + apart : t - apart, 0, NULL);
    move_newest(r, last ? at + 1 : at);
}

static void make_tpot(struct lab01_making *m) {
    int tokens = (int)lab01_make_between(m, 3, 200);
    struct record *r = lab01_make_record(m, 0, tokens);
    m->c->fn = FN_COMPUTE;
    m->focus = "tpot.";
    switch (m->k % 8) {
    case 0:
        lab01_make_kind(m, "one token_sent event for each token");
        break;
    case 1:
        bundle_tokens(m, r, 2 + tokens / 3, tokens);
        lab01_make_kind(m, "events that carry several tokens");
        break;
    case 2:
        empty_event(m, r, true);
        lab01_make_kind(m, "a closing token_sent event without a token");
        break;
    case 3:
        empty_event(m, r, false);
        lab01_make_kind(m, "an opening token_sent event without a token");
        break;
    case 4:
        lab01_make_drop(r, EV_TOKEN_SENT);
        lab01_make_kind(m, "no token_sent event");
        break;
    case 5:
        reorder(r, of_a_token);
        lab01_make_kind(m, "token_sent events come first in the record");
        break;
    case 6: /* for example a restarted browser: its second clock is compared */
        lab01_make_drop(r, EV_TOKEN_SENT);
        lab01_make_find(r, EV_FINAL_BYTE_RECEIVED)->clock = CLOCK_SIM;
        offset(r, CLOCK_BROWSER, CLOCK_SIM, lab01_make_between(m, 0, 5000), 1000 + tokens);
        lab01_make_kind(m, "an end on another clock whose offset is stated");
        break;
    default:
        lab01_make_drop(r, EV_TOKEN_SENT);
        r->workload.output_tokens = 2;
        lab01_make_kind(m, "two tokens, no token_sent event");
    }
}

static void make_tpot_boundary(struct lab01_making *m) {
    int tokens = (int)lab01_make_between(m, 2, 30);
    struct record *r = lab01_make_record(m, 0, tokens);
    m->c->fn = FN_COMPUTE;
    m->focus = "tpot.status|tpot_boundary";
    switch (m->k % 5) {
    case 0:
        lab01_make_kind(m, "two or more token_sent events");
        break;
    case 1:
        lab01_make_drop(r, EV_TOKEN_SENT);
        lab01_make_kind(m, "no token_sent event");
        break;
    case 2:
        bundle_tokens(m, r, 1, tokens);
        lab01_make_kind(m, "one token_sent event that carries the whole answer");
        break;
    case 3:
        bundle_tokens(m, r, 1, tokens);
        empty_event(m, r, lab01_make_chance(m, 50));
        lab01_make_kind(m, "two token_sent events, of which one carries a token");
        break;
    default:
        bundle_tokens(m, r, 2, tokens);
        lab01_make_kind(m, "exactly two token_sent events");
    }
}

static void make_tpot_absent(struct lab01_making *m) {
    struct record *r = lab01_make_record(m, 0, 5);
    m->c->fn = FN_COMPUTE;
    m->focus = "tpot.status|tpot_boundary";
    switch (m->k % 6) {
    case 0:
        r->workload.output_tokens = 1;
        lab01_make_kind(m, "an answer of one token");
        break;
    case 1:
        r->workload.output_tokens = 0;
        lab01_make_kind(m, "an empty answer");
        break;
    case 2:
        r->workload.output_tokens = -1;
        lab01_make_kind(m, "an unknown number of tokens");
        break;
    case 3:
        lab01_make_drop(r, EV_TOKEN_SENT);
        lab01_make_drop(r, browser_events[1 + m->k / 6 % 2]);
        lab01_make_kind(m, "no token_sent event, and one of the browser's missing");
        break;
    case 4:
        r->workload.output_tokens = 1;
        lab01_make_drop(r, EV_TOKEN_SENT);
        lab01_make_kind(m, "one token, no token_sent event");
        break;
    default:
        r->workload.output_tokens = 2; /* the smallest number that has a TPOT */
        lab01_make_kind(m, "an answer of two tokens");
    }
}

/* ---- inter-token latencies ------------------------------------------------------------------- */

static void itl(struct lab01_making *m, size_t cap) {
    m->c->fn = FN_ITL;
    m->c->cap = cap;
}

static void make_itl(struct lab01_making *m) {
    int tokens = (int)lab01_make_between(m, 2, 40);
    struct record *r = lab01_make_record(m, 0, tokens);
    itl(m, 64);
    switch (m->k % 6) {
    case 0:
        lab01_make_kind(m, "one token in each event");
        break;
    case 1:
        lab01_make_drop(r, EV_TOKEN_SENT);
        lab01_make_kind(m, "no token_sent event");
        break;
    case 2:
        bundle_tokens(m, r, 1, 1);
        lab01_make_kind(m, "a single token_sent event");
        break;
    case 3: {
        struct event *second = lab01_make_find(r, EV_TOKEN_SENT) + 1;
        second->t_ns = second[-1].t_ns - lab01_make_between(m, 1, 1000);
        lab01_make_kind(m, "a token_sent event before its predecessor");
        break;
    }
    case 4:
        reorder(r, of_a_token);
        lab01_make_kind(m, "token_sent events come first in the record");
        break;
    default:
        (lab01_make_find(r, EV_TOKEN_SENT) + 1)->clock = CLOCK_GPU;
        lab01_make_kind(m, "token_sent events on two clocks");
    }
}

static void make_itl_tokens(struct lab01_making *m) {
    int tokens = (int)lab01_make_between(m, 5, 60);
    struct record *r = lab01_make_record(m, 0, tokens);
    itl(m, 100);
    bundle_tokens(m, r, 2 + tokens / 4, tokens);
    switch (m->k % 4) {
    case 0:
        lab01_make_kind(m, "events that carry several tokens");
        break;
    case 1:
        empty_event(m, r, true);
        lab01_make_kind(m, "a closing event without a token");
        break;
    case 2:
        empty_event(m, r, false);
        lab01_make_kind(m, "an opening event without a token");
        break;
    default: {
        struct event *second = lab01_make_find(r, EV_TOKEN_SENT) + 1;
        second->tokens = 0;
        lab01_make_kind(m, "an event without a token in the middle");
    }
    }
}

static void make_itl_capacity(struct lab01_making *m) {
    int tokens = (int)lab01_make_between(m, 12, 40);
    struct record *r = lab01_make_record(m, 0, tokens);
    if (m->k % 2) bundle_tokens(m, r, 3, tokens);
    switch (m->k % 4) {
    case 0:
        itl(m, 0);
        lab01_make_kind(m, "no room at all (NULL)");
        break;
    case 1:
        itl(m, (size_t)lab01_make_between(m, 1, 4));
        lab01_make_kind(m, "less room than gaps, in the middle of an event's tokens");
        break;
    case 2:
        itl(m, (size_t)tokens - 1);
        lab01_make_kind(m, "exactly enough room");
        break;
    default:
        itl(m, (size_t)lab01_make_between(m, 5, 8));
        lab01_make_kind(m, "less room than gaps");
    }
}

/* ---- GPU ranges ------------------------------------------------------------------------------ */

static int64_t gpu_range(struct lab01_making *m, struct record *r, const char *range, int64_t t) {
    lab01_make_event(r, EV_GPU_START, CLOCK_GPU, t, 0, range);
    t += lab01_make_between(m, 0, 5000000);
    lab01_make_event(r, EV_GPU_END, CLOCK_GPU, t, 0, range);
    return t + lab01_make_between(m, 0, 1000);
}

static void gpu_nested(struct lab01_making *m, struct record *r, int64_t t) {
    int64_t a = lab01_make_between(m, 1, 1000), b = lab01_make_between(m, 1, 1000),
            c = lab01_make_between(m, 1, 1000);
    lab01_make_event(r, EV_GPU_START, CLOCK_GPU, t, 0, "prefill");
    lab01_make_event(r, EV_GPU_START, CLOCK_GPU, t + a, 0, "attention");
    lab01_make_event(r, EV_GPU_END, CLOCK_GPU, t + a + b, 0,
                     lab01_make_chance(m, 50) ? "attention" : "prefill");
    const char *other =
        !strcmp(r->events[r->n_events - 1].range, "prefill") ? "attention" : "prefill";
    lab01_make_event(r, EV_GPU_END, CLOCK_GPU, t + a + b + c, 0, other);
}

static void gpu_many_open(struct record *r, int n, int64_t t) {
    char name[24];
    for (int i = 0; i < 2 * n; i++) {
        snprintf(name, sizeof name, "range %d", i % n);
        lab01_make_event(r, i < n ? EV_GPU_START : EV_GPU_END, CLOCK_GPU, t + 10 * i, 0, name);
    }
}

static void make_gpu(struct lab01_making *m) {
    struct record *r = lab01_make_record(m, 0, 3);
    int64_t t = lab01_make_between(m, 0, INT64_C(1000000000000));
    m->c->fn = FN_COMPUTE;
    m->focus = "gpu_execution.";
    switch (m->k % 12) {
    case 0:
        for (int i = 0; i < 4; i++) t = gpu_range(m, r, "decode", t);
        if (m->k > 0) reorder(r, of_the_gpu);
        lab01_make_kind(m, "one range, several times");
        break;
    case 1:
        lab01_make_kind(m, "no GPU event");
        break;
    case 2:
        gpu_nested(m, r, t);
        lab01_make_kind(m, "ranges that nest or overlap");
        break;
    case 3:
        t = gpu_range(m, r, "decode", t);
        lab01_make_event(r, EV_GPU_START, CLOCK_GPU, t, 0, "decode");
        lab01_make_kind(m, "a gpu_start without an end");
        break;
    case 4:
        lab01_make_event(r, EV_GPU_END, CLOCK_GPU, t, 0, "prefill");
        gpu_range(m, r, "decode", t);
        lab01_make_kind(m, "a gpu_end without a start");
        break;
    case 5:
        lab01_make_event(r, EV_GPU_START, CLOCK_GPU, t, 0, "decode");
        t = gpu_range(m, r, "decode", t + 10);
        if (m->k / 12 % 2 == 0) lab01_make_event(r, EV_GPU_END, CLOCK_GPU, t, 0, "decode");
        lab01_make_kind(m, "a second gpu_start of a range that is open");
        break;
    case 6:
        lab01_make_event(r, EV_GPU_START, CLOCK_GPU, t + 500, 0, "decode");
        lab01_make_event(r, EV_GPU_END, CLOCK_GPU, t + 100, 0, "decode");
        gpu_range(m, r, "prefill", t + 900);
        lab01_make_kind(m, "a range whose end lies before its start");
        break;
    case 7:
        lab01_make_event(r, EV_GPU_START, CLOCK_GPU, t, 0, "decode");
        lab01_make_event(r, EV_GPU_END, CLOCK_SERVER, t + 100, 0, "decode");
        lab01_make_kind(m, "a range with ends on two clocks");
        break;
    case 8:
        gpu_many_open(r, INTERVALS_MAX_OPEN_RANGES, t);
        lab01_make_kind(m, "as many ranges open at once as are allowed");
        break;
    case 9:
        gpu_many_open(r, INTERVALS_MAX_OPEN_RANGES + 1, t);
        lab01_make_kind(m, "more ranges open at once than are allowed");
        break;
    case 10: /* sums to 2^53 exactly, or one more */
        lab01_make_event(r, EV_GPU_START, CLOCK_GPU, 0, 0, "a");
        lab01_make_event(r, EV_GPU_END, CLOCK_GPU, INTERVAL_MAX_NS - 5, 0, "a");
        lab01_make_event(r, EV_GPU_START, CLOCK_GPU, 0, 0, "b");
        lab01_make_event(r, EV_GPU_END, CLOCK_GPU, 5 + m->k / 12 % 2, 0, "b");
        lab01_make_kind(m, "ranges that add up to about 2^53 ns");
        break;
    default:
        offset(r, CLOCK_GPU, CLOCK_SERVER, 40, lab01_make_between(m, 1, 50));
        for (int i = 0; i < 2; i++) {
            lab01_make_event(r, EV_GPU_START, CLOCK_GPU, t + 1000 * i, 0, "decode");
            lab01_make_event(r, EV_GPU_END, CLOCK_SERVER, t + 1000 * i + 300, 0, "decode");
        }
        lab01_make_kind(m, "ranges with ends on two clocks whose offset is stated");
    }
}

void lab01_make_intervals(struct lab01_making *m, enum lab01_maker which) {
    switch (which) {
    case MAKE_CLIENT_TTFT:
        make_named(m, "client_ttft.", EV_REQUEST_SUBMITTED, EV_FIRST_BYTE_RECEIVED);
        break;
    case MAKE_SERVER_TTFT:
        make_named(m, "server_ttft.", EV_REQUEST_ACCEPTED, EV_FIRST_TOKEN);
        break;
    case MAKE_QUEUE_DELAY:
        make_named(m, "queue_delay.", EV_REQUEST_ACCEPTED, EV_REQUEST_ADMITTED);
        break;
    case MAKE_E2E:
        make_named(m, "e2e.", EV_REQUEST_SUBMITTED, EV_FINAL_BYTE_RECEIVED);
        break;
    case MAKE_ABSENT:
        make_absent(m);
        break;
    case MAKE_CROSS_CLOCK:
        make_cross_clock(m);
        break;
    case MAKE_CLOCK_OFFSET:
        make_clock_offset(m);
        break;
    case MAKE_NEGATIVE:
        make_negative(m);
        break;
    case MAKE_ROUNDING:
        make_rounding(m);
        break;
    case MAKE_TPOT:
        make_tpot(m);
        break;
    case MAKE_TPOT_BOUNDARY:
        make_tpot_boundary(m);
        break;
    case MAKE_TPOT_ABSENT:
        make_tpot_absent(m);
        break;
    case MAKE_ITL:
        make_itl(m);
        break;
    case MAKE_ITL_TOKENS:
        make_itl_tokens(m);
        break;
    case MAKE_ITL_CAPACITY:
        make_itl_capacity(m);
        break;
    default:
        make_gpu(m);
    }
}
