/* closed.c: a heap of the times at which clients will send. See closed.h. */
#include "workload/closed.h"

#include "base/err.h"

#include <stdlib.h>

static void swap(int64_t *a, int64_t *b) {
    int64_t t = *a;
    *a = *b;
    *b = t;
}

static void think(struct closed_loop *c, int64_t from_ns) {
    int64_t at = from_ns + rng_exponential_ns(&c->rng, c->think_ns);
    int32_t i = c->n++;
    c->heap[i] = at;
    for (int32_t up; i > 0 && c->heap[up = (i - 1) / 2] > c->heap[i]; i = up)
        swap(&c->heap[up], &c->heap[i]);
}

void closed_init(struct closed_loop *c, int32_t clients, int64_t think_ns, uint64_t seed) {
    INVARIANT(clients > 0 && clients <= CLOSED_MAX_CLIENTS);
    *c = (struct closed_loop){.think_ns = think_ns, .clients = clients};
    c->heap = malloc((size_t)clients * sizeof *c->heap);
    INVARIANT(c->heap);
    rng_seed(&c->rng, seed);
    for (int32_t i = 0; i < clients; i++) think(c, 0);
}

void closed_clear(struct closed_loop *c) {
    free(c->heap);
    c->heap = NULL;
}

int64_t closed_peek_ns(const struct closed_loop *c) {
    return c->n > 0 ? c->heap[0] : INT64_MAX;
}

int64_t closed_send(struct closed_loop *c) {
    INVARIANT(c->n > 0);
    int64_t at = c->heap[0];
    c->heap[0] = c->heap[--c->n];
    for (int32_t i = 0, child; (child = 2 * i + 1) < c->n; i = child) {
        if (child + 1 < c->n && c->heap[child + 1] < c->heap[child]) child++;
        if (c->heap[i] <= c->heap[child]) break;
        swap(&c->heap[i], &c->heap[child]);
    }
    return at;
}

void closed_ended(struct closed_loop *c, int64_t end_ns) {
    INVARIANT(c->n < c->clients);
    think(c, end_ns);
}
