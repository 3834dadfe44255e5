/* sim.c: the event loop of one simulated server. See sim.h. */
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* Two parallel arrays: what the policy sees, and what only we know. */
struct hidden {
    struct sim_request request;
    int64_t start_ns, first_token_ns;
};

/* A list in order, growing at the back, shrinking mostly at the front. */
struct lane {
    struct policy_request *seen;
    struct hidden *hidden;
    size_t head, n, cap; /* entries [head, head + n) */
};

/* One running sequence's share of the iteration in flight. */
struct share {
    size_t at; /* index in the running lane */
    int32_t tokens;
};

struct sim {
    struct sim_config c;
    struct lane waiting, running;
    int32_t free_blocks;
    bool arrivals_ended;

    int64_t now_ns; /* of the last thing that happened */
    int64_t ask_ns; /* when to ask the policy: INT64_MAX for "not before something happens" */
    bool in_flight; /* an iteration is under way until done_ns */
    int64_t done_ns;
    struct share *shares;
    size_t n_shares, cap_shares;
    struct sim_work work;    /* of the iteration in flight */
    int64_t repeat_until_ns; /* the plan may be repeated for iterations that start before this */

    struct policy_action *actions;
    size_t cap_actions;
    struct sim_counters n;
    int64_t counted_ns; /* in_system_time is up to date until here */
};

/* ---- lanes ---- */

static void lane_reserve(struct lane *l, size_t n) {
    if (l->head + n <= l->cap) return;
    if (l->head > l->n &&
        n <= l->cap / 2) { /* much room at the front: move down instead of growing */
        memmove(l->seen, l->seen + l->head, l->n * sizeof *l->seen);
        memmove(l->hidden, l->hidden + l->head, l->n * sizeof *l->hidden);
        l->head = 0;
        return;
    }
    l->cap = (l->head + n) * 2;
    l->seen = realloc(l->seen, l->cap * sizeof *l->seen);
    l->hidden = realloc(l->hidden, l->cap * sizeof *l->hidden);
    INVARIANT(l->seen && l->hidden);
}

static void lane_append(struct lane *l, const struct policy_request *seen,
                        const struct hidden *hidden) {
    lane_reserve(l, l->n + 1);
    l->seen[l->head + l->n] = *seen;
    l->hidden[l->head + l->n] = *hidden;
    l->n++;
}

static void lane_prepend(struct lane *l, const struct policy_request *seen,
                         const struct hidden *hidden) {
    if (l->head == 0) {
        lane_reserve(l, l->n + 1);
        size_t gap = l->cap - l->n;
        memmove(l->seen + gap, l->seen, l->n * sizeof *l->seen);
        memmove(l->hidden + gap, l->hidden, l->n * sizeof *l->hidden);
        l->head = gap;
    }
    l->head--;
    l->n++;
    l->seen[l->head] = *seen;
    l->hidden[l->head] = *hidden;
}

static void lane_remove(struct lane *l, size_t at) {
    if (at == 0) {
        l->head++;
    } else {
        size_t i = l->head + at, after = l->n - at - 1;
        memmove(l->seen + i, l->seen + i + 1, after * sizeof *l->seen);
        memmove(l->hidden + i, l->hidden + i + 1, after * sizeof *l->hidden);
    }
    if (--l->n == 0) l->head = 0;
}

static struct policy_request *seen_at(const struct lane *l, size_t i) {
    return &l->seen[l->head + i];
}
static struct hidden *hidden_at(const struct lane *l, size_t i) {
    return &l->hidden[l->head + i];
}

/* Index of `id`, searched from *cursor on and around: plans name requests in the order of the view.
 */
static size_t lane_find(const struct lane *l, int64_t id, size_t *cursor) {
    for (size_t k = 0, i = *cursor; k < l->n; k++, i++) {
        if (i >= l->n) i = 0;
        if (seen_at(l, i)->id != id) continue;
        *cursor = i + 1;
        return i;
    }
    return SIZE_MAX;
}

/* ---- life ---- */

struct sim *sim_create(const struct sim_config *c, struct err *e) {
    if (c->token_budget < 1 || c->max_running < 1 || c->kv_blocks < 1) {
        err_set(e, "token budget, batch positions and KV blocks must be at least 1");
        return NULL;
    }
    struct sim *s = calloc(1, sizeof *s);
    INVARIANT(s);
    s->c = *c;
    s->free_blocks = c->kv_blocks;
    s->ask_ns = INT64_MAX;
    s->n.first_arrival_ns = -1;
    return s;
}

