/* sim_internal.h: the state of one simulated server, shared by the files that implement it and by
 * fleet.c. Each file calls only those below it:
 *
 *   sim.c            the event loop: asks the policy, takes arrivals
 *   sim_iteration.c  one iteration: carries out a plan, computes its time, repeats it, applies its
 *                    effects
 *   sim_slot.c       where a request's data is kept from its arrival to its end
 *   sim_queue.c      the waiting queue and the running queue
 */
#ifndef SERVELAB_SIM_SIM_INTERNAL_H
#define SERVELAB_SIM_SIM_INTERNAL_H

#include "sim/prefix.h"
#include "sim/sim.h"
#include "sim/sim_queue.h"

/* The simulator's own data of a request in the system. */
struct slot {
    struct sim_outcome o; /* filled in as it happens */
    int64_t
        entered_ns; /* its arrival at this server; later than arrival_ns if a router held it back */
    int32_t stop_tokens; /* it completes or fails after this many */
};

/* One running sequence's part in the iteration in flight. */
struct share {
    size_t at; /* index in the running queue */
    int32_t tokens;
};

struct sim {
    struct sim_config c;
    struct queue waiting, running;
    struct slot *slots;
    int32_t *free_slots;
    size_t cap_slots, n_free_slots;
    struct prefix_store *prefixes; /* NULL without prefix reuse */
    int32_t free_blocks;
    int64_t kv_tokens; /* in the blocks in use, the iteration in flight included */
    bool arrivals_ended;
    int64_t ended;     /* requests that have completed, failed or been rejected */
    int64_t fruitless; /* decisions since the last arrival, token or end */

    int64_t now_ns;          /* of the last event */
    int64_t last_arrival_ns; /* at this server */
    int64_t ask_ns;          /* when to ask the policy; INT64_MAX: only after an event */

    /* the iteration in flight */
    bool in_flight;
    int64_t done_ns;
    struct share *shares; /* in the order of the running queue */
    size_t n_shares, cap_shares;
    struct sim_work work;

    /* Repetition without asking the policy: requests are updated when it stops (sim_take_effects).
     */
    int64_t repeat_until_ns; /* for iterations that start before this */
    int64_t repeats_left;    /* until a sequence ends or a block is needed and none is free */
    int64_t repeated;
    int32_t
        new_blocks[KV_BLOCK_TOKENS]; /* that repetition number k takes, k modulo the block size */

    struct policy_action *actions;
    size_t cap_actions;
    struct sim_counters n;
    int64_t counted_ns;    /* in_system_time is up to date until here */
    int64_t kv_counted_ns; /* kv_time and kv_token_time are */
};

/* 146 years. A run that reaches it ends with an error, long before its clock overflows. */
static const int64_t LATEST_NS = INT64_C(1) << 62;

/* After this many decisions in a row without a token, an end or an arrival, the run ends with "the
 * policy makes no progress". A prompt of 2^17 tokens, processed token by token beside seven others,
 * needs fewer. */
enum { MAX_FRUITLESS = 1 << 20 };

/* ---- sim.c ---- */

/* One step of the loop: the effects of the iteration in flight, if it ends by t_ns, or the policy's
 * decision, if it is due before t_ns. 1; 0: neither; -1 and *e. */
int sim_turn(struct sim *s, int64_t t_ns, struct err *e);

/* As sim_push, for a request that a router held back until now. t_ns >= r->arrival_ns. */
int sim_place(struct sim *s, const struct sim_request *r, int64_t t_ns, struct err *e);

/* Tells the policy that no arrival comes after t_ns, up to which the server has run. */
void sim_end_arrivals(struct sim *s, int64_t t_ns);

/* Brings the integral of the number in the system up to t_ns. */
static inline void sim_count_time(struct sim *s, int64_t t_ns) {
    s->n.in_system_time += (__int128)sim_in_system(s) * (t_ns - s->counted_ns);
    s->counted_ns = t_ns;
}

/* ---- sim_slot.c ---- */

/* A free slot's number. */
int32_t sim_take_slot(struct sim *s);

/* Ends the request of that slot at t_ns: counts it, reports its outcome and frees the slot. */
void sim_end_request(struct sim *s, int32_t slot, enum sim_end end, int64_t t_ns);

/* Reports an event of that slot's request to sim_config.event. */
static inline void sim_emit(const struct sim *s, int32_t slot, enum event_kind kind, int64_t t_ns) {
    if (s->c.event) s->c.event(s->c.ctx, s->slots[slot].o.request.id, kind, t_ns);
}

/* ---- sim_iteration.c ---- */

/* Carries out a checked plan: rejects, preempts and admits, then starts its iteration. */
void sim_carry_out(struct sim *s, const struct policy_plan *plan);

/* Runs the iterations that start before t_ns and change only counts. The last one stays in flight.
 */
void sim_repeat(struct sim *s, int64_t t_ns);

/* Applies the effects of the iteration in flight, at done_ns. */
void sim_take_effects(struct sim *s);

#endif
