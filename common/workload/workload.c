/* workload.c: draws each request's arrival, two lengths and failure from separate streams. See
 * workload.h. */
#include "workload/workload.h"

#include "base/clock.h"
#include "workload/arrivals.h"
#include "workload/closed.h"
#include "workload/spec.h"
#include "workload/traces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One stream per purpose; the first uses the seed itself. */
enum stream { OF_ARRIVALS, OF_PROMPTS, OF_OUTPUTS, OF_FATES };
static uint64_t stream_seed(uint64_t seed, enum stream s) {
    return seed ^ (uint64_t)s * UINT64_C(0xd1b54a32d192ed03);
}

struct workload {
    struct workload_spec spec; /* list_ns is a copy owned here */
    int64_t next_id, end_id;
    struct rng prompts, outputs, fates;
    struct arrival_process random; /* Poisson, gamma, on/off */
    struct closed_loop closed;
    struct trace trace;
    double stretch;    /* of the trace's gaps */
    int64_t peeked_ns; /* the next arrival, where `peeked` */
    bool peeked;
};

const char *workload_err_input(const struct workload_spec *spec, const struct err *e) {
    return spec->arrivals == ARRIVALS_TRACE && strncmp(e->field, "--", 2) ? spec->trace : NULL;
}

/* ---- opening ---- */

static int open_trace(struct workload *w, struct err *e) {
    const struct workload_spec *s = &w->spec;
    if (trace_read(&w->trace, s->trace, s->trace_format, s->skip_bad_rows, e)) return -1;
    w->end_id = w->trace.n;
    if (s->requests > 0 && s->requests < w->end_id) w->end_id = s->requests;
    w->stretch = s->time_scale > 0 ? s->time_scale : 1;
    int64_t span_ns = w->trace.rows[w->end_id - 1].at_ns;
    if (s->rate_rps > 0) {
        if (span_ns == 0)
            return err_at(e, 0, "--rate-rps",
                          "the trace's requests all come at one instant; no factor on their gaps "
                          "gives a rate");
        w->stretch = (double)(w->end_id - 1) / s->rate_rps * (double)NS_PER_S / (double)span_ns;
    }
    if ((double)span_ns * w->stretch > 0x1.0p62)
        return err_at(e, 0, s->rate_rps > 0 ? "--rate-rps" : "--time-scale",
                      "stretches the trace to more than 146 years");
    return 0;
}

static int open_arrivals(struct workload *w, struct err *e) {
    const struct workload_spec *s = &w->spec;
    w->end_id = s->requests;
    uint64_t seed = stream_seed(s->seed, OF_ARRIVALS);
    switch (s->arrivals) {
    case ARRIVALS_LIST: {
        size_t bytes = (size_t)s->requests * sizeof *s->list_ns;
        int64_t *copy = malloc(bytes);
        INVARIANT(copy);
        w->spec.list_ns = memcpy(copy, s->list_ns, bytes);
        return 0;
    }
    case ARRIVALS_POISSON:
        arrival_poisson(&w->random, s->rate_rps, seed);
        return 0;
    case ARRIVALS_GAMMA:
        arrival_gamma(&w->random, s->rate_rps, s->cv, seed);
        return 0;
    case ARRIVALS_ON_OFF:
        arrival_on_off(&w->random, s->rate_rps, s->on_s, s->off_s, seed);
        return 0;
    case ARRIVALS_CLOSED:
        closed_init(&w->closed, s->clients, llrint(s->think_s * (double)NS_PER_S), seed);
        return 0;
    case ARRIVALS_TRACE:
        return open_trace(w, e);
    }
    return err_at(e, 0, "--arrivals", "isn't a kind of arrivals");
}

struct workload *workload_open(const struct workload_spec *spec, struct err *e) {
    if (spec_check(spec, e)) return NULL;
    struct workload *w = calloc(1, sizeof *w);
    INVARIANT(w);
    w->spec = *spec;
    w->spec.list_ns = NULL; /* until it is a copy */
    if (spec->arrivals == ARRIVALS_LIST) w->spec.list_ns = spec->list_ns;
    if (open_arrivals(w, e)) {
        workload_close(w);
        return NULL;
    }
    if (w->spec.prompt_tokens.hi == 0) w->spec.prompt_tokens = (struct lengths){1, 1};
    if (w->spec.output_tokens.hi == 0) w->spec.output_tokens = (struct lengths){1, 1};
    rng_seed(&w->prompts, stream_seed(spec->seed, OF_PROMPTS));
    rng_seed(&w->outputs, stream_seed(spec->seed, OF_OUTPUTS));
    rng_seed(&w->fates, stream_seed(spec->seed, OF_FATES));
    return w;
}

