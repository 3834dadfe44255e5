/* closed.h: the clients of a closed loop: each thinks, sends a request, waits for its end, thinks
 * again.
 *
 * Clients are alike, so that the state is the number of waiting ones and a heap of the times at
 * which the others will send.
 */
#ifndef SERVELAB_WORKLOAD_CLOSED_H
#define SERVELAB_WORKLOAD_CLOSED_H

#include "base/rng.h"

#include <stdint.h>

enum { CLOSED_MAX_CLIENTS = 10 * 1000 * 1000 }; /* 8 bytes each */

struct closed_loop {
    struct rng rng;
    int64_t think_ns; /* mean */
    int64_t *heap;    /* times to send, the earliest first: (clients), n in use */
    int32_t clients, n;
};

/* All clients begin to think at time 0. */
void closed_init(struct closed_loop *c, int32_t clients, int64_t think_ns, uint64_t seed);
void closed_clear(struct closed_loop *c);

/* When the next client sends; INT64_MAX when all of them wait. */
int64_t closed_peek_ns(const struct closed_loop *c);
/* That client sends and waits. There must be one. */
int64_t closed_send(struct closed_loop *c);
/* A waiting client's request has ended: it starts to think. One must be waiting. */
void closed_ended(struct closed_loop *c, int64_t end_ns);

#endif
