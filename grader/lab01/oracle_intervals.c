/* oracle_intervals.c: the right answers for intervals.c, from the text of record/intervals.h. Where
 * there is another way than the obvious one, it is taken (128-bit arithmetic, a table of ranges
 * instead of pairing in one pass), so that one misreading is not made twice. */
#include "lab01/lab01.h"

#include <string.h>

typedef __int128 wide; /* sums of timestamps can't overflow it */

static const char *const status_names[] = {"ok", "absent", "cross_clock", "negative"};
static const char *const boundary_names[] = {"none", "token_sent", "browser_bytes"};

struct span {
    enum interval_status status;
    wide ns, uncertainty;
};

static const struct event *first_of(const struct record *r, enum event_kind kind) {
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].kind == kind) return &r->events[i];
    return NULL;
}

/* t_a - t_b from the offset stated for these two clocks, in either order. */
static bool stated_offset(const struct record *r, enum clock_id a, enum clock_id b, wide *offset,
                          wide *uncertainty) {
    for (size_t i = 0; i < r->n_offsets; i++) {
        const struct clock_offset *o = &r->offsets[i];
        bool straight = o->a == a && o->b == b, turned = o->a == b && o->b == a;
        if (!straight && !turned) continue;
        *offset = straight ? (wide)o->offset_ns : -(wide)o->offset_ns;
        *uncertainty = o->uncertainty_ns;
        return true;
    }
    return false;
}

static struct span span_between(const struct record *r, const struct event *start,
                                const struct event *end) {
    wide offset = 0, uncertainty = 0;
    if (!start || !end) return (struct span){INTERVAL_ABSENT, 0, 0};
    if (start->clock != end->clock &&
        !stated_offset(r, start->clock, end->clock, &offset, &uncertainty))
        return (struct span){INTERVAL_CROSS_CLOCK, 0, 0};
    wide end_on_starts_clock = (wide)end->t_ns + offset;
    wide ns = end_on_starts_clock - start->t_ns;
    if (ns < 0) return (struct span){INTERVAL_NEGATIVE, 0, 0};
    return (struct span){INTERVAL_OK, ns, uncertainty};
}

/* Nearest integer, halves away from zero. */
static wide nearest(wide n, wide d) {
    wide sign = n < 0 ? -1 : 1, size = n < 0 ? -n : n;
    return sign * ((2 * size + d) / (2 * d));
}

static struct span span_tpot(const struct record *r, enum tpot_boundary *boundary) {
    const struct event *first = NULL, *last = NULL;
    int carrying = 0;
    int64_t tokens = r->workload.output_tokens;
    *boundary = TPOT_NONE;
    for (size_t i = 0; i < r->n_events; i++) {
        const struct event *ev = &r->events[i];
        if (ev->kind != EV_TOKEN_SENT || ev->tokens < 1) continue;
        if (carrying++ == 0) first = ev;
        last = ev;
    }
    if (tokens < 2) return (struct span){INTERVAL_ABSENT, 0, 0};
    bool by_tokens = carrying >= 2;
    if (!by_tokens) {
        first = first_of(r, EV_FIRST_BYTE_RECEIVED);
        last = first_of(r, EV_FINAL_BYTE_RECEIVED);
    }
    struct span s = span_between(r, first, last);
    if (s.status == INTERVAL_ABSENT) return s;
    *boundary = by_tokens ? TPOT_TOKEN_SENT : TPOT_BROWSER_BYTES;
    if (s.status != INTERVAL_OK) return s;
    return (struct span){INTERVAL_OK, nearest(s.ns, tokens - 1),
                         nearest(s.uncertainty, tokens - 1)};
}

/* The gpu_end that belongs to the gpu_start at `at`: the next end of its range. -1: none, or an
 * earlier start of the same range has it. */
static int range_end(const struct record *r, size_t at) {
    for (size_t i = at + 1; i < r->n_events; i++) {
        if (strcmp(r->events[i].range, r->events[at].range)) continue;
        if (r->events[i].kind == EV_GPU_START) return -1;
        if (r->events[i].kind == EV_GPU_END) return (int)i;
    }
    return -1;
}

