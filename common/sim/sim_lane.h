/* sim_lane.h: the two lists of a simulated server, those that wait and those that run.
 *
 * A lane keeps what the policy sees in one array, in the order that the policy sees it, so that a
 * view costs nothing to make. Beside each entry stands the number of the slot with what only the
 * simulator knows; slots don't move when a request goes from one lane to the other.
 *
 * Both lanes shrink mostly at the front, so that taking the first entry away moves nothing.
 */
#ifndef SERVELAB_SIM_SIM_LANE_H
#define SERVELAB_SIM_SIM_LANE_H

#include "sched/policy.h"

struct lane {
    struct policy_request *seen;
    int32_t *slot;
    size_t head, n, cap; /* entries [head, head + n) */
};

enum { LANE_NONE = -1 };

static inline struct policy_request *lane_seen(const struct lane *l, size_t i) {
    return &l->seen[l->head + i];
}
static inline int32_t lane_slot(const struct lane *l, size_t i) {
    return l->slot[l->head + i];
}

void lane_append(struct lane *l, const struct policy_request *seen, int32_t slot);
void lane_prepend(struct lane *l, const struct policy_request *seen, int32_t slot);
void lane_remove(struct lane *l, size_t at);
void lane_release(struct lane *l);

/* Is entry *cursor that request? Plans name requests in the order of the view, so that this nearly
 * always answers a search. Moves the cursor on when it does. */
static inline bool lane_is_next(const struct lane *l, int64_t id, size_t *cursor) {
    if (*cursor >= l->n || lane_seen(l, *cursor)->id != id) return false;
    ++*cursor;
    return true;
}

/* Index of `id`, looking at all entries, from *cursor on and around; SIZE_MAX when it isn't there.
 */
size_t lane_find(const struct lane *l, int64_t id, size_t *cursor);

#endif
