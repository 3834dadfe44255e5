/* test_fleet.c: several servers behind a router. M/M/c is in test_theory.c. */
#include "simulate.h"

#include <math.h>

enum { N = 400 };

/* The load of N requests on `servers` servers; one in four prompts has one of eight prefixes. */
static void load_for(struct sim_request *list, uint64_t seed, int32_t servers) {
    random_load(list, N, seed, 2000);
    for (int i = 0; i < N; i++) {
        list[i].arrival_ns /= servers;
        list[i].prefix_hash = i % 4 == 0 ? 0x9000 + (uint64_t)(i / 4 % 8) : 0;
    }
}

static const char *const ROUTERS[] = {"round-robin",  "random",          "least-outstanding",
                                      "power-of-two", "prefix-affinity", "central:8"};
enum { N_ROUTERS = sizeof ROUTERS / sizeof *ROUTERS };

static struct setting decoder(const char *policy, const char *router, int32_t servers) {
    return (struct setting){.policy = policy,
                            .cost = DECODER,
                            .kv_blocks = 400,
                            .token_budget = 2048,
                            .max_running = 8,
                            .router = router,
                            .servers = servers};
}

START_TEST(a_fleet_of_one_is_a_server) {
    struct sim_request list[N];
    load_for(list, 2, 1);
    for (int p = 0; p < N_POLICIES; p++) {
        struct setting set = decoder(POLICIES[p], NULL, 0);
        struct run alone = run_list(&set, list, N);
        check_invariants(&alone, N, 400);
        for (int i = 0; i < 5; i++) { /* central would hold requests back */
            set = decoder(POLICIES[p], ROUTERS[i], 1);
            struct run fleet = run_list(&set, list, N);
            check_invariants(&fleet, N, 400);
            for (int k = 0; k < N; k++)
                ck_assert_msg(same_outcome(&alone.outcomes[k], &fleet.outcomes[k]),
                              "%s, %s: outcome %d", POLICIES[p], ROUTERS[i], k);
            ck_assert(!memcmp(&alone.counters, &fleet.counters, sizeof alone.counters));
            run_free(&fleet);
        }
        run_free(&alone);
    }
}
END_TEST

/* What a server of a fleet does doesn't depend on the others: each alone with its share of the
 * requests gives the same outcomes. So looking at a server only now and then changes nothing. */
START_TEST(each_server_does_what_it_would_do_alone) {
    struct sim_request list[N], mine[N];
    load_for(list, 3, 5);
    for (int i = 0; i < N_ROUTERS - 1; i++) {
        struct setting set = decoder("chunked", ROUTERS[i], 5);
        struct run fleet = run_list(&set, list, N);
        check_invariants(&fleet, N, 400);
        ck_assert_int_gt(fleet.counters.preemptions, 0);
        for (int32_t server = 0; server < 5; server++) {
            size_t n = 0;
            for (int k = 0; k < N; k++)
                if (outcome_of(&fleet, k)->server == server) mine[n++] = list[k];
            struct setting one = decoder("chunked", NULL, 0);
            one.ask_always = true;
            struct run alone = run_list(&one, mine, n);
            check_invariants(&alone, n, 400);
            for (size_t k = 0; k < n; k++) {
                const struct sim_outcome *o = outcome_of(&fleet, alone.outcomes[k].request.id);
                alone.outcomes[k].server = server;
                ck_assert(same_outcome(&alone.outcomes[k], o));
            }
            ck_assert_int_eq(fleet.server[server].arrivals, (int64_t)n);
            run_free(&alone);
        }
        run_free(&fleet);
    }
}
END_TEST

START_TEST(round_robin_splits_exactly) {
    struct sim_request list[N];
    load_for(list, 4, 3);
    struct setting set = decoder("continuous", "round-robin", 3);
    struct run run = run_list(&set, list, N);
    check_invariants(&run, N, 400);
    for (int k = 0; k < N; k++) ck_assert_int_eq(outcome_of(&run, k)->server, k % 3);
    run_free(&run);
}
END_TEST

