/* judge_search.c: judges a search for the highest load within the limits. The search runs in the
 * child. Each load that it probes is sent here and measured here, on a curve or on a trace that the
 * child never sees. First the measurements decide: the answer met the limits, and a load within the
 * resolution above it did not. Then the known truth decides. */
#include "lab02/lab02.h"
#include "lab02/make_policy.h"
#include "lab02/oracle.h"
#include "lab02/play.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The limit that a hidden curve meets first. */
enum bound {
    BY_TTFT,
    BY_TPOT,
    BY_E2E,
    BY_STABILITY,
    BY_FAILURES,
    BOUNDS,
    BY_EMPTINESS /* above it no request arrives: not computable; only in the edge cases */
};

struct measured {
    double rps;
    bool met;
    struct operating_point point;
};

/* One hidden server, and the loads that were probed. */
struct server {
    struct lab02_case c;
    bool by_trace;
    struct play trace; /* with arrivals for 1 request/s */
    enum bound bound;  /* without a trace: a curve with this bound */
    double truth_rps;  /* the verdict changes here: met below, missed from here on */
    int fail_at;       /* this probe fails (1, 2, ...); 0: none */
    struct measured asked[CAPACITY_MAX_PROBES + 1];
    int n_asked;
    char wrong[200]; /* a probe that is not allowed, in words */
};

static bool search_case(const struct check_def *def, struct dialogue *d, int k,
                        struct check_result *r);