void sim_free(struct sim *s) {
    if (!s) return;
    free(s->waiting.seen);
    free(s->waiting.hidden);
    free(s->running.seen);
    free(s->running.hidden);
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

/* Brings the integral of the number in the system up to t. */
static void count_time(struct sim *s, int64_t t_ns) {
    s->n.in_system_time += (__int128)sim_in_system(s) * (t_ns - s->counted_ns);
    s->counted_ns = t_ns;
}

static void report(struct sim *s, const struct hidden *h, enum sim_end end, const char *reason,
                   int32_t preemptions, int64_t t_ns) {
    struct sim_outcome o = {.request = h->request,
                            .end = end,
                            .reason = reason,
                            .start_ns = h->start_ns,
                            .first_token_ns = h->first_token_ns,
                            .completion_ns = t_ns,
                            .preemptions = preemptions};
    if (end == SIM_COMPLETED) {
        s->n.completed++;
        s->n.prompt_tokens += h->request.prompt_tokens;
        s->n.output_tokens += h->request.output_tokens;
        if (t_ns > s->n.last_completion_ns) s->n.last_completion_ns = t_ns;
    } else {
        s->n.rejected++;
    }
    if (s->c.each) s->c.each(s->c.ctx, &o);
}

/* ---- an iteration's effects ---- */

static void finish_request(struct sim *s, size_t at) {
    struct policy_request *r = seen_at(&s->running, at);
    struct hidden *h = hidden_at(&s->running, at);
    s->free_blocks += r->kv_blocks;
    s->n.latency_sum += s->done_ns - h->request.arrival_ns;
    report(s, h, SIM_COMPLETED, NULL, r->preemptions, s->done_ns);
    lane_remove(&s->running, at);
}

static void take_effects(struct sim *s) {
    count_time(s, s->done_ns);
    s->now_ns = s->done_ns;
    s->in_flight = false;
    s->ask_ns = s->now_ns;
    size_t removed =
        0; /* finished ones shift those behind them; shares are in the order of the lane */
    for (size_t i = 0; i < s->n_shares; i++) {
        size_t at = s->shares[i].at - removed;
        struct policy_request *r = seen_at(&s->running, at);
        struct hidden *h = hidden_at(&s->running, at);
        r->computed_tokens += s->shares[i].tokens;
        if (r->computed_tokens < r->prompt_tokens + r->generated_tokens)
            continue; /* more prefill to do */
        if (h->first_token_ns < 0) h->first_token_ns = s->done_ns;
        if (++r->generated_tokens < h->request.output_tokens) continue;
        finish_request(s, at);
        removed++;
    }
}

/* ---- starting an iteration ---- */

static void count_iteration(struct sim *s, int64_t ns, int64_t kv_blocks) {
    s->n.iterations++;
    s->n.busy_ns += ns;
    s->n.kv_time += kv_blocks * ns;
    s->n.batch_time += s->work.requests * ns;
    s->n.computed_tokens += s->work.new_tokens;
}

/* How often the plan in flight could be repeated before a sequence ends or blocks run out: decode
 * only. */
static int64_t repeats_possible(const struct sim *s) {
    int64_t most = INT64_MAX, blocks = s->free_blocks;
    for (size_t i = 0; i < s->n_shares; i++) {
        const struct policy_request *r = seen_at(&s->running, s->shares[i].at);
        const struct hidden *h = hidden_at(&s->running, s->shares[i].at);
        if (s->shares[i].tokens != 1 ||
            r->computed_tokens + 1 < r->prompt_tokens + r->generated_tokens)
            return 0;
        int64_t left =
            h->request.output_tokens - r->generated_tokens - 1; /* after the iteration in flight */
        if (left < most) most = left;
    }
    /* the most that can surely be served from the free blocks; exact enough, since asking again is
     * always correct */
    int64_t in_blocks = blocks / (int64_t)(s->n_shares ? s->n_shares : 1) * KV_BLOCK_TOKENS;
    return most < in_blocks ? most : in_blocks;
}

static void take_blocks(struct sim *s, struct policy_request *r, int32_t tokens) {
    int32_t need = policy_blocks_for(r->computed_tokens + tokens) - r->kv_blocks;
    if (need <= 0) return;
    s->free_blocks -= need;
    r->kv_blocks += need;
    INVARIANT(s->free_blocks >= 0);
    int64_t used = s->c.kv_blocks - s->free_blocks;
    if (used > s->n.kv_peak_blocks) s->n.kv_peak_blocks = used;
}

/* Lets decode iterations pass that start before t_ns and change nothing but counts. The last one
 * stays in flight. */
static void repeat_plan(struct sim *s, int64_t t_ns) {
    int64_t limit = t_ns < s->repeat_until_ns ? t_ns : s->repeat_until_ns;
    if (s->c.ask_always || s->done_ns >= limit) return;
    int64_t most = repeats_possible(s), done = 0, held = s->c.kv_blocks - s->free_blocks;
    int32_t due[KV_BLOCK_TOKENS] = {0}; /* sequences that open a block with every such repetition */
    for (size_t i = 0; i < s->n_shares && most > 0; i++) {
        int32_t over = seen_at(&s->running, s->shares[i].at)->computed_tokens % KV_BLOCK_TOKENS;
        due[(KV_BLOCK_TOKENS - over) % KV_BLOCK_TOKENS]++;
    }
    while (done < most && s->done_ns < limit) {
        held += due[(done + 1) % KV_BLOCK_TOKENS];
        s->work.context_tokens += s->work.requests;
        s->work.attended += s->work.requests;
        int64_t ns = cost_iteration_ns(&s->c.cost, &s->work);
        count_iteration(s, ns, held);
        s->done_ns += ns;
        done++;
    }
    for (size_t i = 0; i < s->n_shares && done > 0; i++) {
        struct policy_request *r = seen_at(&s->running, s->shares[i].at);
        r->computed_tokens += (int32_t)done;
        r->generated_tokens += (int32_t)done;
        take_blocks(s, r, 1);
    }
    INVARIANT(done == 0 || held == s->c.kv_blocks - s->free_blocks);
}

static void add_share(struct sim *s, size_t at, int32_t tokens) {
    if (s->n_shares == s->cap_shares) {
        s->cap_shares = s->cap_shares ? s->cap_shares * 2 : 64;
        s->shares = realloc(s->shares, s->cap_shares * sizeof *s->shares);
        INVARIANT(s->shares);
    }
    s->shares[s->n_shares++] = (struct share){at, tokens};
    struct policy_request *r = seen_at(&s->running, at);
    const struct hidden *h = hidden_at(&s->running, at);
    take_blocks(s, r, tokens);
    int64_t before = r->computed_tokens;
    s->work.requests++;
    s->work.new_tokens += tokens;
    s->work.context_tokens += before + tokens;
    s->work.attended += tokens * before + (int64_t)tokens * (tokens + 1) / 2;
    s->work.service_ns += h->request.service_ns;
}

/* ---- carrying a plan out ---- */

static size_t admit(struct sim *s, size_t at) {
    struct hidden h = *hidden_at(&s->waiting, at);
    struct policy_request r = *seen_at(&s->waiting, at);
    if (h.start_ns < 0) h.start_ns = s->now_ns;
    lane_append(&s->running, &r, &h);
    lane_remove(&s->waiting, at);
    return s->running.n - 1;
}

static void preempt(struct sim *s, size_t at) {
    struct hidden h = *hidden_at(&s->running, at);
    struct policy_request r = *seen_at(&s->running, at);
    s->free_blocks += r.kv_blocks;
    r.kv_blocks = 0;
    r.computed_tokens = 0; /* recomputation: its prompt and what it generated are processed again */
    r.preemptions++;
    s->n.preemptions++;
    lane_remove(&s->running, at);
    lane_prepend(&s->waiting, &r, &h);
}

static int compare_shares(const void *a, const void *b) {
    size_t x = ((const struct share *)a)->at, y = ((const struct share *)b)->at;
    return (x > y) - (x < y);
}

static void carry_out(struct sim *s, const struct policy_plan *plan) {
    size_t in_waiting = 0, in_running = 0;
    bool sorted = true;
    s->n_shares = 0;
    s->work = (struct sim_work){0};
    for (size_t i = 0; i < plan->n_actions; i++) {
        const struct policy_action *a = &plan->actions[i];
        size_t at =
            a->verb == POLICY_REJECT ? SIZE_MAX : lane_find(&s->running, a->id, &in_running);
        if (a->verb == POLICY_PREEMPT) {
            preempt(s, at);
        } else if (at == SIZE_MAX) {
            at = lane_find(&s->waiting, a->id, &in_waiting);
            in_waiting = at; /* what follows moves up */
            if (a->verb == POLICY_RUN) {
                at = admit(s, at);
            } else {
                count_time(s, s->now_ns);
                report(s, hidden_at(&s->waiting, at), SIM_REJECTED_BY_POLICY, a->reason,
                       seen_at(&s->waiting, at)->preemptions, s->now_ns);
                s->n.latency_sum += s->now_ns - hidden_at(&s->waiting, at)->request.arrival_ns;
                lane_remove(&s->waiting, at);
            }
        }
        if (a->verb != POLICY_RUN) continue;
        if (s->n_shares && s->shares[s->n_shares - 1].at > at) sorted = false;
        add_share(s, at, a->tokens);
    }
    if (!sorted) qsort(s->shares, s->n_shares, sizeof *s->shares, compare_shares);
}

static int ask(struct sim *s, struct err *e) {
    size_t most = s->waiting.n + s->running.n;
    if (most > s->cap_actions) {
        s->cap_actions = most * 2;
        free(s->actions);
        s->actions = malloc(s->cap_actions * sizeof *s->actions);
        INVARIANT(s->actions);
    }
    struct policy_view view = {.now_ns = s->now_ns,
                               .waiting = s->waiting.seen + s->waiting.head,
                               .n_waiting = s->waiting.n,
                               .running = s->running.seen + s->running.head,
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
    carry_out(s, &plan);
    if (s->n_shares > 0) {
        int64_t ns = cost_iteration_ns(&s->c.cost, &s->work);
        count_iteration(s, ns, s->c.kv_blocks - s->free_blocks);
        s->in_flight = true;
        s->done_ns = s->now_ns + ns;
        s->repeat_until_ns = plan.validity == POLICY_UNTIL_CHANGE ? plan.valid_until_ns : 0;
    } else if (plan.n_actions > 0) {
        s->ask_ns = s->now_ns; /* only rejections or preemptions: what next? */
    } else if (plan.valid_until_ns > s->now_ns) {
        s->ask_ns = plan.valid_until_ns;
    } else {
        return err_set(e, "at %lld ns the policy runs nothing and wants to be asked again at once",
                       (long long)s->now_ns);
    }
    return 0;
}

/* ---- the loop ---- */

int sim_run_until(struct sim *s, int64_t t_ns, struct err *e) {
    for (;;) {
        if (s->in_flight) {
            repeat_plan(s, t_ns);
            if (s->done_ns > t_ns) return 0;
            take_effects(s); /* also at t itself: effects come before arrivals */
        }
        if (s->ask_ns >= t_ns) return 0;
        if (s->ask_ns > s->now_ns) s->now_ns = s->ask_ns;
        if (sim_in_system(s) == 0) {
            s->ask_ns = INT64_MAX;
            return 0;
        }
        if (ask(s, e)) return -1;
    }
}

int sim_push(struct sim *s, const struct sim_request *r, struct err *e) {
    if (r->arrival_ns < s->n.first_arrival_ns || r->prompt_tokens < 1 || r->output_tokens < 1 ||
        r->max_output_tokens < r->output_tokens)
        return err_set(
            e,
            "request %lld: arrivals come in order, with at least one prompt and one output token",
            (long long)r->id);
    if (s->n.first_arrival_ns < 0)
        s->n.first_arrival_ns = r->arrival_ns, s->counted_ns = r->arrival_ns;
    s->n.arrivals++;
    struct hidden h = {*r, -1, -1};
    if (((int64_t)r->prompt_tokens + r->max_output_tokens + KV_BLOCK_TOKENS - 1) / KV_BLOCK_TOKENS >
        s->c.kv_blocks) {
        report(s, &h, SIM_REJECTED_TOO_LARGE,
               "prompt and output need more KV blocks than the cache has", 0, r->arrival_ns);
        return 0;
    }
    if (sim_in_system(s) >= s->c.max_in_system) {
        report(s, &h, SIM_REJECTED_QUEUE_FULL, "the system is full", 0, r->arrival_ns);
        return 0;
    }
    if (!s->in_flight) {
        if (s->now_ns < r->arrival_ns) s->now_ns = r->arrival_ns;
        s->ask_ns = r->arrival_ns;
    }
    s->repeat_until_ns = 0; /* an arrival ends the plan's validity */
    count_time(s, r->arrival_ns);
    struct policy_request p = {.id = r->id,
                               .arrival_ns = r->arrival_ns,
                               .prompt_tokens = r->prompt_tokens,
                               .max_output_tokens = r->max_output_tokens,
                               .prefix_hash = r->prefix_hash};
    lane_append(&s->waiting, &p, &h);
    return 0;
}

int sim_finish(struct sim *s, struct err *e) {
    s->arrivals_ended = true;
    if (!s->in_flight && sim_in_system(s) > 0 && s->ask_ns > s->now_ns) s->ask_ns = s->now_ns;
    if (sim_run_until(s, INT64_MAX, e)) return -1;
    if (sim_in_system(s) > 0)
        return err_set(e, "the policy leaves %lld requests waiting although no arrival is left",
                       (long long)sim_in_system(s));
    return 0;
}
