/* sim.c: the event loop of one simulated server. See sim.h. */
#include "sim/sim_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

/* With these limits every sum of times and tokens fits into 64 bits. */
static const int64_t LONGEST_STEP_NS = INT64_C(1000000000000000); /* eleven days */
enum { MOST_TOKENS = 1 << 29 };

static bool cost_makes_sense(const struct cost_model *m) {
    if (m->kind == COST_PER_REQUEST)
        return m->setup_ns >= 0 && m->per_request_ns >= 0 && m->setup_ns <= LONGEST_STEP_NS &&
               m->per_request_ns <= LONGEST_STEP_NS;
    if (m->kind == COST_SERVICE) return true;
    return m->kind == COST_TRANSFORMER && m->memory_fixed_ps >= 0 &&
           m->memory_per_context_ps >= 0 && m->compute_per_token_ps >= 0 &&
           m->compute_per_attended_fs >= 0 && m->overhead_ns >= 0 &&
           m->overhead_ns <= LONGEST_STEP_NS;
}

static int check_config(const struct sim_config *c, struct err *e) {
    if (!c->policy || !c->policy->plan) return err_set(e, "a simulated server needs a policy");
    if (c->token_budget < 1)
        return err_at(e, 0, "token budget", "%d tokens an iteration are too few; 1 is the least",
                      c->token_budget);
    if (c->max_running < 1)
        return err_at(e, 0, "batch positions", "%d is too few; 1 is the least", c->max_running);
    if (c->kv_blocks < 1 || c->kv_blocks > INT32_MAX / 2)
        return err_at(e, 0, "KV blocks", "%d makes no sense; from 1 to %d", c->kv_blocks,
                      INT32_MAX / 2);
    if (c->max_in_system < 1)
        return err_at(e, 0, "room in the system", "%lld is too little; 1 request is the least",
                      (long long)c->max_in_system);
    if (c->prefix_tokens < 0)
        return err_at(e, 0, "prefix store", "%lld tokens make no sense; 0 turns it off",
                      (long long)c->prefix_tokens);
    if (!cost_makes_sense(&c->cost))
        return err_at(e, 0, "cost model", "a time is negative or beyond eleven days");
    return 0;
}

struct sim *sim_create(const struct sim_config *c, struct err *e) {
    if (check_config(c, e)) return NULL;
    struct sim *s = calloc(1, sizeof *s);
    INVARIANT(s);
    s->c = *c;
    s->free_blocks = c->kv_blocks;
    s->ask_ns = INT64_MAX;
    s->n.first_arrival_ns = -1;
    if (c->prefix_tokens > 0) s->prefixes = prefix_store_create(c->prefix_tokens);
    return s;
}

void sim_free(struct sim *s) {
    if (!s) return;
    prefix_store_free(s->prefixes);
    queue_release(&s->waiting);
    queue_release(&s->running);
    free(s->slots);
    free(s->free_slots);
    free(s->shares);
    free(s->actions);
    free(s);
}

const struct sim_counters *sim_counters(const struct sim *s) {
    return &s->n;
}

int64_t sim_in_system(const struct sim *s) {
    return (int64_t)(s->waiting.n + s->running.n);
}

/* ---- the loop ---- */

static void reserve_actions(struct sim *s) {
    size_t most = (size_t)sim_in_system(s);
    if (most <= s->cap_actions) return;
    s->cap_actions = most * 2;
    free(s->actions);
    s->actions = malloc(s->cap_actions * sizeof *s->actions);
    INVARIANT(s->actions);
}

