/* play.c: see play.h. */
#include "lab02/play.h"

#include "lab02/cases.h"

#include "base/clock.h"
#include "base/text.h"
#include "sched/policies.h"
#include "sim/sim.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct cost_model lab02_play_cost = {.kind = COST_TRANSFORMER,
                                           .memory_fixed_ps = INT64_C(8000000000),
                                           .memory_per_context_ps = 260000,
                                           .compute_per_token_ps = 62000000,
                                           .compute_per_attended_fs = 3000000,
                                           .overhead_ns = 300000};

/* After so many plans it is their number that takes the time. */
enum { MANY_PLANS = 1000 };
/* Smaller pieces of prompts are the cause, if the budget allows larger ones. 512 is right. */
enum { SMALL_PIECE_TOKENS = 48 };

enum { IDS = 1009 }; /* a prime above PLAY_MAX_REQUESTS */

int64_t lab02_play_id(size_t index, int64_t shift) {
    return 2000 + shift + (int64_t)((index * 617 + 5) % IDS);
}

/* The policy that plays, and the state of the play. */
struct player {
    const struct play *play;
    struct play_result *out;
    struct dialogue *d;           /* a submission's policy */
    const struct policy_ops *ops; /* or a policy of this program */
    void *state;
    bool begun;
    int most_calls;
    int64_t now_ns;
    int n_admitted, admitted[PLAY_MAX_REQUESTS]; /* by index: as which one it was let in, from 1 */
    int overtaken[PLAY_MAX_REQUESTS];
    struct progress {
        int32_t tokens; /* of its answer, when it was last seen */
        int passed;     /* since then: later arrivals that came in after it, and are done */
    } progress[PLAY_MAX_REQUESTS];
    size_t done[PLAY_MAX_REQUESTS], n_done; /* ended since the last plan */
    size_t group_n,
        group_began; /* members that were admitted, and outcomes before the first of them */
};

