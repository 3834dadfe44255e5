/* judge_engine.c: runs the learner's engine on hidden workloads, and judges what the machine
 * (machine.h) saw and what each request got. Plans are the reference policy's; every token, block
 * and time is the machine's, so that nothing here is believed because the submission says so.
 *
 * Goodput is counted from the machine's own times and compared with two engines that are simulated
 * here on the same workload and costs: one request at a time, and groups of four that start and end
 * together.
 */
#include "lab04/lab04.h"

#include "serve/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATIC_GROUP = 4 };
static const int64_t TTFT_NS = 60 * INT64_C(1000000), E2E_NS = 260 * INT64_C(1000000);

/* ---- workloads ------------------------------------------------------------------------------- */

static void make_requests(struct rng *rng, struct machine_config *c, int64_t gap_ns) {
    int64_t at = 0;
    int32_t first[MACHINE_VOCAB];
    for (int32_t i = 0; i < MACHINE_VOCAB; i++) first[i] = i;
    for (int32_t i = MACHINE_VOCAB; i-- > 1;) { /* each prompt begins with a token of its own */
        int32_t j = (int32_t)rng_below(rng, (uint64_t)i + 1), t = first[i];
        first[i] = first[j];
        first[j] = t;
    }
    for (int32_t i = 0; i < c->n_requests; i++) {
        struct machine_request *r = &c->request[i];
        *r = (struct machine_request){.arrival_ns = at, .cancel_at = -1, .reads = -1};
        r->n_prompt = (int32_t)lab04_between(rng, 1, i % 3 ? 40 : 90);
        r->max_output = (int32_t)lab04_between(rng, 1, 34);
        r->ignore_end = lab04_chance(rng, 60);
        if (lab04_chance(rng, 30)) r->ends_after = (int32_t)lab04_between(rng, 1, r->max_output);
        for (int32_t k = 0; k < r->n_prompt; k++)
            r->prompt[k] = (int32_t)rng_below(rng, MACHINE_VOCAB);
        r->prompt[0] = first[i];
        if (lab04_chance(rng, 75)) at += lab04_between(rng, 0, 2 * gap_ns);
    }
}

static void share_prompts(struct rng *rng, struct machine_config *c) {
    int64_t at = 0;
    for (int32_t i = 0; i < c->n_requests; i++) {
        struct machine_request *r = &c->request[i];
        int32_t shared = 16 * (int32_t)lab04_between(rng, 2, 4), own;
        own = lab04_chance(rng, 30) ? 0 : (int32_t)lab04_between(rng, 1, 20);
        if (i > 1) memcpy(r->prompt, c->request[i % 2].prompt, (size_t)shared * sizeof *r->prompt);
        for (int32_t k = i > 1 ? shared : 0; k < shared + own || k < 65; k++)
            r->prompt[k] = (int32_t)rng_below(rng, MACHINE_VOCAB);
        r->n_prompt = i > 1 ? shared + own : 64 + (own & 1);
        /* with nothing of its own, all of its prompt is known */
        if (i < 2 || own > 0) r->prompt[r->n_prompt - 1] = i;
        r->arrival_ns = at;
        at += lab04_between(rng, 40, 90) * 1000 * 1000; /* the first ones are computed by then */
    }
}