static int ask(struct sim *s, struct err *e) {
    if (s->now_ns > LATEST_NS)
        return err_set(e,
                       "the run lasts more than 146 years; send fewer requests, or cheaper ones");
    if (s->fruitless++ >= MAX_FRUITLESS)
        return err_set(
            e,
            "at %lld ns the policy has decided %d times in a row without a token, an end "
            "or an arrival in between: it makes no progress",
            (long long)s->now_ns, MAX_FRUITLESS);
    reserve_actions(s);
    struct policy_view view = {.now_ns = s->now_ns,
                               .waiting = queue_view(&s->waiting),
                               .n_waiting = s->waiting.n,
                               .running = queue_view(&s->running),
                               .n_running = s->running.n,
                               .free_kv_blocks = s->free_blocks,
                               .total_kv_blocks = s->c.kv_blocks,
                               .token_budget = s->c.token_budget,
                               .max_running = s->c.max_running,
                               .arrivals_ended = s->arrivals_ended};
    struct policy_plan plan = {
        .actions = s->actions, .cap_actions = s->cap_actions, .valid_until_ns = INT64_MAX};
    s->n.policy_calls++;
    s->ask_ns = INT64_MAX;
    if (s->c.policy->plan(s->c.policy_state, &view, &plan, e) || policy_check(&view, &plan, e))
        return -1;
    sim_carry_out(s, &plan);
    if (s->in_flight) return 0;
    if (plan.n_actions > 0) {
        s->ask_ns = s->now_ns; /* only rejections or preemptions: ask again */
    } else if (plan.valid_until_ns > s->now_ns) {
        s->ask_ns = plan.valid_until_ns;
    } else {
        return err_set(e, "at %lld ns the policy runs nothing and wants to be asked again at once",
                       (long long)s->now_ns);
    }
    return 0;
}

int sim_turn(struct sim *s, int64_t t_ns, struct err *e) {
    if (s->in_flight) {
        if (s->repeats_left > 0) sim_repeat(s, t_ns);
        if (s->done_ns > t_ns) return 0;
        sim_take_effects(s); /* also at t_ns itself: effects come before arrivals */
        return 1;
    }
    if (sim_in_system(s) == 0) s->ask_ns = INT64_MAX;
    if (s->ask_ns >= t_ns) return 0;
    if (s->ask_ns > s->now_ns) s->now_ns = s->ask_ns;
    return ask(s, e) ? -1 : 1;
}

int sim_run_until(struct sim *s, int64_t t_ns, struct err *e) {
    int rc;
    do rc = sim_turn(s, t_ns, e);
    while (rc == 1);
    return rc;
}

int sim_run_to_end(struct sim *s, int64_t t_ns, struct err *e) {
    int64_t before = s->ended;
    int rc;
    do rc = sim_turn(s, t_ns, e);
    while (rc == 1 && s->ended == before);
    return rc;
}

int64_t sim_next_ns(const struct sim *s) {
    if (!s->in_flight) return sim_in_system(s) > 0 ? s->ask_ns : INT64_MAX;
    if (s->done_ns >= s->repeat_until_ns || s->repeats_left == 0) return s->done_ns;
    /* lower bound: each repetition takes at least as long, as the context grows */
    int64_t last_ns, ns = cost_iteration_ns(&s->c.cost, &s->work);
    if (__builtin_mul_overflow(s->repeats_left, ns, &last_ns) ||
        __builtin_add_overflow(s->done_ns, last_ns, &last_ns) || last_ns > s->repeat_until_ns)
        return s->repeat_until_ns;
    return last_ns;
}

/* ---- arrivals ---- */

static int check_request(const struct sim *s, const struct sim_request *r, int64_t t_ns,
                         struct err *e) {
    long long id = r->id;
    if (t_ns < s->last_arrival_ns || r->arrival_ns < 0)
        return err_set(e, "request %lld arrives at %lld ns, before the last arrival at %lld ns", id,
                       (long long)t_ns, (long long)s->last_arrival_ns);
    if (r->prompt_tokens < 1 || r->output_tokens < 1 || r->prompt_tokens > MOST_TOKENS ||
        r->max_output_tokens > MOST_TOKENS)
        return err_set(e,
                       "request %lld has %d prompt and %d output tokens; each must be from 1 to %d",
                       id, r->prompt_tokens, r->output_tokens, MOST_TOKENS);
    if (r->max_output_tokens < r->output_tokens ||
        (r->wanted_tokens && r->wanted_tokens < r->output_tokens))
        return err_set(e, "request %lld generates %d tokens, more than its limit or its wish", id,
                       r->output_tokens);
    if (r->fail_after < 0 || r->service_ns < 0 || r->service_ns > LONGEST_STEP_NS)
        return err_set(e, "request %lld: fail_after or service time makes no sense", id);
    if (r->prefix && (r->n_prefix < 0 || r->prefix_unit < 1))
        return err_set(e, "request %lld: prefix blocks must have at least one token", id);
    return 0;
}

