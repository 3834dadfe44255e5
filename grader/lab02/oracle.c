/* oracle.c: see oracle.h. Each definition is followed word for word, one request at a time; it
 * counts where the learner may sort or sweep. */
#include "lab02/oracle.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one request ----------------------------------------------------------------------------- */

enum point_class lab02_oracle_class(const struct point_request *r) {
    if (r->end == POINT_REJECTED) return POINT_SHED;
    if (r->end == POINT_FAILED) return POINT_BROKEN;
    return r->output_tokens >= r->wanted_tokens ? POINT_COMPLETE : POINT_TRUNCATED;
}

/* Rounds half away from zero; both arguments are positive here. */
static int64_t nearest(int64_t n, int64_t d) {
    int64_t c = n / d, rest = n % d;
    return rest >= d - rest ? c + 1 : c;
}

void lab02_oracle_point_intervals(const struct point_request *r, struct point_intervals *out) {
    bool done = r->end == POINT_DONE;
    *out = (struct point_intervals){-1, -1, -1, -1};
    if (r->admitted_ns != -1) out->queue_delay_ns = r->admitted_ns - r->arrival_ns;
    if (r->first_token_ns != -1) out->ttft_ns = r->first_token_ns - r->arrival_ns;
    if (done) out->e2e_ns = r->end_ns - r->arrival_ns;
    if (done && r->first_token_ns != -1 && r->output_tokens >= 2)
        out->tpot_ns = nearest(r->end_ns - r->first_token_ns, r->output_tokens - 1);
}

/* ---- a window -------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The percentile of values[0..n_ok), which are sorted here, and n_failed infinite ones. */
static struct percentile rank(int64_t *values, size_t n_ok, size_t n_failed, int64_t p_milli) {
    size_t n = n_ok + n_failed;
    struct percentile out = {.n = n, .failed = n_failed};
    out.few = (int64_t)n * (100000 - p_milli) < 100000;
    if (n == 0) return out;
    qsort(values, n_ok, sizeof *values, ascending);
    size_t at = 1; /* the smallest rank with at least p % at or below */
    while ((int64_t)at * 100000 < p_milli * (int64_t)n) at++;
    out.present = true;
    out.infinite = at > n_ok;
    if (!out.infinite) out.ns = values[at - 1];
    return out;
}

static bool inside(int64_t t, int64_t from_ns, int64_t to_ns) {
    return t >= from_ns && t < to_ns;
}

/* An absent TPOT meets every limit; an absent TTFT meets a limit only if there is none. */
static bool is_good(const struct point_request *r, const struct point_limits *l) {
    struct point_intervals iv;
    lab02_oracle_point_intervals(r, &iv);
    bool ttft = iv.ttft_ns == -1 ? l->ttft_below_ns == INT64_MAX : iv.ttft_ns < l->ttft_below_ns;
    return lab02_oracle_class(r) == POINT_COMPLETE && ttft &&
           (iv.tpot_ns == -1 || iv.tpot_ns < l->tpot_below_ns) && iv.e2e_ns < l->e2e_below_ns;
}

static double in_system(const struct point_request *list, size_t n, int64_t from_ns,
                        int64_t to_ns) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t a = list[i].arrival_ns > from_ns ? list[i].arrival_ns : from_ns;
        int64_t b = list[i].end_ns < to_ns ? list[i].end_ns : to_ns;
        if (b > a) sum += (double)(b - a);
    }
    return sum / (double)(to_ns - from_ns);
}

enum { QUEUE, TTFT, TPOT, E2E, N_LATENCIES };

static void take_percentiles(int64_t *values[N_LATENCIES], const size_t n[N_LATENCIES],
                             struct operating_point *out) {
    size_t failed = (size_t)(out->requests - out->complete);
    out->queue_delay_p99 = rank(values[QUEUE], n[QUEUE], failed, 99000);
    out->ttft_p50 = rank(values[TTFT], n[TTFT], failed, 50000);
    out->ttft_p99 = rank(values[TTFT], n[TTFT], failed, 99000);
    out->tpot_p50 = rank(values[TPOT], n[TPOT], failed, 50000);
    out->tpot_p99 = rank(values[TPOT], n[TPOT], failed, 99000);
    out->e2e_p50 = rank(values[E2E], n[E2E], failed, 50000);
    out->e2e_p99 = rank(values[E2E], n[E2E], failed, 99000);
}

