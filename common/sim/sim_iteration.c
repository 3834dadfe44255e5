/* sim_iteration.c: one iteration, in order of time: its plan is carried out, the cost model gives
 * its duration, it is repeated while nothing changes, its effects are applied. See sim_internal.h.
 *
 * Blocks are taken, and tokens count as cached, from the start of an iteration: it writes into them
 * while it runs. */
#include "sim/sim_internal.h"

#include <stdlib.h>
#include <string.h>

/* Brings the integrals over the cache up to t_ns. */
static inline void count_kv(struct sim *s, int64_t t_ns) {
    int64_t ns = t_ns - s->kv_counted_ns;
    s->n.kv_time += (__int128)(s->c.kv_blocks - s->free_blocks) * ns;
    s->n.kv_token_time += (__int128)s->kv_tokens * ns;
    s->kv_counted_ns = t_ns;
}

static void take_blocks(struct sim *s, int32_t n) {
    s->free_blocks -= n;
    INVARIANT(s->free_blocks >= 0);
    int64_t used = s->c.kv_blocks - s->free_blocks;
    if (used > s->n.kv_peak_blocks) s->n.kv_peak_blocks = used;
}

/* Takes the blocks that *r needs for `tokens` more tokens. */
static void extend(struct sim *s, struct policy_request *r, int32_t tokens) {
    int32_t need = policy_blocks_for(r->computed_tokens + tokens) - r->kv_blocks;
    if (need <= 0) return;
    take_blocks(s, need);
    r->kv_blocks += need;
}

static void give_back(struct sim *s, const struct policy_request *r) {
    s->free_blocks += r->kv_blocks;
    s->kv_tokens -= r->computed_tokens;
}

/* ---- from a plan to an iteration in flight ---- */

static bool arrived_before(const struct policy_request *a, const struct policy_request *b) {
    return a->arrival_ns != b->arrival_ns ? a->arrival_ns < b->arrival_ns : a->id < b->id;
}

/* Where a preempted request waits: preempted ones are first, in order of arrival. */
static struct policy_request *wait_again(struct sim *s, int32_t slot,
                                         const struct policy_request *r) {
    queue_prepend(&s->waiting, slot);
    size_t at = 0;
    for (; at + 1 < s->waiting.n; at++) {
        const struct policy_request *next = queue_seen(&s->waiting, at + 1);
        if (next->preemptions == 0 || arrived_before(r, next)) break;
        *queue_seen(&s->waiting, at) = *next;
        s->waiting.slot[s->waiting.head + at] = queue_slot(&s->waiting, at + 1);
    }
    s->waiting.slot[s->waiting.head + at] = slot;
    return queue_seen(&s->waiting, at);
}

static void preempt(struct sim *s, size_t at) {
    struct policy_request r = *queue_seen(&s->running, at);
    int32_t slot = queue_slot(&s->running, at);
    give_back(s, &r);
    r.kv_blocks = 0;
    r.computed_tokens = 0; /* recomputation: prompt and generated tokens are processed again */
    r.preemptions++;
    s->n.preemptions++;
    queue_remove(&s->running, at);
    *wait_again(s, slot, &r) = r;
    sim_emit(s, slot, EV_REQUEST_PREEMPTED, s->now_ns);
}

static void reject(struct sim *s, size_t at, const char *reason) {
    int32_t slot = queue_slot(&s->waiting, at);
    sim_count_time(s, s->now_ns);
    s->n.latency_sum += s->now_ns - s->slots[slot].entered_ns;
    struct sim_outcome *o = &s->slots[slot].o;
    o->reason = reason;
    o->output_tokens = queue_seen(&s->waiting, at)->generated_tokens; /* it may have run before */
    o->preemptions = queue_seen(&s->waiting, at)->preemptions;
    queue_remove(&s->waiting, at);
    sim_end_request(s, slot, SIM_REJECTED_BY_POLICY, s->now_ns);
}

static size_t admit(struct sim *s, size_t at) {
    int32_t slot = queue_slot(&s->waiting, at);
    struct sim_outcome *o = &s->slots[slot].o;
    bool first = o->start_ns < 0;
    if (first) o->start_ns = s->now_ns;
    *queue_append(&s->running, slot) = *queue_seen(&s->waiting, at);
    queue_remove(&s->waiting, at);
    sim_emit(s, slot, first ? EV_REQUEST_ADMITTED : EV_REQUEST_RESUMED, s->now_ns);
    return s->running.n - 1;
}

static void add_share(struct sim *s, size_t at, int32_t tokens) {
    if (s->n_shares == s->cap_shares) {
        s->cap_shares = s->cap_shares ? s->cap_shares * 2 : 64;
        s->shares = realloc(s->shares, s->cap_shares * sizeof *s->shares);
        INVARIANT(s->shares);
    }
    s->shares[s->n_shares++] = (struct share){at, tokens};
    extend(s, queue_seen(&s->running, at), tokens);
}

static int compare_shares(const void *a, const void *b) {
    size_t x = ((const struct share *)a)->at, y = ((const struct share *)b)->at;
    return (x > y) - (x < y);
}

