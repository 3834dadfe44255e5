/* deploy.h: deployments and iterations for the tests of the cost model. */
#ifndef SERVELAB_SIM_TESTS_DEPLOY_H
#define SERVELAB_SIM_TESTS_DEPLOY_H

#include "sim/hardware.h"
#include "testing/check_main.h"

static const char *const MODELS[] = {"llama-2-7b",   "mistral-7b",   "qwen2.5-7b",
                                     "llama-3.1-8b", "smollm2-135m", "mixtral-8x7b"};
enum { N_MODELS = sizeof MODELS / sizeof *MODELS };

static inline struct deployment deploy(const char *model, const char *gpu) {
    struct deployment d;
    struct err e;
    ck_assert_msg(!deployment_find(model, gpu, &d, &e), "%s", e.text);
    return d;
}

static inline struct cost_model cost_of(const struct deployment *d) {
    struct cost_model c;
    struct err e;
    ck_assert_msg(!deployment_cost(d, &c, &e), "%s: %s", e.field, e.text);
    return c;
}

/* n sequences that hold `context` tokens each, the new one included. */
static inline int64_t decode_ns(const struct cost_model *c, int32_t n, int64_t context) {
    struct sim_work w = {
        .requests = n, .new_tokens = n, .context_tokens = n * context, .attended = n * context};
    return cost_iteration_ns(c, &w);
}

/* n prompts of `tokens` tokens in one iteration. */
static inline int64_t prefill_ns(const struct cost_model *c, int32_t n, int64_t tokens) {
    struct sim_work w = {.requests = n,
                         .new_tokens = n * tokens,
                         .context_tokens = n * tokens,
                         .attended = n * (tokens * (tokens + 1) / 2)};
    return cost_iteration_ns(c, &w);
}

#endif
