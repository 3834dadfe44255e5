/* make_measure.c: user requests for report_measure, and its right answer, computed here from the
 * definitions of objective/report.h and objective/point.h alone. */
#include "lab04/lab04.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a run ----------------------------------------------------------------------------------- */

static void make_objective(struct lab04_making *m, enum lab04_maker which) {
    static const enum interval_id limits[] = {IV_CLIENT_TTFT, IV_TPOT, IV_E2E, IV_SERVER_TTFT,
                                              IV_QUEUE_DELAY};
    static const int32_t percentiles[] = {50000, 90000, 95000, 99000, 99900, 100000};
    struct objective *o = &m->c->o;
    o->quality.min_pass_rate = o->throughput.min_rps = o->throughput.offered_rps = NAN;
    o->reliability.max_failure_rate = o->reliability.max_recovery_s = NAN;
    o->hard_limits.gpu_memory_gib = o->hard_limits.joules_per_response = NAN;
    if (lab04_chance(&m->rng, 60)) strcpy(o->quality.check, "key-recall/1");
    o->n_latency = (int32_t)lab04_between(&m->rng, which == MAKE_MEASURE_LIMITS, 4);
    for (int32_t i = 0; i < o->n_latency; i++)
        o->latency[i] =
            (struct latency_limit){.interval = limits[rng_below(&m->rng, 5)],
                                   .scope = i == 0 || lab04_chance(&m->rng, 80),
                                   .percentile_milli = percentiles[rng_below(&m->rng, 6)],
                                   .below_ns = 1000000};
    for (int r = REASON_REJECTED; r < REASON_N; r++)
        if (lab04_chance(&m->rng, 60) && o->reliability.n_failures < OBJECTIVE_MAX_FAILURES)
            snprintf(o->reliability.failures[o->reliability.n_failures++], 24, "%s",
                     completion_reason_name((enum completion_reason)r));
}

static struct interval some(struct rng *rng, int64_t hi) {
    if (lab04_chance(rng, 12)) return (struct interval){.status = INTERVAL_ABSENT};
    return (struct interval){.status = INTERVAL_OK, .ns = lab04_between(rng, 1, hi)};
}

static void make_request(struct lab04_making *m, enum lab04_maker which, int i, int64_t at) {
    struct rng *rng = &m->rng;
    struct report_attempt *a = &m->c->attempts[i];
    struct report_request *q = &m->c->requests[i];
    bool by_server = which == MAKE_MEASURE_UNMEASURED && lab04_chance(rng, m->k % 6 ? 15 : 100);
    memset(a, 0, sizeof *a);
    memset(q, 0, sizeof *q);
    snprintf(a->request_id, sizeof a->request_id, "u%03d", i);
    a->attempt = 1;
    a->line = i + 1;
    a->submitted_ns = at;
    a->ended_ns = lab04_chance(rng, 8) ? -1 : at + lab04_between(rng, 1, 40) * 100000 + i;
    a->reason = REASON_DELIVERED;
    if (lab04_chance(rng, 30)) a->reason = (enum completion_reason)lab04_between(rng, 1, 8);
    if (by_server) a->reason = REASON_NOT_DELIVERED;
    a->finished_by_server = by_server;
    a->quality = (enum verdict)lab04_between(rng, 0, 2);
    a->structure = (enum verdict)lab04_between(rng, 0, 3);
    if (a->quality) strcpy(a->check, lab04_chance(rng, 70) ? "key-recall/1" : "math/1");
    a->iv.client_ttft = some(rng, 900000);
    a->iv.server_ttft = some(rng, 600000);
    a->iv.queue_delay = some(rng, 300000);
    a->iv.e2e = some(rng, 4000000);
    a->iv.tpot = some(rng, 90000);
    a->iv.gpu_execution.status = INTERVAL_ABSENT;
    bool known = which != MAKE_MEASURE_SUMS || m->k % 2 || lab04_chance(rng, 98);
    a->prompt_tokens = known ? (int32_t)lab04_between(rng, 0, 4000) : -1;
    a->cached_prompt_tokens = lab04_chance(rng, 99) ? (int32_t)lab04_between(rng, 0, 90) : -1;
    a->output_tokens = (int32_t)lab04_between(rng, 0, 300);
    q->deciding = a;
    q->attempts = lab04_chance(rng, 70) ? 1 : (int32_t)lab04_between(rng, 2, 5);
    q->arrival_ns = at;
    q->iv = a->iv;
    q->c.reason = a->reason;
    q->c.completed = a->reason == REASON_DELIVERED;
    q->c.quality = a->quality;
    q->c.structure = a->structure;
    q->c.useful = q->c.completed && a->quality == VERDICT_PASSED && a->structure != VERDICT_FAILED;
    q->c.attempts = q->attempts;
    q->good = q->c.useful && lab04_chance(rng, 60);
    q->gpu_seconds = lab04_chance(rng, 99) ? (double)lab04_between(rng, 1, 64) / 8 : NAN;
    q->joules = m->k % 3 ? (double)lab04_between(rng, 1, 640) / 4 : NAN;
}

