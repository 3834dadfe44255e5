/* analysis.c: measures one load: the class and the intervals of each request, and the figures over
 * all of them (objective/point.h has the rules).
 *
 * Every request that arrived in the window stays in every denominator: refusing work must never
 * make a server look fast. Not here: comparing loads (capacity.c).
 */
#include "objective/point.h"
#include "record/intervals.h"
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
// END SOLUTION

enum point_class point_classify(const struct point_request *r) {
    // BEGIN SOLUTION
    //| LAB_TODO("point_classify");
    if (r->end == POINT_REJECTED) return POINT_SHED;
    if (r->end == POINT_FAILED) return POINT_BROKEN;
    return r->output_tokens < r->wanted_tokens ? POINT_TRUNCATED : POINT_COMPLETE;
    // END SOLUTION
}

void point_intervals(const struct point_request *r, struct point_intervals *out) {
    // BEGIN SOLUTION
    //| LAB_TODO("point_intervals");
    bool admitted = r->admitted_ns >= 0, answered = r->first_token_ns >= 0;
    bool done = r->end == POINT_DONE;
    int64_t steps = (int64_t)r->output_tokens - 1; /* the first token belongs to TTFT */
    out->queue_delay_ns = admitted ? r->admitted_ns - r->arrival_ns : -1;
    out->ttft_ns = answered ? r->first_token_ns - r->arrival_ns : -1;
    out->e2e_ns = done ? r->end_ns - r->arrival_ns : -1;
    out->tpot_ns =
        done && answered && steps > 0 ? interval_divide(r->end_ns - r->first_token_ns, steps) : -1;
    // END SOLUTION
}
// BEGIN SOLUTION

static bool within(int64_t t_ns, int64_t from_ns, int64_t to_ns) {
    return t_ns >= from_ns && t_ns < to_ns;
}

static bool is_good(const struct point_intervals *iv, const struct point_limits *limits) {
    bool ttft = limits->ttft_below_ns == INT64_MAX ||
                (iv->ttft_ns >= 0 && iv->ttft_ns < limits->ttft_below_ns);
    bool tpot = limits->tpot_below_ns == INT64_MAX || iv->tpot_ns < limits->tpot_below_ns;
    bool e2e = limits->e2e_below_ns == INT64_MAX || iv->e2e_ns < limits->e2e_below_ns;
    return ttft && tpot && e2e;
}

/* The intervals of the complete requests; an absent interval isn't an observation. */
enum { QUEUE_DELAY, TTFT, TPOT, E2E, N_OBSERVED };
struct observed {
    int64_t *ns[N_OBSERVED];
    size_t n[N_OBSERVED];
};

static void observe(struct observed *o, const struct point_intervals *iv) {
    const int64_t value[N_OBSERVED] = {iv->queue_delay_ns, iv->ttft_ns, iv->tpot_ns, iv->e2e_ns};
    for (int i = 0; i < N_OBSERVED; i++)
        if (value[i] >= 0) o->ns[i][o->n[i]++] = value[i];
}

/* Counts one request of the population. */
static void count(const struct point_request *r, const struct point_limits *limits,
                  struct observed *o, struct operating_point *p) {
    struct point_intervals iv;
    enum point_class class = point_classify(r);
    point_intervals(r, &iv);
    p->requests++;
    p->complete += class == POINT_COMPLETE;
    p->shed += class == POINT_SHED;
    p->truncated += class == POINT_TRUNCATED;
    p->broken += class == POINT_BROKEN;
    if (class != POINT_COMPLETE) return;
    p->good += is_good(&iv, limits);
    observe(o, &iv);
}

static void take_percentiles(const struct observed *o, struct operating_point *p) {
    size_t failed = (size_t)(p->requests - p->complete);
    const struct {
        struct percentile *out;
        int of;
        int32_t milli;
    } all[] = {{&p->queue_delay_p99, QUEUE_DELAY, 99000},
               {&p->ttft_p50, TTFT, 50000},
               {&p->ttft_p99, TTFT, 99000},
               {&p->tpot_p50, TPOT, 50000},
               {&p->tpot_p99, TPOT, 99000},
               {&p->e2e_p50, E2E, 50000},
               {&p->e2e_p99, E2E, 99000}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i].out =
            percentile_nearest_rank(o->ns[all[i].of], o->n[all[i].of], failed, all[i].milli);
}