static int32_t stop_tokens(const struct sim_request *r) {
    bool breaks = r->fail_after > 0 && r->fail_after < r->output_tokens;
    return breaks ? r->fail_after : r->output_tokens;
}

/* Why the request can't enter the waiting queue; NULL: it can. */
static const char *refusal(const struct sim *s, const struct sim_request *r, enum sim_end *end) {
    if (policy_blocks_for(r->prompt_tokens + r->max_output_tokens) > s->c.kv_blocks) {
        *end = SIM_REJECTED_TOO_LARGE;
        return "prompt and output need more KV blocks than the cache has";
    }
    if (sim_in_system(s) >= s->c.max_in_system) {
        *end = SIM_REJECTED_QUEUE_FULL;
        return "the system is full";
    }
    return NULL;
}

int sim_place(struct sim *s, const struct sim_request *r, int64_t t_ns, struct err *e) {
    if (check_request(s, r, t_ns, e)) return -1;
    if (s->n.first_arrival_ns < 0) {
        s->n.first_arrival_ns = r->arrival_ns;
        s->counted_ns = s->kv_counted_ns = t_ns;
    }
    s->n.arrivals++;
    s->last_arrival_ns = t_ns;
    int32_t slot = sim_take_slot(s);
    struct slot *h = &s->slots[slot];
    h->entered_ns = t_ns;
    h->stop_tokens = stop_tokens(r);
    h->o.request = *r;
    h->o.start_ns = h->o.first_token_ns = -1;
    h->o.output_tokens = h->o.cached_tokens = h->o.preemptions = 0;
    h->o.server = s->c.server;
    sim_emit(s, slot, EV_REQUEST_ACCEPTED, r->arrival_ns);
    enum sim_end end;
    h->o.reason = refusal(s, r, &end);
    if (h->o.reason) {
        sim_end_request(s, slot, end, t_ns);
        return 0;
    }
    if (!s->in_flight) {
        if (s->now_ns < t_ns) s->now_ns = t_ns;
        s->ask_ns = t_ns;
    }
    s->fruitless = 0;
    s->repeat_until_ns = 0; /* an arrival ends the plan's validity */
    sim_count_time(s, t_ns);
    /* filled in place: a copy would load what was just stored, and stall */
    struct policy_request *p = queue_append(&s->waiting, slot);
    p->id = r->id;
    p->arrival_ns = r->arrival_ns;
    p->prompt_tokens = r->prompt_tokens;
    p->max_output_tokens = r->max_output_tokens;
    p->computed_tokens = p->generated_tokens = p->kv_blocks = p->preemptions = 0;
    p->prefix_hash = r->prefix_hash;
    return 0;
}

int sim_push(struct sim *s, const struct sim_request *r, struct err *e) {
    return sim_place(s, r, r->arrival_ns, e);
}

void sim_end_arrivals(struct sim *s, int64_t t_ns) {
    if (s->arrivals_ended) return;
    s->arrivals_ended = true;
    if (s->in_flight || sim_in_system(s) == 0) return;
    if (s->now_ns < t_ns) s->now_ns = t_ns;
    if (s->ask_ns > s->now_ns) s->ask_ns = s->now_ns;
}

int sim_finish(struct sim *s, struct err *e) {
    sim_end_arrivals(s, s->last_arrival_ns);
    if (sim_run_until(s, INT64_MAX, e)) return -1;
    if (sim_in_system(s) > 0)
        return err_set(e,
                       "the policy leaves requests unfinished although no arrival is left: %zu "
                       "waiting, %zu admitted",
                       s->waiting.n, s->running.n);
    return 0;
}
