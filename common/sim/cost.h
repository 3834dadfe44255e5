/* cost.h: how long one iteration takes. A cost model is the simulator's stand-in for the machine;
 * every assumption stands here in the open.
 *
 * 1. setup-plus-per-request: an iteration with n requests takes setup + n * per_request. One
 * iteration serves a request whole. The model of the hand-checkable case: a fixed cost shared by a
 * batch is the whole reason for batching.
 *
 * 2. service: each request brings its own service time, the iteration is their sum. The model of
 * queueing theory.
 *
 * 3. transformer: time = max(memory, compute) + overhead, the roofline (Williams, Waterman,
 * Patterson, CACM 2009). memory  = (weight bytes + KV bytes read and written + activation bytes) /
 * effective bandwidth compute = (2 * parameters * tokens + attention operations) / effective
 * operations The weights are read once an iteration whatever the batch: that is why batching pays
 * in decode, and why it stops paying where compute takes over. "Effective" figures are calibrated,
 * see calibrate.h.
 *
 * All arithmetic is in integers (picoseconds), so that a run is the same to the last bit on every
 * machine.
 */
#ifndef SERVELAB_SIM_COST_H
#define SERVELAB_SIM_COST_H

#include <stdint.h>

/* What one iteration does. */
struct sim_work {
    int32_t requests;       /* sequences that take part */
    int64_t new_tokens;     /* tokens processed, all sequences together */
    int64_t context_tokens; /* sum over the sequences of the tokens in their cache, the new ones
                               included */
    int64_t attended;       /* sum over the new tokens of the positions each attends to */
    int64_t service_ns;     /* sum of the requests' own service times (model 2) */
};

enum cost_kind { COST_PER_REQUEST, COST_SERVICE, COST_TRANSFORMER };

struct cost_model {
    enum cost_kind kind;
    int64_t setup_ns, per_request_ns; /* COST_PER_REQUEST */
    /* COST_TRANSFORMER, picoseconds */
    int64_t memory_fixed_ps;       /* reading the weights */
    int64_t memory_per_context_ps; /* reading one token's keys and values */
    int64_t compute_per_token_ps;
    int64_t compute_per_attended_fs; /* femtoseconds: one position of one token's attention */
    int64_t overhead_ns;             /* launches and the host's work between two iterations */
};

static inline int64_t cost_iteration_ns(const struct cost_model *m, const struct sim_work *w) {
    if (m->kind == COST_PER_REQUEST) return m->setup_ns + w->requests * m->per_request_ns;
    if (m->kind == COST_SERVICE) return w->service_ns;
    int64_t memory = m->memory_fixed_ps + w->context_tokens * m->memory_per_context_ps;
    int64_t compute =
        w->new_tokens * m->compute_per_token_ps + w->attended * m->compute_per_attended_fs / 1000;
    return (memory > compute ? memory : compute) / 1000 + m->overhead_ns;
}

#endif