static int violate(struct player *p, enum violation v, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static int violate(struct player *p, enum violation v, struct err *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(p->out->text, sizeof p->out->text, fmt, ap);
    va_end(ap);
    p->out->violation = v;
    p->out->at_ns = p->now_ns;
    return err_set(e, "%.300s", p->out->text);
}

bool lab02_play_same_words(const char *a, const char *b, bool begins) {
    for (;; a++, b++) {
        while (isdigit((unsigned char)*a)) a++;
        while (isdigit((unsigned char)*b)) b++;
        if (!*b) return begins || !*a;
        if (*a != *b) return false;
    }
}

static size_t index_of(const struct play *p, int64_t id) {
    for (size_t i = 0; i < PLAY_MAX_REQUESTS; i++)
        if (lab02_play_id(i, p->id_shift) == id) return i;
    return SIZE_MAX;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* The cause that shows in the plans, or a question. */
static int many_plans(struct player *p, struct err *e) {
    const struct play_result *out = p->out;
    long long piece = out->pieces ? (long long)(out->piece_tokens / out->pieces) : INT32_MAX;
    if (piece < SMALL_PIECE_TOKENS && piece < p->play->token_budget / 4)
        return violate(
            p, VIOLATION_LOOP, e,
            "prompts run in pieces that are far too small, of %lld tokens on average. So "
            "this workload needs so many plans, %d until now, that they took too long "
            "together. Give an iteration more tokens of a prompt",
            piece, out->calls);
    return violate(p, VIOLATION_LOOP, e,
                   "the plans of this workload took too long together, %d until now: are they "
                   "asked for too often, or does each take long? In the last one %.100s",
                   out->calls, p->d->why);
}

static int no_plan(struct player *p, enum dialogue_answer a, struct err *e) {
    switch (a) {
    case DIALOGUE_LATE:
        if (p->out->calls > MANY_PLANS) return many_plans(p, e);
        return violate(p, VIOLATION_LOOP, e, "plan() didn't come back (plan %d): %.270s",
                       p->out->calls, p->d->why);
    case DIALOGUE_STRANGE:
        return violate(p, VIOLATION_STRANGE, e, "%.300s", p->d->why);
    case DIALOGUE_TODO:
        return violate(p, VIOLATION_TODO, e, "%.300s", p->d->why);
    case DIALOGUE_FAULT:
        return violate(p, VIOLATION_OURS, e, "%.300s", p->d->why);
    default:
        return violate(p, VIOLATION_DIED, e, "plan() didn't answer: %.290s", p->d->why);
    }
}

/* Decodes the answer's slots into a plan. Refuses what no plan can be; policy_check compares the
 * plan with its view. */
static int decode(struct player *p, const int64_t *slots, struct policy_plan *plan, struct err *e) {
    if (!slots[PLAN_CREATED])
        return violate(p, VIOLATION_GAVE_UP, e, "create() gave no state, so there is no policy");
    if (slots[PLAN_RC] != 0)
        return violate(p, VIOLATION_GAVE_UP, e, "plan() returned %" PRId64 " for a good view",
                       slots[PLAN_RC]);
    if (slots[PLAN_BEYOND] || slots[PLAN_N] < 0 || slots[PLAN_N] > (int64_t)plan->cap_actions)
        return violate(p, VIOLATION_RULE, e, "the plan has more actions than its room, %zu",
                       plan->cap_actions);
    if (slots[PLAN_VALIDITY] != POLICY_ONE_ITERATION && slots[PLAN_VALIDITY] != POLICY_UNTIL_CHANGE)
        return violate(p, VIOLATION_RULE, e, "the plan's validity is none of the two");
    plan->n_actions = (size_t)slots[PLAN_N];
    plan->validity = (enum policy_validity)slots[PLAN_VALIDITY];
    plan->valid_until_ns = slots[PLAN_UNTIL];
    for (size_t i = 0; i < plan->n_actions; i++) {
        const int64_t *s = slots + PLAN_HEAD + i * CASE_ACTION_SLOTS;
        if (s[0] < POLICY_RUN || s[0] > POLICY_REJECT)
            return violate(p, VIOLATION_RULE, e, "an action is neither run, preempt nor reject");
        if (s[2] < INT32_MIN || s[2] > INT32_MAX)
            return violate(p, VIOLATION_STRANGE, e, "an action has an impossible token count");
        plan->actions[i] = (struct policy_action){(enum policy_verb)s[0], s[1], (int32_t)s[2],
                                                  s[3] ? "the policy says so" : NULL};
    }
    return 0;
}

/* "run 2005: 47 tokens, preempt 2622". */
static void say_plan(const int64_t *slots, char *out, size_t cap) {
    static const char *const verbs[] = {
        [POLICY_RUN] = "run", [POLICY_PREEMPT] = "preempt", [POLICY_REJECT] = "reject"};
    int64_t n = slots[PLAN_N];
    out[0] = '\0';
    for (int64_t i = 0; i < n && i < 2 * CASE_MAX_LANE; i++) {
        const int64_t *s = slots + PLAN_HEAD + i * CASE_ACTION_SLOTS;
        if (s[0] < POLICY_RUN || s[0] > POLICY_REJECT) continue;
        text_append(out, cap, "%s%s %" PRId64, i ? ", " : "", verbs[s[0]], s[1]);
        if (s[0] == POLICY_RUN) text_append(out, cap, ": %" PRId64 " tokens", s[2]);
    }
    if (slots[PLAN_RC] != 0) text_append(out, cap, "; plan() returned %" PRId64, slots[PLAN_RC]);
    text_append(out, cap, "%s; valid %s", n > 0 ? "" : "nothing",
                slots[PLAN_VALIDITY] == POLICY_ONE_ITERATION ? "for one iteration"
                                                             : "until a change");
    if (slots[PLAN_UNTIL] != INT64_MAX)
        text_append(out, cap, ", until %" PRId64 " ns", slots[PLAN_UNTIL]);
}

static int ask_remote(struct player *p, const struct policy_view *view, struct policy_plan *plan,
                      struct err *e) {
    static unsigned char bytes[WIRE_MAX_PAYLOAD];
    static int64_t slots[PLAN_HEAD + CASE_ACTION_SLOTS * 2 * CASE_MAX_LANE];
    static int64_t again[sizeof slots / sizeof *slots];
    struct lab02_case c = {.fn = FN_PLAN, .view = *view, .batch = p->play->batch};
    c.group = p->play->group;
    for (int round = 0; round <= p->play->ask_twice; round++) {
        c.fresh = !p->begun;
        p->begun = true;
        struct wire w = wire_writer(bytes, sizeof bytes);
        if (lab02_case_codec(&w, &c)) return violate(p, VIOLATION_OURS, e, "a view is too large");
        size_t n = lab02_case_slots(&c);
        enum dialogue_answer a =
            dialogue_ask(p->d, bytes, sizeof bytes - w.left, round ? again : slots, n, NULL);
        if (a != DIALOGUE_OK) return no_plan(p, a, e);
        if (!round || memcmp(slots, again, n * sizeof *slots) == 0) continue;
        say_plan(slots, p->out->plans[0], sizeof p->out->plans[0]);
        say_plan(again, p->out->plans[1], sizeof p->out->plans[1]);
        return violate(p, VIOLATION_DIFFERS, e,
                       "%s: asked twice with one and the same view, it gave two different plans. "
                       "Does it keep a static or global variable, or use something never set?",
                       p->play->batch ? "learner-batch" : "learner");
    }
    return decode(p, slots, plan, e);
}

/* ---- what a plan means for those that wait --------------------------------------------------- */

static bool runs(const struct policy_plan *plan, int64_t id) {
    for (size_t i = 0; i < plan->n_actions; i++)
        if (plan->actions[i].id == id) return plan->actions[i].verb == POLICY_RUN;
    return false;
}

/* For a newly admitted request: every earlier arrival that still waits was overtaken. */
static int count_overtaken(struct player *p, const struct policy_view *v,
                           const struct policy_plan *plan, size_t newcomer, struct err *e) {
    for (size_t i = 0; i < v->n_waiting; i++) {
        size_t at = index_of(p->play, v->waiting[i].id);
        if (at >= newcomer || runs(plan, v->waiting[i].id)) continue;
        if (++p->overtaken[at] > PLAY_MAX_OVERTAKEN)
            return violate(p, VIOLATION_STARVED, e,
                           "request %" PRId64 " (prompt %d) starves: it still waits, and %d that "
                           "arrived later were let in before it; at most %d may be",
                           v->waiting[i].id, v->waiting[i].prompt_tokens, p->overtaken[at],
                           PLAY_MAX_OVERTAKEN);
    }
    return 0;
}

/* To be let in is not to be served. A request that is in the system makes a token before
 * PLAY_MAX_OVERTAKEN that came later, and were let in later, are done. */
static int count_passed(struct player *p, const struct policy_request *r, struct err *e) {
    size_t at = index_of(p->play, r->id);
    struct progress *g = &p->progress[at];
    if (r->generated_tokens > g->tokens) *g = (struct progress){r->generated_tokens, 0};
    for (size_t i = 0; i < p->n_done && p->admitted[at]; i++)
        g->passed += p->done[i] > at && p->admitted[p->done[i]] > p->admitted[at];
    if (g->passed <= PLAY_MAX_OVERTAKEN) return 0;
    return violate(p, VIOLATION_STARVED, e,
                   "request %" PRId64
                   " (prompt %d) starves: since it was let in%s, %d that arrived "
                   "later were let in and are done, and it got no token; at most %d may be",
                   r->id, r->prompt_tokens, g->tokens ? " and made its last token" : "", g->passed,
                   PLAY_MAX_OVERTAKEN);
}

static int watch_progress(struct player *p, const struct policy_view *v, struct err *e) {
    for (size_t i = 0; i < v->n_waiting; i++)
        if (count_passed(p, &v->waiting[i], e)) return -1;
    for (size_t i = 0; i < v->n_running; i++)
        if (count_passed(p, &v->running[i], e)) return -1;
    p->n_done = 0;
    return 0;
}

/* For learner-batch:N, which admits a request. With a prompt in pieces, some members may come in a
 * later plan; once one member has ended, no request joins until all have ended. */
static int join_group(struct player *p, int64_t id, struct err *e) {
    if (!p->play->batch) return 0;
    size_t ended = p->out->n - p->group_began;
    if (ended >= p->group_n) {
        p->group_n = ended = 0;
        p->group_began = p->out->n;
    }
    if (ended > 0)
        return violate(p, VIOLATION_GROUP, e,
                       "request %" PRId64 " joins a group of which %zu ended already; a group runs "
                       "to its end before the next one starts",
                       id, ended);
    if (++p->group_n > (size_t)p->play->group)
        return violate(p, VIOLATION_GROUP, e,
                       "request %" PRId64
                       " is number %zu of a group; learner-batch:%d forms groups "
                       "of up to %d",
                       id, p->group_n, p->play->group, p->play->group);
    return 0;
}

static int watch(struct player *p, const struct policy_view *v, const struct policy_plan *plan,
                 struct err *e) {
    for (size_t i = 0; i < plan->n_actions; i++) {
        const struct policy_action *a = &plan->actions[i];
        size_t at = index_of(p->play, a->id);
        if (a->verb == POLICY_REJECT)
            return violate(p, VIOLATION_REFUSED, e,
                           "the policy refuses request %" PRId64 " (prompt %d, at most %d more "
                           "tokens), which could run: the cache has %d blocks",
                           a->id, p->play->request[at].prompt_tokens,
                           p->play->request[at].max_output_tokens, v->total_kv_blocks);
        if (a->verb != POLICY_RUN || p->admitted[at]) continue;
        p->admitted[at] = ++p->n_admitted;
        if (join_group(p, a->id, e)) return -1;
        if (count_overtaken(p, v, plan, at, e)) return -1;
    }
    return 0;
}

/* Blocks that a request still lacks for its prompt and the tokens that it had before. */
static int64_t lacks(const struct policy_request *r) {
    int64_t n = policy_blocks_for(r->prompt_tokens + r->generated_tokens) - r->kv_blocks;
    return n > 0 ? n : 0;
}

/* Counts admissions, and those for whose prompt too few blocks are free. Blocks that prompts in
 * progress still lack are not free. */
static void count_admissions(struct play_result *out, const struct policy_view *v,
                             const struct policy_plan *plan) {
    int64_t free_blocks = v->free_kv_blocks;
    for (size_t i = 0; i < v->n_running; i++) {
        const struct policy_request *r = &v->running[i];
        bool leaves = false;
        for (size_t k = 0; k < plan->n_actions; k++)
            leaves |= plan->actions[k].id == r->id && plan->actions[k].verb == POLICY_PREEMPT;
        free_blocks += leaves ? r->kv_blocks : -lacks(r);
    }
    for (size_t i = 0; i < v->n_waiting; i++) {
        if (!runs(plan, v->waiting[i].id)) continue;
        free_blocks -= lacks(&v->waiting[i]);
        out->admissions++;
        out->blind += free_blocks < 0;
    }
}

static void count_preemptions(struct play_result *out, const struct policy_view *v,
                              const struct policy_plan *plan) {
    for (size_t k = 0; k < plan->n_actions; k++) {
        if (plan->actions[k].verb != POLICY_PREEMPT) continue;
        out->preemptions++;
        for (size_t i = 0; i < v->n_running; i++)
            if (v->running[i].id == plan->actions[k].id)
                out->lost_tokens += v->running[i].computed_tokens;
    }
}

static void count_pieces(struct play_result *out, const struct policy_request *r, size_t n,
                         const struct policy_plan *plan) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < plan->n_actions; k++) {
            const struct policy_action *a = &plan->actions[k];
            int32_t left = r[i].prompt_tokens + r[i].generated_tokens - r[i].computed_tokens;
            if (a->id != r[i].id || a->verb != POLICY_RUN || left == 1) continue;
            out->pieces++;
            out->piece_tokens += a->tokens;
        }
}

