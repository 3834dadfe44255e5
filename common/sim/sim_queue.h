/* sim_queue.h: an ordered list of requests; a simulated server has two, the waiting queue and the
 * running one.
 *
 * A queue keeps the policy's entries in one array in the policy's order, so that a view is a
 * pointer and a count. Beside each entry is the number of the request's slot (sim_internal.h),
 * which holds the simulator's own data; the slot stays the same when a request moves to the other
 * queue.
 *
 * Most entries leave at the front, so that removing the first one moves nothing.
 */
#ifndef SERVELAB_SIM_SIM_QUEUE_H
#define SERVELAB_SIM_SIM_QUEUE_H

#include "sched/policy.h"

struct queue {
    struct policy_request *seen; /* (cap) what the policy sees */
    int32_t *slot;               /* (cap) */
    size_t head, n, cap;         /* entries [head, head + n) */
};

/* Entry i < n, counted from the front, and its slot. */
static inline struct policy_request *queue_seen(const struct queue *q, size_t i) {
    return &q->seen[q->head + i];
}
static inline int32_t queue_slot(const struct queue *q, size_t i) {
    return q->slot[q->head + i];
}

/* All entries, for a policy_view; NULL when there are none. */
static inline const struct policy_request *queue_view(const struct queue *q) {
    return q->n > 0 ? queue_seen(q, 0) : NULL;
}

/* Makes room for one more entry at the back. */
void queue_grow(struct queue *q);

/* A new entry at the back or at the front, for the caller to fill in; the pointer is valid until
 * the queue changes. */
static inline struct policy_request *queue_append(struct queue *q, int32_t slot) {
    if (q->head + q->n == q->cap) queue_grow(q);
    q->slot[q->head + q->n] = slot;
    return queue_seen(q, q->n++);
}
struct policy_request *queue_prepend(struct queue *q, int32_t slot);

/* Removes entry `at`. queue_remove_inside: the same for at > 0. */
void queue_remove_inside(struct queue *q, size_t at);
static inline void queue_remove(struct queue *q, size_t at) {
    if (at > 0) {
        queue_remove_inside(q, at);
    } else {
        q->head = --q->n > 0 ? q->head + 1 : 0;
    }
}

void queue_release(struct queue *q);

/* Is entry *cursor the request `id`? If so, moves the cursor to the next entry. Plans name requests
 * in the order of the view, so that this answers nearly every search. */
static inline bool queue_is_next(const struct queue *q, int64_t id, size_t *cursor) {
    if (*cursor >= q->n || queue_seen(q, *cursor)->id != id) return false;
    ++*cursor;
    return true;
}

/* Index of request `id`, searched from *cursor to the end and then from the front; *cursor is then
 * the index after it. SIZE_MAX: the request isn't in the queue. */
size_t queue_find(const struct queue *q, int64_t id, size_t *cursor);

#endif
