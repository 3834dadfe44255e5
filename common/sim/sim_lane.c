/* sim_lane.c: lists in order that shrink mostly at the front. See sim_lane.h. */
#include "sim/sim_lane.h"

#include <stdlib.h>
#include <string.h>

static void move(struct lane *l, size_t to, size_t from, size_t n) {
    memmove(l->seen + to, l->seen + from, n * sizeof *l->seen);
    memmove(l->slot + to, l->slot + from, n * sizeof *l->slot);
}

static void put(struct lane *l, size_t i, const struct policy_request *seen, int32_t slot) {
    l->seen[l->head + i] = *seen;
    l->slot[l->head + i] = slot;
}

/* Makes room for one more at the back. */
static void reserve(struct lane *l) {
    if (l->head + l->n < l->cap) return;
    if (l->head > l->n) { /* more room at the front than entries: move down instead of growing */
        move(l, 0, l->head, l->n);
        l->head = 0;
        return;
    }
    l->cap = l->cap ? l->cap * 2 : 16;
    l->seen = realloc(l->seen, l->cap * sizeof *l->seen);
    l->slot = realloc(l->slot, l->cap * sizeof *l->slot);
    INVARIANT(l->seen && l->slot);
}

void lane_append(struct lane *l, const struct policy_request *seen, int32_t slot) {
    reserve(l);
    put(l, l->n++, seen, slot);
}

void lane_prepend(struct lane *l, const struct policy_request *seen, int32_t slot) {
    if (l->head == 0) {
        reserve(l);
        size_t gap = l->cap - l->n; /* everything to the back: the next ones find room, too */
        move(l, gap, 0, l->n);
        l->head = gap;
    }
    l->head--;
    l->n++;
    put(l, 0, seen, slot);
}

void lane_remove(struct lane *l, size_t at) {
    if (at < l->n / 2) { /* the shorter side moves */
        move(l, l->head + 1, l->head, at);
        l->head++;
    } else if (at > 0) {
        move(l, l->head + at, l->head + at + 1, l->n - at - 1);
    } else {
        l->head++;
    }
    if (--l->n == 0) l->head = 0;
}

void lane_release(struct lane *l) {
    free(l->seen);
    free(l->slot);
}

size_t lane_find(const struct lane *l, int64_t id, size_t *cursor) {
    for (size_t k = 0, i = *cursor; k < l->n; k++, i++) {
        if (i >= l->n) i = 0;
        if (lane_seen(l, i)->id != id) continue;
        *cursor = i + 1;
        return i;
    }
    return SIZE_MAX;
}
