/* sim_queue.c: see sim_queue.h. */
#include "sim/sim_queue.h"

#include <stdlib.h>
#include <string.h>

static void move(struct queue *q, size_t to, size_t from, size_t n) {
    memmove(q->seen + to, q->seen + from, n * sizeof *q->seen);
    memmove(q->slot + to, q->slot + from, n * sizeof *q->slot);
}

void queue_grow(struct queue *q) {
    if (q->head > q->n) { /* more room at the front than entries: move them there */
        move(q, 0, q->head, q->n);
        q->head = 0;
        return;
    }
    q->cap = q->cap ? q->cap * 2 : 16;
    q->seen = realloc(q->seen, q->cap * sizeof *q->seen);
    q->slot = realloc(q->slot, q->cap * sizeof *q->slot);
    INVARIANT(q->seen && q->slot);
}

struct policy_request *queue_prepend(struct queue *q, int32_t slot) {
    if (q->head == 0) {
        if (q->n == q->cap) queue_grow(q);
        size_t gap = q->cap - q->n; /* move all to the back, so that the next ones fit, too */
        move(q, gap, 0, q->n);
        q->head = gap;
    }
    q->head--;
    q->n++;
    q->slot[q->head] = slot;
    return queue_seen(q, 0);
}

void queue_remove_inside(struct queue *q, size_t at) {
    if (at < q->n / 2) { /* move the shorter side */
        move(q, q->head + 1, q->head, at);
        q->head++;
    } else {
        move(q, q->head + at, q->head + at + 1, q->n - at - 1);
    }
    q->n--;
}

void queue_release(struct queue *q) {
    free(q->seen);
    free(q->slot);
}

size_t queue_find(const struct queue *q, int64_t id, size_t *cursor) {
    for (size_t k = 0, i = *cursor; k < q->n; k++, i++) {
        if (i >= q->n) i = 0;
        if (queue_seen(q, i)->id != id) continue;
        *cursor = i + 1;
        return i;
    }
    return SIZE_MAX;
}
