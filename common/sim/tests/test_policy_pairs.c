/* test_policy_pairs.c: for every pair of the seven reference policies a small scene in which they
 * differ, which of them wins by which measure, and why. Every figure can be worked out by hand: the
 * two cost models are
 *
 *   the bus        a group takes setup + 1 ms for each in it (setup is 4 ms, or as the scene says)
 *   the toy        an iteration takes 10 ms, or 0.1 ms a token if that is more
 *
 * Where a second row has the same pair the other way round, the scene decides: no policy is best.
 */
#include "base/clock.h"
#include "sched/policies.h"
#include "sim/sim.h"
#include "testing/check_main.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 10, PLENTY = 1 << 28 };

/* ---- scenes ---- */

struct arrival {
    int32_t at_ms, prompt_tokens, output_tokens;
};

struct scene {
    const char *name;
    int32_t setup_ms;          /* the bus; 0: the toy */
    int32_t positions, budget; /* 0: plenty */
    int n;
    struct arrival arrivals[MOST];
};

static const struct scene FOUR = {
    "four in a row", 4, 0, 0, 4, {{0, 1, 1}, {1, 1, 1}, {2, 1, 1}, {3, 1, 1}}};
static const struct scene FOUR_DEAR = {
    "four in a row, dear setup", 20, 0, 0, 4, {{0, 1, 1}, {1, 1, 1}, {2, 1, 1}, {3, 1, 1}}};
static const struct scene LONELY = {
    "one every 100 ms", 4, 0, 0, 4, {{0, 1, 1}, {100, 1, 1}, {200, 1, 1}, {300, 1, 1}}};
static const struct scene CROWD = {
    "eight at once",
    4,
    0,
    0,
    8,
    {{0, 1, 1}, {0, 1, 1}, {0, 1, 1}, {0, 1, 1}, {0, 1, 1}, {0, 1, 1}, {0, 1, 1}, {0, 1, 1}}};
static const struct scene STRAGGLER = {"two, half a second apart", 4, 0, 0, 2,
                                       {{0, 1, 1}, {500, 1, 1}}};
static const struct scene PATIENCE = {"two, 20 ms apart, dear setup", 50, 0, 0, 2,
                                      {{0, 1, 1}, {20, 1, 1}}};
static const struct scene MIXED = {"short answers behind a long one, two positions", 0, 2, 0, 4,
                                   {{0, 10, 20}, {0, 10, 2}, {0, 10, 2}, {0, 10, 2}}};
static const struct scene STREAM = {"one every 30 ms, each 50 ms long",
                                    0,
                                    0,
                                    0,
                                    4,
                                    {{0, 10, 5}, {30, 10, 5}, {60, 10, 5}, {90, 10, 5}}};
static const struct scene INTRUDER = {
    "a prompt of 1,000 tokens while another answers, 100 tokens an iteration",
    0,
    0,
    100,
    2,
    {{0, 10, 20}, {55, 1000, 2}}};
static const struct scene LORRY = {"a prompt of 2,000 tokens before three of 100",       0, 0, 0, 4,
                                   {{0, 2000, 1}, {0, 100, 1}, {0, 100, 1}, {0, 100, 1}}};

static const struct scene LORRY_CUT = {
    "a prompt of 2,000 tokens before three of 100, 100 tokens an iteration",
    0,
    0,
    100,
    4,
    {{0, 2000, 1}, {0, 100, 1}, {0, 100, 1}, {0, 100, 1}}};

/* ---- measures ---- */

enum measure {
    MEAN_LATENCY,
    MEAN_TTFT,
    ALL_DONE,    /* when the last one completes */
    FIRST_DONE,  /* latency of the first request */
    LAST_TTFT,   /* of the last request */
    LONGEST_GAP, /* between two tokens of one request */
    N_MEASURES
};
static const char *const MEASURES[N_MEASURES] = {"mean latency",     "mean TTFT",
                                                 "all done",         "latency of the first",
                                                 "TTFT of the last", "longest gap between tokens"};

struct results {
    int n;
    double ms[N_MEASURES];
    int64_t last_token_ns[MOST];
};

static void done(void *ctx, const struct sim_outcome *o) {
    struct results *r = ctx;
    ck_assert_int_eq(o->end, SIM_COMPLETED);
    double latency = (double)(o->completion_ns - o->request.arrival_ns) / 1e6;
    double ttft = (double)(o->first_token_ns - o->request.arrival_ns) / 1e6;
    r->ms[MEAN_LATENCY] += latency / r->n;
    r->ms[MEAN_TTFT] += ttft / r->n;
    r->ms[ALL_DONE] = fmax(r->ms[ALL_DONE], (double)o->completion_ns / 1e6);
    if (o->request.id == 0) r->ms[FIRST_DONE] = latency;
    if (o->request.id == r->n - 1) r->ms[LAST_TTFT] = ttft;
}

