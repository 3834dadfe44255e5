/* test_prefix.c: the store of prefixes against cases worked by hand and against a brute-force one:
 * a plain array in order of use, searched from end to end. */
#include "base/rng.h"
#include "sim/prefix.h"
#include "testing/check_main.h"

#include <malloc.h>
#include <stdbool.h>
#include <string.h>

START_TEST(the_longest_known_beginning_is_found) {
    struct prefix_store *s = prefix_store_create(1000);
    const uint64_t first[] = {11, 12, 13}, longer[] = {11, 12, 13, 14}, other[] = {11, 22, 13};
    ck_assert_int_eq(prefix_store_find(s, first, 3, 100), 0);
    prefix_store_add(s, first, 3, 100);
    ck_assert_int_eq(prefix_store_tokens(s), 300);
    ck_assert_int_eq(prefix_store_find(s, longer, 4, 100), 300);
    /* 13 is stored, but behind another beginning it is never reached */
    ck_assert_int_eq(prefix_store_find(s, other, 3, 100), 100);
    ck_assert_int_eq(prefix_store_find(s, longer + 1, 0, 100), 0);
    ck_assert_int_eq(prefix_store_find(s, first, 3, 50), 0); /* units of another size */
    prefix_store_free(s);
}
END_TEST

START_TEST(the_least_recently_used_goes_and_the_end_before_the_beginning) {
    struct prefix_store *s = prefix_store_create(500);
    const uint64_t a[] = {1, 2, 3}, b[] = {4, 5}, c[] = {6};
    prefix_store_add(s, a, 3, 100);
    prefix_store_add(s, b, 2, 100);
    prefix_store_add(s, c, 1, 100); /* full: the last unit of the oldest prompt goes */
    ck_assert_int_eq(prefix_store_find(s, a, 3, 100), 200);
    ck_assert_int_eq(prefix_store_find(s, c, 1, 100), 100);
    const uint64_t d[] = {7, 8};
    prefix_store_add(s, d, 2, 100); /* a was used after b */
    ck_assert_int_eq(prefix_store_find(s, b, 2, 100), 0);
    ck_assert_int_eq(prefix_store_find(s, a, 3, 100), 200);
    ck_assert_int_eq(prefix_store_tokens(s), 500);
    prefix_store_free(s);
}
END_TEST

START_TEST(limits_of_the_capacity) {
    const uint64_t a[] = {1, 2, 3};
    struct prefix_store *none = prefix_store_create(0), *small = prefix_store_create(250);
    prefix_store_add(none, a, 3, 100);
    ck_assert_int_eq(prefix_store_find(none, a, 3, 100), 0);
    prefix_store_add(small, a, 3, 100); /* a prompt longer than the store: its beginning */
    ck_assert_int_eq(prefix_store_find(small, a, 3, 100), 200);
    const uint64_t big[] = {9};
    prefix_store_add(small, big, 1, 251); /* one unit larger than the store */
    ck_assert_int_eq(prefix_store_find(small, big, 1, 251), 0);
    ck_assert_int_eq(prefix_store_find(small, a, 3, 100), 200);
    prefix_store_free(none);
    prefix_store_free(small);
    struct prefix_store *vast = prefix_store_create(INT64_MAX);
    prefix_store_add(vast, a, 3, INT32_MAX);
    ck_assert_int_eq(prefix_store_find(vast, a, 3, INT32_MAX), INT32_MAX); /* no overflow */
    prefix_store_free(vast);
}
END_TEST

/* ---- brute force ---- */

enum { MOST = 4096 };

struct plain { /* units in order of use, the newest first */
    int64_t capacity, tokens;
    int n;
    uint64_t hash[MOST];
    int32_t size[MOST];
};

static int plain_at(const struct plain *p, uint64_t hash) {
    for (int i = 0; i < p->n; i++)
        if (p->hash[i] == hash) return i;
    return -1;
}

static void plain_front(struct plain *p, int at, uint64_t hash, int32_t size) {
    if (at < 0) at = p->n++, p->size[at] = 0;
    p->tokens += size - p->size[at];
    memmove(p->hash + 1, p->hash, (size_t)at * sizeof *p->hash);
    memmove(p->size + 1, p->size, (size_t)at * sizeof *p->size);
    p->hash[0] = hash;
    p->size[0] = size;
}

