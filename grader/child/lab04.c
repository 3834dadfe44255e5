/* child/lab04.c: turns one case of lab 04 into one call of the learner's functions. See child.h.
 * Inputs are placed (place.h). Outputs are poisoned, so that an output that is not written is never
 * right by accident. */
#include "child/answer.h"
#include "child/child.h"
#include "child/lab04_engine.h"
#include "child/place.h"
#include "lab04/cases.h"

#include "serve/kv_blocks.h"
#include "serve/stamps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct call {
    struct lab04_case *c;
    const struct record *rec;
    const struct objective *o;
    const struct report_attempt *attempts;
    const struct report_request *requests;
    const struct report_point *points;
    const struct report_window *window;
};

static void *lend(const struct lab04_case *c, const void *from, size_t n) {
    return place(c->memory == MEMORY_READ_ONLY, from, n);
}

static void call_prepare(struct call *k, struct lab04_case *c) {
    *k = (struct call){.c = c};
    if (c->fn <= FN_ENGINE) return;
    if (c->fn == FN_ATTEMPT) {
        c->rec.events = lend(c, c->events, c->rec.n_events * sizeof *c->events);
        k->rec = lend(c, &c->rec, sizeof c->rec);
        return;
    }
    k->o = lend(c, &c->o, sizeof c->o);
    k->window = lend(c, &c->window, sizeof c->window);
    k->attempts = lend(c, c->attempts, c->n_attempts * sizeof *c->attempts);
    for (size_t i = 0; c->fn == FN_MEASURE && i < c->n_attempts; i++)
        c->requests[i].deciding = &k->attempts[i];
    if (c->fn == FN_MEASURE)
        k->requests = lend(c, c->requests, c->n_attempts * sizeof *c->requests);
    k->points = lend(c, c->points, c->n_points * sizeof *c->points);
}

/* ---- stamps.c -------------------------------------------------------------------------------- */

struct ticking {
    int64_t now_ns, tick_ns, reads, late;
    const struct record *watched;
    size_t n_events;
    int32_t prompt_tokens;
};

static int64_t tick(void *ctx) {
    struct ticking *t = ctx;
    int64_t now_ns = t->now_ns;
    t->late += t->watched->n_events != t->n_events ||
               t->watched->workload.prompt_tokens != t->prompt_tokens;
    t->now_ns += t->tick_ns;
    t->reads++;
    return now_ns;
}

static void stamp(int64_t which, struct record *r, const struct clock *c, int32_t arg) {
    static void (*const plain[])(struct record *, const struct clock *) = {
        stamp_accepted, stamp_admitted, stamp_preempted, stamp_first_token,
        stamp_finished, stamp_rejected, stamp_cancelled, stamp_failed};
    if (which == 8)
        stamp_tokenized(r, c, arg);
    else if (which == 9)
        stamp_token_sent(r, c, arg);
    else if (which >= 0 && which < 8)
        plain[which](r, c);
}

static void call_stamps(struct call *k, struct answer *a) {
    static const char *const apis[] = {"CLOCK_MONOTONIC", "virtual", "CLOCK_BOOTTIME"};
    const int64_t *v = k->c->v;
    struct record r;
    struct ticking t = {.now_ns = v[1], .watched = &r};
    struct clock clock = {.now_ns = tick, .ctx = &t, .api = apis[(uint64_t)v[0] % 3]};
    record_init(&r);
    for (size_t i = 0; i < (size_t)v[2] && 3 + 3 * i + 2 < k->c->n; i++) {
        const int64_t *op = v + 3 + 3 * i;
        t.tick_ns = op[2];
        t.n_events = r.n_events;
        t.prompt_tokens = r.workload.prompt_tokens;
        stamp(op[0], &r, &clock, (int32_t)op[1]);
    }
    put(a, (int64_t)r.n_events);
    put(a, r.workload.prompt_tokens);
    put(a, t.reads);
    put(a, t.late);
    for (size_t i = 0; i < STAMP_MAX; i++) {
        static const struct event none;
        const struct event *ev = i < r.n_events ? &r.events[i] : &none;
        put(a, (int)ev->kind);
        put(a, (int)ev->clock);
        put(a, (int)ev->source);
        put(a, ev->t_ns);
        put(a, ev->tokens);
        put(a, !strcmp(ev->clock_api, i < r.n_events ? clock.api : ""));
    }
    record_release(&r);
}

/* ---- kv_blocks.c ----------------------------------------------------------------------------- */

static void put_table(struct answer *a, const struct kv_table *t) {
    put(a, t->n_blocks);
    for (int32_t i = 0; i < KV_MAX_TABLE; i++)
        put(a, i < t->n_blocks && t->blocks ? t->blocks[i] : -1);
}