static double mean(const int64_t *ns, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)ns[i];
    return n > 0 ? sum / (double)n : NAN;
}

/* How long the request was in the system within the window. */
static int64_t overlap_ns(const struct point_request *r, int64_t from_ns, int64_t to_ns) {
    int64_t start = r->arrival_ns > from_ns ? r->arrival_ns : from_ns;
    int64_t end = r->end_ns < to_ns ? r->end_ns : to_ns;
    return end > start ? end - start : 0;
}
// END SOLUTION

int point_measure(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns,
                  const struct point_limits *limits, struct operating_point *out, struct err *e) {
    // BEGIN SOLUTION
    //| LAB_TODO("point_measure");
    int64_t *room = malloc((n + 1) * N_OBSERVED * sizeof *room); /* never of 0 bytes */
    if (!room) return err_set(e, "no memory for the latencies of %zu requests", n);
    struct observed o = {0};
    for (size_t i = 0; i < N_OBSERVED; i++) o.ns[i] = room + i * n;

    *out = (struct operating_point){0};
    double window_ns = (double)(to_ns - from_ns), in_system = 0;
    int64_t ended = 0, completed = 0; /* within the window, whenever they arrived */
    for (size_t i = 0; i < n; i++) {
        const struct point_request *r = &list[i];
        bool ends_here = within(r->end_ns, from_ns, to_ns);
        if (within(r->arrival_ns, from_ns, to_ns)) count(r, limits, &o, out);
        ended += ends_here;
        completed += ends_here && point_classify(r) == POINT_COMPLETE;
        in_system += (double)overlap_ns(r, from_ns, to_ns);
    }
    double window_s = window_ns / NS_PER_S;
    out->offered_rps = (double)out->requests / window_s;
    out->throughput_rps = (double)completed / window_s;
    out->good_rps = (double)out->good / window_s;
    out->mean_latency_ns = mean(o.ns[E2E], o.n[E2E]);
    out->mean_in_system = in_system / window_ns;
    bool kept_up = ended * 10 >= out->requests * 9;
    out->stable = kept_up && point_stable(list, n, from_ns, to_ns);
    take_percentiles(&o, out);
    free(room);
    return 0;
    // END SOLUTION
}
// BEGIN SOLUTION

/* Is the slope of the least-squares line through (i, y[i]) at most three times its standard error?
 * With S = n * (sum of products) - product of sums, slope = Sxy / Sxx and its squared error is
 * (Syy - Sxy * Sxy / Sxx) / ((n - 2) * Sxx). Compared in integers, so that no rounding decides. */
static bool no_rise(const int64_t *y) {
    __int128 n = POINT_SAMPLES, x1 = 0, xx = 0, y1 = 0, xy = 0, yy = 0;
    for (int64_t i = 0; i < POINT_SAMPLES; i++) {
        x1 += i;
        xx += i * i;
        y1 += y[i];
        xy += (__int128)i * y[i];
        yy += (__int128)y[i] * y[i];
    }
    __int128 sxx = n * xx - x1 * x1, sxy = n * xy - x1 * y1, syy = n * yy - y1 * y1;
    return sxy <= 0 || sxy * sxy * (n - 2) <= 9 * (syy * sxx - sxy * sxy);
}
// END SOLUTION

bool point_stable(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns) {
    // BEGIN SOLUTION
    //| LAB_TODO("point_stable");
    int64_t mid = from_ns + (to_ns - from_ns) / 2, arrived = 0, ended = 0;
    int64_t instant[POINT_SAMPLES], in_system[POINT_SAMPLES] = {0};
    for (int64_t k = 0; k < POINT_SAMPLES; k++)
        instant[k] = mid + (to_ns - mid) * k / POINT_SAMPLES;
    for (size_t i = 0; i < n; i++) {
        arrived += within(list[i].arrival_ns, mid, to_ns);
        ended += within(list[i].end_ns, mid, to_ns);
        for (int k = 0; k < POINT_SAMPLES; k++)
            in_system[k] += (list[i].arrival_ns <= instant[k]) - (list[i].end_ns <= instant[k]);
    }
    return ended * 100 >= arrived * 98 || no_rise(in_system);
    // END SOLUTION
}