static int32_t plain_find(struct plain *p, const uint64_t *h, int32_t n, int32_t unit) {
    int32_t found = 0;
    for (int at; found < n && (at = plain_at(p, h[found])) >= 0 && p->size[at] == unit;) found++;
    for (int32_t k = found; k-- > 0;) plain_front(p, plain_at(p, h[k]), h[k], unit);
    return found * unit;
}

static void plain_add(struct plain *p, const uint64_t *h, int32_t n, int32_t unit) {
    if (n > p->capacity / unit) n = (int32_t)(p->capacity / unit);
    for (int32_t k = n; k-- > 0;) plain_front(p, plain_at(p, h[k]), h[k], unit);
    while (p->tokens > p->capacity) p->tokens -= p->size[--p->n];
}

/* A random prompt over a tree of beginnings: unit i's hash is made of its parent's and one of a few
 * branches, so that prompts share beginnings of every length. Now and then any hashes at all. */
static int32_t random_prompt(struct rng *r, uint64_t *h) {
    int32_t n = (int32_t)rng_below(r, 9);
    bool wild = rng_below(r, 8) == 0;
    uint64_t parent = 0;
    for (int32_t i = 0; i < n; i++) {
        h[i] = wild ? rng_below(r, 60) : parent * 31 + 1 + rng_below(r, 3);
        parent = h[i];
    }
    return n;
}

START_TEST(random_use_equals_brute_force) {
    struct rng r;
    rng_seed(&r, 5);
    int64_t hits = 0, evicting = 0;
    for (int trial = 0; trial < 40; trial++) {
        static struct plain p;
        p = (struct plain){.capacity = (int64_t)rng_below(&r, 1500)};
        struct prefix_store *s = prefix_store_create(p.capacity);
        for (int step = 0; step < 1500; step++) {
            uint64_t h[16];
            int32_t n = random_prompt(&r, h), unit = rng_below(&r, 10) ? 16 : 7;
            if (rng_below(&r, 2)) {
                int64_t before = p.tokens;
                plain_add(&p, h, n, unit);
                prefix_store_add(s, h, n, unit);
                evicting += n > 0 && p.tokens <= before;
            } else {
                int32_t want = plain_find(&p, h, n, unit);
                ck_assert_int_eq(prefix_store_find(s, h, n, unit), want);
                hits += want > 0;
            }
            ck_assert_int_eq(prefix_store_tokens(s), p.tokens);
            ck_assert_int_le(prefix_store_tokens(s), p.capacity);
        }
        prefix_store_free(s);
    }
    ck_assert_int_gt(hits, 1000); /* the trials meant something */
    ck_assert_int_gt(evicting, 1000);
}
END_TEST

/* Hashes that all begin their search at nearby slots, then go in another order. */
START_TEST(many_units_come_and_go) {
    struct prefix_store *s = prefix_store_create(100000);
    for (uint64_t round = 0; round < 30; round++)
        for (uint64_t i = 0; i < 20000; i += 4) {
            uint64_t first = round * 7000 + i;
            const uint64_t h[] = {first, first + 1, first + 2, first + 3};
            prefix_store_add(s, h, 4, 10);
        }
    ck_assert_int_eq(prefix_store_tokens(s), 100000);
    /* 600,000 came and 10,000 stay: those that went left their room (nothing is counted under ASan)
     */
    struct mallinfo2 heap = mallinfo2();
    ck_assert_uint_lt(heap.uordblks + heap.hblkhd, 2 << 20);
    uint64_t last = 29 * 7000 + 19999;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t h = last - i;
        ck_assert_int_eq(prefix_store_find(s, &h, 1, 10), i < 10000 ? 10 : 0);
    }
    prefix_store_free(s);
}
END_TEST

int main(void) {
    Suite *s = suite_create("prefix");
    TCase *t = tcase_create("prefix");
    tcase_add_test(t, the_longest_known_beginning_is_found);
    tcase_add_test(t, the_least_recently_used_goes_and_the_end_before_the_beginning);
    tcase_add_test(t, limits_of_the_capacity);
    tcase_add_test(t, random_use_equals_brute_force);
    tcase_add_test(t, many_units_come_and_go);
    suite_add_tcase(s, t);
    return check_main(s);
}