static int player_plan(void *state, const struct policy_view *view, struct policy_plan *plan,
                       struct err *e) {
    struct player *p = state;
    struct err why;
    p->now_ns = view->now_ns;
    if (p->out->calls++ >= p->most_calls)
        return violate(p, VIOLATION_ROUND, e,
                       "after %d plans the requests are not done: it goes round and round without "
                       "getting work done (%" PRId64 " preemptions)",
                       p->most_calls, p->out->preemptions);
    if (p->d && watch_progress(p, view, e)) return -1;
    int rc = p->d ? ask_remote(p, view, plan, e) : p->ops->plan(p->state, view, plan, e);
    if (rc) return -1;
    if (policy_check(view, plan, &why)) return violate(p, VIOLATION_RULE, e, "%.300s", why.text);
    count_preemptions(p->out, view, plan);
    count_admissions(p->out, view, plan);
    count_pieces(p->out, view->waiting, view->n_waiting, plan);
    count_pieces(p->out, view->running, view->n_running, plan);
    return p->d ? watch(p, view, plan, e) : 0;
}

/* ---- a whole play ---------------------------------------------------------------------------- */

static void take_outcome(void *ctx, const struct sim_outcome *o) {
    struct player *p = ctx;
    size_t at = index_of(p->play, o->request.id);
    INVARIANT(at < p->play->n);
    p->out->n++;
    p->done[p->n_done++] = at;
    p->out->record[at] =
        (struct point_request){.arrival_ns = o->request.arrival_ns,
                               .admitted_ns = o->start_ns,
                               .first_token_ns = o->first_token_ns,
                               .end_ns = o->completion_ns,
                               .output_tokens = o->request.output_tokens,
                               .wanted_tokens = o->request.output_tokens,
                               .end = o->end == SIM_COMPLETED ? POINT_DONE : POINT_REJECTED};
}

