/* test_population.c: attempts grouped one by one give what classify_request gives for all at once.
 */
#include "base/rng.h"
#include "objective/population.h"
#include "record/tests/sample.h"
#include "testing/check_main.h"

#include <stdio.h>
#include <stdlib.h>

enum { IDS = 60, RECORDS = 400 };

static void random_record(struct record *r, struct rng *rng, const bool taken[IDS][70]) {
    char id[64];
    int n, attempt;
    do {
        n = (int)rng_below(rng, IDS);
        attempt = 1 + (int)rng_below(rng, 69);
    } while (taken[n][attempt]);
    snprintf(id, sizeof id, "%.*sid-%d", n % 50,
             "a long beginning that all ids have in common, or not", n);
    sample_record(r, id, attempt);
    r->events[4].t_ns += (int64_t)rng_below(rng, 1000000);
    r->quality.verdict = rng_below(rng, 2) ? VERDICT_PASSED : VERDICT_FAILED;
    if (rng_below(rng, 3)) return;
    r->outcome.delivered = false;
    r->outcome.http_status = rng_below(rng, 2) ? 429 : 500;
}

/* The same answers as classify_request gives for all attempts at once. */
START_TEST(grouping_agrees_with_all_attempts_at_once) {
    static struct record records[RECORDS];
    static bool taken[IDS][70];
    struct population *p = population_create(NULL);
    struct population_summary got, want = {0};
    struct rng rng;
    rng_seed(&rng, 5);
    for (int i = 0; i < RECORDS; i++) {
        struct intervals iv;
        struct classification c;
        const struct record *r = &records[i];
        random_record(&records[i], &rng, taken);
        taken[atoi(strstr(r->request_id, "id-") + 3)][r->attempt] = true;
        intervals_compute(r, &iv);
        classify_request(&r, 1, TRUNCATION_REJECT, &c);
        ck_assert_int_eq(population_add(p, r, &iv, &c, false, NULL), 0);
    }
    population_summarize(p, &got);
    int64_t ttft[IDS];
    size_t n_ttft = 0, n_failed = 0;
    for (int id = 0; id < IDS; id++) {
        const struct record *attempts[RECORDS], *last = NULL;
        size_t n = 0;
        for (int i = 0; i < RECORDS; i++)
            if (atoi(strstr(records[i].request_id, "id-") + 3) == id) attempts[n++] = &records[i];
        if (!n) continue;
        struct classification c;
        struct intervals iv;
        classify_request(attempts, n, TRUNCATION_REJECT, &c);
        for (size_t i = 0; i < n; i++)
            if (!last || attempts[i]->attempt > last->attempt) last = attempts[i];
        intervals_compute(last, &iv);
        want.requests++;
        want.retried += n > 1;
        want.completed += c.completed;
        want.useful += c.useful;
        want.by_reason[c.reason]++;
        if (c.completed)
            ttft[n_ttft++] = iv.client_ttft.ns;
        else
            n_failed++;
    }
    ck_assert_int_eq(got.records, RECORDS);
    ck_assert_int_eq(got.repeated, 0);
    ck_assert_int_eq(got.requests, want.requests);
    ck_assert_int_eq(got.retried, want.retried);
    ck_assert_int_eq(got.completed, want.completed);
    ck_assert_int_eq(got.useful, want.useful);
    ck_assert_int_eq(got.by_reason[REASON_REJECTED], want.by_reason[REASON_REJECTED]);
    ck_assert_int_gt(want.completed, 5);
    ck_assert_int_gt(want.requests - want.completed, 5);
    for (int32_t milli = 1000; milli <= 100000; milli += 1000) {
        struct percentile a = population_percentile(p, IV_CLIENT_TTFT, POPULATION_ALL, milli);
        struct percentile b = percentile_nearest_rank(ttft, n_ttft, n_failed, milli);
        ck_assert(a.ns == b.ns && a.infinite == b.infinite && a.n == b.n && a.failed == b.failed);
    }
    for (int i = 0; i < RECORDS; i++) record_release(&records[i]);
    population_free(p);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("population");
    TCase *t = tcase_create("population");
    tcase_add_test(t, grouping_agrees_with_all_attempts_at_once);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
