/* child/lab01.c: turns one case of lab 01 into one call of the learner's function. See child.h.
 *
 * Inputs are placed (place.h). Outputs are poisoned, so that an output that is not written is never
 * right by accident.
 */
#include "child/answer.h"
#include "child/child.h"
#include "child/place.h"
#include "lab01/cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct record *place_record(bool read_only, struct record *r) {
    struct record copy = *r;
    copy.events = place(read_only, r->events, r->n_events * sizeof *r->events);
    return place(read_only, &copy, sizeof copy);
}

/* ---- answers ---- */

static void put_interval(struct answer *a, const struct interval *i) {
    put(a, (int)i->status);
    put(a, i->ns);
    put(a, i->uncertainty_ns);
}

/* ---- calls: inputs are placed once; the call itself may be repeated ---- */

struct call {
    struct lab01_case *c;
    struct record *rec[CASE_MAX_RECORDS];
    const struct classification *cls;
    const struct intervals *iv;
    const struct objective *obj;
    const int64_t *obs;
    const struct percentile *pct;
    const struct slo_counts *counts;
};

static void call_prepare(struct call *k, struct lab01_case *c) {
    bool m = c->memory == MEMORY_READ_ONLY;
    memset(k, 0, sizeof *k);
    k->c = c;
    for (size_t i = 0; i < c->n_rec; i++) k->rec[i] = place_record(m, &c->rec[i]);
    if (c->fn == FN_GOOD) {
        k->cls = place(m, &c->cls, sizeof c->cls);
        k->iv = place(m, &c->iv, sizeof c->iv);
    }
    if (c->fn == FN_RANK) k->obs = place(m, c->obs, c->n_ok * sizeof *c->obs);
    if (c->fn == FN_GOOD || c->fn >= FN_LIMIT) k->obj = place(m, &c->obj, sizeof c->obj);
    if (c->fn >= FN_LIMIT) {
        k->pct = place(m, c->pct, c->n_pct * sizeof *c->pct);
        k->counts = place(m, &c->counts, sizeof c->counts);
    }
}

static void call_between(struct call *k, struct answer *a) {
    struct record *r = k->rec[0];
    const struct event *start = k->c->start < 0 ? NULL : &r->events[k->c->start];
    const struct event *end = k->c->end < 0 ? NULL : &r->events[k->c->end];
    struct interval got = interval_between(r, start, end);
    put_interval(a, &got);
}

static void call_compute(struct call *k, struct answer *a) {
    struct intervals got;
    memset(&got, CASE_POISON, sizeof got);
    intervals_compute(k->rec[0], &got);
    put_interval(a, &got.client_ttft);
    put_interval(a, &got.server_ttft);
    put_interval(a, &got.queue_delay);
    put_interval(a, &got.e2e);
    put_interval(a, &got.tpot);
    put_interval(a, &got.gpu_execution);
    put(a, (int)got.tpot_boundary);
}

/* In the plain build the output has spare room after its end, which is sent back with the answer;
 * in the sanitizers' build its allocation ends there. */
static void call_itl(struct call *k, struct answer *a) {
#ifdef __SANITIZE_ADDRESS__
    size_t room = k->c->cap;
#else
    size_t room = k->c->cap + CASE_SPARE;
#endif
    int64_t *out = malloc(room ? room * sizeof *out : 1);
    if (!out) abort();
    memset(out, CASE_POISON, room * sizeof *out);
    size_t n = intervals_itl(k->rec[0], k->c->cap ? out : NULL, k->c->cap);
    put(a, (int64_t)n);
    for (size_t i = 0; i < room; i++) put(a, out[i]);
    int64_t untouched;
    memset(&untouched, CASE_POISON, sizeof untouched);
    for (size_t i = room; i < k->c->cap + CASE_SPARE; i++) put(a, untouched);
    free(out);
}

static void call_request(struct call *k, struct answer *a) {
    struct classification got;
    memset(&got, CASE_POISON, sizeof got);
    const struct record *const *attempts = (const struct record *const *)k->rec;
    classify_request(attempts, k->c->n_rec, k->c->truncation, &got);
    put_bool(a, &got.completed);
    put(a, (int)got.reason);
    put(a, (int)got.quality);
    put(a, (int)got.structure);
    put_bool(a, &got.useful);
    put(a, got.attempts);
}

static void call_rank(struct call *k, struct answer *a) {
    struct percentile got =
        percentile_nearest_rank(k->obs, k->c->n_ok, k->c->n_failed, k->c->percentile_milli);
    put_percentile(a, &got);
}

static bool reason_changes(const char *reason, const struct objective *o,
                           const struct slo_counts *n) {
    char other[CASE_REASON];
    double value = 0;
    memset(other, 0, sizeof other);
    slo_objective_value(o, n, &value, other, sizeof other);
    return strcmp(other, reason) != 0;
}

/* Whether the reason names all that is missing: it changes when any one of them is known. */
static bool reason_names_all(struct call *k, const char *reason) {
    bool all = true;
    for (int i = 0; i < 4; i++) {
        struct objective o = *k->obj;
        struct slo_counts n = *k->counts;
        bool usd = !strcmp(o.resource.primary, "usd"), missing = false;
        if (i == 0 && usd && (missing = !(o.resource.usd_per_accelerator_hour > 0)))
            o.resource.usd_per_accelerator_hour = 2.5;
        if (i == 1 && (missing = n.useful < 0)) n.useful = 10;
        if (i == 2 && (missing = !(isfinite(n.interval_s) && n.interval_s > 0))) n.interval_s = 60;
        if (i == 3 && (missing = !(o.resource.accelerators > 0))) o.resource.accelerators = 1;
        all &= !missing || reason_changes(reason, &o, &n);
    }
    return all;
}