/* script: blocks, sequences, for each: n, ids...; ops, for each: op, table, sequence, tokens */
static void call_kv(struct call *k, struct answer *a) {
    const int64_t *v = k->c->v, *end = v + k->c->n;
    static int32_t seq[8][KV_MAX_TABLE * KV_BLOCK_TOKENS];
    struct kv_table table[KV_TABLES] = {{0}};
    struct err e;
    struct kv_pool *p = kv_pool_create((int32_t)v[0], &e);
    if (!p) abort();
    int64_t n_seq = v[1];
    for (v += 2; n_seq > 0; n_seq--) {
        int64_t n = *v++;
        for (int64_t i = 0; i < n && v < end; i++) seq[n_seq][i] = (int32_t)*v++;
    }
    for (int64_t n = *v++; n > 0 && v + 4 <= end; n--, v += 4) {
        struct kv_table *t = &table[v[1]];
        int32_t tokens = (int32_t)v[3];
        int64_t rc = 0;
        if (v[0] == KV_RESERVE) rc = kv_table_reserve(p, t, tokens, &e);
        if (v[0] == KV_RELEASE) kv_table_release(p, t);
        if (v[0] == KV_SHARE) rc = kv_table_share(p, t, seq[v[2]], tokens);
        if (v[0] == KV_PUBLISH) { /* of a table that was refused blocks, what it holds */
            int32_t held = t->n_blocks * KV_BLOCK_TOKENS;
            kv_table_publish(p, t, seq[v[2]], tokens < held ? tokens : held);
        }
        put(a, rc);
        put(a, kv_pool_free_blocks(p));
        put_table(a, t);
    }
    put(a, kv_pool_total_blocks(p));
    for (int i = 0; i < KV_TABLES; i++) kv_table_release(p, &table[i]);
    put(a, kv_pool_free_blocks(p));
    kv_pool_free(p);
    kv_pool_free(NULL);
    put(a, kv_pool_create(0, &e) == NULL);
}

/* ---- report.c -------------------------------------------------------------------------------- */

static void put_intervals(struct answer *a, const struct intervals *iv) {
    const struct interval *all[] = {&iv->client_ttft, &iv->server_ttft, &iv->queue_delay,
                                    &iv->e2e,         &iv->tpot,        &iv->gpu_execution};
    for (size_t i = 0; i < 6; i++) {
        put(a, (int)all[i]->status);
        put(a, all[i]->ns);
    }
}

static void put_sum(struct answer *a, double d) {
    double not_known = __builtin_nan("");
    put_double(a, d != d ? not_known : d);
}

static void call_attempt(struct call *k, struct answer *a) {
    struct report_attempt got;
    struct err e = {0};
    memset(&got, CASE_POISON, sizeof got);
    int rc = report_attempt(k->rec, k->c->scheduled_ns, k->c->truncation, &got, &e);
    put(a, rc);
    if (rc) {
        e.field[sizeof e.field - 1] = '\0';
        put(a, interval_from_name(e.field));
        return;
    }
    put(a, !strncmp(got.request_id, k->rec->request_id, sizeof got.request_id));
    put(a, got.attempt);
    put_bool(a, &got.at_server);
    put(a, got.submitted_ns);
    put(a, got.ended_ns);
    put_intervals(a, &got.iv);
    put(a, (int)got.reason);
    put_bool(a, &got.finished_by_server);
    put(a, !strncmp(got.check, k->rec->quality.check, sizeof got.check));
    put(a, (int)got.quality);
    put(a, (int)got.structure);
    put(a, got.prompt_tokens);
    put(a, got.cached_prompt_tokens);
    put(a, got.output_tokens);
    put_sum(a, got.gpu_seconds);
    put_sum(a, got.joules);
}

static void call_group(struct call *k, struct answer *a) {
    size_t n = SIZE_MAX / 2, room = k->c->n_attempts; /* n: the function has to begin it at 0 */
    struct report_request *got = malloc(room * sizeof *got + 1);
    struct err e = {0};
    if (!got) abort();
    memset(got, CASE_POISON, room * sizeof *got);
    int rc = report_group(k->o, k->attempts, room, got, &n, &e);
    put(a, rc);
    put(a, rc ? e.line : (int64_t)n);
    for (size_t i = 0; !rc && i < n && i < room; i++) {
        const struct report_request *q = &got[i];
        put(a, q->deciding - k->attempts);
        put(a, q->attempts);
        put(a, q->arrival_ns);
        put(a, (int)q->iv.client_ttft.status);
        put(a, q->iv.client_ttft.ns);
        put(a, q->iv.e2e.ns);
        put(a, q->iv.server_ttft.ns);
        put_bool(a, &q->c.completed);
        put(a, (int)q->c.reason);
        put(a, (int)q->c.quality);
        put_bool(a, &q->c.useful);
        put(a, q->c.attempts);
        put_bool(a, &q->good);
        put_sum(a, q->gpu_seconds);
        put_sum(a, q->joules);
    }
    free(got);
}