static void count_request(const struct point_request *r, const struct point_limits *limits,
                          int64_t *values[N_LATENCIES], size_t n[N_LATENCIES],
                          struct operating_point *out) {
    enum point_class class = lab02_oracle_class(r);
    struct point_intervals iv;
    lab02_oracle_point_intervals(r, &iv);
    out->requests++;
    out->complete += class == POINT_COMPLETE;
    out->shed += class == POINT_SHED;
    out->truncated += class == POINT_TRUNCATED;
    out->broken += class == POINT_BROKEN;
    out->good += is_good(r, limits);
    if (class != POINT_COMPLETE) return;
    const int64_t each[N_LATENCIES] = {iv.queue_delay_ns, iv.ttft_ns, iv.tpot_ns, iv.e2e_ns};
    for (int i = 0; i < N_LATENCIES; i++)
        if (each[i] != -1) values[i][n[i]++] = each[i];
}

void lab02_oracle_measure(const struct point_request *list, size_t n, int64_t from_ns,
                          int64_t to_ns, const struct point_limits *limits,
                          struct operating_point *out) {
    int64_t *values[N_LATENCIES];
    size_t counts[N_LATENCIES] = {0};
    int64_t left = 0, ended = 0, latency = 0; /* left: in any way */
    double window_s = (double)(to_ns - from_ns) / NS_PER_S;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < N_LATENCIES; i++) {
        values[i] = calloc(n + 1, sizeof **values);
        INVARIANT(values[i]);
    }
    for (size_t i = 0; i < n; i++) {
        bool complete = lab02_oracle_class(&list[i]) == POINT_COMPLETE;
        if (inside(list[i].end_ns, from_ns, to_ns)) left++;
        if (complete && inside(list[i].end_ns, from_ns, to_ns)) ended++;
        if (!inside(list[i].arrival_ns, from_ns, to_ns)) continue;
        count_request(&list[i], limits, values, counts, out);
        if (complete) latency += list[i].end_ns - list[i].arrival_ns;
    }
    out->offered_rps = (double)out->requests / window_s;
    out->throughput_rps = (double)ended / window_s;
    out->good_rps = (double)out->good / window_s;
    out->mean_latency_ns = out->complete ? (double)latency / (double)out->complete : (double)NAN;
    out->mean_in_system = in_system(list, n, from_ns, to_ns);
    take_percentiles(values, counts, out);
    out->stable = left >= out->requests - out->requests / 10 &&
                  lab02_oracle_stable(list, n, from_ns, to_ns, NULL);
    for (int i = 0; i < N_LATENCIES; i++) free(values[i]);
}

/* ---- stable ---------------------------------------------------------------------------------- */

double lab02_oracle_slope_over_error(const double *y, int n) {
    double mean_x = (n - 1) / 2.0, mean_y = 0, sxx = 0, sxy = 0, residual = 0;
    for (int i = 0; i < n; i++) mean_y += y[i] / n;
    for (int i = 0; i < n; i++) {
        sxx += (i - mean_x) * (i - mean_x);
        sxy += (i - mean_x) * (y[i] - mean_y);
    }
    double slope = sxy / sxx;
    for (int i = 0; i < n; i++) {
        double off = y[i] - mean_y - slope * (i - mean_x);
        residual += off * off;
    }
    double error = sqrt(residual / (n - 2) / sxx);
    if (fabs(slope) < 1e-12) return 0;
    return error < 1e-12 ? (slope > 0 ? (double)INFINITY : -(double)INFINITY) : slope / error;
}

bool lab02_oracle_stable(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns,
                         double *rise) {
    int64_t mid = from_ns + (to_ns - from_ns) / 2, arrived = 0, ended = 0;
    double y[POINT_SAMPLES] = {0};
    if (rise) *rise = 0;
    for (size_t k = 0; k < n; k++) {
        arrived += inside(list[k].arrival_ns, mid, to_ns);
        ended += inside(list[k].end_ns, mid, to_ns);
    }
    if (100 * ended >= 98 * arrived) return true;
    for (int i = 0; i < POINT_SAMPLES; i++) {
        int64_t t = mid + (to_ns - mid) * i / POINT_SAMPLES;
        for (size_t k = 0; k < n; k++) {
            if (list[k].arrival_ns <= t) y[i]++;
            if (list[k].end_ns <= t) y[i]--;
        }
    }
    double r = lab02_oracle_slope_over_error(y, POINT_SAMPLES);
    if (rise) *rise = r;
    return r <= 3;
}

/* ---- comparing points ------------------------------------------------------------------------ */

/* Whether a percentile misses a limit. */
static bool misses(const struct percentile *p, int64_t below_ns) {
    if (!p->present) return false;
    if (p->infinite) return true;
    return below_ns != INT64_MAX && p->ns >= below_ns;
}

