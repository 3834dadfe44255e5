/* policies.c: the reference policies. See policies.h. */
#include "sched/policies.h"

#include "base/clock.h"
#include "base/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shared by the policies ---- */

static int32_t min32(int32_t a, int32_t b) {
    return a < b ? a : b;
}

/* Tokens that must be in the cache before the next one can be sampled: the whole prompt, or 1 in
 * decode. */
static int32_t left_of(const struct policy_request *r) {
    return r->prompt_tokens + r->generated_tokens - r->computed_tokens;
}

static bool in_prefill(const struct policy_request *r) {
    return left_of(r) > 1 || r->computed_tokens == 0;
}

static int32_t new_blocks(const struct policy_request *r, int32_t tokens) {
    return policy_blocks_for(r->computed_tokens + tokens) - r->kv_blocks;
}

/* The resources left for the plan in this iteration. */
struct room {
    int32_t tokens, blocks, positions;
    int32_t reserve; /* blocks that an admission must leave free: one per running request.
                        Otherwise the new request would take the block that the next decode needs,
                        and be preempted again and again */
};

static struct room room_of(const struct policy_view *v) {
    return (struct room){v->token_budget, v->free_kv_blocks, v->max_running - (int32_t)v->n_running,
                         (int32_t)v->n_running};
}

static void add(struct policy_plan *plan, enum policy_verb verb, int64_t id, int32_t tokens) {
    INVARIANT(plan->n_actions < plan->cap_actions);
    plan->actions[plan->n_actions++] = (struct policy_action){verb, id, tokens, NULL};
}

/* Runs up to `tokens` tokens of *r if budget and blocks allow. Returns the tokens taken. */
static int32_t run(struct policy_plan *plan, struct room *room, const struct policy_request *r,
                   int32_t tokens) {
    tokens = min32(tokens, room->tokens);
    if (tokens < 1 || new_blocks(r, tokens) > room->blocks) return 0;
    room->tokens -= tokens;
    room->blocks -= new_blocks(r, tokens);
    add(plan, POLICY_RUN, r->id, tokens);
    return tokens;
}

/* Admits *r if a position and blocks for its whole prompt are free, although only a part of it may
 * run now: a request that can't finish its prefill would block the requests in decode. */
static int32_t admit(struct policy_plan *plan, struct room *room, const struct policy_request *r) {
    if (room->positions < 1 || new_blocks(r, left_of(r)) > room->blocks - room->reserve) return 0;
    int32_t taken = run(plan, room, r, left_of(r));
    if (taken) room->positions--, room->reserve++;
    return taken;
}

/* Runs the next tokens of every running request; in prefill as many as fit. */
static void run_all(struct policy_plan *plan, struct room *room, const struct policy_view *v) {
    for (size_t i = 0; i < v->n_running; i++)
        run(plan, room, &v->running[i], left_of(&v->running[i]));
}

static void until_change(struct policy_plan *plan) {
    plan->validity = POLICY_UNTIL_CHANGE;
    plan->valid_until_ns = INT64_MAX;
}

/* Preempts from the back until each remaining request can take its next token. Returns the number
 * that remain. */
static size_t preempt_for_decode(struct policy_plan *plan, struct room *room,
                                 const struct policy_view *v) {
    size_t stay = v->n_running;
    int64_t need = 0;
    for (size_t i = 0; i < stay; i++)
        need += in_prefill(&v->running[i]) ? 0 : new_blocks(&v->running[i], 1);
    while (stay > 1 && need > room->blocks) {
        const struct policy_request *last = &v->running[--stay];
        if (!in_prefill(last)) need -= new_blocks(last, 1);
        room->blocks += last->kv_blocks;
        room->positions++;
        add(plan, POLICY_PREEMPT, last->id, 0);
    }
    return stay;
}

/* ---- group policies: single, wait-for-n, wait-for-time, static ----
 *
 * A group runs to its end before the next one is formed. */

struct group_state {
    int32_t size;    /* most requests in a group */
    int32_t least;   /* a group starts when this many wait, */
    int64_t wait_ns; /* or the first has waited this long, or arrivals have ended */
};