/* The bound on calls: twice the calls for one request at a time, asked before every iteration, with
 * prompts in pieces of 32 tokens, or of the budget if that is smaller. */
static int most_calls(const struct play *p) {
    int32_t piece = p->token_budget < 32 ? p->token_budget : 32;
    int64_t sum = 50;
    for (size_t i = 0; i < p->n; i++)
        sum += p->request[i].output_tokens + 2 + p->request[i].prompt_tokens / piece;
    return (int)(2 * sum);
}

static void run(struct player *p) {
    static const struct policy_ops seat = {"player", NULL, player_plan, NULL};
    const struct play *play = p->play;
    struct sim_config c = {.policy = &seat,
                           .policy_state = p,
                           .cost = lab02_play_cost,
                           .kv_blocks = play->kv_blocks,
                           .token_budget = play->token_budget,
                           .max_running = play->max_running,
                           .max_in_system = INT64_MAX,
                           .ask_always = play->ask_always,
                           .each = take_outcome,
                           .ctx = p};
    struct err e;
    *p->out = (struct play_result){0};
    p->most_calls = most_calls(play);
    struct sim *s = sim_create(&c, &e);
    int rc = s ? 0 : -1;
    for (size_t i = 0; i < play->n && !rc; i++) {
        const struct play_request *r = &play->request[i];
        struct sim_request request = {.id = lab02_play_id(i, play->id_shift),
                                      .arrival_ns = r->arrival_ns,
                                      .prompt_tokens = r->prompt_tokens,
                                      .output_tokens = r->output_tokens,
                                      .max_output_tokens = r->max_output_tokens};
        rc = sim_run_until(s, r->arrival_ns, &e);
        if (!rc) rc = sim_push(s, &request, &e);
    }
    if (!rc) rc = sim_finish(s, &e);
    if (rc && !p->out->violation) {
        p->out->violation = VIOLATION_STUCK;
        p->out->at_ns = p->now_ns;
        snprintf(p->out->text, sizeof p->out->text, "%.300s", e.text);
    }
    sim_free(s);
}

void lab02_play_remote(const struct play *play, struct dialogue *d, struct play_result *out) {
    struct player p = {.play = play, .out = out, .d = d};
    run(&p);
}

int lab02_play_local(const struct play *play, const char *policy, struct play_result *out,
                     struct err *e) {
    struct player p = {.play = play, .out = out};
    const char *colon = strchr(policy, ':'), *arg = colon ? colon + 1 : "";
    if (!strncmp(policy, "reference-batch", 15))
        p.ops = lab02_reference_learner_batch();
    else if (!strcmp(policy, "reference"))
        p.ops = lab02_reference_learner();
    else
        p.ops = policy_find(policy, &arg, e);
    if (!p.ops) return -1;
    p.state = p.ops->create(arg, e);
    if (!p.state) return -1;
    run(&p);
    p.ops->destroy(p.state);
    return out->violation ? err_set(e, "policy %s: %.300s", policy, out->text) : 0;
}
