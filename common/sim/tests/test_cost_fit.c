/* test_cost_fit.c: the fit gives back the parameters that made the times, through delays of other
 * programs too; it refuses what can't determine them, and survives anything. */
#include "base/rng.h"
#include "sim/cost_file.h"
#include "sim/tests/deploy.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 900 };
static struct cost_sample samples[STEPS];

/* Steps as a server that batches would have them: prompts, decode, and both. */
static void make_steps(const struct cost_model *m, uint64_t seed) {
    struct rng r;
    rng_seed(&r, seed);
    for (int i = 0; i < STEPS; i++) {
        struct cost_sample *s = &samples[i];
        s->kind = (enum step_kind)(i % 3);
        s->work = (struct sim_work){0};
        int64_t decode = s->kind == STEP_PREFILL ? 0 : 1 + (int64_t)rng_below(&r, 32);
        int64_t prompt = s->kind == STEP_DECODE ? 0 : 8 + (int64_t)rng_below(&r, 1500);
        int64_t before = decode * (int64_t)rng_below(&r, 2000);
        s->work.requests = (int32_t)(decode + (prompt > 0));
        s->work.new_tokens = decode + prompt;
        s->work.context_tokens = before + decode + prompt;
        s->work.attended = before + decode + prompt * (prompt + 1) / 2;
        s->ns = cost_iteration_ns(m, &s->work);
    }
}

static struct cost_fit fit(void) {
    struct cost_fit f;
    struct err e;
    ck_assert_msg(!cost_fit(samples, STEPS, &f, &e), "%s", e.text);
    return f;
}

static void near(const char *what, int64_t got, int64_t want, double within) {
    ck_assert_msg(fabs((double)got - (double)want) <= within * (double)want,
                  "%s: got %lld, want %lld", what, (long long)got, (long long)want);
}

static void same_machine(const struct cost_model *got, const struct cost_model *want,
                         double within) {
    near("a new token", got->compute_per_token_ps, want->compute_per_token_ps, within);
    near("the weights", got->memory_fixed_ps, want->memory_fixed_ps, within);
    near("a context token", got->memory_per_context_ps, want->memory_per_context_ps, within);
    near("an attended position", got->compute_per_attended_fs, want->compute_per_attended_fs,
         within);
    near("a sequence", got->head_compute_ps, want->head_compute_ps, within);
    near("a step", got->overhead_ns, want->overhead_ns, within);
    ck_assert_int_eq(got->tile_mask, want->tile_mask);
    ck_assert_int_eq(got->tile_from, want->tile_from);
    ck_assert_int_le(abs(got->overlap_loss_1024 - want->overlap_loss_1024), 2);
}

static const struct cost_model known[] = {
    /* a GPU */
    {.kind = COST_TRANSFORMER,
     .memory_fixed_ps = 8400000000,
     .compute_per_token_ps = 61000000,
     .memory_per_context_ps = 340000,
     .compute_per_attended_fs = 2500000,
     .head_compute_ps = 40000000,
     .overhead_ns = 900000,
     .tile_mask = 127,
     .tile_from = 64,
     .overlap_loss_1024 = 352},
    /* another, without tiles and loss */
    {.kind = COST_TRANSFORMER,
     .memory_fixed_ps = 3000000000,
     .compute_per_token_ps = 100000000,
     .memory_per_context_ps = 900000,
     .compute_per_attended_fs = 90000000,
     .head_compute_ps = 200000000,
     .overhead_ns = 2000000},
};

START_TEST(the_parameters_that_made_the_times_come_back) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        make_steps(&known[i], i + 1);
        struct cost_fit f = fit();
        same_machine(&f.model, &known[i], 0.002);
        ck_assert(f.memory_seen && f.context_seen && f.attended_seen);
        ck_assert_double_lt(f.residuals[STEP_ALL].p90, 1e-4);
        ck_assert_int_eq(f.residuals[STEP_ALL].n, STEPS);
    }
}
END_TEST