void lab04_make_workload(struct rng *rng, int which, struct machine_config *c) {
    memset(c, 0, sizeof *c);
    c->key = (int64_t)rng_next(rng);
    c->fail_at = c->odd_at = c->cancel_step = c->cancel_id = -1;
    c->kv_blocks = (int32_t)lab04_between(rng, 100, 150);
    c->token_budget = (int32_t)lab04_between(rng, 64, 128);
    c->max_running = (int32_t)lab04_between(rng, 4, 12);
    c->setup_ns = lab04_between(rng, 3000, 5000) * 1000;
    c->per_token_ns = lab04_between(rng, 20, 40) * 1000;
    c->n_requests = (int32_t)lab04_between(rng, 10, 18);
    if (which == JUDGE_GOODPUT_ONE || which == JUDGE_GOODPUT_STATIC) {
        c->n_requests = MACHINE_MAX_REQUESTS;
        c->max_running = 12;
    }
    make_requests(rng, c, 12 * 1000 * 1000);
    if (which == JUDGE_CHUNKS) c->token_budget = (int32_t)lab04_between(rng, 12, 24);
    if (which == JUDGE_CHUNKS) c->group = MACHINE_KEEN;
    if (which == JUDGE_CHUNKS) c->max_running = (int32_t)lab04_between(rng, 2, 8);
    if (which == JUDGE_PREEMPT || which == JUDGE_EVENTS) {
        c->kv_blocks = (int32_t)lab04_between(rng, 8, 14);
        c->group = MACHINE_KEEN;
        for (int32_t i = 0; i < c->n_requests; i++) {
            c->request[i].max_output = (int32_t)lab04_between(rng, 14, 34);
            c->request[i].ends_after = 0;
            c->request[i].ignore_end = lab04_chance(rng, 80);
        }
    }
    if (which == JUDGE_PREFIX) {
        c->prefix_cache = true;
        share_prompts(rng, c);
    }
    for (int32_t i = 0; which == JUDGE_CANCEL && i < c->n_requests; i++)
        if (lab04_chance(rng, 45))
            c->request[i].cancel_at = (int32_t)lab04_between(rng, 0, c->request[i].max_output);
    if (which == JUDGE_CANCEL) {
        c->cancel_id = (int32_t)lab04_between(rng, 0, 3);
        c->cancel_step = (int32_t)lab04_between(rng, 3, 8);
    }
    if (which == JUDGE_FAULT && lab04_chance(rng, 50)) c->group = MACHINE_KEEN;
    if (which == JUDGE_FAULT) c->fail_at = (int32_t)lab04_between(rng, 2, 20);
    if (which == JUDGE_ODD) c->odd_at = (int32_t)lab04_between(rng, 0, 20);
    for (int32_t i = 0; which == JUDGE_SLOW && i < c->n_requests; i++)
        if (i == 1 || lab04_chance(rng, 30))
            c->request[i].reads = (int32_t)lab04_between(rng, 0, 20);
    if (which == JUDGE_TOKENS && lab04_chance(rng, 50))
        c->group = (int32_t)lab04_between(rng, 1, 5);
}

enum { LONELY_NS = 1000000000 };

/* The first request waits for company, which comes when its policy has long let it go. */
static void make_lonely(struct machine_config *c) {
    c->group = 4;
    for (int32_t i = 1; i < c->n_requests; i++) c->request[i].arrival_ns += LONELY_NS;
}

/* ---- one run --------------------------------------------------------------------------------- */

struct play {
    struct machine m;
    int64_t slots[ENGINE_HEAD + MACHINE_MAX_REQUESTS * REQ_SLOTS];
    char why[240];
};

static int serve(void *ctx, const void *bytes, size_t n, void *reply, size_t cap) {
    struct play *p = ctx;
    static int64_t query[MACHINE_MAX_QUERY];
    int64_t out[MACHINE_MAX_REPLY];
    if (n % 8 || n / 8 > MACHINE_MAX_QUERY) return -1;
    struct wire r = wire_reader(bytes, n);
    wire_i64_array(&r, query, n / 8);
    size_t len = machine_run(&p->m, query, n / 8, out);
    if (len == 0) return -1;
    struct wire w = wire_writer(reply, cap);
    wire_i64_array(&w, out, len);
    return (int)(cap - w.left);
}

static bool lose(struct play *p, const char *fmt, int64_t a, int64_t b) {
    snprintf(p->why, sizeof p->why, fmt, (long long)a, (long long)b);
    return false;
}