static int group_plan(void *state, const struct policy_view *v, struct policy_plan *plan,
                      struct err *e) {
    (void)e;
    const struct group_state *g = state;
    struct room room = room_of(v);
    until_change(plan);
    if (v->n_running > 0) {
        run_all(plan, &room, v);
        return 0;
    }
    if (v->n_waiting == 0) return 0;
    if (v->n_waiting < (size_t)g->least && !v->arrivals_ended) {
        if (g->wait_ns == INT64_MAX) return 0;
        plan->valid_until_ns = v->waiting[0].arrival_ns + g->wait_ns;
        if (plan->valid_until_ns > v->now_ns) return 0;
        plan->valid_until_ns = INT64_MAX;
    }
    int64_t promised =
        0; /* a group isn't preempted: all the blocks it may ever need must be free now */
    for (size_t i = 0; i < v->n_waiting && i < (size_t)g->size; i++) {
        const struct policy_request *w = &v->waiting[i];
        promised += policy_blocks_for(w->prompt_tokens + w->max_output_tokens);
        if (promised > v->free_kv_blocks || room.positions < 1) break;
        room.positions--;
        run(plan, &room, w, left_of(w));
    }
    return 0;
}

/* Reads a whole number at *text and moves *text after it. */
static int read_number(const char **text, long lo, long hi, long *out) {
    char *end;
    *out = strtol(*text, &end, 10);
    if (end == *text || *out < lo || *out > hi) return -1;
    *text = end;
    return 0;
}

static void *group_new(int32_t size, int32_t least, int64_t wait_ns) {
    struct group_state *g = malloc(sizeof *g);
    INVARIANT(g);
    *g = (struct group_state){size, least, wait_ns};
    return g;
}

static void *no_argument(const char *name, const char *arg, void *state, struct err *e) {
    if (state && !arg[0]) return state;
    free(state);
    err_at(e, 0, "--policy", "'%s' takes no argument, not '%.40s'", name, arg);
    return NULL;
}

static void *single_create(const char *arg, struct err *e) {
    return no_argument("single", arg, group_new(1, 1, INT64_MAX), e);
}

static void *wait_n_create(const char *arg, struct err *e) {
    long n;
    if (!read_number(&arg, 1, 1000000, &n) && !*arg)
        return group_new((int32_t)n, (int32_t)n, INT64_MAX);
    err_at(e, 0, "--policy", "'wait-for-n' takes the size of a group, as in wait-for-n:4");
    return NULL;
}

static void *wait_time_create(const char *arg, struct err *e) {
    long ms, n = 8;
    bool good = !read_number(&arg, 0, 3600 * 1000, &ms);
    if (good && *arg == ',') arg++, good = !read_number(&arg, 1, 1000000, &n);
    if (good && !*arg) return group_new((int32_t)n, (int32_t)n, ms * NS_PER_MS);
    err_at(e, 0, "--policy",
           "'wait-for-time' takes milliseconds and a group's size, as in wait-for-time:5,8");
    return NULL;
}

static void *static_create(const char *arg, struct err *e) {
    long n;
    if (!read_number(&arg, 1, 1000000, &n) && !*arg) return group_new((int32_t)n, 1, INT64_MAX);
    err_at(e, 0, "--policy", "'static' takes the size of a batch, as in static:8");
    return NULL;
}

/* ---- continuous ---- */

static int continuous_plan(void *state, const struct policy_view *v, struct policy_plan *plan,
                           struct err *e) {
    (void)state;
    (void)e;
    struct room room = room_of(v);
    size_t stay = preempt_for_decode(plan, &room, v);
    until_change(plan);
    bool preempted = stay < v->n_running, prefill = false;
    for (size_t i = 0; i < stay; i++)
        if (in_prefill(&v->running[i]))
            prefill |= run(plan, &room, &v->running[i], left_of(&v->running[i])) > 0;
    for (size_t i = 0; i < v->n_waiting && !preempted; i++) {
        if (!admit(plan, &room, &v->waiting[i])) break;
        prefill = true;
    }
    if (prefill) return 0;
    for (size_t i = 0; i < stay; i++) run(plan, &room, &v->running[i], 1);
    return 0;
}

