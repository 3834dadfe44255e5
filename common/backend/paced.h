/* paced.h: a backend whose steps last as long as a simulated machine would need for them.
 *
 * It wraps another backend. The inner one computes the tokens; then the step waits until the cost
 * model's time (sim/cost.h) has passed on the engine's clock. With CLOCK_MONOTONIC a laptop shows
 * the timing of a 7B model with the tokens of a small one. With a virtual clock (base/clock.h)
 * waiting costs nothing: the engine runs an hour of a trace in seconds, exactly as the simulator
 * does.
 *
 * In real time the engine spends some time between two steps, and a sleep ends late. On the
 * simulated machine that time is part of the cost model's overhead. So a step that begins less than
 * slack_ns after the last one was due counts from when that one was due. A step whose computation
 * takes longer than its pace is late: it is counted, and the next step begins at its late end.
 *
 * Every time measured on such a backend is a simulated time. Code that shows one must say so, with
 * paced_label.
 */
#ifndef SERVELAB_BACKEND_PACED_H
#define SERVELAB_BACKEND_PACED_H

#include "backend/backend.h"
#include "base/clock.h"
#include "sim/cost.h"

#define PACE_SLACK_NS INT64_C(500000) /* in real time; virtual time needs 0 */

struct pace {
    struct cost_model cost;
    double scale;       /* a step lasts scale times its cost; 0 means 1 */
    int64_t slack_ns;   /* see above */
    struct clock clock; /* the engine's; its wait_until is used */
    const char *label;  /* "llama-2-7b on h100"; copied */
};

/* Takes over `inner`: backend_free frees both. The limits are inner's. NULL and *e when memory is
 * out; inner is then freed. */
struct backend *backend_paced_create(struct backend *inner, const struct pace *p, struct err *e);

/* What the batch does, in the cost model's terms. A sequence counts once for each token whose
 * logits it wants, and at least once: the output matrix is applied so often. */
struct sim_work backend_work(const struct backend_batch *batch);

/* Steps so far, and how many of them were late. Safe from any thread. */
struct pace_counts {
    int64_t steps, late;
};
struct pace_counts paced_counts(const struct backend *b);

/* "llama-2-7b on h100", or NULL when b is not paced. */
const char *paced_label(const struct backend *b);

#endif