/* Where the last requests of a plan were found, and whether its shares are in queue order. */
struct progress {
    size_t in_waiting, in_running;
    bool sorted;
};

static void act(struct sim *s, const struct policy_action *a, struct progress *p) {
    bool waits = false;
    size_t at;
    if (queue_is_next(&s->running, a->id, &p->in_running)) {
        at = p->in_running - 1;
    } else if (queue_is_next(&s->waiting, a->id, &p->in_waiting)) {
        at = p->in_waiting - 1;
        waits = true;
    } else if ((at = queue_find(&s->running, a->id, &p->in_running)) == SIZE_MAX) {
        at = queue_find(&s->waiting, a->id, &p->in_waiting);
        waits = true;
    }
    if (waits) p->in_waiting = at; /* it leaves the queue: those behind it move up */
    if (a->verb == POLICY_PREEMPT) {
        preempt(s, at);
    } else if (a->verb == POLICY_REJECT) {
        reject(s, at, a->reason);
    } else {
        if (waits) at = admit(s, at);
        if (s->n_shares && s->shares[s->n_shares - 1].at > at) p->sorted = false;
        add_share(s, at, a->tokens);
    }
}

/* Prefix reuse: the tokens of a just admitted prompt that the store has need no computing. The plan
 * didn't count their blocks, so that a hit uses at most the blocks that the plan leaves free. */
static void reuse_prefix(struct sim *s, struct share *share) {
    struct policy_request *r = queue_seen(&s->running, share->at);
    struct sim_outcome *o = &s->slots[queue_slot(&s->running, share->at)].o;
    const struct sim_request *q = &o->request;
    if (r->computed_tokens > 0 || !q->prefix) return;
    int32_t hit = prefix_store_find(s->prefixes, q->prefix, q->n_prefix, q->prefix_unit);
    if (hit > r->prompt_tokens - 1) hit = r->prompt_tokens - 1;
    int64_t room = (int64_t)(r->kv_blocks + s->free_blocks) * KV_BLOCK_TOKENS;
    int32_t left = r->prompt_tokens + r->generated_tokens;
    if (left > room && hit > room - share->tokens) hit = (int32_t)(room - share->tokens);
    if (share->tokens > left - hit) share->tokens = left - hit;
    r->computed_tokens = hit;
    extend(s, r, share->tokens);
    s->kv_tokens += hit;
    s->n.cached_tokens += hit;
    if (r->preemptions == 0) o->cached_tokens = hit;
}

/* Sums up the work of the iteration. */
static void weigh(struct sim *s) {
    struct sim_work w = {.requests = (int32_t)s->n_shares};
    for (size_t i = 0; i < s->n_shares; i++) {
        int64_t tokens = s->shares[i].tokens;
        int64_t before = queue_seen(&s->running, s->shares[i].at)->computed_tokens;
        w.new_tokens += tokens;
        w.context_tokens += before + tokens;
        w.attended += tokens * before + tokens * (tokens + 1) / 2;
        w.service_ns += s->slots[queue_slot(&s->running, s->shares[i].at)].o.request.service_ns;
    }
    s->work = w;
    s->kv_tokens += w.new_tokens;
}

/* Counts n iterations of the same requests and tokens, which take ns together. */
static void count_iterations(struct sim *s, int64_t n, int64_t ns) {
    s->n.iterations += n;
    s->n.busy_ns += ns;
    s->n.batch_time += s->work.requests * ns;
    s->n.computed_tokens += n * s->work.new_tokens;
}

/* How often the iteration in flight can be repeated before a sequence ends or blocks run out; 0 if
 * it has any prefill. Also computes new_blocks. */
static int64_t repeats_possible(struct sim *s) {
    int64_t most = INT64_MAX;
    memset(s->new_blocks, 0, sizeof s->new_blocks);
    for (size_t i = 0; i < s->n_shares; i++) {
        const struct policy_request *r = queue_seen(&s->running, s->shares[i].at);
        const struct slot *h = &s->slots[queue_slot(&s->running, s->shares[i].at)];
        int32_t computed = r->computed_tokens + s->shares[i].tokens;
        if (s->shares[i].tokens != 1 || r->generated_tokens < 1 ||
            computed < r->prompt_tokens + r->generated_tokens)
            return 0;
        int64_t left = h->stop_tokens - r->generated_tokens - 1; /* one is in flight */
        if (left < most) most = left;
        s->new_blocks[-computed & (KV_BLOCK_TOKENS - 1)]++;
    }
    int64_t enough =
        s->free_blocks / (int64_t)s->n_shares * KV_BLOCK_TOKENS; /* whole rounds of a block each */
    if (enough >= most) return most;
    int64_t left = s->free_blocks % (int64_t)s->n_shares;
    for (int k = 0; k < KV_BLOCK_TOKENS && (left -= s->new_blocks[k]) >= 0; k++) enough++;
    return enough < most ? enough : most;
}

