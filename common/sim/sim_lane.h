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

/* All entries as a policy sees them; NULL when there are none (a lane that never had any has no
 * array to point into). */
static inline const struct policy_request *lane_view(const struct lane *l) {
    return l->n > 0 ? lane_seen(l, 0) : NULL;
}

/* Room for one more at the back. */
void lane_grow(struct lane *l);

/* Takes away an entry that isn't the first. */
void lane_remove_inside(struct lane *l, size_t at);

/* A new entry at the back or at the front, to be filled in; good until the lane changes. */
static inline struct policy_request *lane_append(struct lane *l, int32_t slot) {
    if (l->head + l->n == l->cap) lane_grow(l);
    l->slot[l->head + l->n] = slot;
    return lane_seen(l, l->n++);
}
struct policy_request *lane_prepend(struct lane *l, int32_t slot);

static inline void lane_remove(struct lane *l, size_t at) {
    if (at > 0) {
        lane_remove_inside(l, at);
    } else {
        l->head = --l->n > 0 ? l->head + 1 : 0;
    }
}

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
