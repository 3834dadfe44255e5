/* test_digest.c: the same run to the last bit on every machine.
 *
 * A digest over every member of every outcome and every counter of a run, for settings that
 * together touch all policies, cost models and routers, and the generated workloads. The values
 * were the same under gcc 12 and clang 14, -O0 and -O3, with and without fused multiply-add, on
 * x86-64 and, emulated, on AArch64. Another value means that a run isn't reproducible there, or
 * that the model was changed on purpose: then put in the new ones, which the failure prints. */
#include "sim/hardware.h"
#include "simulate.h"
#include "workload/workload.h"

#include <inttypes.h>
#include <stdio.h>

enum { N = 2000 };

/* ---- the digest: FNV-1a over 64-bit words ---- */

static uint64_t mix(uint64_t h, uint64_t word) {
    for (int i = 0; i < 8; i++) h = (h ^ (word >> 8 * i & 255)) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t mix_wide(uint64_t h, __int128 x) {
    return mix(mix(h, (uint64_t)x), (uint64_t)(x >> 64));
}

static uint64_t digest_outcome(uint64_t h, const struct sim_outcome *o) {
    h = mix(h, (uint64_t)o->request.id);
    h = mix(h, (uint64_t)o->request.arrival_ns);
    h = mix(h, (uint64_t)o->request.prompt_tokens << 32 | (uint64_t)o->request.output_tokens);
    h = mix(h, (uint64_t)o->end << 32 | (uint64_t)o->server);
    h = mix(h, (uint64_t)o->start_ns);
    h = mix(h, (uint64_t)o->first_token_ns);
    h = mix(h, (uint64_t)o->completion_ns);
    h = mix(h, (uint64_t)o->output_tokens << 32 | (uint64_t)o->cached_tokens);
    return mix(h, (uint64_t)o->preemptions);
}

static uint64_t digest(const struct run *run) {
    const struct sim_counters *c = &run->counters;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < run->n; i++) h = digest_outcome(h, &run->outcomes[i]);
    h = mix(h, (uint64_t)c->iterations);
    h = mix(h, (uint64_t)c->computed_tokens);
    h = mix(h, (uint64_t)c->busy_ns);
    h = mix(h, (uint64_t)c->kv_peak_blocks);
    h = mix_wide(h, c->kv_time);
    h = mix_wide(h, c->kv_token_time);
    h = mix_wide(h, c->in_system_time);
    return mix_wide(h, c->latency_sum);
}

/* ---- the settings ---- */

static struct cost_model llama_on(const char *gpu) {
    struct deployment d;
    struct cost_model cost;
    struct err e;
    ck_assert_msg(!deployment_find("llama-2-7b", gpu, &d, &e) && !deployment_cost(&d, &cost, &e),
                  "%s", e.text);
    return cost;
}

static const struct workload_spec POISSON = {.arrivals = ARRIVALS_POISSON,
                                             .requests = N,
                                             .rate_rps = 6,
                                             .seed = 1,
                                             .prompt_tokens = {1, 2000},
                                             .output_tokens = {1, 300},
                                             .fail_rate = 0.01};
static const struct workload_spec GAMMA = {.arrivals = ARRIVALS_GAMMA,
                                           .requests = N,
                                           .rate_rps = 20,
                                           .cv = 2.5,
                                           .seed = 2,
                                           .prompt_tokens = {200, 900},
                                           .output_tokens = {50, 150}};
static const struct workload_spec ON_OFF = {
    .arrivals = ARRIVALS_ON_OFF, .requests = N, .rate_rps = 100, .on_s = 2, .off_s = 3, .seed = 3};

static const struct {
    const char *name;
    const struct workload_spec *workload;
    const char *policy, *gpu, *router;
    int32_t servers, kv_blocks;
    uint64_t digest;
} CASES[] = {
    {"one by one", &ON_OFF, "single", NULL, NULL, 0, 0, UINT64_C(0x7e631a2733942d1e)},
    {"groups", &ON_OFF, "wait-for-n:3", NULL, NULL, 0, 0, UINT64_C(0x8f81c3d2bf0989dd)},
    {"groups by time", &ON_OFF, "wait-for-time:15,6", NULL, NULL, 0, 0,
     UINT64_C(0x222db0d92ae53111)},
    {"shortest first", &POISSON, "shortest-first", "h100", NULL, 0, 0,
     UINT64_C(0x2c68a2f17d12e8cd)},
    {"a static batch", &POISSON, "static:16", "a100", NULL, 0, 1200, UINT64_C(0xab2f578572afb215)},
    {"continuous", &POISSON, "continuous", "a100", NULL, 0, 900, UINT64_C(0xae2d35bbfb13a8af)},
    {"chunked, little memory", &GAMMA, "chunked", "h100", NULL, 0, 300,
     UINT64_C(0x8c63e83131eac671)},
    {"two choices", &GAMMA, "chunked", "a100", "power-of-two", 4, 400,
     UINT64_C(0x362d44f9cdef7cc5)},
    {"drawn at random", &GAMMA, "continuous", "h100", "random", 3, 400,
     UINT64_C(0x1b5b4b9e505f40ce)},
    {"a central queue", &GAMMA, "continuous", "a100", "central:8", 5, 400,
     UINT64_C(0xd42b25a51702e2cf)},
    {"affinity and reuse", &GAMMA, "chunked", "h100", "prefix-affinity", 4, 900,
     UINT64_C(0x623f369dc7e0d97b)},
};
enum { N_CASES = sizeof CASES / sizeof *CASES };

static void make_list(const struct workload_spec *spec, struct sim_request *list) {
    static uint64_t prefix[32][6];
    struct err e;
    struct workload *w = workload_open(spec, &e);
    ck_assert_msg(w != NULL, "%s", e.text);
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(workload_next(w, &list[i], &e), 1);
        uint64_t which = (uint64_t)i * 7 % 32;
        for (int k = 0; k < 6; k++) prefix[which][k] = which * 6 + (uint64_t)k + 1;
        list[i].prefix = prefix[which];
        list[i].prefix_hash = prefix[which][0];
        list[i].prefix_unit = 32;
        list[i].n_prefix = list[i].prompt_tokens / 32 < 6 ? list[i].prompt_tokens / 32 : 6;
    }
    workload_close(w);
}

START_TEST(the_digest_is_the_one_of_every_machine) {
    static struct sim_request list[N];
    make_list(CASES[_i].workload, list);
    struct setting set = {
        .policy = CASES[_i].policy,
        .cost = {.kind = COST_PER_REQUEST, .setup_ns = 4 * NS_PER_MS, .per_request_ns = NS_PER_MS},
        .kv_blocks = CASES[_i].kv_blocks,
        .token_budget = 2048,
        .max_running = 64,
        .prefix_tokens = CASES[_i].router ? 2000 : 0,
        .router = CASES[_i].router,
        .servers = CASES[_i].servers};
    if (CASES[_i].gpu) set.cost = llama_on(CASES[_i].gpu);
    struct run run = run_list(&set, list, N);
    check_invariants(&run, N, set.kv_blocks);
    uint64_t got = digest(&run);
    ck_assert_msg(got == CASES[_i].digest, "%s: got 0x%016" PRIx64 ", want 0x%016" PRIx64,
                  CASES[_i].name, got, CASES[_i].digest);
    run_free(&run);
}
END_TEST

int main(void) {
    Suite *s = suite_create("digests");
    TCase *t = tcase_create("digest");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, the_digest_is_the_one_of_every_machine, 0, N_CASES);
    suite_add_tcase(s, t);
    return check_main(s);
}
