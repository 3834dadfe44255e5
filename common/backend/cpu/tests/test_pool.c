/* test_pool.c: every item exactly once, with its writes visible, whatever the threads do. */
/* servelab-test: waits */
#include "backend/cpu/pool.h"
#include "testing/check_main.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

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
        ck_assert(!t.bad_thread);
        for (int32_t i = 0; i < ITEMS; i++) ck_assert_int_eq(t.plain[i], i < n);
    }
    pool_free(p);
}
END_TEST

/* After a pause the threads are parked; the next loop must wake them and still be whole. */
START_TEST(wakes_after_parking) {
    struct err e;
    struct pool *p = pool_create(3, &e);
    for (int run = 0; run < 30; run++) {
        struct tally t = {.n_threads = 3};
        nanosleep(&(struct timespec){0, 3000000}, NULL);
        pool_run(p, count, &t, ITEMS);
        ck_assert_int_eq(t.calls, ITEMS);
    }
    pool_free(p);
}
END_TEST

/* Items much longer than the spin: the caller parks until the last one is done. */
static void sleepy(void *ctx, int32_t item, int32_t thread) {
    nanosleep(&(struct timespec){0, 5000000}, NULL);
    count(ctx, item, thread);
}
START_TEST(caller_parks_and_returns) {
    struct err e;
    struct pool *p = pool_create(4, &e);
    for (int run = 0; run < 20; run++) {
        struct tally t = {.n_threads = 4};
        pool_run(p, sleepy, &t, 5);
        ck_assert_int_eq(t.calls, 5);
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
    tcase_add_test(t, wakes_after_parking);
    tcase_add_test(t, caller_parks_and_returns);
    tcase_add_test(t, limits);
    return check_main(s);
}
