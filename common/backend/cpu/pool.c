/* pool.c: parallel for with a spin-then-park hand-over. See pool.h.
 *
 * One 64-bit ticket holds the loop's number (upper half) and how many items are not taken yet
 * (lower half). A thread takes an item by a compare-and-swap of the ticket. A late thread therefore
 * can't take an item of a loop that is over, and the caller waits for items, not for threads.
 */
#include "backend/cpu/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    SPIN_PAUSES = 3000, /* about 50 us on a 3 GHz core; a forward pass leaves gaps of 1 to 20 us */
    CACHE_LINE = 64
};

struct worker {
    struct pool *pool;
    pthread_t thread;
    int32_t id;
};

struct pool {
    /* Written by the caller before the ticket, read by threads that took an item with it. */
    pool_fn *fn;
    void *ctx;
    uint32_t run; /* number of the loop */
    int32_t n_items;
    int32_t n_threads, n_started;
    struct worker *workers; /* (n_threads - 1) */

    _Alignas(CACHE_LINE) _Atomic uint64_t ticket;
    _Alignas(CACHE_LINE) _Atomic int32_t unfinished; /* items of the current loop */
    _Alignas(CACHE_LINE) _Atomic int32_t parked;     /* threads in pthread_cond_wait, or about to */
    _Atomic bool stopping;
    _Atomic bool caller_parked;
    pthread_mutex_t lock; /* only for parking */
    pthread_cond_t work, done;
};

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool has_items(struct pool *p) {
    return (uint32_t)atomic_load(&p->ticket) > 0;
}

/* Takes and runs items, the first one first, until none is left. */
static void work_off(struct pool *p, int32_t id) {
    uint64_t t = atomic_load(&p->ticket);
    while ((uint32_t)t > 0) {
        if (!atomic_compare_exchange_weak(&p->ticket, &t, t - 1)) continue;
        p->fn(p->ctx, p->n_items - (int32_t)(uint32_t)t, id);
        if (atomic_fetch_sub(&p->unfinished, 1) == 1 && atomic_load(&p->caller_parked)) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->lock);
        }
        t = atomic_load(&p->ticket);
    }
}

static void park_for_work(struct pool *p) {
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->parked, 1);
    while (!has_items(p) && !atomic_load(&p->stopping)) pthread_cond_wait(&p->work, &p->lock);
    atomic_fetch_sub(&p->parked, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *worker_main(void *arg) {
    struct worker *w = arg;
    struct pool *p = w->pool;
    while (!atomic_load(&p->stopping)) {
        int spins = 0;
        while (!has_items(p) && !atomic_load(&p->stopping)) {
            if (++spins < SPIN_PAUSES)
                relax();
            else
                park_for_work(p);
        }
        work_off(p, w->id);
    }
    return NULL;
}

static void wait_until_finished(struct pool *p) {
    for (int spins = 0; spins < SPIN_PAUSES; spins++) {
        if (atomic_load(&p->unfinished) == 0) return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->caller_parked, true);
    while (atomic_load(&p->unfinished) > 0) pthread_cond_wait(&p->done, &p->lock);
    atomic_store(&p->caller_parked, false);
    pthread_mutex_unlock(&p->lock);
}

void pool_run(struct pool *p, pool_fn *fn, void *ctx, int32_t n_items) {
    if (n_items <= 1 || p->n_threads == 1) {
        for (int32_t i = 0; i < n_items; i++) fn(ctx, i, 0);
        return;
    }
    p->fn = fn;
    p->ctx = ctx;
    p->n_items = n_items;
    p->run++;
    atomic_store(&p->unfinished, n_items);
    atomic_store(&p->ticket, (uint64_t)p->run << 32 | (uint32_t)n_items);
    if (atomic_load(&p->parked) > 0) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->work);
        pthread_mutex_unlock(&p->lock);
    }
    work_off(p, 0);
    wait_until_finished(p);
}

int32_t pool_threads(const struct pool *p) {
    return p->n_threads;
}

int32_t pool_parked(const struct pool *p) {
    return atomic_load(&p->parked) + atomic_load(&p->caller_parked);
}

void pool_free(struct pool *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->stopping, true);
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (int32_t i = 0; i < p->n_started; i++) pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p->workers);
    free(p);
}

struct pool *pool_create(int32_t threads, struct err *e) {
    if (threads < 1 || threads > POOL_MAX_THREADS) {
        err_set(e, "%d threads asked for; 1 to %d are possible", threads, POOL_MAX_THREADS);
        return NULL;
    }
    struct pool *p = aligned_alloc(CACHE_LINE, sizeof *p);
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    if (!p || !workers) {
        err_set(e, "out of memory for %d threads", threads);
        free(p);
        free(workers);
        return NULL;
    }
    *p = (struct pool){.n_threads = threads, .workers = workers};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    for (int32_t i = 0; i < threads - 1; i++) {
        workers[i] = (struct worker){.pool = p, .id = i + 1};
        if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i])) {
            err_set(e, "could not start thread %d of %d; ask for fewer threads", i + 2, threads);
            pool_free(p);
            return NULL;
        }
        p->n_started++;
    }
    return p;
}