static void put_point(struct answer *a, const struct report_point *p, int32_t limits) {
    put(a, p->attempts);
    put(a, p->requests);
    put(a, p->retried);
    put(a, p->completed);
    put(a, p->useful);
    put(a, p->good);
    put(a, p->finished_by_server);
    for (int i = 0; i < REASON_N; i++) put(a, p->by_reason[i]);
    for (int i = 0; i < 4; i++) put(a, p->quality[i]);
    for (int i = 0; i < 4; i++) put(a, p->structure[i]);
    put(a, p->unjudged);
    put(a, p->other_check);
    put(a, p->counts.requests);
    put(a, p->counts.useful);
    put(a, p->counts.failed);
    put(a, p->counts.quality_passed);
    put(a, p->counts.quality_evaluated);
    put_double(a, p->counts.interval_s);
    put(a, p->prompt_tokens);
    put(a, p->cached_prompt_tokens);
    put(a, p->output_tokens);
    put_sum(a, p->gpu_seconds);
    put_sum(a, p->joules);
    put(a, p->recovery.outages);
    put(a, p->recovery.longest_ns);
    put_bool(a, &p->recovery.unended);
    put_double(a, p->load.offered_rps);
    put(a, p->load.requests);
    put(a, p->load.complete);
    put(a, p->load.shed);
    put(a, p->load.truncated);
    put(a, p->load.broken);
    put_double(a, p->load.throughput_rps);
    put_sum(a, p->load.mean_latency_ns);
    put_double(a, p->load.mean_in_system);
    put_bool(a, &p->load.stable);
    for (int32_t i = 0; i < limits; i++) {
        put_percentile(a, &p->limit[i]);
        put_percentile(a, &p->limit_of_ok[i]);
    }
}

static void call_measure(struct call *k, struct answer *a) {
    struct report_point got;
    struct err e;
    memset(&got, CASE_POISON, sizeof got);
    int rc = report_measure(k->o, k->requests, k->c->n_attempts, k->window, &got, &e);
    put(a, rc);
    if (!rc) put_point(a, &got, k->o->n_latency);
}

static void call_regions(struct call *k, struct answer *a) {
    struct report_regions got;
    struct err e;
    memset(&got, CASE_POISON, sizeof got);
    put(a, report_regions(k->o, k->points, k->c->n_points, &got, &e));
    put(a, got.knee);
    put(a, got.saturation);
    put(a, got.best_valid);
}

static void call_once(struct call *k, struct answer *a) {
    static void (*const calls[])(struct call *, struct answer *) = {
        [FN_STAMPS] = call_stamps, [FN_KV] = call_kv,           [FN_ATTEMPT] = call_attempt,
        [FN_GROUP] = call_group,   [FN_MEASURE] = call_measure, [FN_REGIONS] = call_regions};
    if (k->c->fn == FN_ENGINE) {
        lab04_call_engine(k->c, a->slots + a->n, a->cap - a->n);
        a->n = a->cap;
    } else if (k->c->fn == FN_VERDICT) {
        put(a, (int)report_verdict(k->o, k->points));
    } else {
        calls[k->c->fn](k, a);
    }
}

/* What each of many calls left on the heap, in pieces of 16 bytes: the least of some rounds. A leak
 * is in every round. Less than that is not counted: the C library may keep something by itself.
 * (Its cache of freed blocks, which it counts as in use, is off: session.c.) */
static int64_t heap_growth(struct call *k, struct answer *a) {
    enum { ROUNDS = 6, CALLS = 24 };
    int64_t least = INT64_MAX;
    size_t n = a->n;
    for (int round = 0; round < ROUNDS && least > 0; round++) {
        int64_t before = child_heap_bytes();
        for (int i = 0; i < CALLS; i++) {
            a->n = n;
            call_once(k, a);
        }
        int64_t each = (child_heap_bytes() - before) / (CALLS * 16);
        if (each < least) least = each;
    }
    return least > 0 ? least : 0;
}

int child_answer(const void *bytes, size_t n, int64_t *slots, size_t cap) {
    static struct lab04_case c;
    struct wire w = wire_reader(bytes, n);
    if (lab04_case_codec(&w, &c) || c.n_slots >= cap) return -1;
    struct call k;
    struct answer a = {slots, 0, c.n_slots};
    int64_t growth = 0;
    call_prepare(&k, &c);
    if (c.memory == MEMORY_REPEAT)
        growth = heap_growth(&k, &a);
    else if (c.memory == MEMORY_LONG)
        growth = lab04_call_engine_long(&c);
    else
        call_once(&k, &a);
    while (a.n < c.n_slots) put(&a, 0);
    a.cap++;
    if (c.memory == MEMORY_REPEAT || c.memory == MEMORY_LONG) put(&a, growth);
    place_release();
    return (int)a.n;
}
