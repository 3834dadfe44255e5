/* test_deployment.c: deployments (hardware.h) in the simulator: what a switch does to a whole run,
 * the cache's capacity and waste, and prefixes found in the store. */
#include "base/clock.h"
#include "sched/policies.h"
#include "sim/sim.h"
#include "sim/tests/deploy.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 64 };

struct outcome_list {
    int n;
    struct sim_outcome of[MOST]; /* by id */
    struct sim_counters counters;
};

static void keep(void *ctx, const struct sim_outcome *o) {
    struct outcome_list *l = ctx;
    l->of[o->request.id] = *o;
    l->n++;
}

static struct outcome_list serve(const struct deployment *d, const struct sim_request *list, int n,
                                 int64_t prefix_tokens) {
    struct outcome_list l = {0};
    struct err e;
    const char *arg;
    const struct policy_ops *policy = policy_find("continuous", &arg, &e);
    struct sim_config c = {.policy = policy,
                           .policy_state = policy->create(arg, &e),
                           .kv_blocks = (int32_t)deployment_kv_blocks(d, &e),
                           .token_budget = 8192,
                           .max_running = 256,
                           .max_in_system = INT64_MAX,
                           .prefix_tokens = prefix_tokens,
                           .each = keep,
                           .ctx = &l};
    ck_assert_msg(!deployment_cost(d, &c.cost, &e), "%s", e.text);
    struct sim *s = sim_create(&c, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    for (int i = 0; i < n; i++)
        ck_assert_msg(!sim_run_until(s, list[i].arrival_ns, &e) && !sim_push(s, &list[i], &e), "%s",
                      e.text);
    ck_assert_msg(!sim_finish(s, &e), "%s", e.text);
    l.counters = *sim_counters(s);
    sim_free(s);
    policy->destroy(c.policy_state);
    ck_assert_int_eq(l.n, n);
    return l;
}

static struct sim_request ask(int64_t id, int64_t at_ms, int32_t prompt, int32_t answer) {
    return (struct sim_request){.id = id,
                                .arrival_ns = at_ms * NS_PER_MS,
                                .prompt_tokens = prompt,
                                .output_tokens = answer,
                                .max_output_tokens = answer};
}

static double decode_ms(const struct sim_outcome *o) {
    return (double)(o->completion_ns - o->first_token_ns) / 1e6;
}

START_TEST(speculation_shortens_decode_and_leaves_iterations_and_ttft) {
    struct deployment d = deploy("llama-2-7b", "a100");
    struct sim_request one = ask(0, 0, 500, 101);
    struct outcome_list off = serve(&d, &one, 1, 0);
    d.draft_tokens = 4, d.acceptance = 0.8, d.draft_cost = 0.05;
    struct outcome_list on = serve(&d, &one, 1, 0);
    ck_assert_int_eq(off.of[0].first_token_ns, on.of[0].first_token_ns);
    ck_assert_int_eq(off.counters.iterations, 101);
    ck_assert_int_eq(on.counters.iterations, 101); /* a real engine: 1 + 100 / 3.36 passes */
    double speedup = decode_ms(&off.of[0]) / decode_ms(&on.of[0]);
    double paper = deployment_tokens_per_round(&d) / (1 + 4 * 0.05);
    ck_assert_msg(fabs(speedup / paper - 1) < 0.03, "%.3f, paper %.3f", speedup, paper);
    d.acceptance = 0; /* nothing is ever accepted: slower than without */
    struct outcome_list never = serve(&d, &one, 1, 0);
    ck_assert(decode_ms(&never.of[0]) > 1.2 * decode_ms(&off.of[0]));
}
END_TEST

START_TEST(a_request_beyond_the_cache_is_refused_at_once_with_the_reason) {
    struct deployment d = deploy("llama-2-7b", "h100");
    int32_t most = (int32_t)deployment_kv_blocks(&d, NULL) * KV_BLOCK_TOKENS; /* 121,744 tokens */
    struct sim_request list[] = {ask(0, 0, 100, 10), ask(1, 1, most - 9, 10),
                                 ask(2, 2, most - 10, 10)};
    struct outcome_list l = serve(&d, list, 3, 0);
    ck_assert_int_eq(l.of[0].end, SIM_COMPLETED);
    ck_assert_int_eq(l.of[1].end, SIM_REJECTED_TOO_LARGE); /* one token too many */
    ck_assert_int_eq(l.of[1].completion_ns, 1 * NS_PER_MS);
    ck_assert_ptr_nonnull(l.of[1].reason);
    ck_assert_int_eq(l.of[2].end, SIM_COMPLETED); /* just fits, once it is alone */
    ck_assert_int_ge(l.counters.kv_peak_blocks, most / KV_BLOCK_TOKENS - 1);
    ck_assert_int_le(l.counters.kv_peak_blocks, most / KV_BLOCK_TOKENS);
    d.kv_bits = 8; /* twice the tokens */
    l = serve(&d, list, 3, 0);
    ck_assert_int_eq(l.of[1].end, SIM_COMPLETED);
}
END_TEST

/* Share of the slots in taken blocks that holds nothing, over time. */
static double fragmentation(const struct sim_counters *c) {
    return 1 - (double)c->kv_token_time / (KV_BLOCK_TOKENS * (double)c->kv_time);
}

START_TEST(waste_is_the_unused_end_of_the_last_block) {
    struct deployment d = deploy("llama-2-7b", "a100");
    struct sim_request aligned = ask(0, 0, 1024, 1), worst = ask(0, 0, 1025, 1);
    struct outcome_list l = serve(&d, &aligned, 1, 0);
    ck_assert_double_eq_tol(fragmentation(&l.counters), 0, 1e-12);
    l = serve(&d, &worst, 1, 0);
    ck_assert_double_eq_tol(fragmentation(&l.counters), kv_unused_slots(1025) / 1040.0, 1e-12);
    /* a growing sequence wastes 7.5 slots on average */
    struct sim_request grows = ask(0, 0, 1, 1600);
    l = serve(&d, &grows, 1, 0);
    ck_assert_double_eq_tol(fragmentation(&l.counters), 7.5 / (800 + 7.5), 1e-3);
}
END_TEST

/* A hit saves computing: the first token comes as if the found tokens had been in the cache
 * already. It saves no blocks. */
START_TEST(a_prefix_in_the_store_saves_computing_and_no_blocks) {
    struct deployment d = deploy("llama-2-7b", "h100");
    static const uint64_t units[] = {71, 72, 73, 74};
    struct sim_request list[2];
    for (int i = 0; i < 2; i++) {
        list[i] = ask(i, i * 10000, 2048, 10);
        list[i].prefix = units, list[i].n_prefix = i ? 3 : 4, list[i].prefix_unit = 512;
    }
    struct outcome_list cold = serve(&d, list, 2, 0), warm = serve(&d, list, 2, 1 << 20),
                        small = serve(&d, list, 2, 1024);
    ck_assert_int_eq(cold.of[1].cached_tokens, 0);
    ck_assert_int_eq(warm.of[0].cached_tokens, 0);
    ck_assert_int_eq(warm.of[1].cached_tokens, 1536);
    ck_assert_int_eq(small.of[1].cached_tokens, 1024);
    ck_assert_int_eq(cold.counters.computed_tokens - warm.counters.computed_tokens, 1536);
    ck_assert_int_eq(cold.counters.kv_peak_blocks, warm.counters.kv_peak_blocks);
    struct cost_model c;
    ck_assert_int_eq(deployment_cost(&d, &c, NULL), 0);
    struct sim_work rest = {.requests = 1,
                            .new_tokens = 512,
                            .context_tokens = 2048,
                            .attended = 512 * 1536 + 512 * 513 / 2};
    ck_assert_int_eq(warm.of[1].first_token_ns - warm.of[1].start_ns, cost_iteration_ns(&c, &rest));
    ck_assert_int_eq(warm.of[0].first_token_ns, cold.of[0].first_token_ns);
}
END_TEST

int main(void) {
    Suite *s = suite_create("deployment");
    TCase *t = tcase_create("deployment");
    tcase_add_test(t, speculation_shortens_decode_and_leaves_iterations_and_ttft);
    tcase_add_test(t, a_request_beyond_the_cache_is_refused_at_once_with_the_reason);
    tcase_add_test(t, waste_is_the_unused_end_of_the_last_block);
    tcase_add_test(t, a_prefix_in_the_store_saves_computing_and_no_blocks);
    suite_add_tcase(s, t);
    return check_main(s);
}
