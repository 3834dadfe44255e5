/* test_intervals.c: the reference intervals against examples done by hand, and against a second
 * formulation of the same definitions on random records. */
#include "base/rng.h"
#include "record/intervals.h"
#include "testing/check_main.h"

#include <string.h>

#define MS    INT64_C(1000000)
#define T_MAX (INT64_C(1) << 53)

static struct record rec;

static void set_up(void) {
    record_init(&rec);
    rec.workload.output_tokens = 5;
}
static void tear_down(void) {
    record_release(&rec);
}

static struct event *add(enum event_kind kind, enum clock_id clock, int64_t t_ns) {
    struct event ev = {.kind = kind, .clock = clock, .source = SRC_AUTHORED, .t_ns = t_ns};
    struct err e;
    ck_assert_int_eq(record_add_event(&rec, &ev, &e), 0);
    return &rec.events[rec.n_events - 1];
}
static void add_tokens(int64_t t_ns, int32_t tokens) {
    add(EV_TOKEN_SENT, CLOCK_SERVER, t_ns)->tokens = tokens;
}
static void add_gpu(enum event_kind kind, const char *range, int64_t t_ns) {
    strcpy(add(kind, CLOCK_GPU, t_ns)->range, range);
}
static void add_offset(enum clock_id a, enum clock_id b, int64_t offset_ns, int64_t u_ns) {
    rec.offsets[rec.n_offsets++] = (struct clock_offset){a, b, offset_ns, u_ns};
}

/* A submit at 1 s of the browser's clock; the server's clock shows quite another time. */
static void add_the_six(void) {
    add(EV_REQUEST_SUBMITTED, CLOCK_BROWSER, 1000 * MS);
    add(EV_REQUEST_ACCEPTED, CLOCK_SERVER, 40 * MS);
    add(EV_REQUEST_ADMITTED, CLOCK_SERVER, 65 * MS);
    add(EV_FIRST_TOKEN, CLOCK_SERVER, 240 * MS);
    add(EV_FIRST_BYTE_RECEIVED, CLOCK_BROWSER, 1214 * MS);
    add(EV_FINAL_BYTE_RECEIVED, CLOCK_BROWSER, 1414 * MS);
}

#define assert_uncertain(iv, want_status, want_ns, want_uncertainty_ns)                            \
    do {                                                                                           \
        struct interval got_ = (iv);                                                               \
        ck_assert_int_eq(got_.status, want_status);                                                \
        ck_assert_int_eq(got_.ns, want_ns);                                                        \
        ck_assert_int_eq(got_.uncertainty_ns, want_uncertainty_ns);                                \
    } while (0)
#define assert_interval(iv, want_status, want_ns) assert_uncertain(iv, want_status, want_ns, 0)

static struct intervals compute(void) {
    struct intervals iv;
    memset(&iv, 0xa5, sizeof iv); /* a member that isn't set keeps these bytes */
    intervals_compute(&rec, &iv);
    return iv;
}

/* ---- by hand ---- */

START_TEST(the_four_intervals_by_hand) {
    add_the_six();
    struct intervals iv = compute();
    assert_interval(iv.client_ttft, INTERVAL_OK, 214 * MS);
    assert_interval(iv.server_ttft, INTERVAL_OK, 200 * MS);
    assert_interval(iv.queue_delay, INTERVAL_OK, 25 * MS);
    assert_interval(iv.e2e, INTERVAL_OK, 414 * MS);
    assert_interval(iv.tpot, INTERVAL_OK, 50 * MS); /* 200 ms over 5 - 1 tokens */
    ck_assert_int_eq(iv.tpot_boundary, TPOT_BROWSER_BYTES);
    assert_interval(iv.gpu_execution, INTERVAL_ABSENT, 0);
}
END_TEST

START_TEST(an_empty_record_has_no_interval) {
    struct intervals iv = compute();
    for (int i = 0; i < IV_N; i++)
        assert_interval(*interval_get(&iv, (enum interval_id)i), INTERVAL_ABSENT, 0);
    ck_assert_int_eq(iv.tpot_boundary, TPOT_NONE);
}
END_TEST