void sim_carry_out(struct sim *s, const struct policy_plan *plan) {
    struct progress p = {.sorted = true};
    s->n_shares = 0;
    count_kv(s, s->now_ns);
    for (size_t i = 0; i < plan->n_actions; i++) act(s, &plan->actions[i], &p);
    if (s->n_shares == 0) return;
    if (!p.sorted) qsort(s->shares, s->n_shares, sizeof *s->shares, compare_shares);
    for (size_t i = 0; i < s->n_shares && s->prefixes; i++) reuse_prefix(s, &s->shares[i]);
    weigh(s);
    int64_t ns = cost_iteration_ns(&s->c.cost, &s->work);
    count_iterations(s, 1, ns);
    s->in_flight = true;
    s->done_ns = s->now_ns + ns;
    count_kv(s, s->done_ns);
    bool repeat = plan->validity == POLICY_UNTIL_CHANGE && !s->c.ask_always;
    s->repeat_until_ns = repeat ? plan->valid_until_ns : 0;
    s->repeats_left = repeat && s->done_ns < s->repeat_until_ns ? repeats_possible(s) : 0;
    s->repeated = 0;
}

/* ---- repetition ---- */

static void emit_tokens(const struct sim *s, int64_t t_ns) {
    for (size_t i = 0; i < s->n_shares; i++)
        sim_emit(s, queue_slot(&s->running, s->shares[i].at), EV_TOKEN_SENT, t_ns);
}

/* The hot loop of most runs: values that change with each iteration are local variables, the others
 * are added up after it. */
void sim_repeat(struct sim *s, int64_t t_ns) {
    int64_t limit = t_ns < s->repeat_until_ns ? t_ns : s->repeat_until_ns;
    if (limit > LATEST_NS) limit = LATEST_NS;
    const bool events = s->c.event != NULL;
    struct sim_work w = s->work;
    int64_t done_ns = s->done_ns, n = 0;
    __int128 block_time = 0, token_time = 0;
    for (; n < s->repeats_left && done_ns < limit; n++) {
        if (events) emit_tokens(s, done_ns); /* of the iteration that ends here */
        int32_t blocks = s->new_blocks[(s->repeated + n) & (KV_BLOCK_TOKENS - 1)];
        if (blocks) take_blocks(s, blocks);
        s->kv_tokens += w.requests;
        w.context_tokens += w.requests;
        w.attended += w.requests;
        int64_t ns = cost_iteration_ns(&s->c.cost, &w);
        block_time += (__int128)(s->c.kv_blocks - s->free_blocks) * ns;
        token_time += (__int128)s->kv_tokens * ns;
        done_ns += ns;
    }
    count_iterations(s, n, done_ns - s->done_ns);
    s->n.kv_time += block_time;
    s->n.kv_token_time += token_time;
    s->work = w;
    s->done_ns = s->kv_counted_ns = done_ns;
    s->repeats_left -= n;
    s->repeated += n;
}

/* ---- effects ---- */

static void finish_request(struct sim *s, size_t at) {
    const struct policy_request *r = queue_seen(&s->running, at);
    int32_t slot = queue_slot(&s->running, at);
    struct slot *h = &s->slots[slot];
    give_back(s, r);
    s->n.latency_sum += s->done_ns - h->entered_ns;
    h->o.output_tokens = r->generated_tokens;
    h->o.preemptions = r->preemptions;
    queue_remove(&s->running, at);
    sim_end_request(s, slot, h->stop_tokens == h->o.request.fail_after ? SIM_FAILED : SIM_COMPLETED,
                    s->done_ns);
}

/* Updates one running request. Has it generated its last token? */
static bool advance(struct sim *s, size_t at, int32_t tokens) {
    struct policy_request *r = queue_seen(&s->running, at);
    int32_t slot = queue_slot(&s->running, at);
    struct slot *h = &s->slots[slot];
    int32_t repeated = (int32_t)s->repeated;
    r->computed_tokens += tokens + repeated;
    r->generated_tokens += repeated; /* a repeated iteration is all decode */
    if (repeated) r->kv_blocks = policy_blocks_for(r->computed_tokens);
    if (r->computed_tokens < r->prompt_tokens + r->generated_tokens) return false; /* prefill */
    if (h->o.first_token_ns < 0) {
        h->o.first_token_ns = s->done_ns;
        sim_emit(s, slot, EV_FIRST_TOKEN, s->done_ns);
        const struct sim_request *q = &h->o.request;
        if (s->prefixes && q->prefix)
            prefix_store_add(s->prefixes, q->prefix, q->n_prefix, q->prefix_unit);
    }
    s->fruitless = 0;
    sim_emit(s, slot, EV_TOKEN_SENT, s->done_ns);
    return ++r->generated_tokens >= h->stop_tokens;
}

void sim_take_effects(struct sim *s) {
    sim_count_time(s, s->done_ns);
    s->now_ns = s->done_ns;
    s->in_flight = false;
    s->ask_ns = s->now_ns;
    size_t removed = 0; /* a request that ends moves those behind it up */
    for (size_t i = 0; i < s->n_shares; i++) {
        size_t at = s->shares[i].at - removed;
        if (!advance(s, at, s->shares[i].tokens)) continue;
        finish_request(s, at);
        removed++;
    }
}