enum slo_answer lab02_oracle_verdict(const struct operating_point *p,
                                     const struct point_limits *l) {
    if (p->requests == 0) return SLO_NOT_COMPUTABLE;
    if (!p->stable || misses(&p->ttft_p99, l->ttft_below_ns) ||
        misses(&p->tpot_p99, l->tpot_below_ns) || misses(&p->e2e_p99, l->e2e_below_ns))
        return SLO_MISSED;
    return p->ttft_p99.present ? SLO_MET : SLO_NOT_COMPUTABLE;
}

size_t lab02_oracle_knee(const struct operating_point *points, size_t n) {
    size_t best = n;
    double power = 0;
    for (size_t i = n; i-- > 0;) { /* from the back, so that the first of equal points stays */
        if (!(points[i].mean_latency_ns > 0)) continue; /* false for NaN, too */
        double here = points[i].throughput_rps / points[i].mean_latency_ns;
        if (best == n || here >= power) best = i, power = here;
    }
    return best;
}

size_t lab02_oracle_saturation(const struct operating_point *points, size_t n) {
    size_t best = n;
    for (size_t i = n; i-- > 0;)
        if (points[i].stable &&
            (best == n || points[i].throughput_rps >= points[best].throughput_rps))
            best = i;
    return best;
}

enum curve_region lab02_oracle_region(const struct operating_point *points, size_t n, size_t at) {
    size_t knee = lab02_oracle_knee(points, n), top = lab02_oracle_saturation(points, n);
    if (!points[at].stable) return REGION_OVERLOADED;
    if (top < n && points[at].offered_rps > points[top].offered_rps) return REGION_OVERLOADED;
    if (knee < n && points[at].offered_rps < points[knee].offered_rps) return REGION_UNDERLOADED;
    return REGION_KNEE;
}

/* ---- slots ----------------------------------------------------------------------------------- */

struct wants {
    struct want *at;
};

static struct want *next(struct wants *w, const char *name, enum slot_kind kind, int64_t value) {
    *w->at = (struct want){.name = name, .kind = kind, .value = value, .care = true};
    return w->at++;
}

static void next_ns(struct wants *w, const char *name, int64_t ns) {
    next(w, name, SLOT_INT, ns)->is_ns = true;
}

static void next_real(struct wants *w, const char *name, double d) {
    int64_t bits;
    memcpy(&bits, &d, sizeof bits);
    next(w, name, isnan(d) ? SLOT_NAN : SLOT_REAL, bits);
}

static void next_name(struct wants *w, const char *name, int64_t value, const char *const *names,
                      int n_names) {
    struct want *x = next(w, name, SLOT_INT, value);
    x->names = names;
    x->n_names = n_names;
}

static void next_percentile(struct wants *w, const char *const names[6],
                            const struct percentile *p) {
    next(w, names[0], SLOT_INT, p->present);
    next(w, names[1], SLOT_INT, p->infinite);
    next_ns(w, names[2], p->ns);
    if (!p->present || p->infinite) w->at[-1].care = false; /* the value has no meaning then */
    next(w, names[3], SLOT_INT, (int64_t)p->n);
    next(w, names[4], SLOT_INT, (int64_t)p->failed);
    next(w, names[5], SLOT_INT, p->few);
}

#define SIX(name)                                                                                  \
    { name ".present", name ".infinite", name ".ns", name ".n", name ".failed", name ".few" }

static const char queue_to_token[] = "queue_delay ends at the first token, not at the admission";

static void point_wants(struct wants *w, const struct operating_point *p) {
    static const char *const names[7][6] = {
        SIX("queue_delay_p99"), SIX("ttft_p50"), SIX("ttft_p99"), SIX("tpot_p50"),
        SIX("tpot_p99"),        SIX("e2e_p50"),  SIX("e2e_p99")};
    const struct percentile *all[] = {&p->queue_delay_p99, &p->ttft_p50, &p->ttft_p99, &p->tpot_p50,
                                      &p->tpot_p99,        &p->e2e_p50,  &p->e2e_p99};
    next_real(w, "offered_rps", p->offered_rps);
    next(w, "requests", SLOT_INT, p->requests);
    next(w, "complete", SLOT_INT, p->complete);
    next(w, "shed", SLOT_INT, p->shed);
    next(w, "truncated", SLOT_INT, p->truncated);
    next(w, "broken", SLOT_INT, p->broken);
    next(w, "good", SLOT_INT, p->good);
    next_real(w, "throughput_rps", p->throughput_rps);
    next_real(w, "good_rps", p->good_rps);
    next_real(w, "mean_latency_ns", p->mean_latency_ns);
    next_real(w, "mean_in_system", p->mean_in_system);
    for (size_t i = 0; i < 7; i++) next_percentile(w, names[i], all[i]);
    want_as_if(w->at - 7 * 6 + 2, p->ttft_p99.ns, queue_to_token);
    next(w, "stable", SLOT_INT, p->stable);
}