static const char *const kinds[] = {
    "who belongs to the window",     "counts by reason and verdict",
    "sums of tokens and resources",  "offered load and stability",
    "percentiles of the limits",     "answers that no client measured",
    "outages and how long they last"};

static void make_run(struct lab04_making *m, enum lab04_maker which) {
    struct lab04_case *c = m->c;
    struct rng *rng = &m->rng;
    int n = (int)lab04_between(rng, 3, 150);
    int64_t at = lab04_between(rng, 0, INT64_C(1) << 40), gap = lab04_between(rng, 20, 400) * 1000;
    c->fn = FN_MEASURE;
    make_objective(m, which);
    for (int i = 0; i < n; i++, at += lab04_between(rng, 0, 2 * gap)) make_request(m, which, i, at);
    c->n_attempts = (size_t)n;
    if (which == MAKE_MEASURE_UNMEASURED && lab04_chance(rng, 40))
        c->window.unplaced = lab04_between(rng, 1, 9);
    /* both ends are arrivals, most of the time: they belong to it */
    int from = (int)lab04_between(rng, 0, n / 3), to = (int)lab04_between(rng, n / 2, n - 1);
    c->window.from_ns = c->requests[from].arrival_ns + lab04_between(rng, -1, 0);
    c->window.to_ns = c->requests[to].arrival_ns + lab04_chance(rng, 30);
    if (c->window.to_ns <= c->window.from_ns) c->window.to_ns = c->window.from_ns + 1000;
    for (int i = 0; which == MAKE_MEASURE_LOAD && m->k % 3 == 1 && i < n; i++)
        c->attempts[i].ended_ns = at + 1 + i; /* nothing ends: not stable */
    for (int i = 0; which == MAKE_MEASURE_COUNTS && m->k % 5 == 4 && i < n;
         i++) { /* no check ran */
        c->attempts[i].quality = c->requests[i].c.quality = VERDICT_NOT_EVALUATED;
        c->requests[i].c.useful = c->requests[i].good = false;
    }
    lab04_kind(m, "%s", kinds[which - MAKE_MEASURE_WINDOW]);
}

/* ---- its answer ------------------------------------------------------------------------------ */

static bool done(const struct report_request *q) {
    return q->c.completed || q->deciding->finished_by_server;
}

static bool counts_as_failure(const struct objective *o, const struct report_request *q) {
    for (int32_t i = 0; i < o->reliability.n_failures; i++)
        if (!q->deciding->finished_by_server &&
            completion_reason_from_name(o->reliability.failures[i]) == (int)q->c.reason)
            return true;
    return false;
}

static bool inside(const struct lab04_case *c, const struct report_request *q) {
    return q->arrival_ns >= c->window.from_ns && q->arrival_ns <= c->window.to_ns;
}

static int64_t end_of(const struct lab04_case *c, const struct report_request *q) {
    int64_t last = c->window.to_ns;
    if (q->deciding->ended_ns >= 0) return q->deciding->ended_ns;
    for (size_t i = 0; i < c->n_attempts; i++) {
        if (c->requests[i].arrival_ns > last) last = c->requests[i].arrival_ns;
        if (c->attempts[i].ended_ns > last) last = c->attempts[i].ended_ns;
    }
    return last + 1;
}