static struct span span_gpu(const struct record *r) {
    struct span sum = {INTERVAL_OK, 0, 0};
    size_t starts = 0, ends = 0, open = 0, most_open = 0;
    for (size_t i = 0; i < r->n_events; i++) {
        bool is_start = r->events[i].kind == EV_GPU_START, is_end = r->events[i].kind == EV_GPU_END;
        starts += is_start;
        ends += is_end;
        open = is_start ? open + 1 : is_end && open > 0 ? open - 1 : open;
        if (open > most_open) most_open = open;
        if (!is_start) continue;
        int end = range_end(r, i);
        if (end < 0) return (struct span){INTERVAL_ABSENT, 0, 0};
        struct span s = span_between(r, &r->events[i], &r->events[end]);
        if (s.status != INTERVAL_OK && sum.status == INTERVAL_OK) sum.status = s.status;
        sum.ns += s.ns;
        sum.uncertainty += s.uncertainty;
    }
    /* each start has its own end; an extra end has no start */
    if (starts == 0 || ends != starts || most_open > INTERVALS_MAX_OPEN_RANGES ||
        sum.ns > INTERVAL_MAX_NS)
        return (struct span){INTERVAL_ABSENT, 0, 0};
    if (sum.status != INTERVAL_OK) sum.ns = sum.uncertainty = 0;
    return sum;
}

/* ---- as slots -------------------------------------------------------------------------------- */

static struct want *want_span(struct want *w, const char *const names[3], struct span s,
                              bool strict) {
    bool numbers = s.status == INTERVAL_OK || strict;
    *w = (struct want){
        .name = names[0], .value = s.status, .care = true, .names = status_names, .n_names = 4};
    if (s.status == INTERVAL_OK) want_as_if(w, INTERVAL_NEGATIVE, "start and end are swapped");
    if (s.status == INTERVAL_NEGATIVE)
        want_as_if(w, INTERVAL_OK,
                   "a negative interval is clamped to 0, or isn't looked for, or start and end are "
                   "swapped (M12)");
    if (s.status == INTERVAL_CROSS_CLOCK)
        want_as_if(w, INTERVAL_OK, "times of two clocks are subtracted");
    w++;
    *w++ = (struct want){.name = names[1], .value = (int64_t)s.ns, .care = numbers, .is_ns = true};
    *w++ = (struct want){
        .name = names[2], .value = (int64_t)s.uncertainty, .care = numbers, .is_ns = true};
    return w;
}

/* The values of *ns that a wrong divisor, or a wrong start, would give. */
static void tpot_mistakes(const struct record *r, struct span tpot, struct want *ns) {
    const struct event *from = NULL, *first = NULL, *last = NULL;
    int64_t tokens = r->workload.output_tokens;
    if (tpot.status != INTERVAL_OK || tokens < 2) return;
    for (size_t i = 0; i < r->n_events; i++) {
        const struct event *ev = &r->events[i];
        if (ev->kind == EV_FIRST_TOKEN && !from) from = ev;
        if (ev->kind != EV_TOKEN_SENT || ev->tokens < 1) continue;
        if (!first) first = ev;
        last = ev;
    }
    bool by_tokens = first && first != last;
    if (!by_tokens) {
        first = first_of(r, EV_FIRST_BYTE_RECEIVED);
        last = first_of(r, EV_FINAL_BYTE_RECEIVED);
    }
    struct span s = span_between(r, first, last);
    want_as_if(ns, (int64_t)nearest(s.ns, tokens),
               "the time is divided by the number of tokens, not by the gaps between them");
    if (!from || !by_tokens || span_between(r, from, last).status != INTERVAL_OK) return;
    want_as_if(ns, (int64_t)nearest(span_between(r, from, last).ns, tokens - 1),
               "the time begins at first_token instead of the first token_sent");
}