static void curve_wants(const struct lab02_case *c, struct wants *w) {
    static const char *const answers[] = {"met", "missed", "not computable"};
    static const char *const regions[] = {"underloaded", "knee", "overloaded"};
    const struct operating_point *p = c->points;
    if (c->fn == FN_VERDICT)
        next_name(w, "verdict", lab02_oracle_verdict(p, &c->limits), answers, 3);
    else if (c->fn == FN_KNEE)
        next(w, "index", SLOT_INT, (int64_t)lab02_oracle_knee(p, c->n_points));
    else if (c->fn == FN_SATURATION)
        next(w, "index", SLOT_INT, (int64_t)lab02_oracle_saturation(p, c->n_points));
    else
        next_name(w, "region", lab02_oracle_region(p, c->n_points, c->at), regions, 3);
}

static void create_wants(const struct lab02_case *c, struct wants *w) {
    /* a number of 1 or more for learner-batch, nothing for learner */
    bool number = c->arg[0] >= '1' && c->arg[0] <= '9';
    for (const char *p = c->arg; *p; p++) number &= *p >= '0' && *p <= '9';
    bool good = c->batch ? number : !c->arg[0];
    static const char *const states[] = {"NULL", "a state"}, *const errors[] = {"empty", "set"};
    static const char *const groups[] = {"forms a group of more than 2", "forms groups of up to 2"};
    next_name(w, "returned", good, states, 2);
    want_as_if(w->at - 1, !good,
               good       ? "an argument that is right is refused"
               : c->batch ? "create() takes an argument that is no number from 1: it is to be "
                            "refused, with NULL and the reason in *e"
                          : "create() takes an argument, though 'learner' has none: any text but "
                            "\"\" is to be refused, with NULL and the reason in *e");
    next_name(w, "*e", 1, errors, 2);
    w->at[-1].care = !good;
    if (!c->others) return;
    next_name(w, "learner-batch:2 between two learner-batch:7", 1, groups, 2);
    want_as_if(w->at - 1, 0,
               "create() keeps the argument in a static or global variable, where the next "
               "policy's replaces it: keep it in the state that create() returns");
}

void lab02_oracle(const struct lab02_case *c, struct want *wants) {
    static const char *const classes[] = {"complete", "shed", "truncated", "broken"};
    size_t n = lab02_case_slots(c);
    struct wants w = {wants};
    struct point_intervals iv;
    struct operating_point p;
    for (size_t i = 0; i < n; i++) wants[i] = (struct want){.name = "slot", .care = false};
    if (c->memory == MEMORY_REPEAT)
        wants[n - 1] = (struct want){.name = "bytes by which the heap grew", .care = true};
    switch (c->fn) {
    case FN_CLASSIFY:
        next_name(&w, "class", lab02_oracle_class(c->list), classes, 4);
        break;
    case FN_INTERVALS:
        lab02_oracle_point_intervals(c->list, &iv);
        next_ns(&w, "queue_delay_ns", iv.queue_delay_ns);
        want_as_if(w.at - 1, iv.ttft_ns, queue_to_token);
        next_ns(&w, "ttft_ns", iv.ttft_ns);
        next_ns(&w, "tpot_ns", iv.tpot_ns);
        if (iv.tpot_ns > 0)
            want_as_if(w.at - 1,
                       nearest(c->list->end_ns - c->list->first_token_ns, c->list->output_tokens),
                       "the time is divided by the number of tokens, not by the gaps between them");
        next_ns(&w, "e2e_ns", iv.e2e_ns);
        break;
    case FN_MEASURE:
        lab02_oracle_measure(c->list, c->n_list, c->from_ns, c->to_ns, &c->limits, &p);
        next(&w, "returned", SLOT_INT, 0);
        point_wants(&w, &p);
        break;
    case FN_STABLE:
        next(&w, "stable", SLOT_INT,
             lab02_oracle_stable(c->list, c->n_list, c->from_ns, c->to_ns, NULL));
        break;
    case FN_VERDICT:
    case FN_KNEE:
    case FN_SATURATION:
    case FN_REGION:
        curve_wants(c, &w);
        break;
    case FN_CREATE:
        create_wants(c, &w);
        break;
    default:
        break;
    }
}
