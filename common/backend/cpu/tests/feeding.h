/* feeding.h: drives a backend for the tests: one sequence with its blocks, in steps of any length.
 */
#ifndef SERVELAB_BACKEND_CPU_TESTS_FEEDING_H
#define SERVELAB_BACKEND_CPU_TESTS_FEEDING_H

#include "backend/cpu/cpu.h"
#include "base/compare.h"
#include "base/rng.h"
#include "sched/policy.h"

#include <check.h>
#include <stdlib.h>

static inline struct backend *feed_backend(const struct model *m, int32_t threads, int32_t max_seqs,
                                           int32_t step, const struct backend_cpu_options *o) {
    struct err e;
    struct backend_config c = {
        .model = m, .threads = threads, .max_seqs = max_seqs, .max_step_tokens = step};
    struct backend *b = backend_cpu_create_with(&c, o, &e);
    ck_assert_msg(b != NULL, "%s %s", b ? "" : e.field, b ? "" : e.text);
    return b;
}

/* A table of n blocks starting at `first`, in an order drawn from `seed`; seed 0: ascending. */
static inline int32_t *feed_table(int32_t first, int32_t n, uint64_t seed) {
    int32_t *t = malloc((size_t)n * sizeof *t);
    struct rng r;
    rng_seed(&r, seed);
    for (int32_t i = 0; i < n; i++) {
        int32_t j = seed ? (int32_t)rng_below(&r, (uint64_t)i + 1) : i;
        t[i] = t[j];
        t[j] = first + i;
    }
    return t;
}

static inline void feed_step(struct backend *b, const struct backend_seq *seqs, int32_t n,
                             float *logits) {
    struct err e;
    int rc = backend_step(b, &(struct backend_batch){seqs, n}, logits, &e);
    ck_assert_msg(rc == 0, "%s", rc ? e.text : "");
}

/* Logits of the last of n tokens, fed `chunk` at a time after pos0 tokens that are cached. */
static inline void feed_from(struct backend *b, const int32_t *tokens, int32_t pos0, int32_t n,
                             int32_t chunk, const int32_t *table, float *logits) {
    int32_t blocks = policy_blocks_for(n);
    for (int32_t at = pos0; at < n; at += chunk) {
        int32_t k = n - at < chunk ? n - at : chunk;
        struct backend_seq s = {tokens + at, k, at, table, blocks, at + k == n};
        feed_step(b, &s, 1, logits);
    }
}

#endif