START_TEST(a_missing_end_is_absent_and_a_zero_is_not) {
    const struct event *at = add(EV_REQUEST_SUBMITTED, CLOCK_BROWSER, 7);
    assert_interval(interval_between(&rec, NULL, at), INTERVAL_ABSENT, 0);
    assert_interval(interval_between(&rec, at, NULL), INTERVAL_ABSENT, 0);
    assert_interval(interval_between(&rec, NULL, NULL), INTERVAL_ABSENT, 0);
    assert_interval(interval_between(&rec, at, at), INTERVAL_OK, 0);
}
END_TEST

START_TEST(clocks_are_not_subtracted) {
    struct event browser = {.clock = CLOCK_BROWSER, .t_ns = 5};
    struct event server = {.clock = CLOCK_SERVER, .t_ns = 9};
    assert_interval(interval_between(&rec, &browser, &server), INTERVAL_CROSS_CLOCK, 0);
    add_offset(CLOCK_BROWSER, CLOCK_GPU, 1, 2);
    add_offset(CLOCK_GPU, CLOCK_SERVER, 1, 2); /* two offsets are not chained */
    assert_interval(interval_between(&rec, &browser, &server), INTERVAL_CROSS_CLOCK, 0);
    assert_interval(interval_between(&rec, &server, &browser), INTERVAL_CROSS_CLOCK, 0);
    add_offset(CLOCK_BROWSER, CLOCK_SERVER, 1, 2);
    rec.n_offsets--; /* an entry after the list's end is ignored */
    assert_interval(interval_between(&rec, &browser, &server), INTERVAL_CROSS_CLOCK, 0);
}
END_TEST

START_TEST(a_stated_offset_brings_its_uncertainty) {
    /* the browser's clock shows 1000 when the server's shows 40: browser - server = 960 */
    struct event submitted = {.clock = CLOCK_BROWSER, .t_ns = 1000};
    struct event accepted = {.clock = CLOCK_SERVER, .t_ns = 55};
    add_offset(CLOCK_BROWSER, CLOCK_SERVER, 960, 3);
    assert_uncertain(interval_between(&rec, &submitted, &accepted), INTERVAL_OK, 15, 3);
    assert_interval(interval_between(&rec, &accepted, &submitted), INTERVAL_NEGATIVE, 0);

    rec.offsets[0] = (struct clock_offset){CLOCK_SERVER, CLOCK_BROWSER, -960, 3};
    assert_uncertain(interval_between(&rec, &submitted, &accepted), INTERVAL_OK, 15, 3);
    add_offset(CLOCK_BROWSER, CLOCK_SERVER, 0, 0); /* the first that fits counts */
    assert_uncertain(interval_between(&rec, &submitted, &accepted), INTERVAL_OK, 15, 3);
}
END_TEST

START_TEST(a_negative_interval_is_never_clamped) {
    struct event late = {.clock = CLOCK_SERVER, .t_ns = 100}, early = {.clock = CLOCK_SERVER};
    early.t_ns = 99;
    assert_interval(interval_between(&rec, &late, &early), INTERVAL_NEGATIVE, 0);
    add_the_six();
    rec.events[4].t_ns = 999 * MS; /* first byte before the submit */
    assert_interval(compute().client_ttft, INTERVAL_NEGATIVE, 0);
    rec.events[4].t_ns = 1500 * MS; /* first byte after the last */
    assert_interval(compute().tpot, INTERVAL_NEGATIVE, 0);
    ck_assert_int_eq(compute().tpot_boundary, TPOT_BROWSER_BYTES);
}
END_TEST

START_TEST(the_ends_of_the_range_of_timestamps) {
    struct event a = {.clock = CLOCK_SERVER, .t_ns = 0}, b = {.clock = CLOCK_SERVER, .t_ns = T_MAX};
    assert_interval(interval_between(&rec, &a, &b), INTERVAL_OK, T_MAX);
    assert_interval(interval_between(&rec, &b, &a), INTERVAL_NEGATIVE, 0);
    b.clock = CLOCK_BROWSER;
    add_offset(CLOCK_SERVER, CLOCK_BROWSER, T_MAX, T_MAX);
    assert_uncertain(interval_between(&rec, &a, &b), INTERVAL_OK, 2 * T_MAX, T_MAX);
}
END_TEST

