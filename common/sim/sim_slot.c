/* sim_slot.c: the slots of the requests in a simulated server: one is taken at arrival and freed at
 * the end. See sim_internal.h. */
#include "sim/sim_internal.h"

#include <stdlib.h>

int32_t sim_take_slot(struct sim *s) {
    if (s->n_free_slots == 0) {
        size_t old = s->cap_slots;
        s->cap_slots = old ? old * 2 : 16;
        INVARIANT(s->cap_slots <= INT32_MAX);
        s->slots = realloc(s->slots, s->cap_slots * sizeof *s->slots);
        s->free_slots = realloc(s->free_slots, s->cap_slots * sizeof *s->free_slots);
        INVARIANT(s->slots && s->free_slots);
        for (size_t i = s->cap_slots; i > old; i--)
            s->free_slots[s->n_free_slots++] = (int32_t)(i - 1);
    }
    return s->free_slots[--s->n_free_slots];
}

void sim_end_request(struct sim *s, int32_t slot, enum sim_end end, int64_t t_ns) {
    static const enum event_kind event_of[] = {[SIM_COMPLETED] = EV_RESPONSE_FINISHED,
                                               [SIM_REJECTED_BY_POLICY] = EV_REQUEST_REJECTED,
                                               [SIM_REJECTED_TOO_LARGE] = EV_REQUEST_REJECTED,
                                               [SIM_REJECTED_QUEUE_FULL] = EV_REQUEST_REJECTED,
                                               [SIM_FAILED] = EV_REQUEST_FAILED};
    struct sim_outcome *o = &s->slots[slot].o;
    o->end = end;
    o->completion_ns = t_ns;
    s->ended++;
    if (end == SIM_COMPLETED) {
        s->n.completed++;
        s->n.prompt_tokens += o->request.prompt_tokens;
        s->n.output_tokens += o->output_tokens;
        s->n.last_completion_ns = t_ns;
    } else if (end == SIM_FAILED) {
        s->n.failed++;
    } else {
        s->n.rejected++;
    }
    s->fruitless = 0;
    sim_emit(s, slot, event_of[end], t_ns);
    if (s->c.each) s->c.each(s->c.ctx, o);
    s->free_slots[s->n_free_slots++] = slot;
}
