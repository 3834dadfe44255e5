/* pool.h: a parallel for over a few threads.
 *
 * The caller works too. Items are taken one at a time from a shared counter, so that a thread that
 * lost its core delays the loop by one item at most. Which thread runs which item is not fixed, so
 * results must not depend on it. Loops don't nest, and one thread at a time may call.
 *
 * Between loops the threads spin for about 50 us, because the next loop of a forward pass begins
 * sooner, and then park, because an idle server must not use a core.
 */
#ifndef SERVELAB_BACKEND_CPU_POOL_H
#define SERVELAB_BACKEND_CPU_POOL_H

#include "base/err.h"

#include <stdint.h>

struct pool;

enum { POOL_MAX_THREADS = 256 };

/* threads: 1..POOL_MAX_THREADS, the caller included. NULL and *e on failure. */
struct pool *pool_create(int32_t threads, struct err *e);
void pool_free(struct pool *p);
int32_t pool_threads(const struct pool *p);

/* `thread` is 0 .. pool_threads-1 and names a thread's own scratch. */
typedef void pool_fn(void *ctx, int32_t item, int32_t thread);

/* Calls fn once for every item in [0, n_items), on any thread; returns when all are done and their
 * writes are visible. Threads take the items in ascending order, because the memory of the next
 * item often follows that of the last, and is prefetched. A single item runs on the caller and
 * wakes no thread. */
void pool_run(struct pool *p, pool_fn *fn, void *ctx, int32_t n_items);

/* How many threads are parked now, the caller included; it may change at any time. For tests. */
int32_t pool_parked(const struct pool *p);

#endif