/* As in call_itl: in the plain build there is spare room, which must stay untouched. */
static void call_value(struct call *k, struct answer *a) {
    size_t cap = k->c->cap, spare = 0;
#ifndef __SANITIZE_ADDRESS__
    spare = sizeof(int64_t) * CASE_SPARE;
#endif
    char *reason = malloc(cap + spare);
    if (!reason) abort();
    memset(reason, CASE_POISON, cap + spare);
    double value;
    memset(&value, CASE_POISON, sizeof value);
    put(a, (int)slo_objective_value(k->obj, k->counts, &value, reason, cap));
    put_double(a, value);
    char *end = memchr(reason, '\0', cap);
    bool beyond = false;
    for (size_t i = cap; i < cap + spare; i++) beyond |= (unsigned char)reason[i] != CASE_POISON;
    put(a, !end || beyond ? -1 : end - reason); /* -1: not terminated, or longer than its room */
    put(a, end && cap == CASE_REASON && reason_names_all(k, reason));
    free(reason);
}

static void call_once(struct call *k, struct answer *a) {
    struct lab01_case *c = k->c;
    switch (c->fn) {
    case FN_BETWEEN:
        call_between(k, a);
        break;
    case FN_DIVIDE:
        put(a, interval_divide(c->n, c->d));
        break;
    case FN_COMPUTE:
        call_compute(k, a);
        break;
    case FN_ITL:
        call_itl(k, a);
        break;
    case FN_ATTEMPT:
        put(a, (int)classify_attempt(k->rec[0], c->truncation));
        break;
    case FN_REQUEST:
        call_request(k, a);
        break;
    case FN_GOOD: {
        bool good = classify_good(k->cls, k->iv, k->obj);
        put_bool(a, &good);
        break;
    }
    case FN_RANK:
        call_rank(k, a);
        break;
    case FN_LIMIT:
        put(a, (int)slo_limit(&k->obj->latency[0], k->pct));
        break;
    case FN_FAILURES:
        put(a, (int)slo_failure_rate(k->obj, k->counts));
        break;
    case FN_PASSES:
        put(a, (int)slo_quality(k->obj, k->counts));
        break;
    case FN_RATE:
        put(a, (int)slo_throughput(k->obj, k->counts));
        break;
    case FN_VALUE:
        call_value(k, a);
        break;
    case FN_VERDICT:
        put(a, (int)slo_verdict(k->obj, k->pct, k->counts));
        break;
    case FN_N:
        break;
    }
}

/* Other values in the same shape, so that a call isn't known as one of many by its input. */
static void vary(struct lab01_case *c) {
    for (size_t i = 0; i < c->n_rec; i++)
        for (size_t k = 0; k < c->rec[i].n_events; k++) c->rec[i].events[k].t_ns++;
    for (size_t i = 0; i < c->n_ok; i++) c->obs[i] += c->obs[i] < INT64_MAX;
    for (size_t i = 0; i < c->n_pct; i++) c->pct[i].ns += c->pct[i].ns < INT64_MAX;
    c->n += c->n < INT64_MAX;
    c->iv.client_ttft.ns += c->iv.client_ttft.ns < INT64_MAX;
    c->counts.useful += c->counts.useful >= 0 && c->counts.useful < INT64_MAX;
    c->counts.requests += c->counts.requests > 0 && c->counts.requests < INT64_MAX;
    c->counts.quality_evaluated +=
        c->counts.quality_evaluated > 0 && c->counts.quality_evaluated < INT64_MAX;
}

/* Bytes by which the heap grew over many calls. The first calls are not counted: the C library
 * caches up to seven freed blocks of a size and counts them as in use. */
static int64_t heap_growth(struct call *k, struct lab01_case *c, struct answer *a) {
    enum { WARM_CALLS = 16, CALLS = 64, EACH = 8 /* calls with one input */ };
    struct answer scratch = *a;
    int64_t before = 0;
    for (int i = 0; i < WARM_CALLS + CALLS; i++) {
        if (i > 0 && i % EACH == 0) {
            place_release();
            vary(c);
            call_prepare(k, c);
        }
        if (i == WARM_CALLS) before = child_heap_bytes();
        scratch.n = a->n;
        call_once(k, &scratch);
    }
    *a = scratch;
    return child_heap_bytes() - before;
}

int child_answer(const void *bytes, size_t n, int64_t *slots, size_t cap) {
    struct lab01_case c;
    struct wire w = wire_reader(bytes, n);
    if (lab01_case_codec(&w, &c)) return -1;
    struct call k;
    call_prepare(&k, &c);
    bool repeat = c.memory == MEMORY_REPEAT;
    /* the function is called from here, and could read what memory it was given */
    c.memory = MEMORY_PLAIN;
    memset((void *)(uintptr_t)bytes, 0, n);
    struct answer a = {slots, 0, cap};
    if (repeat) {
        int64_t growth = heap_growth(&k, &c, &a);
        put(&a, growth);
    } else {
        call_once(&k, &a);
    }
    place_release();
    lab01_case_release(&c);
    return (int)a.n;
}
