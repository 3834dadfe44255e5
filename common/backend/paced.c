/* paced.c: see paced.h. */
#include "backend/paced.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct paced_backend {
    struct backend base;
    struct backend *inner;
    struct pace pace;
    char label[96];
    int64_t due_ns; /* end of the last step; INT64_MIN before the first */
    _Atomic int64_t steps, late;
};

static int pace_step(struct backend *base, const struct backend_batch *batch,
                     struct backend_choice *choices, float *logits, struct err *e) {
    struct paced_backend *b = (struct paced_backend *)base;
    int64_t start_ns = clock_now_ns(&b->pace.clock);
    if (start_ns - b->pace.slack_ns < b->due_ns && b->due_ns < start_ns) start_ns = b->due_ns;
    int failed = choices ? b->inner->step_choosing(b->inner, batch, choices, logits, e)
                         : backend_step(b->inner, batch, logits, e);
    base->lost = b->inner->lost;
    if (failed) return -1;
    struct sim_work work = backend_work(batch);
    int64_t cost_ns = cost_iteration_ns(&b->pace.cost, &work);
    if (b->pace.scale != 1) cost_ns = (int64_t)((double)cost_ns * b->pace.scale);
    b->due_ns = start_ns + cost_ns;
    int64_t now_ns = clock_now_ns(&b->pace.clock);
    b->steps++;
    if (now_ns > b->due_ns) {
        b->late++;
        b->due_ns = now_ns;
    }
    clock_wait_until(&b->pace.clock, b->due_ns);
    return 0;
}

static int step(struct backend *base, const struct backend_batch *batch, float *logits,
                struct err *e) {
    return pace_step(base, batch, NULL, logits, e);
}

static void destroy(struct backend *base) {
    struct paced_backend *b = (struct paced_backend *)base;
    backend_free(b->inner);
    free(b);
}

static const struct backend_ops ops = {step, destroy};

struct backend *backend_paced_create(struct backend *inner, const struct pace *p, struct err *e) {
    struct paced_backend *b = calloc(1, sizeof *b);
    if (!b) {
        backend_free(inner);
        err_set(e, "out of memory");
        return NULL;
    }
    INVARIANT(p->clock.wait_until);
    b->base.ops = &ops;
    b->base.info = inner->info;
    b->base.step_choosing = inner->step_choosing ? pace_step : NULL;
    b->inner = inner;
    b->pace = *p;
    if (b->pace.scale == 0) b->pace.scale = 1;
    snprintf(b->label, sizeof b->label, "%s", p->label);
    b->pace.label = b->label;
    b->due_ns = INT64_MIN;
    return &b->base;
}

struct sim_work backend_work(const struct backend_batch *batch) {
    struct sim_work w = {.requests = batch->n_seqs};
    for (int32_t i = 0; i < batch->n_seqs; i++) {
        int64_t tokens = batch->seqs[i].n_tokens, before = batch->seqs[i].pos0;
        if (batch->seqs[i].want_logits > 1) w.requests += batch->seqs[i].want_logits - 1;
        w.new_tokens += tokens;
        w.context_tokens += before + tokens;
        w.attended += tokens * before + tokens * (tokens + 1) / 2;
    }
    return w;
}

struct pace_counts paced_counts(const struct backend *b) {
    const struct paced_backend *p = (const struct paced_backend *)b;
    if (b->ops != &ops) return (struct pace_counts){0};
    return (struct pace_counts){p->steps, p->late};
}

const char *paced_label(const struct backend *b) {
    return b->ops == &ops ? ((const struct paced_backend *)b)->label : NULL;
}