void workload_close(struct workload *w) {
    if (!w) return;
    if (w->spec.arrivals == ARRIVALS_LIST) free((void *)w->spec.list_ns);
    closed_clear(&w->closed);
    trace_clear(&w->trace);
    free(w);
}

/* ---- the sequence ---- */

bool workload_over(const struct workload *w) {
    return w->next_id >= w->end_id;
}

int64_t workload_peek_ns(struct workload *w) {
    if (workload_over(w)) return INT64_MAX;
    switch (w->spec.arrivals) {
    case ARRIVALS_LIST:
        return w->spec.list_ns[w->next_id];
    case ARRIVALS_CLOSED:
        return closed_peek_ns(&w->closed);
    case ARRIVALS_TRACE: {
        int64_t at = w->trace.rows[w->next_id].at_ns;
        return w->stretch == 1 ? at : llrint((double)at * w->stretch);
    }
    default:
        if (!w->peeked) w->peeked_ns = arrival_next_ns(&w->random);
        w->peeked = true;
        return w->peeked_ns;
    }
}

static int32_t draw(struct rng *r, struct lengths l) {
    if (l.lo == l.hi) return l.lo;
    return l.lo + (int32_t)rng_below(r, (uint64_t)(l.hi - l.lo) + 1);
}

static void set_lengths(struct workload *w, struct sim_request *r) {
    int32_t longest;
    if (w->spec.arrivals == ARRIVALS_TRACE) {
        const struct trace_row *row = &w->trace.rows[w->next_id];
        r->prompt_tokens = row->prompt_tokens;
        r->wanted_tokens = row->output_tokens;
        longest = w->trace.longest_output;
        if (row->n_prefix > 0) {
            r->prefix = w->trace.prefixes + row->prefix_at;
            r->n_prefix = row->n_prefix;
            r->prefix_unit = TRACE_PREFIX_TOKENS;
            r->prefix_hash = r->prefix[0];
        }
    } else {
        r->prompt_tokens = draw(&w->prompts, w->spec.prompt_tokens);
        r->wanted_tokens = draw(&w->outputs, w->spec.output_tokens);
        longest = w->spec.output_tokens.hi;
    }
    int32_t limit = w->spec.max_output_tokens;
    r->output_tokens = limit > 0 && limit < r->wanted_tokens ? limit : r->wanted_tokens;
    r->max_output_tokens = limit > 0 ? limit : longest;
}

/* Does the request fail, and after how many tokens? Both are drawn in either case: another
 * fail_rate leaves the rest of the stream unchanged. */
static void draw_fate(struct workload *w, struct sim_request *r) {
    bool fails = rng_unit(&w->fates) < w->spec.fail_rate;
    uint64_t when = rng_next(&w->fates);
    if (!fails) return;
    r->fail_after = 1 + (int32_t)((unsigned __int128)when * (uint64_t)r->output_tokens >> 64);
}

int workload_next(struct workload *w, struct sim_request *out, struct err *e) {
    if (workload_over(w)) return 0;
    int64_t at = workload_peek_ns(w);
    if (at == INT64_MAX && w->spec.arrivals == ARRIVALS_CLOSED) return WORKLOAD_WAIT;
    if (at == INT64_MAX)
        return err_at(e, 0, "--requests", "request %lld would arrive after 146 years; take fewer",
                      (long long)w->next_id);
    *out = (struct sim_request){.id = w->next_id, .arrival_ns = at};
    set_lengths(w, out);
    if (w->spec.fail_rate > 0) draw_fate(w, out);
    if (w->spec.arrivals == ARRIVALS_CLOSED) closed_send(&w->closed);
    w->peeked = false;
    w->next_id++;
    return 1;
}

void workload_ended(struct workload *w, int64_t end_ns) {
    if (w->spec.arrivals == ARRIVALS_CLOSED) closed_ended(&w->closed, end_ns);
}

void workload_facts(const struct workload *w, struct workload_facts *out) {
    *out = w->trace.facts;
}