/* Three requests of 10 ms, at 0, 1 and 2 ms, and one of 10 ms at 3 ms, on two servers. */
START_TEST(a_central_queue_by_hand) {
    struct sim_request list[4];
    for (int i = 0; i < 4; i++)
        list[i] = (struct sim_request){.id = i,
                                       .arrival_ns = i * NS_PER_MS,
                                       .prompt_tokens = 1,
                                       .output_tokens = 1,
                                       .max_output_tokens = 1,
                                       .service_ns = 10 * NS_PER_MS};
    struct setting set = {
        .policy = "single", .cost = {.kind = COST_SERVICE}, .router = "central", .servers = 2};
    struct run run = run_list(&set, list, 4);
    check_invariants(&run, 4, 0);
    static const int64_t start_ms[] = {0, 1, 10, 11}, server[] = {0, 1, 0, 1};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(outcome_of(&run, i)->start_ns, start_ms[i] * NS_PER_MS);
        ck_assert_int_eq(outcome_of(&run, i)->server, server[i]);
    }
    ck_assert(run.counters.in_system_time == (10 + 10 + 18 + 18) * NS_PER_MS);
    run_free(&run);
    /* least-outstanding, which must choose at once, comes to the same here */
    set.router = "least-outstanding";
    run = run_list(&set, list, 4);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(outcome_of(&run, i)->server, server[i]);
    run_free(&run);
}
END_TEST

START_TEST(the_last_short_group_goes_in_every_server) {
    struct sim_request list[7];
    for (int i = 0; i < 7; i++)
        list[i] = (struct sim_request){.id = i,
                                       .arrival_ns = i * NS_PER_MS,
                                       .prompt_tokens = 1,
                                       .output_tokens = 1,
                                       .max_output_tokens = 1};
    struct setting set = {.policy = "wait-for-n:4",
                          .cost = {.kind = COST_PER_REQUEST, .per_request_ns = NS_PER_MS},
                          .router = "round-robin",
                          .servers = 2};
    struct run run = run_list(&set, list, 7);
    check_invariants(&run, 7, 0);
    ck_assert_int_eq(outcome_of(&run, 0)->start_ns, 6 * NS_PER_MS); /* 0, 2, 4, 6 */
    ck_assert_int_eq(outcome_of(&run, 1)->start_ns, 6 * NS_PER_MS); /* 1, 3, 5: no more will come */
    run_free(&run);
    set.router = "central:4"; /* one server: four are there at 3 ms; the others leave the queue at
                                 7 ms, and only then it is known that no more will come */
    set.servers = 1;
    run = run_list(&set, list, 7);
    check_invariants(&run, 7, 0);
    ck_assert_int_eq(outcome_of(&run, 3)->start_ns, 3 * NS_PER_MS);
    ck_assert_int_eq(outcome_of(&run, 4)->start_ns, 7 * NS_PER_MS);
    ck_assert_int_eq(outcome_of(&run, 6)->completion_ns, 10 * NS_PER_MS);
    run_free(&run);
    set.servers = 2;
    set.router = "central"; /* holds back what the policy waits for */
    run = run_list(&set, list, 7);
    ck_assert(run.failed);
    ck_assert_ptr_nonnull(strstr(run.err.text, "central"));
    run_free(&run);
}
END_TEST

/* ---- which router is better ---- */

struct sums {
    double sum[20];
    int64_t n, each;
};

static void into_sums(void *ctx, const struct sim_outcome *o) {
    struct sums *s = ctx;
    int64_t k = o->request.id / s->each;
    s->sum[k] += (double)(o->completion_ns - o->request.arrival_ns) / (double)s->each;
}

/* Mean sojourn times of 20 parts of a run: 10 servers at 90 %, exponential service. */
static struct sums at_high_load(const char *router) {
    enum { REQUESTS = 400000, SERVERS = 10 };
    struct sums sums = {.each = REQUESTS / 20};
    struct err e;
    const char *arg;
    struct sim_config c = {.policy = policy_find("single", &arg, &e),
                           .cost = {.kind = COST_SERVICE},
                           .kv_blocks = 1,
                           .token_budget = 1,
                           .max_running = 1,
                           .max_in_system = INT64_MAX,
                           .each = into_sums,
                           .ctx = &sums};
    struct fleet *f = fleet_create(&c, arg, SERVERS, router, 5, &e);
    struct rng r;
    rng_seed(&r, 6);
    int64_t at = 0;
    for (int i = 0; i < REQUESTS; i++) {
        at += rng_exponential_ns(&r, NS_PER_MS * 10 / 9 / SERVERS);
        struct sim_request q = {.id = i,
                                .arrival_ns = at,
                                .prompt_tokens = 1,
                                .output_tokens = 1,
                                .max_output_tokens = 1,
                                .service_ns = rng_exponential_ns(&r, NS_PER_MS)};
        if (fleet_run_until(f, at, &e) || fleet_push(f, &q, &e)) ck_abort_msg("%s", e.text);
    }
    ck_assert_int_eq(fleet_finish(f, &e), 0);
    fleet_free(f);
    return sums;
}

/* Is a's mean below b's? Both see the same requests: the parts' differences are tested (paired t,
 * 19 degrees of freedom, 99.9 %). */