static bool ended_well(struct play *p, int32_t i) {
    const struct machine_request *r = &p->m.c.request[i];
    const struct machine_seen *s = &p->m.seen[i];
    const int64_t *got = p->slots + ENGINE_HEAD + i * REQ_SLOTS;
    bool leaves = r->cancel_at >= 0 || p->m.c.cancel_id == i;
    if (s->wrong)
        return lose(p, "request %lld: token %lld of its answer or one before it is wrong", i,
                    s->n_delivered);
    if (s->in_failed)
        return s->end == STREAM_FAILED ||
               lose(p, "request %lld met the machine's fault, and did not fail (state %lld)", i,
                    s->end);
    if (r->reads >= 0 && p->m.n_answer[i] > r->reads)
        return (s->end == STREAM_FAILED && s->n_delivered == r->reads) ||
               lose(p,
                    "request %lld: its client reads nothing; its stream takes no more text, and it "
                    "did not fail (state %lld)",
                    i, s->end);
    if (leaves && s->end == STREAM_CANCELLED)
        return r->cancel_at < 0 || s->n_delivered <= r->cancel_at + 1 ||
               lose(p, "request %lld: its client left after %lld tokens, and more were sent", i,
                    r->cancel_at);
    if (s->end != STREAM_DONE)
        return lose(p, "request %lld ended in state %lld instead of complete", i, s->end);
    if (r->cancel_at >= 0 && p->m.n_answer[i] > r->cancel_at + 2)
        return lose(p, "request %lld: its client left after %lld tokens, and it ran on", i,
                    r->cancel_at);
    if (s->n_delivered != p->m.n_answer[i] || got[REQ_OUTPUT] != p->m.n_answer[i])
        return lose(p, "request %lld: its answer has %lld tokens, and another number was sent", i,
                    p->m.n_answer[i]);
    return got[REQ_FINISH] == (p->m.stops[i] ? 1 : 2) ||
           lose(p, "request %lld: the finish reason is wrong (%lld)", i, got[REQ_FINISH]);
}

static bool ran_well(struct play *p) {
    const struct machine_request *r = p->m.c.request;
    if (p->m.c.group == 4 && r[1].arrival_ns - r[0].arrival_ns >= LONELY_NS &&
        p->m.seen[0].began_ns >= r[1].arrival_ns)
        return lose(p,
                    "request %lld waits until the next one arrives (%lld ns); the plan wanted to "
                    "be asked again sooner: *wake_ns",
                    0, r[1].arrival_ns);
    for (int32_t i = 0; i < p->m.c.n_requests; i++)
        if (!ended_well(p, i)) return false;
    if (p->slots[ENGINE_FREE] != p->m.c.kv_blocks)
        return lose(p, "at the end %lld of %lld KV blocks are free", p->slots[ENGINE_FREE],
                    p->m.c.kv_blocks);
    if (p->m.locked > 0)
        return lose(p, "the engine's lock is held while the backend computes (%lld of %lld steps)",
                    p->m.locked, p->m.steps);
    return p->slots[ENGINE_FAULTS] == p->m.failed ||
           lose(p, "engine_step reported %lld faults; the machine failed %lld times",
                p->slots[ENGINE_FAULTS], p->m.failed);
}

/* Blocks that an earlier request has computed are not computed again. */
static bool reused(struct play *p) {
    int64_t all = 0, shared = 0;
    for (int32_t i = 0; i < p->m.c.n_requests; i++) {
        const struct machine_request *r = &p->m.c.request[i];
        int32_t answer = p->m.n_answer[i], same = 0;
        const int32_t *first = p->m.c.request[i % 2].prompt;
        while (i > 1 && same < r->n_prompt - 1 && r->prompt[same] == first[same]) same++;
        all += r->n_prompt + (answer > 0 ? answer - 1 : 0);
        shared += same / KV_BLOCK_TOKENS * KV_BLOCK_TOKENS;
    }
    return p->m.computed <= all - shared * 3 / 4 ||
           lose(p, "%lld tokens were computed; with the blocks that are there, %lld are enough",
                p->m.computed, all - shared);
}

/* ---- the events of a record ------------------------------------------------------------------ */

static bool is_start(const struct machine *m, int64_t t_ns) {
    for (int32_t i = 0; i < m->steps; i++)
        if (m->starts[i] == t_ns) return true;
    return false;
}

static bool event_is(const int64_t *ev, enum event_kind kind, int64_t t_ns,
                     enum event_source source) {
    return ev[0] == (int)kind && (t_ns < 0 || ev[1] == t_ns) && ev[2] == CLOCK_SERVER &&
           ev[3] == (int)source;
}

