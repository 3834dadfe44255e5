// One long way through every function, in 128 bits, with // comments and differently named helpers.
#include "record/intervals.h"
#include <stdlib.h>
#include <string.h>

struct interval interval_between(const struct record *r, const struct event *start,
                                 const struct event *end) {
    struct interval out;
    memset(&out, 0, sizeof(out));
    out.status = INTERVAL_ABSENT;
    if (start != NULL && end != NULL) {
        __int128 s = start->t_ns, e = end->t_ns;
        bool comparable = start->clock == end->clock;
        if (!comparable) {
            for (size_t i = 0; i < r->n_offsets && !comparable; ++i) {
                if (r->offsets[i].a == start->clock && r->offsets[i].b == end->clock)
                    e += r->offsets[i].offset_ns, comparable = true;
                else if (r->offsets[i].b == start->clock && r->offsets[i].a == end->clock)
                    s += r->offsets[i].offset_ns, comparable = true;
                if (comparable) out.uncertainty_ns = r->offsets[i].uncertainty_ns;
            }
        }
        if (!comparable)
            out.status = INTERVAL_CROSS_CLOCK;
        else if (e < s)
            out.status = INTERVAL_NEGATIVE;
        else
            out.status = INTERVAL_OK, out.ns = (int64_t)(e - s);
        if (out.status != INTERVAL_OK) out.uncertainty_ns = 0;
    }
    return out;
}

int64_t interval_divide(int64_t n, int64_t d) {
    int64_t q = n / d, rest = n % d;
    if (rest < 0) rest = -rest;
    if (rest >= d - rest) q += n < 0 ? -1 : 1;
    return q;
}

static const struct event *nth(const struct record *r, enum event_kind kind) {
    const struct event *e = r->events, *stop = r->events + r->n_events;
    while (e != stop && e->kind != kind) ++e;
    return e == stop ? NULL : e;
}

void intervals_compute(const struct record *r, struct intervals *out) {
    const struct event *a = NULL, *b = NULL;
    int tokens_events = 0;
    const struct interval none = {INTERVAL_ABSENT, 0, 0};
    out->client_ttft =
        interval_between(r, nth(r, EV_REQUEST_SUBMITTED), nth(r, EV_FIRST_BYTE_RECEIVED));
    out->server_ttft = interval_between(r, nth(r, EV_REQUEST_ACCEPTED), nth(r, EV_FIRST_TOKEN));
    out->queue_delay =
        interval_between(r, nth(r, EV_REQUEST_ACCEPTED), nth(r, EV_REQUEST_ADMITTED));
    out->e2e = interval_between(r, nth(r, EV_REQUEST_SUBMITTED), nth(r, EV_FINAL_BYTE_RECEIVED));
    for (size_t i = 0; i < r->n_events; ++i)
        if (r->events[i].kind == EV_TOKEN_SENT && r->events[i].tokens > 0) {
            if (tokens_events++ == 0) a = &r->events[i];
            b = &r->events[i];
        }
    out->tpot_boundary = TPOT_TOKEN_SENT;
    if (tokens_events < 2) {
        a = nth(r, EV_FIRST_BYTE_RECEIVED);
        b = nth(r, EV_FINAL_BYTE_RECEIVED);
        out->tpot_boundary = TPOT_BROWSER_BYTES;
    }
    out->tpot = interval_between(r, a, b);
    if (r->workload.output_tokens <= 1) out->tpot = none;
    if (out->tpot.status == INTERVAL_ABSENT) {
        out->tpot_boundary = TPOT_NONE;
    } else {
        out->tpot.ns = interval_divide(out->tpot.ns, r->workload.output_tokens - 1);
        out->tpot.uncertainty_ns =
            interval_divide(out->tpot.uncertainty_ns, r->workload.output_tokens - 1);
    }
    /* every start looks for its end */
    struct interval sum = {INTERVAL_OK, 0, 0}, bad = sum;
    int pairs = 0, ends = 0, open = 0;
    bool gone = false;
    for (size_t i = 0; i < r->n_events; ++i) {
        if (r->events[i].kind == EV_GPU_END) ++ends, --open;
        if (r->events[i].kind != EV_GPU_START) continue;
        size_t k = i + 1;
        if (++open > INTERVALS_MAX_OPEN_RANGES) gone = true;
        while (k < r->n_events &&
               !((r->events[k].kind == EV_GPU_END || r->events[k].kind == EV_GPU_START) &&
                 strcmp(r->events[k].range, r->events[i].range) == 0))
            ++k;
        if (k == r->n_events || r->events[k].kind == EV_GPU_START) {
            gone = true;
            break;
        }
        struct interval one = interval_between(r, &r->events[i], &r->events[k]);
        if (one.status != INTERVAL_OK && bad.status == INTERVAL_OK) bad = one;
        sum.ns += one.ns;
        sum.uncertainty_ns += one.uncertainty_ns;
        ++pairs;
    }
    if (gone || pairs == 0 || pairs != ends || sum.ns > INTERVAL_MAX_NS)
        out->gpu_execution = none;
    else if (bad.status != INTERVAL_OK)
        out->gpu_execution = bad;
    else
        out->gpu_execution = sum;
}

size_t intervals_itl(const struct record *r, int64_t *out_ns, size_t cap) {
    size_t total = 0;
    /* first pass: is there a sequence at all? */
    for (int writing = 0; writing < 2; ++writing) {
        const struct event *prev = NULL;
        total = 0;
        for (size_t i = 0; i < r->n_events; ++i) {
            const struct event *ev = r->events + i;
            if (ev->kind != EV_TOKEN_SENT || ev->tokens == 0) continue;
            if (prev != NULL) {
                struct interval gap = interval_between(r, prev, ev);
                if (gap.status != INTERVAL_OK) return 0;
                for (int t = 0; t < ev->tokens; ++t, ++total)
                    if (writing && total < cap) out_ns[total] = interval_divide(gap.ns, ev->tokens);
            }
            prev = ev;
        }
    }
    return total;
}
