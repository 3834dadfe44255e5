/* test_virtual.c: the engine in virtual time and the simulator, request by request: every event at
 * the same nanosecond.
 *
 * Both run the same workload under the same policy and cost model. Two programs were written from
 * one description, so a difference means that one of them is wrong.
 */
#include "serve/tests/virtual_compare.h"

#include "workload/workload.h"

/* ---- the hand-checkable table ---------------------------------------------------------------- */

START_TEST(hand_tables) {
    const struct cost_model cost = {
        .kind = COST_PER_REQUEST, .setup_ns = 4 * NS_PER_MS, .per_request_ns = NS_PER_MS};
    struct sim_request list[4];
    for (int i = 0; i < 4; i++)
        list[i] = (struct sim_request){.id = i,
                                       .arrival_ns = i * NS_PER_MS,
                                       .prompt_tokens = 1,
                                       .output_tokens = 1,
                                       .max_output_tokens = 1};
    static const char *const policies[] = {"single", "wait-for-n:4"};
    static const int64_t ends_ms[][4] = {{5, 10, 15, 20}, {11, 11, 11, 11}};
    for (int p = 0; p < 2; p++) {
        struct setting set = {policies[p], cost, 64, 4096, 64, .events = true};
        expect_equal(&set, list, 4);
        /* and against the table itself, which was worked out by hand */
        struct run run = run_list(&set, list, 4);
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(outcome_of(&run, i)->completion_ns, ends_ms[p][i] * NS_PER_MS);
        run_free(&run);
    }
}
END_TEST

/* ---- random workloads, each policy, from an ample cache to one that preempts ----------------- */

START_TEST(random_workloads) {
    enum { N = 24, SEEDS = 200 };
    struct sim_request list[N];
    int64_t preemptions = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        random_load(list, N, seed, 300);
        for (int i = 0; i < N; i++) list[i].fail_after = 0;
        struct setting set = {.policy = ALL[_i],
                              .cost = DECODER,
                              .kv_blocks = 40 + (int32_t)(seed % 4) * 40,
                              .token_budget = 16 << seed % 7,
                              .max_running = 4 + (int32_t)(seed % 5) * 3,
                              .events = true};
        if (set.token_budget < set.max_running) set.token_budget = set.max_running;
        struct run run = run_list(&set, list, N);
        preemptions += run.counters.preemptions;
        run_free(&run);
        expect_equal(&set, list, N);
    }
    /* the small caches must be small: otherwise recomputation is never compared */
    if (!strcmp(ALL[_i], "continuous") || !strcmp(ALL[_i], "chunked"))
        ck_assert_int_gt(preemptions, 100);
}
END_TEST

/* ---- a 7B model under load ------------------------------------------------------------------- */

START_TEST(poisson_on_h100) {
    enum { N = 400 };
    const struct workload_spec spec = {.arrivals = ARRIVALS_POISSON,
                                       .requests = N,
                                       .rate_rps = 8,
                                       .seed = 11,
                                       .prompt_tokens = {1, 2000},
                                       .output_tokens = {1, 300}};
    static struct sim_request list[N];
    struct err e;
    struct workload *w = workload_open(&spec, &e);
    ck_assert_msg(w != NULL, "%s", e.text);
    for (int i = 0; i < N; i++) ck_assert_int_eq(workload_next(w, &list[i], &e), 1);
    struct setting set = {ALL[_i], llama_on("h100"), 900, 2048, 64, .events = true};
    expect_equal(&set, list, N);
    workload_close(w);
}
END_TEST

/* ---- what can't be run ----------------------------------------------------------------------- */

START_TEST(refused_at_once) {
    struct sim_request big = {.prompt_tokens = 100, .output_tokens = 1, .max_output_tokens = 100};
    struct setting set = {"continuous", DECODER, 4, 64, 4, .events = true};
    expect_equal(&set, &big, 1); /* both reject what can never fit, when it arrives */
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("virtual");
    TCase *c = tcase_create("virtual time");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, hand_tables);
    tcase_add_loop_test(c, random_workloads, 0, N_ALL);
    tcase_add_loop_test(c, poisson_on_h100, 0, N_ALL);
    tcase_add_test(c, refused_at_once);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    tokenizer = fake_tokenizer();
    int rc = check_main(suite());
    tokenizer_free(tokenizer);
    return rc;
}