static void token(void *ctx, int64_t id, enum event_kind kind, int64_t t_ns) {
    struct results *r = ctx;
    if (kind != EV_TOKEN_SENT) return;
    if (r->last_token_ns[id] > 0)
        r->ms[LONGEST_GAP] = fmax(r->ms[LONGEST_GAP], (double)(t_ns - r->last_token_ns[id]) / 1e6);
    r->last_token_ns[id] = t_ns;
}

static struct results play(const struct scene *s, const char *policy_text) {
    struct results r = {.n = s->n};
    struct err e;
    const char *arg;
    const struct policy_ops *policy = policy_find(policy_text, &arg, &e);
    ck_assert_msg(policy != NULL, "%s", e.text);
    struct cost_model bus = {
        .kind = COST_PER_REQUEST, .setup_ns = s->setup_ms * NS_PER_MS, .per_request_ns = NS_PER_MS};
    struct cost_model toy = {.kind = COST_TRANSFORMER,
                             .memory_fixed_ps = INT64_C(10) * NS_PER_MS * 1000,
                             .compute_per_token_ps = NS_PER_MS * 100};
    struct sim_config c = {.policy = policy,
                           .policy_state = policy->create(arg, &e),
                           .cost = s->setup_ms ? bus : toy,
                           .kv_blocks = PLENTY,
                           .token_budget = s->budget ? s->budget : PLENTY,
                           .max_running = s->positions ? s->positions : PLENTY,
                           .max_in_system = INT64_MAX,
                           .each = done,
                           .event = token,
                           .ctx = &r};
    ck_assert_ptr_nonnull(c.policy_state);
    struct sim *sim = sim_create(&c, &e);
    ck_assert_ptr_nonnull(sim);
    for (int i = 0; i < s->n; i++) {
        const struct arrival *a = &s->arrivals[i];
        struct sim_request q = {.id = i,
                                .arrival_ns = a->at_ms * NS_PER_MS,
                                .prompt_tokens = a->prompt_tokens,
                                .output_tokens = a->output_tokens,
                                .max_output_tokens = a->output_tokens};
        ck_assert_msg(!sim_run_until(sim, q.arrival_ns, &e) && !sim_push(sim, &q, &e), "%s",
                      e.text);
    }
    ck_assert_msg(!sim_finish(sim, &e), "%s", e.text);
    sim_free(sim);
    policy->destroy(c.policy_state);
    return r;
}

/* ---- who wins, and why ---- */