static bool stable(const struct lab04_case *c) {
    enum { N = POINT_SAMPLES };
    int64_t from = c->window.from_ns, to = c->window.to_ns + 1, mid = from + (to - from) / 2;
    int64_t arrive = 0, end = 0, all_in = 0, all_out = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    for (size_t k = 0; k < c->n_attempts; k++) {
        int64_t a = c->requests[k].arrival_ns, e = end_of(c, &c->requests[k]);
        arrive += a >= mid && a < to;
        end += e >= mid && e < to;
        all_in += a >= from && a < to;
        all_out += e >= from && e < to;
    }
    if (all_out * 10 < all_in * 9) return false; /* it did not keep up */
    if (end * 100 >= arrive * 98) return true;
    for (int64_t i = 0; i < N; i++) {
        int64_t t = mid + (int64_t)((__int128)(to - mid) * i / N), y = 0;
        for (size_t k = 0; k < c->n_attempts; k++)
            y += (c->requests[k].arrival_ns <= t) - (end_of(c, &c->requests[k]) <= t);
        sx += i, sy += y, sxx += i * i, sxy += i * y, syy += y * y;
    }
    __int128 xx = N * sxx - sx * sx, xy = N * sxy - sx * sy, yy = N * syy - sy * sy;
    return xy <= 0 || (N - 2 + 9) * xy * xy <= 9 * xx * yy;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void want_percentile(struct lab04_making *m, const char *name, int64_t *obs, int64_t n_ok,
                            int64_t n_failed, int32_t milli, bool asked, bool there) {
    int64_t n = n_ok + n_failed, rank = (milli * n + 99999) / 100000;
    size_t from = m->n_wants;
    qsort(obs, (size_t)n_ok, sizeof *obs, by_value);
    bool infinite = n > 0 && rank > n_ok;
    lab04_want(m, name, there && n > 0);
    lab04_want(m, name, infinite);
    lab04_want(m, name, n > 0 && !infinite ? obs[rank - 1] : 0);
    lab04_want(m, name, n);
    lab04_want(m, name, n_failed);
    lab04_want(m, name, n * (100000 - milli) < 100000);
    for (size_t i = from; i < m->n_wants; i++) m->wants[i].care = asked && (there || i == from);
}

static void want_limits(struct lab04_making *m, int64_t not_ok, int64_t unmeasured) {
    const struct lab04_case *c = m->c;
    static int64_t obs[CASE_MAX_ATTEMPTS];
    for (int32_t i = 0; i < c->o.n_latency; i++) {
        const struct latency_limit *l = &c->o.latency[i];
        bool client = l->interval == IV_CLIENT_TTFT || l->interval == IV_E2E;
        int64_t n = 0;
        for (size_t k = 0; k < c->n_attempts; k++) {
            const struct report_request *q = &c->requests[k];
            const struct interval *iv = l->interval == IV_CLIENT_TTFT   ? &q->iv.client_ttft
                                        : l->interval == IV_SERVER_TTFT ? &q->iv.server_ttft
                                        : l->interval == IV_QUEUE_DELAY ? &q->iv.queue_delay
                                        : l->interval == IV_E2E         ? &q->iv.e2e
                                                                        : &q->iv.tpot;
            if (inside(c, q) && done(q) && iv->status == INTERVAL_OK) obs[n++] = iv->ns;
        }
        bool there = !client || unmeasured == 0, asked = l->scope == SCOPE_POPULATION;
        want_percentile(m, "limit", obs, n, not_ok, l->percentile_milli, asked, there);
        want_percentile(m, "limit_of_ok", obs, n, 0, l->percentile_milli, asked, there);
    }
}

static void want_recovery(struct lab04_making *m) {
    const struct lab04_case *c = m->c;
    static const struct report_request *order[CASE_MAX_ATTEMPTS];
    int64_t outages = 0, longest = 0, began = -1;
    size_t n = 0;
    for (size_t i = 0; i < c->n_attempts; i++) { /* by insertion; the ends differ */
        size_t at = n;
        if (c->attempts[i].ended_ns < 0) continue;
        for (; at > 0 && order[at - 1]->deciding->ended_ns > c->attempts[i].ended_ns; at--)
            order[at] = order[at - 1];
        order[at] = &c->requests[i];
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t t = order[i]->deciding->ended_ns;
        if (began >= 0 && done(order[i]) && order[i]->arrival_ns > began) {
            longest = t - began > longest ? t - began : longest;
            began = -1;
        } else if (began < 0 && counts_as_failure(&c->o, order[i])) {
            began = t;
            outages++;
        }
    }
    lab04_want(m, "recovery.outages", outages);
    lab04_want(m, "recovery.longest_ns", longest);
    lab04_want(m, "recovery.unended", began >= 0);
}

static void want_load(struct lab04_making *m) {
    const struct lab04_case *c = m->c;
    int64_t from = c->window.from_ns, to = c->window.to_ns + 1;
    int64_t n = 0, complete = 0, shed = 0, cut = 0, broken = 0, through = 0;
    double latency = 0, in_system = 0, length = (double)(to - from);
    for (size_t i = 0; i < c->n_attempts; i++) {
        const struct report_request *q = &c->requests[i];
        int64_t a = q->arrival_ns, e = end_of(c, q);
        int64_t lo = a > from ? a : from, hi = e < to ? e : to;
        bool truncated = q->c.reason == REASON_TRUNCATED, ok = done(q) && !truncated;
        if (hi > lo) in_system += (double)(hi - lo);
        through += ok && e >= from && e < to;
        if (!inside(c, q)) continue;
        n++;
        complete += ok;
        shed += q->c.reason == REASON_REJECTED;
        cut += truncated;
        broken += !ok && !truncated && q->c.reason != REASON_REJECTED;
        if (ok) latency += (double)(e - a);
    }
    lab04_want_real(m, "load.offered_rps", (double)n * 1e9 / length);
    lab04_want(m, "load.requests", n);
    lab04_want(m, "load.complete", complete);
    lab04_want(m, "load.shed", shed);
    lab04_want(m, "load.truncated", cut);
    lab04_want(m, "load.broken", broken);
    lab04_want_real(m, "load.throughput_rps", (double)through * 1e9 / length);
    lab04_want_real(m, "load.mean_latency_ns", complete ? latency / (double)complete : NAN);
    lab04_want_real(m, "load.mean_in_system", in_system / length);
    lab04_want(m, "load.stable", stable(c));
}

struct tally {
    int64_t attempts, n, retried, completed, useful, good, by_server, unjudged, other, failed;
    int64_t reason[REASON_N], quality[4], structure[4], tokens[3];
    double gpu, joules;
};

static struct tally tally(const struct lab04_case *c) {
    struct tally t = {0};
    bool unknown[3] = {false};
    for (size_t i = 0; i < c->n_attempts; i++) {
        const struct report_request *q = &c->requests[i];
        const struct report_attempt *a = q->deciding;
        int32_t tokens[3] = {a->prompt_tokens, a->cached_prompt_tokens, a->output_tokens};
        if (!inside(c, q)) continue;
        t.n++;
        t.attempts += q->attempts;
        t.retried += q->attempts > 1;
        t.completed += q->c.completed;
        t.useful += q->c.useful;
        t.good += q->good;
        t.by_server += a->finished_by_server;
        if (!a->finished_by_server) t.reason[q->c.reason]++;
        t.quality[q->c.quality]++;
        t.structure[q->c.structure]++;
        t.failed += counts_as_failure(&c->o, q);
        t.unjudged +=
            q->c.completed && q->c.quality != VERDICT_PASSED && q->c.quality != VERDICT_FAILED;
        if (q->c.quality == VERDICT_PASSED || q->c.quality == VERDICT_FAILED)
            t.other += c->o.quality.check[0] && strcmp(a->check, c->o.quality.check);
        for (int k = 0; k < 3; k++) t.tokens[k] += tokens[k], unknown[k] |= tokens[k] < 0;
        t.gpu += q->gpu_seconds;
        t.joules += q->joules;
    }
    for (int k = 0; k < 3; k++)
        if (unknown[k]) t.tokens[k] = -1;
    return t;
}

static void want_point(struct lab04_making *m) {
    const struct lab04_case *c = m->c;
    struct tally t = tally(c);
    int64_t evaluated = t.quality[VERDICT_PASSED] + t.quality[VERDICT_FAILED];
    bool not_known = t.completed > 0 ? evaluated == 0 : t.by_server > 0;
    lab04_want(m, "attempts", t.attempts);
    lab04_want(m, "requests", t.n);
    lab04_want(m, "retried", t.retried);
    lab04_want(m, "completed", t.completed);
    lab04_want(m, "useful", t.useful);
    lab04_want(m, "good", t.good);
    lab04_want(m, "finished_by_server", t.by_server);
    for (int i = 0; i < REASON_N; i++) lab04_want(m, "by_reason", t.reason[i]);
    for (int i = 0; i < 4; i++) lab04_want(m, "quality", t.quality[i]);
    for (int i = 0; i < 4; i++) lab04_want(m, "structure", t.structure[i]);
    lab04_want(m, "unjudged", t.unjudged);
    lab04_want(m, "other_check", t.other);
    lab04_want(m, "counts.requests", t.n);
    lab04_want(m, "counts.useful", not_known ? -1 : t.useful);
    lab04_want(m, "counts.failed", t.failed);
    lab04_want(m, "counts.quality_passed", t.quality[VERDICT_PASSED]);
    lab04_want(m, "counts.quality_evaluated", evaluated);
    lab04_want_real(m, "counts.interval_s", (double)(c->window.to_ns - c->window.from_ns) / 1e9);
    lab04_want(m, "prompt_tokens", t.tokens[0]);
    lab04_want(m, "cached_prompt_tokens", t.tokens[1]);
    lab04_want(m, "output_tokens", t.tokens[2]);
    lab04_want_real(m, "gpu_seconds", t.gpu);
    lab04_want_real(m, "joules", t.joules);
    want_recovery(m);
    want_load(m);
    want_limits(m, t.n - t.completed - t.by_server, t.by_server + c->window.unplaced);
}

void lab04_make_measure(struct lab04_making *m, enum lab04_maker which) {
    static const char *const focus[] = {
        "rc|requests|attempts|retried|load.requests|load.offered_rps",
        "completed|useful|good|by_reason|quality|structure|unjudged|other_check|counts",
        "prompt_tokens|cached|output_tokens|gpu|joules",
        "load",
        "limit",
        "finished|limit|by_reason|counts.failed|counts.useful|load.complete|load.throughput",
        "recovery"};
    make_run(m, which);
    lab04_want(m, "rc", 0);
    want_point(m);
    m->focus = focus[which - MAKE_MEASURE_WINDOW];
}