static bool stamped_well(struct play *p, int32_t i) {
    const struct machine_seen *s = &p->m.seen[i];
    const int64_t *got = p->slots + ENGINE_HEAD + i * REQ_SLOTS, *ev = got + REQ_EVENT;
    int64_t n = got[REQ_EVENTS], arrival = p->m.c.request[i].arrival_ns, last = 0;
    int64_t resumed = 0, preempted = 0, firsts = 0;
    if (n > REQ_MAX_EVENTS) return true; /* preempted often: not all events are here */
    if (n < 4 || !event_is(ev, EV_REQUEST_ACCEPTED, arrival, SRC_SERVER_LOG) ||
        !event_is(ev + 4, EV_TOKENIZATION_FINISHED, arrival, SRC_SERVER_LOG))
        return lose(p, "request %lld does not begin with its arrival (%lld events)", i, n);
    if (!event_is(ev + 8, EV_REQUEST_ADMITTED, s->began_ns, SRC_SCHEDULER_LOG))
        return lose(p,
                    "request %lld: request_admitted is not at %lld ns, where its first step "
                    "begins",
                    i, s->began_ns);
    for (int64_t k = 3; k < n; k++) {
        const int64_t *at = ev + 4 * k;
        if (at[1] < last) return lose(p, "request %lld: event %lld goes back in time", i, k + 1);
        last = at[1];
        if (event_is(at, EV_REQUEST_PREEMPTED, -1, SRC_SCHEDULER_LOG))
            preempted++;
        else if (event_is(at, EV_REQUEST_RESUMED, -1, SRC_SCHEDULER_LOG))
            resumed++;
        else if (event_is(at, EV_FIRST_TOKEN, s->token_ns, SRC_SERVER_LOG))
            firsts++;
        else if (k != n - 1 || !event_is(at, EV_RESPONSE_FINISHED, s->end_ns, SRC_SERVER_LOG))
            return lose(p, "request %lld: event %lld is not one, or not at its time", i, k + 1);
        if (at[0] == EV_REQUEST_PREEMPTED || at[0] == EV_REQUEST_RESUMED)
            if (!is_start(&p->m, at[1]))
                return lose(p, "request %lld: %lld ns is not where a step begins", i, at[1]);
        if (resumed > preempted || preempted > resumed + 1)
            return lose(p, "request %lld: preempted and resumed do not alternate (event %lld)", i,
                        k + 1);
    }
    if (firsts != (p->m.n_answer[i] > 0) || resumed != s->begins - 1 || preempted != resumed)
        return lose(p, "request %lld began %lld times, and its events say something else", i,
                    s->begins);
    return ev[4 * (n - 1)] == EV_RESPONSE_FINISHED ||
           lose(p, "request %lld: the last of its %lld events is not its end", i, n);
}

/* ---- goodput --------------------------------------------------------------------------------- */

static bool is_good(int64_t arrival, int64_t first_ns, int64_t end_ns) {
    return first_ns - arrival < TTFT_NS && end_ns - arrival < E2E_NS;
}

/* Good requests of an engine that runs groups of up to `group`, in order of arrival: all prompts,
 * then token by token until the longest answer ends. */
static int good_of_groups(const struct machine *m, int32_t group) {
    int64_t now = 0;
    int good = 0;
    for (int32_t from = 0, to; from < m->c.n_requests; from = to) {
        int64_t tokens = 0, steps, first;
        int32_t longest = 0;
        if (now < m->c.request[from].arrival_ns) now = m->c.request[from].arrival_ns;
        for (to = from; to < m->c.n_requests && to < from + group; to++) {
            if (m->c.request[to].arrival_ns > now) break;
            tokens += m->c.request[to].n_prompt;
            if (m->n_answer[to] > longest) longest = m->n_answer[to];
        }
        steps = (tokens + m->c.token_budget - 1) / m->c.token_budget;
        first = now + steps * m->c.setup_ns + tokens * m->c.per_token_ns;
        for (int32_t k = 1; k <= longest || k == 1; k++) {
            int64_t at = first, running = 0;
            for (int32_t i = from; i < to; i++) running += m->n_answer[i] >= k;
            if (k > 1) now += m->c.setup_ns + running * m->c.per_token_ns;
            if (k == 1) now = first;
            at = now;
            for (int32_t i = from; i < to; i++)
                if (m->n_answer[i] == k || (k == 1 && m->n_answer[i] == 0))
                    good += is_good(m->c.request[i].arrival_ns, first, at);
        }
    }
    return good;
}