static bool surely_below(const struct sums *a, const struct sums *b) {
    double mean = 0, squares = 0;
    for (int k = 0; k < 20; k++) mean += (b->sum[k] - a->sum[k]) / 20;
    for (int k = 0; k < 20; k++) squares += pow(b->sum[k] - a->sum[k] - mean, 2);
    return mean > 3.579 * sqrt(squares / 19 / 20);
}

/* At 90 % of ten servers: one queue beats looking at all servers, which beats looking at two,
 * which beats taking turns (an Erlang-10 gap is more regular than a Poisson one), which beats not
 * looking at all. */
START_TEST(at_high_load_the_more_a_router_knows_the_better) {
    static const char *const order[] = {"central", "least-outstanding", "power-of-two",
                                        "round-robin", "random"};
    struct sums before = at_high_load(order[0]);
    for (int i = 1; i < 5; i++) {
        struct sums here = at_high_load(order[i]);
        ck_assert_msg(surely_below(&before, &here), "%s isn't surely better than %s", order[i - 1],
                      order[i]);
        ck_assert(!surely_below(&here, &before));
        before = here;
    }
    ck_assert(!surely_below(&before, &before));
}
END_TEST

/* Twelve conversations with long common beginnings, more than one server's store holds. */
START_TEST(prefix_affinity_finds_more_prefixes_than_round_robin) {
    static uint64_t prefix[12][16];
    struct sim_request list[N];
    struct rng r;
    rng_seed(&r, 13);
    random_load(list, N, 12, 300);
    for (int i = 0; i < N; i++) {
        int which = (int)rng_below(&r, 12);
        for (int k = 0; k < 16; k++) prefix[which][k] = 1000 + (uint64_t)which * 16 + (uint64_t)k;
        list[i].arrival_ns /= 4;
        list[i].prompt_tokens += 16 * 64;
        list[i].prefix = prefix[which];
        list[i].n_prefix = 16;
        list[i].prefix_unit = 64;
        list[i].prefix_hash = prefix[which][0];
    }
    int64_t hits[2], latency[2];
    for (int i = 0; i < 2; i++) {
        struct setting set = decoder("chunked", i ? "prefix-affinity" : "round-robin", 4);
        set.prefix_tokens = 5 * 16 * 64;
        set.kv_blocks = 2000;
        struct run run = run_list(&set, list, N);
        check_invariants(&run, N, 2000);
        hits[i] = run.counters.cached_tokens;
        latency[i] = (int64_t)(run.counters.latency_sum / N);
        run_free(&run);
    }
    ck_assert_int_gt(hits[0], 0);
    ck_assert_msg(hits[1] * 2 > hits[0] * 3, "found %lld tokens by affinity, %lld round-robin",
                  (long long)hits[1], (long long)hits[0]);
    ck_assert_int_lt(latency[1], latency[0]);
}
END_TEST

START_TEST(prefix_affinity_doesnt_bury_one_server) {
    struct sim_request list[N];
    load_for(list, 9, 4);
    for (int i = 0; i < N; i++) list[i].prefix_hash = 77; /* all the same */
    struct setting set = decoder("continuous", "prefix-affinity", 4);
    struct run run = run_list(&set, list, N);
    check_invariants(&run, N, 400);
    for (int i = 0; i < 4; i++) ck_assert_int_gt(run.server[i].arrivals, N / 10);
    run_free(&run);
}
END_TEST

/* ---- capacity ---- */

/* First come, first served from one queue: with one server more, every single request ends no
 * later (Kiefer and Wolfowitz, 1955). */
START_TEST(one_server_more_never_makes_anyone_later) {
    enum { MANY = 3000 };
    static struct sim_request list[MANY];
    struct rng r;
    rng_seed(&r, 31);
    int64_t at = 0;
    for (int i = 0; i < MANY; i++) {
        at += rng_exponential_ns(&r, NS_PER_MS / 4);
        list[i] = (struct sim_request){.id = i,
                                       .arrival_ns = at,
                                       .prompt_tokens = 1,
                                       .output_tokens = 1,
                                       .max_output_tokens = 1,
                                       .service_ns = rng_exponential_ns(&r, NS_PER_MS)};
    }
    static int64_t before[MANY];
    for (int32_t servers = 1; servers <= 8; servers++) {
        struct setting set = {.policy = "single",
                              .cost = {.kind = COST_SERVICE},
                              .router = "central",
                              .servers = servers};
        struct run run = run_list(&set, list, MANY);
        check_invariants(&run, MANY, 0);
        bool later = false;
        for (size_t i = 0; i < MANY; i++) {
            const struct sim_outcome *o = &run.outcomes[i];
            later |= servers > 1 && o->completion_ns > before[o->request.id];
            before[o->request.id] = o->completion_ns;
        }
        ck_assert(!later);
        run_free(&run);
    }
}
END_TEST

