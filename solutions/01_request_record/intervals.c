/* intervals.c: computes intervals from timestamps. record/intervals.h defines each of them.
 *
 * An interval has both of its ends on one clock; if an end is missing, there is no interval.
 * Nothing is guessed, clamped or printed here.
 */
#include "record/intervals.h"
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include <string.h>

static const struct interval absent = {INTERVAL_ABSENT, 0, 0};

/* Finds the offset to add to a time of clock `from` to read it on clock `to`. false: none is
 * stated. */
static bool offset_to(const struct record *r, enum clock_id from, enum clock_id to,
                      struct clock_offset *out) {
    for (size_t i = 0; i < r->n_offsets; i++) {
        *out = r->offsets[i];
        if (out->a == to && out->b == from) return true;
        if (out->a == from && out->b == to) {
            out->offset_ns = -out->offset_ns;
            return true;
        }
    }
    return false;
}
// END SOLUTION

struct interval interval_between(const struct record *r, const struct event *start,
                                 const struct event *end) {
    // BEGIN SOLUTION
    //| LAB_TODO("interval_between");
    if (!start || !end) return absent;
    struct clock_offset o = {0};
    if (start->clock != end->clock && !offset_to(r, end->clock, start->clock, &o))
        return (struct interval){INTERVAL_CROSS_CLOCK, 0, 0};
    int64_t ns = end->t_ns + o.offset_ns - start->t_ns;
    if (ns < 0) return (struct interval){INTERVAL_NEGATIVE, 0, 0};
    return (struct interval){INTERVAL_OK, ns, o.uncertainty_ns};
    // END SOLUTION
}

int64_t interval_divide(int64_t n, int64_t d) {
    // BEGIN SOLUTION
    //| LAB_TODO("interval_divide");
    /* C truncates quotients towards zero, so half a divisor is added away from zero first. */
    return (n < 0 ? n - d / 2 : n + d / 2) / d;
    // END SOLUTION
}
// BEGIN SOLUTION

/* The first and the last token_sent event that carry a token. true if there are two. */
static bool token_ends(const struct record *r, const struct event **first,
                       const struct event **last) {
    *first = *last = NULL;
    for (size_t i = 0; i < r->n_events; i++) {
        const struct event *ev = &r->events[i];
        if (ev->kind != EV_TOKEN_SENT || ev->tokens < 1) continue;
        if (!*first) *first = ev;
        *last = ev;
    }
    return *first != *last;
}

static struct interval tpot(const struct record *r, enum tpot_boundary *boundary) {
    const struct event *first, *last;
    *boundary = TPOT_NONE;
    int64_t steps = (int64_t)r->workload.output_tokens - 1;
    if (steps < 1) return absent;
    enum tpot_boundary found = TPOT_TOKEN_SENT;
    if (!token_ends(r, &first, &last)) {
        first = record_event(r, EV_FIRST_BYTE_RECEIVED);
        last = record_event(r, EV_FINAL_BYTE_RECEIVED);
        found = TPOT_BROWSER_BYTES;
    }
    struct interval span = interval_between(r, first, last);
    if (span.status == INTERVAL_ABSENT) return absent;
    *boundary = found;
    span.ns = interval_divide(span.ns, steps);
    span.uncertainty_ns = interval_divide(span.uncertainty_ns, steps);
    return span;
}

/* Starts are in `open` until the end of their range is found. */
static struct interval gpu_execution(const struct record *r) {
    const struct event *open[INTERVALS_MAX_OPEN_RANGES];
    size_t n_open = 0, n_pairs = 0;
    struct interval sum = {INTERVAL_OK, 0, 0};
    for (size_t i = 0; i < r->n_events; i++) {
        const struct event *ev = &r->events[i];
        if (ev->kind != EV_GPU_START && ev->kind != EV_GPU_END) continue;
        size_t at = 0;
        while (at < n_open && strcmp(open[at]->range, ev->range)) at++;
        if (ev->kind == EV_GPU_START) {
            if (at < n_open || n_open == INTERVALS_MAX_OPEN_RANGES) return absent;
            open[n_open++] = ev;
            continue;
        }
        if (at == n_open) return absent;
        struct interval one = interval_between(r, open[at], ev);
        open[at] = open[--n_open];
        n_pairs++;
        if (sum.status == INTERVAL_OK) sum.status = one.status;
        sum.ns += one.ns;
        sum.uncertainty_ns += one.uncertainty_ns;
        if (sum.ns > INTERVAL_MAX_NS || sum.uncertainty_ns > INTERVAL_MAX_NS) return absent;
    }
    return n_open == 0 && n_pairs > 0 ? sum : absent;
}
// END SOLUTION

void intervals_compute(const struct record *r, struct intervals *out) {
    // BEGIN SOLUTION
    //| LAB_TODO("intervals_compute");
    const struct event *submitted = record_event(r, EV_REQUEST_SUBMITTED);
    const struct event *accepted = record_event(r, EV_REQUEST_ACCEPTED);
    out->client_ttft = interval_between(r, submitted, record_event(r, EV_FIRST_BYTE_RECEIVED));
    out->server_ttft = interval_between(r, accepted, record_event(r, EV_FIRST_TOKEN));
    out->queue_delay = interval_between(r, accepted, record_event(r, EV_REQUEST_ADMITTED));
    out->e2e = interval_between(r, submitted, record_event(r, EV_FINAL_BYTE_RECEIVED));
    out->tpot = tpot(r, &out->tpot_boundary);
    out->gpu_execution = gpu_execution(r);
    // END SOLUTION
}

size_t intervals_itl(const struct record *r, int64_t *out_ns, size_t cap) {
    // BEGIN SOLUTION
    //| LAB_TODO("intervals_itl");
    const struct event *before = NULL;
    size_t n = 0;
    for (size_t i = 0; i < r->n_events; i++) {
        const struct event *ev = &r->events[i];
        if (ev->kind != EV_TOKEN_SENT || ev->tokens < 1) continue;
        if (before) {
            struct interval gap = interval_between(r, before, ev);
            if (gap.status != INTERVAL_OK) return 0;
            int64_t ns = interval_divide(gap.ns, ev->tokens);
            for (size_t j = n; j < cap && j < n + (size_t)ev->tokens; j++) out_ns[j] = ns;
            n += (size_t)ev->tokens;
        }
        before = ev;
    }
    return n;
    // END SOLUTION
}