START_TEST(steps_that_others_delayed_change_nothing) {
    struct rng r;
    rng_seed(&r, 7);
    make_steps(&known[0], 5);
    for (int i = 0; i < STEPS; i++)
        if (rng_below(&r, 5) == 0) samples[i].ns *= 2 + (int64_t)rng_below(&r, 9);
    struct cost_fit f = fit();
    same_machine(&f.model, &known[0], 0.01);
    ck_assert_double_lt(f.residuals[STEP_ALL].median, 1e-3);
    ck_assert_double_gt(f.residuals[STEP_ALL].p90, 0.4); /* the delays are there, and told */
}
END_TEST

/* A server's log has a hundred decode steps for each prompt. The cost of a prompt's positions, seen
 * in those alone, must come out of it. */
START_TEST(few_prompts_among_many_decode_steps) {
    static struct cost_sample many[9000];
    struct cost_model m = known[1];
    struct rng r;
    rng_seed(&r, 21);
    make_steps(&m, 8);
    for (int i = 0; i < 9000; i++) {
        int kind = i % 90 == 7 ? STEP_PREFILL : STEP_DECODE; /* at no round number */
        many[i] = samples[(i * 7 % 300) * 3 + kind];
        many[i].ns += many[i].ns * (int64_t)rng_below(&r, 100) / 2000; /* up to 5 % late */
    }
    struct cost_fit f;
    struct err e;
    ck_assert_msg(!cost_fit(many, 9000, &f, &e), "%s", e.text);
    near("an attended position", f.model.compute_per_attended_fs,
         m.compute_per_attended_fs + m.compute_per_attended_fs / 40, 0.05);
    ck_assert_double_lt(fabs(f.residuals[STEP_PREFILL].total), 0.01);
    ck_assert_double_lt(fabs(f.residuals[STEP_DECODE].total), 0.01);
}
END_TEST

/* Late by nothing mostly, and by up to 60 % else: what is predicted is the mean. */
START_TEST(means_are_fitted_and_not_typical_times) {
    struct rng r;
    rng_seed(&r, 23);
    make_steps(&known[1], 6);
    for (int i = 0; i < STEPS; i++)
        if (rng_below(&r, 5) == 0)
            samples[i].ns += samples[i].ns * (int64_t)rng_below(&r, 60) / 100;
    struct cost_fit f = fit();
    for (int kind = 0; kind < STEP_KINDS; kind++)
        ck_assert_double_lt(fabs(f.residuals[kind].total), 0.01);
}
END_TEST

START_TEST(a_machine_that_never_waits_for_memory) {
    struct cost_model m = {.kind = COST_TRANSFORMER,
                           .compute_per_token_ps = 400000000,
                           .compute_per_attended_fs = 3000000000,
                           .head_compute_ps = 150000000,
                           .overhead_ns = 700000};
    make_steps(&m, 3);
    struct cost_fit f = fit();
    near("a new token", f.model.compute_per_token_ps, m.compute_per_token_ps, 0.002);
    near("an attended position", f.model.compute_per_attended_fs, m.compute_per_attended_fs, 0.002);
    ck_assert(!f.context_seen && f.attended_seen);
    ck_assert_int_eq(f.model.memory_per_context_ps, 0);
}
END_TEST

START_TEST(deployments_come_back_as_times) {
    static const char *const gpus[] = {"a100", "h100"};
    for (int i = 0; i < 2; i++) {
        struct deployment d = deploy("llama-2-7b", gpus[i]);
        struct cost_model m = cost_of(&d);
        make_steps(&m, 9);
        struct cost_fit f = fit();
        make_steps(&m, 10); /* on steps that weren't fitted */
        for (int k = 0; k < STEPS; k++)
            near("a step", cost_iteration_ns(&f.model, &samples[k].work), samples[k].ns, 0.01);
    }
}
END_TEST

static void refuses(size_t n, const char *part) {
    struct cost_fit f;
    struct err e = {0};
    ck_assert_int_eq(cost_fit(samples, n, &f, &e), -1);
    ck_assert_msg(strstr(e.text, part) && strstr(e.text, "servelab load"), "got: %s", e.text);
}