static void want_compute(const struct record *r, bool strict, struct want *w) {
    static const char *const names[6][3] = {
        {"client_ttft.status", "client_ttft.ns", "client_ttft.uncertainty_ns"},
        {"server_ttft.status", "server_ttft.ns", "server_ttft.uncertainty_ns"},
        {"queue_delay.status", "queue_delay.ns", "queue_delay.uncertainty_ns"},
        {"e2e.status", "e2e.ns", "e2e.uncertainty_ns"},
        {"tpot.status", "tpot.ns", "tpot.uncertainty_ns"},
        {"gpu_execution.status", "gpu_execution.ns", "gpu_execution.uncertainty_ns"}};
    static const enum event_kind ends[4][2] = {{EV_REQUEST_SUBMITTED, EV_FIRST_BYTE_RECEIVED},
                                               {EV_REQUEST_ACCEPTED, EV_FIRST_TOKEN},
                                               {EV_REQUEST_ACCEPTED, EV_REQUEST_ADMITTED},
                                               {EV_REQUEST_SUBMITTED, EV_FINAL_BYTE_RECEIVED}};
    enum tpot_boundary boundary;
    for (int i = 0; i < 4; i++)
        w = want_span(w, names[i],
                      span_between(r, first_of(r, ends[i][0]), first_of(r, ends[i][1])), strict);
    struct span tpot = span_tpot(r, &boundary);
    w = want_span(w, names[4], tpot, strict);
    tpot_mistakes(r, tpot, w - 2);
    w = want_span(w, names[5], span_gpu(r), strict);
    /* for a TPOT in error the header does not say which boundary it has */
    bool sure = tpot.status == INTERVAL_OK || tpot.status == INTERVAL_ABSENT;
    *w = (struct want){.name = "tpot_boundary",
                       .value = boundary,
                       .care = sure,
                       .names = boundary_names,
                       .n_names = 3};
}

/* The pooled gaps; -1 when there is no sequence. */
static int64_t pool_gaps(const struct record *r, int64_t *out, size_t cap) {
    const struct event *before = NULL;
    int64_t n = 0;
    for (size_t i = 0; i < r->n_events; i++) {
        const struct event *ev = &r->events[i];
        if (ev->kind != EV_TOKEN_SENT || ev->tokens == 0) continue;
        if (before) {
            struct span s = span_between(r, before, ev);
            if (s.status != INTERVAL_OK) return -1;
            for (int32_t t = 0; t < ev->tokens; t++, n++)
                if ((size_t)n < cap) out[n] = (int64_t)nearest(s.ns, ev->tokens);
        }
        before = ev;
    }
    return n;
}

static void want_itl(const struct lab01_case *c, struct want *w) {
    static int64_t gaps[CASE_MAX_ITL];
    int64_t n = pool_gaps(&c->rec[0], gaps, c->cap), untouched;
    memset(&untouched, CASE_POISON, sizeof untouched);
    *w++ = (struct want){.name = "number of gaps", .value = n < 0 ? 0 : n, .care = true};
    for (size_t i = 0; i < c->cap + CASE_SPARE; i++) {
        struct want one = {.name = "gap", .is_ns = true, .index = (int)i + 1};
        if (i >= c->cap) { /* after the output's room */
            one.name = "memory after the output's end";
            one.care = true;
            one.value = untouched;
            one.is_ns = false;
        } else if (n > 0 && i < (size_t)n) {
            one.care = true;
            one.value = gaps[i];
        }
        *w++ = one;
    }
}

void lab01_oracle_intervals(const struct lab01_case *c, bool strict, struct want *w) {
    static const char *const names[3] = {"status", "ns", "uncertainty_ns"};
    const struct record *r = &c->rec[0];
    switch (c->fn) {
    case FN_BETWEEN:
        want_span(w, names,
                  span_between(r, c->start < 0 ? NULL : &r->events[c->start],
                               c->end < 0 ? NULL : &r->events[c->end]),
                  strict);
        break;
    case FN_DIVIDE:
        *w = (struct want){.name = "quotient", .value = (int64_t)nearest(c->n, c->d), .care = true};
        break;
    case FN_COMPUTE:
        want_compute(r, strict, w);
        break;
    default:
        want_itl(c, w);
    }
}
