/* sim_lane.c: lists in order that shrink mostly at the front. See sim_lane.h. */
#include "sim/sim_lane.h"

#include <stdlib.h>
#include <string.h>

static void move(struct lane *l, size_t to, size_t from, size_t n) {
    memmove(l->seen + to, l->seen + from, n * sizeof *l->seen);
    memmove(l->slot + to, l->slot + from, n * sizeof *l->slot);
}

void lane_grow(struct lane *l) {
    if (l->head > l->n) { /* more room at the front than entries: move down instead */
        move(l, 0, l->head, l->n);
        l->head = 0;
        return;
    }
    l->cap = l->cap ? l->cap * 2 : 16;
    l->seen = realloc(l->seen, l->cap * sizeof *l->seen);
    l->slot = realloc(l->slot, l->cap * sizeof *l->slot);
    INVARIANT(l->seen && l->slot);
}

struct policy_request *lane_prepend(struct lane *l, int32_t slot) {
    if (l->head == 0) {
        if (l->n == l->cap) lane_grow(l);
        size_t gap = l->cap - l->n; /* everything to the back: the next ones find room, too */
        move(l, gap, 0, l->n);
        l->head = gap;
    }
    l->head--;
    l->n++;
    l->slot[l->head] = slot;
    return lane_seen(l, 0);
}

void lane_remove_inside(struct lane *l, size_t at) {
    if (at < l->n / 2) { /* the shorter side moves */
        move(l, l->head + 1, l->head, at);
        l->head++;
    } else {
        move(l, l->head + at, l->head + at + 1, l->n - at - 1);
    }
    l->n--;
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