START_TEST(steps_that_are_alike_are_refused_with_the_load_that_would_do) {
    make_steps(&known[0], 1);
    refuses(0, "holds 0 steps");
    refuses(39, "holds 39 steps");
    for (int i = 0; i < STEPS; i++) samples[i].kind = STEP_DECODE;
    refuses(STEPS, "0 steps that compute prompts");
    for (int i = 0; i < STEPS; i++) samples[i].kind = STEP_PREFILL;
    refuses(STEPS, "0 steps that only decode");
    make_steps(&known[0], 1);
    for (int i = 0; i < STEPS; i++)
        if (samples[i].kind != STEP_DECODE) samples[i].work.new_tokens = 512;
    refuses(STEPS, "prompts are about equally long");
    make_steps(&known[0], 1);
    for (int i = 0; i < STEPS; i++)
        if (samples[i].kind == STEP_DECODE) samples[i].work.requests = 4;
    refuses(STEPS, "about equally many sequences");
    make_steps(&known[0], 1);
    for (int i = 0; i < STEPS; i++)
        if (samples[i].kind == STEP_DECODE)
            samples[i].work.context_tokens = 600 * samples[i].work.requests;
    refuses(STEPS, "contexts of about the same length");
}
END_TEST

START_TEST(prompts_too_short_to_show_the_operations_are_refused) {
    make_steps(&known[0], 2);
    for (int i = 0; i < STEPS; i++) {
        struct sim_work *w = &samples[i].work;
        if (samples[i].kind != STEP_DECODE) w->new_tokens = 1 + i % 20;
        samples[i].ns = 9000000 + w->context_tokens; /* whatever the new tokens */
    }
    refuses(STEPS, "reading the weights");
}
END_TEST

/* Anything: a fit or a reason, and no parameter that is negative or overflows. */
START_TEST(any_steps_at_all) {
    struct rng r;
    rng_seed(&r, 11);
    for (int round = 0; round < 12; round++) {
        size_t n = 40 + rng_below(&r, 80);
        for (size_t i = 0; i < n; i++) {
            int bits = 1 + (int)rng_below(&r, 30);
            int64_t tokens = 1 + (int64_t)rng_below(&r, UINT64_C(1) << bits);
            samples[i].kind = (enum step_kind)rng_below(&r, 3);
            samples[i].work = (struct sim_work){
                .requests = 1 + (int32_t)rng_below(&r, 1u << (bits / 2)),
                .new_tokens = tokens,
                .context_tokens = tokens + (int64_t)rng_below(&r, UINT64_C(1) << bits),
                .attended = 1 + (int64_t)rng_below(&r, UINT64_C(1) << (2 * bits - 1))};
            samples[i].ns = 1 + (int64_t)rng_below(&r, UINT64_C(1) << rng_below(&r, 53));
        }
        struct cost_fit f;
        struct err e = {0};
        if (cost_fit(samples, n, &f, &e)) {
            ck_assert_int_gt(strlen(e.text), 0);
            continue;
        }
        ck_assert(f.model.memory_fixed_ps >= 0 && f.model.compute_per_token_ps >= 0 &&
                  f.model.memory_per_context_ps >= 0 && f.model.compute_per_attended_fs >= 0 &&
                  f.model.head_compute_ps >= 0 && f.model.overhead_ns >= 0);
    }
}
END_TEST

START_TEST(a_cost_that_would_overflow_is_known) {
    ck_assert(!cost_overflows(&known[0], 2048, 7609));
    ck_assert(cost_overflows(&known[0], 1 << 28, 1 << 28));
    struct cost_model slow = known[0];
    slow.compute_per_token_ps = INT64_C(9007199254740991);
    ck_assert(cost_overflows(&slow, 2048, 7609));
}
END_TEST

int main(void) {
    Suite *s = suite_create("cost_fit");
    TCase *c = tcase_create("fit");
    tcase_set_timeout(c, 240);
    tcase_add_test(c, the_parameters_that_made_the_times_come_back);
    tcase_add_test(c, steps_that_others_delayed_change_nothing);
    tcase_add_test(c, few_prompts_among_many_decode_steps);
    tcase_add_test(c, means_are_fitted_and_not_typical_times);
    tcase_add_test(c, a_machine_that_never_waits_for_memory);
    tcase_add_test(c, deployments_come_back_as_times);
    tcase_add_test(c, steps_that_are_alike_are_refused_with_the_load_that_would_do);
    tcase_add_test(c, prompts_too_short_to_show_the_operations_are_refused);
    tcase_add_test(c, any_steps_at_all);
    tcase_add_test(c, a_cost_that_would_overflow_is_known);
    suite_add_tcase(s, c);
    return check_main(s);
}