void lab02_judge_search(const struct check_def *def, struct dialogue *d, struct check_result *r) {
    for (int k = 0; k < def->n_cases; k++) {
        /* in an order of the seed's: the place of a case says nothing about its kind */
        if (!search_case(def, d, case_shuffled(d->seed, def, k), r))
            return; /* the outcome is "lost" until the last case */
        r->cases_right++;
    }
    r->kind[0] = r->got[0] = r->want[0] = '\0';
    r->outcome = OUTCOME_EARNED;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void measure_curve(const struct server *s, double rps, struct operating_point *out) {
    const struct point_limits *l = &s->c.limits;
    struct lab02_case c = {.limits = *l, .local_rps = s->truth_rps};
    double share = fmin(rps / s->truth_rps, 1e3); /* 1 where the verdict changes */
    lab02_case_curve(&c, rps, out);
    if (s->bound != BY_STABILITY) out->stable = true;
    if (s->bound == BY_TTFT) out->ttft_p99.ns = (int64_t)((double)l->ttft_below_ns * share);
    if (s->bound == BY_TPOT) out->tpot_p99.ns = (int64_t)((double)l->tpot_below_ns * share);
    if (s->bound == BY_E2E) out->e2e_p99.ns = (int64_t)((double)l->e2e_below_ns * share);
    if (s->bound == BY_EMPTINESS && share >= 1) out->requests = out->complete = out->good = 0;
    if (s->bound == BY_FAILURES && share >= 1) {
        out->complete = 380;
        out->shed = 20;
        out->ttft_p99 = (struct percentile){true, true, 0, 400, 20, false};
    }
}

static void measure_trace(const struct server *s, double rps, struct operating_point *out) {
    static struct play p;
    static struct play_result r;
    struct err e;
    p = s->trace;
    for (size_t i = 0; i < p.n; i++)
        p.request[i].arrival_ns = (int64_t)((double)s->trace.request[i].arrival_ns / rps);
    INVARIANT(lab02_play_local(&p, "chunked", &r, &e) == 0);
    lab02_oracle_measure(r.record, p.n, p.request[p.n / 10].arrival_ns,
                         p.request[p.n - 1].arrival_ns + 1, &s->c.limits, out);
}

static bool measure(const struct server *s, double rps, struct operating_point *out) {
    if (s->by_trace)
        measure_trace(s, rps, out);
    else
        measure_curve(s, rps, out);
    return lab02_oracle_verdict(out, &s->c.limits) == SLO_MET;
}

/* Answers a probe, which came over the channel. */
static int serve(void *ctx, const void *bytes, size_t n, void *reply, size_t cap) {
    struct server *s = ctx;
    struct wire r = wire_reader(bytes, n), w = wire_writer(reply, cap);
    struct probe_reply out = {0};
    double rps = 0;
    wire_f64(&r, &rps);
    if (r.bad || r.left > 0) return -1;
    if (!isfinite(rps) || rps <= 0) {
        snprintf(s->wrong, sizeof s->wrong, "it asks to measure a load of %g requests/s", rps);
        return -1;
    }
    if (s->n_asked == CAPACITY_MAX_PROBES) {
        snprintf(s->wrong, sizeof s->wrong, "it asks for more than %d measurements",
                 CAPACITY_MAX_PROBES);
        return -1;
    }
    struct measured *m = &s->asked[s->n_asked++];
    m->rps = rps;
    if (s->n_asked == s->fail_at) {
        out.rc = -1;
    } else {
        m->met = measure(s, rps, &m->point);
        out.point = m->point;
    }
    lab02_probe_reply_codec(&w, &out);
    return w.bad ? -1 : (int)(cap - w.left);
}

/* ---- hidden servers -------------------------------------------------------------------------- */

static double uniform(struct rng *r, double lo, double hi) {
    return lo + (hi - lo) * rng_unit(r);
}

static void curve_case(struct rng *r, int k, struct server *s) {
    static const double resolutions[] = {0.01, 0.05, 0.002, 0.1, 0.001, 0.02};
    struct lab02_case *c = &s->c;
    s->bound = (enum bound)(k % BOUNDS);
    c->lo_rps = uniform(r, 0.2, 4);
    c->hi_rps = c->lo_rps * uniform(r, 2, 60);
    c->resolution = resolutions[k % 6];
    c->limits = (struct point_limits){800 * NS_PER_MS, 80 * NS_PER_MS, 20000 * NS_PER_MS};
    s->truth_rps = c->lo_rps * pow(c->hi_rps / c->lo_rps, uniform(r, 0.05, 0.95));
    if (k % 4 == 1) /* just above the lowest, just below the highest */
        s->truth_rps = k % 8 == 1 ? c->lo_rps * 1.0001 : c->hi_rps * 0.9999;
}

enum { EDGES = 7 };
static void edge_case(struct rng *r, int k, struct server *s) {
    curve_case(r, 2 * k, s);
    struct lab02_case *c = &s->c;
    switch (k % EDGES) {
    case 0:
        s->truth_rps = c->lo_rps * uniform(r, 0.2, 0.9);
        break;
    case 1:
        s->truth_rps = c->hi_rps * uniform(r, 1.1, 4);
        break;
    case 2: /* the truth is the lowest load: it misses */
        s->bound = BY_STABILITY;
        s->truth_rps = c->lo_rps;
        break;
    case 3: /* lowest and highest are closer than the resolution */
        c->resolution = 0.05;
        c->hi_rps = c->lo_rps * 1.02;
        s->truth_rps = c->lo_rps * 1.01;
        break;
    case 4: /* as close, and both meet the limits */
        c->resolution = 0.05;
        c->hi_rps = c->lo_rps * 1.02;
        s->truth_rps = c->lo_rps * 2;
        break;
    case 5: /* as far apart as point.h allows: the mean and the product of the two overflow */
        c->lo_rps = 1e-300;
        c->hi_rps = 1e300;
        s->truth_rps = pow(10, k / EDGES % 2 ? uniform(r, -250, -170) : uniform(r, 170, 250));
        break;
    default:
        s->bound = BY_EMPTINESS;
    }
}

/* Finds the truth on a fine grid. False when the verdict does not change exactly once, well within
 * lo and hi. */
static bool trace_truth(struct server *s) {
    double step = 1 + s->c.resolution / 3, last_met = 0, first_missed = 0;
    struct operating_point p;
    for (double rps = s->c.lo_rps; rps < s->c.hi_rps; rps *= step) {
        bool met = measure(s, rps, &p);
        if (met && first_missed > 0) return false;
        if (met) last_met = rps;
        if (!met && first_missed <= 0) first_missed = rps;
    }
    s->truth_rps = first_missed;
    return last_met > 0 && first_missed > 0 && !measure(s, s->c.hi_rps, &p);
}

static void trace_case(struct rng *r, int k, struct server *s) {
    char kind[CASE_KIND_BYTES];
    s->by_trace = true;
    s->c.lo_rps = 0.5;
    s->c.hi_rps = 16;
    s->c.resolution = 0.05;
    s->c.limits = (struct point_limits){1200 * NS_PER_MS, 100 * NS_PER_MS, INT64_MAX};
    for (int tries = 0; tries < 8; tries++) {
        lab02_make_play(r, PLAY_LOAD, k, &s->trace, kind);
        s->trace.n = 120;
        double rate =
            (double)s->trace.n / ((double)s->trace.request[s->trace.n - 1].arrival_ns / 1e9);
        for (size_t i = 0; i < s->trace.n; i++)
            s->trace.request[i].arrival_ns =
                (int64_t)((double)s->trace.request[i].arrival_ns * rate);
        if (trace_truth(s)) return;
    }
    s->truth_rps = 0; /* unknown: the measurements decide alone */
}

static void bad_case(struct rng *r, int k, struct server *s) {
    static const double bad[] = {0, -1, (double)NAN, (double)INFINITY};
    struct lab02_case *c = &s->c;
    curve_case(r, k, s);
    switch (k % 8) {
    case 0:
        s->fail_at = 1;
        break;
    case 1:
        s->fail_at = 2;
        break;
    case 2:
        s->fail_at = 4;
        break;
    case 3:
        c->lo_rps = bad[k / 8 % 3];
        break;
    case 4:
        c->hi_rps = k / 8 % 2 ? c->lo_rps : c->lo_rps / 2;
        break;
    case 5:
        c->resolution = k / 8 % 2 ? 0.0009 : bad[k / 8 % 3];
        break;
    case 6:
        c->hi_rps = bad[2 + k / 8 % 2];
        break;
    default: /* no constant earns the check */
        break;
    }
}

/* ---- judging --------------------------------------------------------------------------------- */

static double real(int64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-9 * fabs(b);
}

#define WRONG(...)                                                                                 \
    do {                                                                                           \
        snprintf(r->message, sizeof r->message, __VA_ARGS__);                                      \
        return false;                                                                              \
    } while (0)

/* The last measurement at `rps`, or NULL. */
static const struct measured *asked_at(const struct server *s, double rps) {
    for (int i = s->n_asked; i-- > 0;)
        if (near(s->asked[i].rps, rps)) return &s->asked[i];
    return NULL;
}

/* Whether the answer's point is the one that was measured there. */
static bool same_point(const int64_t *slots, const struct operating_point *p) {
    const struct percentile *t = &p->ttft_p99;
    return near(real(slots[0]), p->offered_rps) && slots[1] == p->requests &&
           slots[2] == p->complete && near(real(slots[7]), p->throughput_rps) &&
           slots[11 + 2 * 6] == t->present && slots[11 + 2 * 6 + 2] == t->ns &&
           slots[POINT_SLOTS - 1] == p->stable;
}

static bool found_rightly(const struct server *s, const int64_t *slots, struct check_result *r) {
    double rps = real(slots[FIND_RPS]), top = rps * (1 + s->c.resolution) * (1 + 1e-9);
    const struct measured *m = isfinite(rps) ? asked_at(s, rps) : NULL;
    bool above = false, higher = false;
    snprintf(r->got, sizeof r->got, "%.6g requests/s after %d measurements", rps, s->n_asked);
    if (!m) WRONG("the load that it found was never measured");
    if (!m->met) WRONG("the load that it found misses the limits");
    for (int i = 0; i < s->n_asked; i++) {
        above |= !s->asked[i].met && s->asked[i].rps > rps && s->asked[i].rps <= top;
        higher |= s->asked[i].met && s->asked[i].rps > rps * (1 + 1e-9);
    }
    if (higher) WRONG("a higher load that was measured met the limits, too");
    if (!slots[FIND_AT_TOP] && !above)
        WRONG(
            "nothing within the resolution above the load that it found was measured to miss: the "
            "true answer may be higher");
    if (!same_point(slots + FIND_POINT, &m->point))
        WRONG("the point that it gives isn't the one that was measured at that load");
    /* on a trace the verdict may change back and forth between two points of the grid */
    double room = s->by_trace ? pow(1 + s->c.resolution, 3) : 1 + 1e-9;
    if (s->truth_rps > 0 && !slots[FIND_AT_TOP] &&
        (rps >= s->truth_rps * room || top * room < s->truth_rps))
        WRONG("the load that it found isn't within the resolution of the true one");
    return true;
}

static bool not_found_rightly(const struct server *s, const int64_t *slots,
                              struct check_result *r) {
    const struct measured *lo = asked_at(s, s->c.lo_rps);
    if (!lo) WRONG("it says that not even the lowest load meets the limits, and never measured it");
    if (real(slots[FIND_RPS]) != 0) {
        snprintf(r->got, sizeof r->got, "rps %.6g", real(slots[FIND_RPS]));
        snprintf(r->want, sizeof r->want, "rps 0");
        WRONG("no load that was measured meets the limits, so rps is 0");
    }
    if (!same_point(slots + FIND_POINT, &lo->point))
        WRONG("not found: `at` is the point that was measured at the lowest load, and isn't");
    return true;
}

/* Compares the answer with the truth. */
static bool right(struct server *s, const int64_t *slots, struct check_result *r) {
    struct operating_point p;
    bool lo_met = measure(s, s->c.lo_rps, &p), hi_met = measure(s, s->c.hi_rps, &p);
    snprintf(r->want, sizeof r->want, "%s",
             lo_met ? hi_met ? "found, at the top" : "" : "not found");
    if (lo_met && !hi_met && s->truth_rps > 0)
        snprintf(r->want, sizeof r->want, "from %.6g to just under %.6g requests/s",
                 s->truth_rps / (1 + s->c.resolution), s->truth_rps);
    snprintf(r->got, sizeof r->got, "returned %lld", (long long)slots[FIND_RC]);
    if (slots[FIND_RC] != 0) WRONG("the search failed where nothing was wrong");
    snprintf(r->got, sizeof r->got, "found %lld, at_top %lld", (long long)slots[FIND_FOUND],
             (long long)slots[FIND_AT_TOP]);
    if (slots[FIND_FOUND] != lo_met)
        WRONG(lo_met ? "the lowest load meets the limits, so there is something to find"
                     : "not even the lowest load meets the limits, so there is nothing to find");
    if (slots[FIND_PROBES] != s->n_asked)
        WRONG("it counts %lld measurements; %d were made", (long long)slots[FIND_PROBES],
              s->n_asked);
    if (!lo_met) return not_found_rightly(s, slots, r);
    if (slots[FIND_AT_TOP] != hi_met)
        WRONG(hi_met ? "the highest load meets the limits: the true answer may be higher still"
                     : "the highest load misses the limits: the answer isn't at the top");
    if (hi_met && !near(real(slots[FIND_RPS]), s->c.hi_rps))
        WRONG("the highest load meets the limits, and isn't the answer");
    return found_rightly(s, slots, r);
}

static bool failed_rightly(const struct server *s, const int64_t *slots, struct check_result *r) {
    snprintf(r->want, sizeof r->want, "returned -1");
    snprintf(r->got, sizeof r->got, "returned %lld after %d measurements",
             (long long)slots[FIND_RC], s->n_asked);
    if (slots[FIND_RC] != -1)
        WRONG(s->fail_at ? "a measurement failed, and the search went on as if it hadn't"
                         : "arguments that make no sense are refused");
    if (!s->fail_at && s->n_asked > 0) WRONG("it measures with arguments that make no sense");
    if (s->fail_at && s->n_asked > s->fail_at) WRONG("it goes on measuring after a failure");
    return true;
}

static void make_server(const struct check_def *def, uint64_t seed, int k, struct server *s,
                        char kind[CASE_KIND_BYTES]) {
    static const char *const edges[] = {
        "not even the lowest load meets the limits",
        "the highest load meets the limits",
        "the verdict changes exactly at the lowest load",
        "lowest and highest are closer than the resolution",
        "lowest and highest are closer than the resolution, and both meet the limits",
        "the lowest is 1e-300 and the highest 1e300",
        "above the limit nothing is computable, which is not met"};
    static const char *const faults[] = {"the first measurement fails",
                                         "the second measurement fails",
                                         "the fourth measurement fails",
                                         "a lowest load that makes no sense",
                                         "a highest load that isn't above the lowest",
                                         "a resolution that makes no sense",
                                         "a highest load that makes no sense",
                                         "nothing is wrong"};
    struct rng rng;
    memset(s, 0, sizeof *s);
    s->c.fn = FN_CAPACITY;
    rng_seed(&rng, case_sequence(seed, def->id, k));
    if (def->maker == JUDGE_SEARCH_FINDS) curve_case(&rng, k, s);
    if (def->maker == JUDGE_SEARCH_EDGES) edge_case(&rng, k, s);
    if (def->maker == JUDGE_SEARCH_TRACE) trace_case(&rng, k, s);
    if (def->maker == JUDGE_SEARCH_FAILS) bad_case(&rng, k, s);
    snprintf(kind, CASE_KIND_BYTES, "%s",
             def->maker == JUDGE_SEARCH_EDGES   ? edges[k % EDGES]
             : def->maker == JUDGE_SEARCH_FAILS ? faults[k % 8]
             : def->maker == JUDGE_SEARCH_TRACE ? "a simulated server under a hidden trace"
                                                : "a server whose limit lies between two loads");
}

static void describe_server(const struct server *s, char *out, size_t cap) {
    int n = snprintf(out, cap, "capacity_find(probe, ctx, %g, %g, %g, ...), measured:", s->c.lo_rps,
                     s->c.hi_rps, s->c.resolution);
    for (int i = 0; i < s->n_asked && n > 0 && (size_t)n < cap; i++)
        n += snprintf(out + n, cap - (size_t)n, "%s%.6g %s", i % 4 ? ", " : "\n  ", s->asked[i].rps,
                      s->asked[i].met ? "met" : "missed");
}

static bool search_case(const struct check_def *def, struct dialogue *d, int k,
                        struct check_result *r) {
    static unsigned char bytes[4096];
    static struct server s;
    int64_t slots[FIND_POINT + POINT_SLOTS];
    make_server(def, d->seed, k, &s, r->kind);
    struct channel_server server = {serve, &s};
    struct wire w = wire_writer(bytes, sizeof bytes);
    INVARIANT(lab02_case_codec(&w, &s.c) == 0 &&
              lab02_case_slots(&s.c) == sizeof slots / sizeof *slots);
    enum dialogue_answer a =
        dialogue_ask(d, bytes, sizeof bytes - w.left, slots, sizeof slots / sizeof *slots, &server);
    bool good = false;
    r->got[0] = r->want[0] = '\0'; /* delete those of the case before */
    r->endless = a == DIALOGUE_LATE;
    if (a != DIALOGUE_OK)
        snprintf(r->message, sizeof r->message, "the search gave no answer: %.280s",
                 s.wrong[0] ? s.wrong : d->why);
    else if (def->maker == JUDGE_SEARCH_FAILS && k % 8 != 7)
        good = failed_rightly(&s, slots, r);
    else
        good = right(&s, slots, r);
    if (!good) describe_server(&s, r->input, sizeof r->input);
    return good;
}