/* ---- chunked ---- */

static int chunked_plan(void *state, const struct policy_view *v, struct policy_plan *plan,
                        struct err *e) {
    (void)state;
    (void)e;
    struct room room = room_of(v);
    size_t stay = preempt_for_decode(plan, &room, v);
    until_change(plan);
    bool preempted = stay < v->n_running;
    for (size_t i = 0; i < stay; i++)
        if (!in_prefill(&v->running[i])) run(plan, &room, &v->running[i], 1);
    for (size_t i = 0; i < stay; i++)
        if (in_prefill(&v->running[i])) run(plan, &room, &v->running[i], left_of(&v->running[i]));
    for (size_t i = 0; i < v->n_waiting && !preempted && room.tokens > 0; i++)
        if (!admit(plan, &room, &v->waiting[i])) break;
    return 0;
}

/* ---- shortest-first ---- */

static int shortest_plan(void *state, const struct policy_view *v, struct policy_plan *plan,
                         struct err *e) {
    (void)state;
    (void)e;
    struct room room = room_of(v);
    until_change(plan);
    run_all(plan, &room, v);
    if (v->n_running > 0 || v->n_waiting == 0) return 0;
    const struct policy_request *best = &v->waiting[0];
    int64_t best_key = INT64_MAX;
    for (size_t i = 0; i < v->n_waiting; i++) {
        const struct policy_request *w = &v->waiting[i];
        int64_t key = w->prompt_tokens * NS_PER_MS - (v->now_ns - w->arrival_ns);
        if (key < best_key) best = w, best_key = key;
    }
    admit(plan, &room, best);
    return 0;
}

static void *continuous_create(const char *arg, struct err *e) {
    return no_argument("continuous", arg, group_new(0, 0, 0), e);
}
static void *chunked_create(const char *arg, struct err *e) {
    return no_argument("chunked", arg, group_new(0, 0, 0), e);
}
static void *shortest_create(const char *arg, struct err *e) {
    return no_argument("shortest-first", arg, group_new(0, 0, 0), e);
}

/* ---- names ---- */

static const struct policy_ops policies[] = {
    {"single", single_create, group_plan, free},
    {"wait-for-n", wait_n_create, group_plan, free},
    {"wait-for-time", wait_time_create, group_plan, free},
    {"static", static_create, group_plan, free},
    {"continuous", continuous_create, continuous_plan, free},
    {"chunked", chunked_create, chunked_plan, free},
    {"shortest-first", shortest_create, shortest_plan, free},
};
enum { N_POLICIES = sizeof policies / sizeof *policies };

static bool is_called(const char *text, size_t n, const char *name) {
    return strlen(name) == n && !strncmp(name, text, n);
}

const struct policy_ops *policy_find(const char *text, const char **arg, struct err *e) {
    size_t n = strcspn(text, ":");
    *arg = text[n] ? text + n + 1 : "";
    const char *names[N_POLICIES + 2];
    for (int i = 0; i < N_POLICIES; i++) {
        names[i] = policies[i].name;
        if (is_called(text, n, names[i])) return &policies[i];
    }
    /* the learner's policies aren't in the table: calling an unwritten policy.c ends the program,
     * which must not happen when another policy is asked for */
    names[N_POLICIES] = "learner";
    names[N_POLICIES + 1] = "learner-batch";
    if (is_called(text, n, names[N_POLICIES])) return policy_learner();
    if (is_called(text, n, names[N_POLICIES + 1])) return policy_learner_batch();
    char asked[41], known[200];
    snprintf(asked, sizeof asked, "%.*s", (int)(n < 40 ? n : 40), text);
    err_at(e, 0, "--policy", "there is no policy '%s'; did you mean '%s'? Known: %s", asked,
           nearest_name(asked, names, N_POLICIES + 2),
           list_names(names, N_POLICIES + 2, known, sizeof known));
    return NULL;
}