/* ---- closed loops and bad input ---- */

struct loop {
    int64_t ready_ns[8]; /* by client; INT64_MAX while it waits */
    int64_t last_ns, ended;
    bool out_of_order;
};

static void loop_hears(void *ctx, const struct sim_outcome *o) {
    struct loop *l = ctx;
    l->out_of_order |= o->completion_ns < l->last_ns;
    l->last_ns = o->completion_ns;
    l->ready_ns[o->request.id % 8] = o->completion_ns + 3;
    l->ended++;
}

static int first_client(const struct loop *l) {
    int first = 0;
    for (int k = 1; k < 8; k++)
        if (l->ready_ns[k] < l->ready_ns[first]) first = k;
    return first;
}

START_TEST(eight_clients_in_a_closed_loop) {
    struct loop loop = {0};
    struct err e;
    const char *arg;
    struct sim_config c = {.policy = policy_find("single", &arg, &e),
                           .cost = {.kind = COST_PER_REQUEST, .per_request_ns = 10},
                           .kv_blocks = 1,
                           .token_budget = 1,
                           .max_running = 1,
                           .max_in_system = INT64_MAX,
                           .each = loop_hears,
                           .ctx = &loop};
    struct fleet *f = fleet_create(&c, arg, 3, "least-outstanding", 1, &e);
    int64_t sent = 0, last_ns = 0;
    while (sent < 1000) {
        int k = first_client(&loop);
        int rc = fleet_run_to_end(f, loop.ready_ns[k], &e);
        ck_assert_int_ge(rc, 0);
        if (rc == 1) continue;
        ck_assert_int_ge(loop.ready_ns[k], last_ns); /* never too late */
        last_ns = loop.ready_ns[k];
        struct sim_request r = {.id = sent++ * 8 + k,
                                .arrival_ns = last_ns,
                                .prompt_tokens = 1,
                                .output_tokens = 1,
                                .max_output_tokens = 1};
        ck_assert_int_eq(fleet_push(f, &r, &e), 0);
        loop.ready_ns[k] = INT64_MAX;
    }
    ck_assert_int_eq(fleet_finish(f, &e), 0);
    ck_assert_int_eq(loop.ended, 1000);
    ck_assert(!loop.out_of_order);
    /* 8 clients, 3 servers of 10 ns, 3 ns to think: the servers are never idle but at the ends */
    ck_assert_int_le(loop.last_ns, 1000 / 3 * 10 + 40);
    fleet_free(f);
}
END_TEST

START_TEST(routers_and_numbers_that_make_no_sense) {
    static const struct {
        const char *router, *says;
        int32_t servers;
    } cases[] = {{"round-robbin", "did you mean 'round-robin'", 2},
                 {"central:0", "central:8", 2},
                 {"central:x", "central:8", 2},
                 {"random:3", "central:8", 2},
                 {"", "there is no router", 2},
                 {"random", "--servers", 0},
                 {"random", "--servers", -5}};
    struct run run = {0};
    struct setting set = {.policy = "single"};
    struct sim_config c = config_of(&set, &run);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e;
        char text[600];
        ck_assert_ptr_null(fleet_create(&c, "", cases[i].servers, cases[i].router, 1, &e));
        err_format(&e, NULL, text, sizeof text);
        ck_assert_msg(strstr(text, cases[i].says), "'%s' says %s", cases[i].router, text);
    }
    struct err e;
    ck_assert_ptr_null(fleet_create(&c, "3", 2, "random", 1, &e)); /* single:3 */
    c.kv_blocks = 0;
    ck_assert_ptr_null(fleet_create(&c, "", 2, "random", 1, &e));
}
END_TEST

int main(void) {
    Suite *s = suite_create("fleet");
    TCase *t = tcase_create("fleet");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_fleet_of_one_is_a_server);
    tcase_add_test(t, each_server_does_what_it_would_do_alone);
    tcase_add_test(t, round_robin_splits_exactly);
    tcase_add_test(t, a_central_queue_by_hand);
    tcase_add_test(t, the_last_short_group_goes_in_every_server);
    tcase_add_test(t, at_high_load_the_more_a_router_knows_the_better);
    tcase_add_test(t, prefix_affinity_finds_more_prefixes_than_round_robin);
    tcase_add_test(t, prefix_affinity_doesnt_bury_one_server);
    tcase_add_test(t, one_server_more_never_makes_anyone_later);
    tcase_add_test(t, eight_clients_in_a_closed_loop);
    tcase_add_test(t, routers_and_numbers_that_make_no_sense);
    suite_add_tcase(s, t);
    return check_main(s);
}