static int good_of_run(const struct machine *m) {
    int good = 0;
    for (int32_t i = 0; i < m->c.n_requests; i++) {
        const struct machine_seen *s = &m->seen[i];
        if (s->end != STREAM_DONE || s->wrong || s->n_delivered != m->n_answer[i]) continue;
        good += is_good(m->c.request[i].arrival_ns, m->n_answer[i] ? s->first_ns : s->end_ns,
                        s->end_ns);
    }
    return good;
}

/* ---- judging --------------------------------------------------------------------------------- */

static const char *kind_of(int which) {
    static const char *const kinds[] = {"a workload in an ample cache",
                                        "prompts in several chunks",
                                        "a cache that is too small for all",
                                        "prompts that begin alike, with prefix reuse",
                                        "clients that leave",
                                        "a machine that fails once",
                                        "logits that are not finite, once",
                                        "clients that do not read",
                                        "the events of records, in a small cache",
                                        "goodput of a busy server",
                                        "goodput of a busy server"};
    return kinds[which - JUDGE_TOKENS];
}

static bool judge_run(struct play *p, int which) {
    if (!ran_well(p)) return false;
    if (which == JUDGE_PREFIX && !reused(p)) return false;
    for (int32_t i = 0; which == JUDGE_EVENTS && i < p->m.c.n_requests; i++)
        if (!stamped_well(p, i)) return false;
    return true;
}

/* 0: judged, p->why says what was wrong; -1: no answer came. */
static int play_one(const struct check_def *def, struct dialogue *d, int k, struct play *p) {
    static struct lab04_case c;
    static struct machine_config config;
    struct channel_server server = {serve, p};
    struct rng rng;
    size_t n;
    rng_seed(&rng, case_sequence(d->seed, def->id, k));
    lab04_make_workload(&rng, def->maker, &config);
    if (def->maker == JUDGE_TOKENS && k == 0) make_lonely(&config);
    machine_init(&p->m, &config);
    p->why[0] = '\0';
    memset(&c, 0, sizeof c);
    c.fn = FN_ENGINE;
    c.n = machine_config_write(&config, true, c.v);
    c.n_slots = ENGINE_HEAD + (size_t)config.n_requests * REQ_SLOTS;
    unsigned char *bytes = lab04_encode(&c, &n, &d->err);
    INVARIANT(bytes);
    enum dialogue_answer a = dialogue_ask(d, bytes, n, p->slots, c.n_slots, &server);
    free(bytes);
    if (a == DIALOGUE_OK) return 0;
    snprintf(p->why, sizeof p->why, "%.230s", p->m.fault[0] ? p->m.fault : d->why);
    return -1;
}

static void lost(const struct check_def *def, const struct dialogue *d, const struct play *p,
                 struct check_result *r) {
    r->outcome = OUTCOME_LOST;
    snprintf(r->kind, sizeof r->kind, "%s", kind_of(def->maker));
    snprintf(r->message, sizeof r->message, "%.230s",
             d->practice ? p->why : "a workload went wrong");
}

void lab04_judge_engine(const struct check_def *def, struct dialogue *d, struct check_result *r) {
    static struct play p;
    int mine = 0, theirs = 0, group = def->maker == JUDGE_GOODPUT_ONE ? 1 : STATIC_GROUP;
    bool goodput = def->maker >= JUDGE_GOODPUT_ONE;
    for (int k = 0; k < def->n_cases; k++) {
        int failed = play_one(def, d, k, &p);
        if (d->fault || d->todo) return;
        if (failed || !judge_run(&p, def->maker)) {
            lost(def, d, &p, r);
            return;
        }
        mine += good_of_run(&p.m);
        theirs += good_of_groups(&p.m, group);
        r->cases_right++;
    }
    r->outcome = OUTCOME_EARNED;
    if (!goodput) return;
    snprintf(r->note, sizeof r->note, "%d good requests; %s has %d", mine,
             group == 1 ? "one request at a time" : "groups of four", theirs);
    if (4 * mine >= 5 * theirs && mine > 0) return;
    snprintf(p.why, sizeof p.why, "%d good requests, and %s has %d: 1.25 times as many are wanted",
             mine, group == 1 ? "one request at a time" : "an engine with groups of four", theirs);
    lost(def, d, &p, r);
}