static const struct pair {
    const char *winner, *loser;
    const struct scene *scene;
    enum measure by;
    double winner_ms, loser_ms;
    const char *why;
} PAIRS[] = {
    {"wait-for-n:8", "single", &CROWD, ALL_DONE, 12, 40,
     "Eight that go together pay one setup; one by one they pay eight."},
    {"single", "wait-for-n:4", &LONELY, MEAN_LATENCY, 5, 158,
     "A request that waits for a late member of its group loses all the time until that arrives."},
    {"single", "wait-for-time:10,8", &LONELY, MEAN_LATENCY, 5, 12.5,
     "When no request arrives within the waiting time, waiting gained nothing."},
    {"wait-for-time:10,8", "single", &CROWD, ALL_DONE, 12, 40,
     "A full group needn't wait, and shares the setup."},
    {"static:4", "single", &FOUR, MEAN_LATENCY, 8.75, 11,
     "Those who came while the worker was busy go together, and none waited on purpose."},
    {"continuous", "single", &MIXED, MEAN_LATENCY, 85, 230,
     "A step takes 10 ms for one or for two: two at a time is free, and the short ones get out."},
    {"chunked", "single", &MIXED, MEAN_LATENCY, 80, 230,
     "As continuous, and decode goes on while a new prompt is processed."},
    {"shortest-first", "single", &LORRY, MEAN_LATENCY, 72.5, 215,
     "Three cars before one lorry: three save 200 ms each, one loses 30."},
    {"single", "shortest-first", &LORRY, FIRST_DONE, 200, 230,
     "The lorry was first in line and is overtaken by everyone: fairness is what the mean hides."},
    {"wait-for-time:10,2", "wait-for-n:2", &STRAGGLER, MEAN_LATENCY, 10, 256,
     "A time limit caps what a missing companion can cost; a count doesn't."},
    {"wait-for-n:2", "wait-for-time:10,2", &PATIENCE, MEAN_LATENCY, 62, 76.5,
     "With a dear setup it would have paid to wait 10 ms longer; the limit gave up too early."},
    {"static:4", "wait-for-n:4", &FOUR, MEAN_LATENCY, 8.75, 9.5,
     "The first goes at once instead of waiting 3 ms, and the others still share a setup."},
    {"wait-for-n:4", "static:4", &FOUR_DEAR, MEAN_LATENCY, 25.5, 36.75,
     "When setup is dear, the one that left alone makes the three others wait for its whole trip."},
    {"continuous", "wait-for-n:4", &STREAM, MEAN_TTFT, 10, 55,
     "No request waits for a group: it joins at the next iteration."},
    {"chunked", "wait-for-n:2", &MIXED, MEAN_LATENCY, 80, 165,
     "A free position is filled at once, not when the longest answer of the group has ended."},
    {"wait-for-n:8", "shortest-first", &CROWD, ALL_DONE, 12, 40,
     "Order doesn't matter where all are alike; sharing the setup does."},
    {"static:8", "wait-for-time:10,8", &LONELY, MEAN_LATENCY, 5, 12.5,
     "With a free worker and one request, static starts; the other still waits for a group."},
    {"wait-for-time:5,8", "static:8", &FOUR_DEAR, MEAN_LATENCY, 25.5, 36.75,
     "Up to 5 ms of waiting get all four into one trip; who leaves alone makes three wait for 21 "
     "ms."},
    {"continuous", "wait-for-time:10,2", &STREAM, MEAN_TTFT, 10, 25,
     "Neither the waiting time nor the end of the group before stands between request and start."},
    {"chunked", "wait-for-time:10,2", &MIXED, MEAN_LATENCY, 80, 165,
     "The group is full at once, but it ends together: the short one's position stays empty."},
    {"wait-for-time:10,8", "shortest-first", &CROWD, ALL_DONE, 12, 40,
     "One setup for all against one for each."},
    {"shortest-first", "wait-for-time:10,4", &LORRY, MEAN_LATENCY, 72.5, 230,
     "Prefill is bound by operations: a group takes as long as its sum, and all wait to its end."},
    {"continuous", "static:2", &MIXED, MEAN_LATENCY, 85, 165,
     "Static holds the short answer's position until the long one has ended."},
    {"chunked", "static:4", &STREAM, MEAN_TTFT, 10, 27.5,
     "A newcomer joins in 10 ms at most; in a static batch it waits for the end of it."},
    {"static:8", "shortest-first", &CROWD, ALL_DONE, 12, 40, "Eight setups of 4 ms against one."},
    {"shortest-first", "static:4", &LORRY, MEAN_LATENCY, 72.5, 230,
     "In one batch the cars arrive with the lorry."},
    {"chunked", "continuous", &INTRUDER, LONGEST_GAP, 10, 110,
     "Prefill first stops the one who is answering for ten iterations; chunks leave it one token "
     "in each."},
    {"continuous", "chunked", &INTRUDER, LAST_TTFT, 105, 115,
     "The price: 99 tokens of the prompt an iteration instead of 100, one iteration more."},
    {"continuous", "shortest-first", &MIXED, MEAN_LATENCY, 85, 230,
     "All prompts are equally short, so there is nothing to order; there was something to share."},
    {"shortest-first", "continuous", &LORRY, MEAN_LATENCY, 72.5, 230,
     "Continuous batching takes all prompts into one iteration, and it lasts as long as their "
     "sum."},
    {"chunked", "shortest-first", &MIXED, MEAN_LATENCY, 80, 230,
     "One at a time leaves the second position empty, in any order."},
    {"shortest-first", "chunked", &LORRY_CUT, MEAN_LATENCY, 72.5, 215,
     "Chunks are cut in the order of arrival: they protect those who answer, not those who wait."},
};
enum { N_PAIRS = sizeof PAIRS / sizeof *PAIRS };

START_TEST(the_winner_wins_by_what_the_table_says) {
    const struct pair *p = &PAIRS[_i];
    double won = play(p->scene, p->winner).ms[p->by], lost = play(p->scene, p->loser).ms[p->by];
    ck_assert_msg(won < lost && fabs(won - p->winner_ms) < 1e-6 && fabs(lost - p->loser_ms) < 1e-6,
                  "%s against %s, %s, %s: got %g and %g ms, the table says %g and %g", p->winner,
                  p->loser, p->scene->name, MEASURES[p->by], won, lost, p->winner_ms, p->loser_ms);
    ck_assert(strlen(p->why) > 20);
}
END_TEST

static const char *const NAMES[] = {"single",     "wait-for-n", "wait-for-time", "static",
                                    "continuous", "chunked",    "shortest-first"};
enum { N_NAMES = sizeof NAMES / sizeof *NAMES };

static bool is(const char *policy_text, const char *name) {
    return strcspn(policy_text, ":") == strlen(name) && !strncmp(policy_text, name, strlen(name));
}

START_TEST(every_pair_is_there) {
    for (int i = 0; i < N_NAMES; i++)
        for (int j = i + 1; j < N_NAMES; j++) {
            int found = 0;
            for (int k = 0; k < N_PAIRS; k++)
                found += (is(PAIRS[k].winner, NAMES[i]) && is(PAIRS[k].loser, NAMES[j])) ||
                         (is(PAIRS[k].winner, NAMES[j]) && is(PAIRS[k].loser, NAMES[i]));
            ck_assert_msg(found > 0, "no scene for %s and %s", NAMES[i], NAMES[j]);
        }
}
END_TEST

int main(void) {
    Suite *s = suite_create("policy pairs");
    TCase *t = tcase_create("pairs");
    tcase_add_test(t, every_pair_is_there);
    tcase_add_loop_test(t, the_winner_wins_by_what_the_table_says, 0, N_PAIRS);
    suite_add_tcase(s, t);
    return check_main(s);
}