START_TEST(division_rounds_to_nearest_halves_away_from_zero) {
    static const int64_t examples[][3] = {
        {0, 1, 0},
        {5, 2, 3},
        {-5, 2, -3},
        {7, 3, 2},
        {8, 3, 3},
        {-7, 3, -2},
        {-8, 3, -3},
        {1, 2, 1},
        {-1, 2, -1},
        {1, 3, 0},
        {2, 3, 1},
        {1, 1000, 0},
        {499, 1000, 0},
        {500, 1000, 1},
        {T_MAX, 1, T_MAX},
        {T_MAX, T_MAX, 1},
        {T_MAX - 1, 2, T_MAX / 2},
        {-T_MAX, T_MAX, -1},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        ck_assert_int_eq(interval_divide(examples[i][0], examples[i][1]), examples[i][2]);
}
END_TEST

START_TEST(tpot_needs_two_tokens) {
    add_the_six();
    for (int32_t tokens = -1; tokens < 2; tokens++) {
        rec.workload.output_tokens = tokens;
        assert_interval(compute().tpot, INTERVAL_ABSENT, 0);
        ck_assert_int_eq(compute().tpot_boundary, TPOT_NONE);
    }
    rec.workload.output_tokens = 2;
    assert_interval(compute().tpot, INTERVAL_OK, 200 * MS);
}
END_TEST

START_TEST(a_closing_event_does_not_extend_tpot) {
    add_the_six();
    add_tokens(239 * MS, 0); /* a role-only piece */
    add_tokens(240 * MS, 1);
    add_tokens(300 * MS, 2);
    add_tokens(360 * MS, 2);
    add_tokens(500 * MS, 0);                               /* usage and [DONE] */
    assert_interval(compute().tpot, INTERVAL_OK, 30 * MS); /* 120 ms over 5 - 1 */
    ck_assert_int_eq(compute().tpot_boundary, TPOT_TOKEN_SENT);
}
END_TEST

START_TEST(one_piece_says_nothing_about_the_time_per_token) {
    add_the_six();
    add_tokens(240 * MS, 5);
    add_tokens(250 * MS, 0);
    assert_interval(compute().tpot, INTERVAL_OK, 50 * MS);
    ck_assert_int_eq(compute().tpot_boundary, TPOT_BROWSER_BYTES);
}
END_TEST

START_TEST(tpot_divides_by_the_achieved_length) {
    add_the_six();
    rec.workload.max_output_tokens = 256;
    rec.workload.output_tokens = 9;
    assert_interval(compute().tpot, INTERVAL_OK, 25 * MS);
}
END_TEST

START_TEST(gpu_ranges_pair_nest_and_add_up) {
    add_the_six();
    add_gpu(EV_GPU_START, "prefill", 10);
    add_gpu(EV_GPU_START, "attention", 12);
    add_gpu(EV_GPU_END, "attention", 15);
    add_gpu(EV_GPU_END, "prefill", 20);
    add_gpu(EV_GPU_START, "prefill", 30);
    add_gpu(EV_GPU_END, "prefill", 31);
    assert_interval(compute().gpu_execution, INTERVAL_OK, 10 + 3 + 1);
}
END_TEST

START_TEST(gpu_ranges_without_partner_are_absent) {
    add_gpu(EV_GPU_START, "decode", 10);
    assert_interval(compute().gpu_execution, INTERVAL_ABSENT, 0);
    add_gpu(EV_GPU_END, "prefill", 20);
    assert_interval(compute().gpu_execution, INTERVAL_ABSENT, 0);
    rec.events[1].range[0] = '\0';
    assert_interval(compute().gpu_execution, INTERVAL_ABSENT, 0);
    strcpy(rec.events[1].range, "decode");
    assert_interval(compute().gpu_execution, INTERVAL_OK, 10);
    add_gpu(EV_GPU_START, "decode", 30);
    add_gpu(EV_GPU_START, "decode", 40);
    add_gpu(EV_GPU_END, "decode", 50);
    add_gpu(EV_GPU_END, "decode", 60);
    assert_interval(compute().gpu_execution, INTERVAL_ABSENT, 0);
}
END_TEST

START_TEST(uncertainty_goes_where_the_interval_goes) {
    /* browser bytes on two clocks: 101 ns over 4 tokens, give or take 6 ns over 4 */
    add(EV_FIRST_BYTE_RECEIVED, CLOCK_BROWSER, 1000);
    add(EV_FINAL_BYTE_RECEIVED, CLOCK_SERVER, 101);
    add_offset(CLOCK_BROWSER, CLOCK_SERVER, 1000, 6);
    assert_uncertain(compute().tpot, INTERVAL_OK, 25, 2);
    /* two gpu ranges that end on the server's clock: 10 + 20, give or take 5 each */
    add_offset(CLOCK_GPU, CLOCK_SERVER, 0, 5);
    for (int i = 1; i <= 2; i++) {
        add_gpu(EV_GPU_START, "decode", 100 * i);
        add_gpu(EV_GPU_END, "decode", 110 * i);
        rec.events[rec.n_events - 1].clock = CLOCK_SERVER;
    }
    assert_uncertain(compute().gpu_execution, INTERVAL_OK, 30, 10);
    rec.offsets[1].uncertainty_ns = T_MAX / 2; /* two of them just fit */
    assert_uncertain(compute().gpu_execution, INTERVAL_OK, 30, T_MAX);
    rec.offsets[1].uncertainty_ns++;
    assert_interval(compute().gpu_execution, INTERVAL_ABSENT, 0);
}
END_TEST

START_TEST(gpu_faults_show) {
    add_gpu(EV_GPU_START, "decode", 10);
    add_gpu(EV_GPU_END, "decode", 9);
    assert_interval(compute().gpu_execution, INTERVAL_NEGATIVE, 0);
    rec.events[1].clock = CLOCK_SERVER;
    assert_interval(compute().gpu_execution, INTERVAL_CROSS_CLOCK, 0);
    add_gpu(EV_GPU_END, "decode", 20);
    assert_interval(compute().gpu_execution, INTERVAL_ABSENT, 0);
}
END_TEST

START_TEST(gpu_bounds_hold) {
    char name[16];
    for (int open = INTERVALS_MAX_OPEN_RANGES; open <= INTERVALS_MAX_OPEN_RANGES + 1; open++) {
        rec.n_events = 0;
        for (int i = 0; i < open; i++) {
            snprintf(name, sizeof name, "r%d", i);
            add_gpu(EV_GPU_START, name, i);
        }
        for (int i = 0; i < open; i++) {
            snprintf(name, sizeof name, "r%d", i);
            add_gpu(EV_GPU_END, name, 100 + i);
        }
        bool fits = open == INTERVALS_MAX_OPEN_RANGES;
        assert_interval(compute().gpu_execution, fits ? INTERVAL_OK : INTERVAL_ABSENT,
                        fits ? 100 * open : 0);
    }
    rec.n_events = 0;
    for (int i = 0; i < 3000; i++) { /* 3000 times 104 days: past int64 if added blindly */
        add_gpu(EV_GPU_START, "r", 0);
        add_gpu(EV_GPU_END, "r", T_MAX);
        assert_interval(compute().gpu_execution, i == 0 ? INTERVAL_OK : INTERVAL_ABSENT,
                        i == 0 ? T_MAX : 0);
        if (i == 1) i = 2998;
    }
}
END_TEST

START_TEST(itl_is_pooled_per_token) {
    int64_t itl[8] = {0};
    add_tokens(90, 0);
    add_tokens(100, 3); /* the first piece gives no gap, with any number of tokens */
    add_tokens(130, 1);
    add_tokens(150, 0); /* held back: the gap goes on */
    add_tokens(171, 2);
    ck_assert_uint_eq(intervals_itl(&rec, itl, 8), 3);
    ck_assert_int_eq(itl[0], 30);
    ck_assert_int_eq(itl[1], 21); /* 41 / 2, half away from zero */
    ck_assert_int_eq(itl[2], 21);
    ck_assert_int_eq(itl[3], 0);
    ck_assert_uint_eq(intervals_itl(&rec, NULL, 0), 3);
    itl[1] = -7;
    ck_assert_uint_eq(intervals_itl(&rec, itl, 1), 3);
    ck_assert_int_eq(itl[1], -7);
}
END_TEST

START_TEST(itl_of_nothing_and_of_a_fault_is_empty) {
    int64_t itl[4];
    ck_assert_uint_eq(intervals_itl(&rec, itl, 4), 0);
    add_tokens(100, 1);
    ck_assert_uint_eq(intervals_itl(&rec, itl, 4), 0);
    add_tokens(110, 1);
    ck_assert_uint_eq(intervals_itl(&rec, itl, 4), 1);
    add_tokens(109, 1);
    ck_assert_uint_eq(intervals_itl(&rec, itl, 4), 0);
    rec.events[2].t_ns = 120;
    rec.events[2].clock = CLOCK_BROWSER;
    ck_assert_uint_eq(intervals_itl(&rec, itl, 4), 0);
}
END_TEST

START_TEST(itl_takes_any_count_of_tokens_at_once) {
    int64_t itl[2];
    add_tokens(0, 1);
    for (int i = 1; i <= 64; i++) add_tokens(i, INT32_MAX); /* counted, not walked through */
    ck_assert_uint_eq(intervals_itl(&rec, itl, 2), (size_t)64 * INT32_MAX);
}
END_TEST

/* ---- against a second formulation ---- */

START_TEST(division_is_the_nearest_integer) {
    struct rng rng;
    rng_seed(&rng, 11);
    for (int i = 0; i < 200000; i++) {
        int shift = (int)rng_below(&rng, 53);
        int64_t n = (int64_t)(rng_next(&rng) >> (10 + rng_below(&rng, 53))) - (T_MAX >> 20);
        int64_t d = 1 + (int64_t)rng_below(&rng, UINT64_C(1) << shift);
        int64_t q = interval_divide(n, d);
        __int128 twice_off = 2 * ((__int128)n - (__int128)q * d);
        __int128 off = twice_off < 0 ? -twice_off : twice_off;
        ck_assert(off < d || (off == d && (n < 0 ? (__int128)q * d < n : (__int128)q * d > n)));
    }
}
END_TEST

/* The definitions once more, as a table of names: an interval is what the latest stamps say. */
static int64_t stamp_of(enum event_kind kind) {
    for (size_t i = 0; i < rec.n_events; i++)
        if (rec.events[i].kind == kind) return rec.events[i].t_ns;
    return -1;
}

static void assert_difference(struct interval got, enum event_kind from, enum event_kind to) {
    int64_t a = stamp_of(from), b = stamp_of(to);
    if (a < 0 || b < 0)
        assert_interval(got, INTERVAL_ABSENT, 0);
    else if (b < a)
        assert_interval(got, INTERVAL_NEGATIVE, 0);
    else
        assert_interval(got, INTERVAL_OK, b - a);
}

START_TEST(random_records_agree_with_the_table) {
    static const enum event_kind six[] = {EV_REQUEST_SUBMITTED,   EV_REQUEST_ACCEPTED,
                                          EV_REQUEST_ADMITTED,    EV_FIRST_TOKEN,
                                          EV_FIRST_BYTE_RECEIVED, EV_FINAL_BYTE_RECEIVED};
    static const enum clock_id clocks[] = {CLOCK_BROWSER, CLOCK_SERVER,  CLOCK_SERVER,
                                           CLOCK_SERVER,  CLOCK_BROWSER, CLOCK_BROWSER};
    struct rng rng;
    rng_seed(&rng, 12);
    for (int round = 0; round < 20000; round++) {
        rec.n_events = 0;
        for (size_t k = rng_below(&rng, 6), n = 0; n < 6; n++, k = (k + 5) % 6) /* any order */
            if (rng_below(&rng, 5)) add(six[k], clocks[k], (int64_t)rng_below(&rng, 1000));
        struct intervals iv = compute();
        assert_difference(iv.client_ttft, EV_REQUEST_SUBMITTED, EV_FIRST_BYTE_RECEIVED);
        assert_difference(iv.server_ttft, EV_REQUEST_ACCEPTED, EV_FIRST_TOKEN);
        assert_difference(iv.queue_delay, EV_REQUEST_ACCEPTED, EV_REQUEST_ADMITTED);
        assert_difference(iv.e2e, EV_REQUEST_SUBMITTED, EV_FINAL_BYTE_RECEIVED);
    }
}
END_TEST

START_TEST(itl_and_tpot_add_up) {
    /* With one token an event, the gaps add up to last - first, and their mean is the TPOT. */
    struct rng rng;
    rng_seed(&rng, 13);
    for (int round = 0; round < 2000; round++) {
        int64_t itl[64], t = (int64_t)rng_below(&rng, 1000), first = t;
        int n = 2 + (int)rng_below(&rng, 60);
        rec.n_events = 0;
        rec.workload.output_tokens = n;
        for (int i = 0; i < n; i++) {
            add_tokens(t, 1);
            if (i + 1 < n) t += (int64_t)rng_below(&rng, 100);
        }
        ck_assert_uint_eq(intervals_itl(&rec, itl, 64), (size_t)n - 1);
        int64_t sum = 0;
        for (int i = 0; i + 1 < n; i++) sum += itl[i];
        ck_assert_int_eq(sum, t - first);
        double mean = (double)sum / (n - 1), tpot = (double)compute().tpot.ns;
        ck_assert(mean - tpot <= 0.5 && tpot - mean <= 0.5);
    }
}
END_TEST

START_TEST(names_go_both_ways) {
    struct intervals iv;
    const struct interval *all[] = {&iv.client_ttft, &iv.server_ttft, &iv.queue_delay,
                                    &iv.e2e,         &iv.tpot,        &iv.gpu_execution};
    for (int i = 0; i < IV_N; i++) {
        ck_assert_int_eq(interval_from_name(interval_name((enum interval_id)i)), i);
        ck_assert_ptr_eq(interval_get(&iv, (enum interval_id)i), all[i]);
    }
    ck_assert_str_eq(interval_name(IV_CLIENT_TTFT), "client_ttft");
    ck_assert_str_eq(interval_name(IV_TPOT), "tpot");
    ck_assert_int_eq(interval_from_name("ttft"), -1);
    ck_assert_int_eq(interval_from_name(""), -1);
}
END_TEST

int main(void) {
    Suite *s = suite_create("intervals");
    TCase *t = tcase_create("intervals");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, the_four_intervals_by_hand);
    tcase_add_test(t, an_empty_record_has_no_interval);
    tcase_add_test(t, a_missing_end_is_absent_and_a_zero_is_not);
    tcase_add_test(t, clocks_are_not_subtracted);
    tcase_add_test(t, a_stated_offset_brings_its_uncertainty);
    tcase_add_test(t, a_negative_interval_is_never_clamped);
    tcase_add_test(t, the_ends_of_the_range_of_timestamps);
    tcase_add_test(t, division_rounds_to_nearest_halves_away_from_zero);
    tcase_add_test(t, tpot_needs_two_tokens);
    tcase_add_test(t, a_closing_event_does_not_extend_tpot);
    tcase_add_test(t, one_piece_says_nothing_about_the_time_per_token);
    tcase_add_test(t, tpot_divides_by_the_achieved_length);
    tcase_add_test(t, gpu_ranges_pair_nest_and_add_up);
    tcase_add_test(t, gpu_ranges_without_partner_are_absent);
    tcase_add_test(t, uncertainty_goes_where_the_interval_goes);
    tcase_add_test(t, gpu_faults_show);
    tcase_add_test(t, gpu_bounds_hold);
    tcase_add_test(t, itl_is_pooled_per_token);
    tcase_add_test(t, itl_of_nothing_and_of_a_fault_is_empty);
    tcase_add_test(t, itl_takes_any_count_of_tokens_at_once);
    tcase_add_test(t, division_is_the_nearest_integer);
    tcase_add_test(t, random_records_agree_with_the_table);
    tcase_add_test(t, itl_and_tpot_add_up);
    tcase_add_test(t, names_go_both_ways);
    suite_add_tcase(s, t);
    return check_main(s);
}
