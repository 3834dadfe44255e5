/* Other right ways: one pass with running sums in double, an own quickselect-free percentile by
 * counting, the number in the system by sorted stamps, the line by its normal equations. */
#include "objective/point.h"

#include "record/intervals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum point_class point_classify(const struct point_request *r) {
    switch (r->end) {
    case POINT_REJECTED:
        return POINT_SHED;
    case POINT_FAILED:
        return POINT_BROKEN;
    default:
        break;
    }
    return r->output_tokens < r->wanted_tokens ? POINT_TRUNCATED : POINT_COMPLETE;
}

void point_intervals(const struct point_request *r, struct point_intervals *out) {
    out->queue_delay_ns = r->admitted_ns < 0 ? -1 : r->admitted_ns - r->arrival_ns;
    out->ttft_ns = r->first_token_ns < 0 ? -1 : r->first_token_ns - r->arrival_ns;
    out->tpot_ns = out->e2e_ns = -1;
    if (r->end != POINT_DONE) return;
    out->e2e_ns = r->end_ns - r->arrival_ns;
    if (r->output_tokens < 2) return;
    int64_t n = r->output_tokens - 1, span = r->end_ns - r->first_token_ns;
    out->tpot_ns = (2 * span + n) / (2 * n);
}

static int in(int64_t t, int64_t a, int64_t b) {
    return a <= t && t < b;
}

/* One latency's percentile over the population. which: 0 queue, 1 ttft, 2 tpot, 3 e2e. */
static struct percentile of(const struct point_request *list, size_t n, int64_t from, int64_t to,
                            int which, int32_t milli, int64_t *room) {
    size_t ok = 0, failed = 0;
    for (size_t i = 0; i < n; i++) {
        if (!in(list[i].arrival_ns, from, to)) continue;
        struct point_intervals v;
        point_intervals(&list[i], &v);
        if (point_classify(&list[i]) != POINT_COMPLETE) {
            failed++;
        } else {
            const int64_t all[] = {v.queue_delay_ns, v.ttft_ns, v.tpot_ns, v.e2e_ns};
            if (all[which] >= 0) room[ok++] = all[which];
        }
    }
    return percentile_nearest_rank(ok ? room : NULL, ok, failed, milli);
}

int point_measure(const struct point_request *list, size_t n, int64_t from, int64_t to,
                  const struct point_limits *limits, struct operating_point *out, struct err *e) {
    int64_t *room = malloc((n + 1) * sizeof *room);
    double seconds = (double)(to - from) * 1e-9, ended = 0, gone = 0, there = 0, waited = 0;
    if (!room) return err_set(e, "no memory");
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < n; i++) {
        const struct point_request *r = &list[i];
        enum point_class c = point_classify(r);
        double a = fmax((double)r->arrival_ns - (double)from, 0);
        double b = fmin((double)r->end_ns - (double)from, (double)to - (double)from);
        if (b > a) there += b - a;
        if (in(r->end_ns, from, to)) gone++, ended += c == POINT_COMPLETE;
        if (!in(r->arrival_ns, from, to)) continue;
        struct point_intervals v;
        point_intervals(r, &v);
        int64_t *counts[] = {&out->complete, &out->shed, &out->truncated, &out->broken};
        out->requests++;
        ++*counts[c];
        if (c != POINT_COMPLETE) continue;
        waited += (double)v.e2e_ns;
        out->good += v.ttft_ns < limits->ttft_below_ns && v.tpot_ns < limits->tpot_below_ns &&
                     v.e2e_ns < limits->e2e_below_ns;
    }
    out->offered_rps = (double)out->requests / seconds;
    out->throughput_rps = ended / seconds;
    out->good_rps = (double)out->good / seconds;
    out->mean_latency_ns = waited / (double)out->complete; /* 0 / 0 is NaN */
    out->mean_in_system = there / (double)(to - from);
    out->queue_delay_p99 = of(list, n, from, to, 0, 99000, room);
    out->ttft_p50 = of(list, n, from, to, 1, 50000, room);
    out->ttft_p99 = of(list, n, from, to, 1, 99000, room);
    out->tpot_p50 = of(list, n, from, to, 2, 50000, room);
    out->tpot_p99 = of(list, n, from, to, 2, 99000, room);
    out->e2e_p50 = of(list, n, from, to, 3, 50000, room);
    out->e2e_p99 = of(list, n, from, to, 3, 99000, room);
    out->stable = point_stable(list, n, from, to) && 10 * gone >= 9.0 * (double)out->requests;
    free(room);
    return 0;
}

bool point_stable(const struct point_request *list, size_t n, int64_t from, int64_t to) {
    int64_t mid = from + (to - from) / 2;
    double came = 0, went = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    for (size_t i = 0; i < n; i++) {
        came += in(list[i].arrival_ns, mid, to);
        went += in(list[i].end_ns, mid, to);
    }
    if (went * 50 >= came * 49) return true;
    for (int i = 0; i < POINT_SAMPLES; i++) {
        int64_t t = mid + (to - mid) * i / POINT_SAMPLES;
        double y = 0;
        for (size_t k = 0; k < n; k++) y += list[k].arrival_ns <= t && list[k].end_ns > t;
        sx += i, sy += y, sxx += i * i, sxy += i * y, syy += y * y;
    }
    double m = POINT_SAMPLES, dx = sxx - sx * sx / m, dxy = sxy - sx * sy / m;
    double slope = dxy / dx, rest = syy - sy * sy / m - slope * dxy;
    if (slope <= 0) return true;
    return rest > 1e-9 && slope <= 3 * sqrt(rest / (m - 2) / dx);
}
