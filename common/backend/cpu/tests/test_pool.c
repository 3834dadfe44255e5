/* test_pool.c: every item runs exactly once, and its writes are visible, for any timing of threads.
 */
/* servelab-test: waits */
#include "backend/cpu/pool.h"
#include "testing/check_main.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { ITEMS = 97 };

struct tally {
    int32_t plain[ITEMS]; /* not atomic: each is written by one thread, read after pool_run */
    _Atomic int32_t calls;
    int32_t n_threads;
    _Atomic bool bad_thread;
};

static void count(void *ctx, int32_t item, int32_t thread) {
    struct tally *t = ctx;
    t->plain[item]++;
    atomic_fetch_add(&t->calls, 1);
    if (thread < 0 || thread >= t->n_threads) t->bad_thread = true;
}

START_TEST(every_item_once) {
    struct err e;
    struct pool *p = pool_create(_i, &e);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(pool_threads(p), _i);
    for (int run = 0; run < 2000; run++) {
        int32_t n = run % (ITEMS + 1);
        struct tally t = {.n_threads = _i};
        pool_run(p, count, &t, n);
        ck_assert_int_eq(t.calls, n);
        bool once = !t.bad_thread; /* one assertion a loop: each makes a system call */
        for (int32_t i = 0; i < ITEMS; i++) once &= t.plain[i] == (i < n);
        ck_assert_msg(once, "a loop of %d items", n);
    }
    pool_free(p);
}
END_TEST

struct order {
    int32_t last[4]; /* of each thread, plus 1 */
    _Atomic bool wrong;
};

static void check_order(void *ctx, int32_t item, int32_t thread) {
    struct order *o = ctx;
    if (item < o->last[thread]) o->wrong = true;
    o->last[thread] = item + 1;
}

START_TEST(ascending_order) {
    struct err e;
    struct pool *p = pool_create(_i, &e);
    for (int run = 0; run < 100; run++) {
        struct order o = {0};
        pool_run(p, check_order, &o, ITEMS);
        ck_assert(!o.wrong);
    }
    pool_free(p);
}
END_TEST

/* Once the threads are parked, the next loop wakes them and runs every item. */
START_TEST(wakes_after_parking) {
    struct err e;
    struct pool *p = pool_create(3, &e);
    for (int run = 0; run < 30; run++) {
        struct tally t = {.n_threads = 3};
        while (pool_parked(p) < 2) sched_yield();
        pool_run(p, count, &t, ITEMS);
        ck_assert_int_eq(t.calls, ITEMS);
    }
    pool_free(p);
}
END_TEST

/* Each thread takes one item: the caller's ends when the workers have theirs, and the workers' end
 * when the caller is parked. */
struct hold {
    struct pool *pool;
    struct tally tally;
    _Atomic int32_t held; /* items that workers have */
};
static void hold(void *ctx, int32_t item, int32_t thread) {
    struct hold *h = ctx;
    if (thread > 0) atomic_fetch_add(&h->held, 1);
    while (h->held < 3 || (thread > 0 && pool_parked(h->pool) < 1)) sched_yield();
    count(&h->tally, item, thread);
}
START_TEST(caller_parks_and_returns) {
    struct err e;
    struct pool *p = pool_create(4, &e);
    for (int run = 0; run < 20; run++) {
        struct hold h = {.pool = p, .tally = {.n_threads = 4}};
        pool_run(p, hold, &h, 4);
        ck_assert_int_eq(h.tally.calls, 4);
        for (int32_t i = 0; i < 4; i++) ck_assert_int_eq(h.tally.plain[i], 1);
    }
    pool_free(p);
}
END_TEST

START_TEST(limits) {
    struct err e;
    ck_assert_ptr_null(pool_create(0, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "1 to 256"));
    ck_assert_ptr_null(pool_create(POOL_MAX_THREADS + 1, &e));
    pool_free(NULL);
    for (int i = 0; i < 20; i++) pool_free(pool_create(4, &e)); /* never used */
}
END_TEST

int main(void) {
    Suite *s = suite_create("pool");
    TCase *t = tcase_create("pool");
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, every_item_once, 1, 6);
    tcase_add_loop_test(t, ascending_order, 1, 4);
    tcase_add_test(t, wakes_after_parking);
    tcase_add_test(t, caller_parks_and_returns);
    tcase_add_test(t, limits);
    return check_main(s);
}
