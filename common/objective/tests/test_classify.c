/* test_classify.c: the reference classification against cases by hand and against the table of
 * reasons, tried on every combination of what can go wrong. */
#include "objective/classify.h"
#include "testing/check_main.h"

#include <math.h>
#include <string.h>

static const enum event_kind six[] = {EV_REQUEST_SUBMITTED,   EV_REQUEST_ACCEPTED,
                                      EV_REQUEST_ADMITTED,    EV_FIRST_TOKEN,
                                      EV_FIRST_BYTE_RECEIVED, EV_FINAL_BYTE_RECEIVED};

static void add(struct record *r, enum event_kind kind) {
    struct event ev = {.kind = kind, .clock = CLOCK_SERVER, .t_ns = (int64_t)r->n_events};
    ck_assert_int_eq(record_add_event(r, &ev, NULL), 0);
}

/* A request that went well. */
static void good_record(struct record *r, int32_t attempt) {
    record_init(r);
    r->attempt = attempt;
    for (int i = 0; i < 6; i++) add(r, six[i]);
    r->outcome.delivered = true;
    r->outcome.http_status = 200;
    strcpy(r->outcome.finish_reason, "stop");
    strcpy(r->quality.check, "key-recall/1");
    r->quality.verdict = VERDICT_PASSED;
    r->structure.verdict = VERDICT_NOT_REQUIRED;
}

static struct classification classify(const struct record *r) {
    struct classification c;
    memset(&c, 0xa5, sizeof c);
    classify_request(&r, 1, TRUNCATION_REJECT, &c);
    return c;
}

/* ---- by hand ---- */

START_TEST(a_good_request_is_useful) {
    struct record r;
    good_record(&r, 1);
    struct classification c = classify(&r);
    ck_assert(c.completed && c.useful);
    ck_assert_int_eq(c.reason, REASON_DELIVERED);
    ck_assert_int_eq(c.quality, VERDICT_PASSED);
    ck_assert_int_eq(c.structure, VERDICT_NOT_REQUIRED);
    ck_assert_int_eq(c.attempts, 1);
    record_release(&r);
}
END_TEST

START_TEST(an_error_inside_a_200_is_a_failure) {
    struct record r;
    good_record(&r, 1);
    strcpy(r.outcome.error, "out of blocks");
    ck_assert_int_eq(classify(&r).reason, REASON_IN_BAND_ERROR);
    ck_assert(!classify(&r).completed && !classify(&r).useful);
    r.outcome.error[0] = '\0';
    r.outcome.finish_reason[0] = '\0'; /* the stream just ended */
    ck_assert_int_eq(classify(&r).reason, REASON_NO_FINISH_REASON);
    record_release(&r);
}
END_TEST

START_TEST(a_length_is_truncation_unless_it_was_asked_for) {
    struct record r;
    good_record(&r, 1);
    strcpy(r.outcome.finish_reason, "length");
    ck_assert_int_eq(classify_attempt(&r, TRUNCATION_REJECT), REASON_TRUNCATED);
    ck_assert_int_eq(classify_attempt(&r, TRUNCATION_FIXED_LENGTH), REASON_DELIVERED);
    strcpy(r.outcome.finish_reason, "tool_calls");
    ck_assert_int_eq(classify_attempt(&r, TRUNCATION_REJECT), REASON_DELIVERED);
    record_release(&r);
}
END_TEST

START_TEST(each_of_the_six_must_be_there) {
    for (int gone = 0; gone < 6; gone++) {
        struct record r;
        good_record(&r, 1);
        r.events[gone].kind = EV_TOKENIZATION_FINISHED;
        ck_assert_int_eq(classify(&r).reason, REASON_NOT_DELIVERED);
        record_release(&r);
    }
}
END_TEST

START_TEST(a_clients_half_is_enough_without_a_server) {
    struct record r;
    good_record(&r, 1);
    r.events[1] = r.events[5]; /* submitted, final byte, first byte */
    r.events[2] = r.events[4];
    r.n_events = 3;
    ck_assert_int_eq(classify(&r).reason, REASON_DELIVERED);
    r.events[2].kind = EV_RESPONSE_FINISHED;
    ck_assert_int_eq(classify(&r).reason, REASON_NOT_DELIVERED);
    r.n_events = 2;
    ck_assert_int_eq(classify(&r).reason, REASON_NOT_DELIVERED);
    record_release(&r);
}
END_TEST

START_TEST(quality_needs_a_named_check) {
    struct record r;
    good_record(&r, 1);
    r.quality.verdict = VERDICT_FAILED;
    ck_assert(classify(&r).completed && !classify(&r).useful);
    r.quality.verdict = VERDICT_NOT_EVALUATED;
    ck_assert(!classify(&r).useful);
    r.quality.verdict = VERDICT_PASSED;
    r.quality.check[0] = '\0';
    ck_assert_int_eq(classify(&r).quality, VERDICT_NOT_EVALUATED);
    ck_assert(!classify(&r).useful);
    record_release(&r);
}
END_TEST

START_TEST(only_a_failed_structure_takes_usefulness_away) {
    struct record r;
    good_record(&r, 1);
    r.structure.verdict = VERDICT_FAILED;
    ck_assert(!classify(&r).useful);
    r.structure.verdict = VERDICT_PASSED;
    ck_assert(classify(&r).useful);
    r.structure.verdict = VERDICT_NOT_EVALUATED;
    ck_assert(classify(&r).useful);
    record_release(&r);
}
END_TEST

START_TEST(the_last_attempt_decides_whatever_the_order) {
    struct record r[3];
    for (int i = 0; i < 3; i++) good_record(&r[i], i + 1);
    strcpy(r[0].outcome.error, "timed_out");
    r[1].outcome.http_status = 503;
    r[2].quality.verdict = VERDICT_FAILED;
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int i = 0; i < 6; i++) {
        const struct record *all[3];
        for (int k = 0; k < 3; k++) all[k] = &r[orders[i][k]];
        struct classification c;
        classify_request(all, 3, TRUNCATION_REJECT, &c);
        ck_assert_int_eq(c.attempts, 3);
        ck_assert_int_eq(c.reason, REASON_DELIVERED);
        ck_assert_int_eq(c.quality, VERDICT_FAILED);
        ck_assert(c.completed && !c.useful);
    }
    const struct record *first_two[2] = {&r[1], &r[0]};
    struct classification c;
    classify_request(first_two, 2, TRUNCATION_REJECT, &c);
    ck_assert_int_eq(c.reason, REASON_REJECTED);
    r[0].attempt = 2; /* of equal numbers the one given first */
    classify_request(first_two, 2, TRUNCATION_REJECT, &c);
    ck_assert_int_eq(c.reason, REASON_REJECTED);
    for (int i = 0; i < 3; i++) record_release(&r[i]);
}
END_TEST

/* ---- good ---- */

static struct intervals fast(void) {
    struct interval ok = {INTERVAL_OK, 100, 0};
    return (struct intervals){ok, ok, ok, ok, ok, ok, TPOT_TOKEN_SENT};
}

static struct objective limits(enum interval_id interval, enum limit_scope scope, int64_t below) {
    struct objective o = {.n_latency = 1};
    o.latency[0] = (struct latency_limit){interval, scope, 0, below};
    return o;
}

START_TEST(good_is_strictly_below_every_limit) {
    struct classification c = {.completed = true, .useful = true};
    struct intervals iv = fast();
    for (int i = 0; i < IV_N; i++) {
        struct objective o = limits((enum interval_id)i, SCOPE_REQUEST, 101);
        ck_assert(classify_good(&c, &iv, &o));
        o.latency[0].below_ns = 100;
        ck_assert(!classify_good(&c, &iv, &o));
        o.latency[0].scope = SCOPE_POPULATION;
        ck_assert(classify_good(&c, &iv, &o));
    }
    struct objective o = {.n_latency = 0};
    ck_assert(classify_good(&c, &iv, &o));
    c.useful = false;
    ck_assert(!classify_good(&c, &iv, &o));
}
END_TEST

START_TEST(good_looks_at_every_limit) {
    struct classification c = {.completed = true, .useful = true};
    struct intervals iv = fast();
    struct objective o = {.n_latency = 3};
    for (int bad = -1; bad < 3; bad++) {
        for (int i = 0; i < 3; i++)
            o.latency[i] =
                (struct latency_limit){(enum interval_id)i, SCOPE_REQUEST, 0, i == bad ? 100 : 101};
        ck_assert_int_eq(classify_good(&c, &iv, &o), bad < 0);
    }
}
END_TEST

START_TEST(only_an_absent_tpot_escapes_its_limit) {
    struct classification c = {.completed = true, .useful = true};
    for (int i = 0; i < IV_N; i++)
        for (int status = INTERVAL_ABSENT; status <= INTERVAL_NEGATIVE; status++) {
            struct intervals iv = fast();
            struct interval *members[] = {&iv.client_ttft, &iv.server_ttft, &iv.queue_delay,
                                          &iv.e2e,         &iv.tpot,        &iv.gpu_execution};
            *members[i] = (struct interval){(enum interval_status)status, 0, 0};
            struct objective o = limits((enum interval_id)i, SCOPE_REQUEST, 101);
            ck_assert_int_eq(classify_good(&c, &iv, &o), i == IV_TPOT && status == INTERVAL_ABSENT);
        }
}
END_TEST

START_TEST(a_required_structure_must_have_passed) {
    struct intervals iv = fast();
    struct objective o = {.structure = {.required = true}};
    struct classification c = {.completed = true, .useful = true, .structure = VERDICT_PASSED};
    ck_assert(classify_good(&c, &iv, &o));
    c.structure = VERDICT_NOT_REQUIRED;
    ck_assert(!classify_good(&c, &iv, &o));
    c.structure = VERDICT_NOT_EVALUATED;
    ck_assert(!classify_good(&c, &iv, &o));
}
END_TEST

/* ---- every combination, against the table in the header ---- */

static const int32_t statuses[] = {0, 200, 204, 400, 429, 499, 500, 502, 503, 504};
static const char *const errors[] = {"", "timed_out", "overloaded"};
static const char *const finishes[] = {"", "stop", "length", "tool_calls"};

static enum completion_reason by_table(const struct record *r, const bool event[3], bool six_there,
                                       enum truncation_rule rule) {
    int32_t st = r->outcome.http_status;
    bool error = r->outcome.error[0] != '\0';
    bool applies[REASON_N] = {
        [REASON_REJECTED] = event[0] || st == 429 || st == 503,
        [REASON_CANCELLED] = event[1],
        [REASON_TIMED_OUT] = strcmp(r->outcome.error, "timed_out") == 0,
        [REASON_INTERNAL_ERROR] = event[2] || (st >= 500 && st != 503),
        [REASON_IN_BAND_ERROR] = st == 200 && error,
        [REASON_NOT_DELIVERED] =
            !r->outcome.delivered || !six_there || (st != 0 && st != 200) || (st == 0 && error),
        [REASON_NO_FINISH_REASON] = r->outcome.finish_reason[0] == '\0',
        [REASON_TRUNCATED] =
            strcmp(r->outcome.finish_reason, "length") == 0 && rule == TRUNCATION_REJECT,
    };
    for (int i = REASON_DELIVERED + 1; i < REASON_N; i++)
        if (applies[i]) return (enum completion_reason)i;
    return REASON_DELIVERED;
}

START_TEST(every_combination_agrees_with_the_table) {
    static const enum event_kind ends[] = {EV_REQUEST_REJECTED, EV_REQUEST_CANCELLED,
                                           EV_REQUEST_FAILED};
    int seen[REASON_N] = {0}, tried = 0;
    for (int bits = 0; bits < 64; bits++)
        for (size_t st = 0; st < sizeof statuses / sizeof *statuses; st++)
            for (int er = 0; er < 3; er++)
                for (int fi = 0; fi < 4; fi++) {
                    bool event[3], six_there = !(bits & 8);
                    enum truncation_rule rule =
                        bits & 32 ? TRUNCATION_FIXED_LENGTH : TRUNCATION_REJECT;
                    struct record r;
                    good_record(&r, 1);
                    for (int i = 0; i < 3; i++)
                        if ((event[i] = bits >> i & 1)) add(&r, ends[i]);
                    if (!six_there) r.events[tried % 6].kind = EV_TOKENIZATION_FINISHED;
                    r.outcome.delivered = !(bits & 16);
                    r.outcome.http_status = statuses[st];
                    strcpy(r.outcome.error, errors[er]);
                    strcpy(r.outcome.finish_reason, finishes[fi]);
                    enum completion_reason want = by_table(&r, event, six_there, rule);
                    ck_assert_int_eq(classify_attempt(&r, rule), want);
                    seen[want]++;
                    tried++;
                    record_release(&r);
                }
    for (int i = 0; i < REASON_N; i++) ck_assert_int_gt(seen[i], 0);
}
END_TEST

START_TEST(reasons_have_names) {
    for (int i = 0; i < REASON_N; i++)
        ck_assert_int_eq(
            completion_reason_from_name(completion_reason_name((enum completion_reason)i)), i);
    ck_assert_str_eq(completion_reason_name(REASON_IN_BAND_ERROR), "in_band_error");
    ck_assert_int_eq(completion_reason_from_name("fine"), -1);
}
END_TEST

int main(void) {
    Suite *s = suite_create("classify");
    TCase *t = tcase_create("classify");
    tcase_add_test(t, a_good_request_is_useful);
    tcase_add_test(t, an_error_inside_a_200_is_a_failure);
    tcase_add_test(t, a_length_is_truncation_unless_it_was_asked_for);
    tcase_add_test(t, each_of_the_six_must_be_there);
    tcase_add_test(t, a_clients_half_is_enough_without_a_server);
    tcase_add_test(t, quality_needs_a_named_check);
    tcase_add_test(t, only_a_failed_structure_takes_usefulness_away);
    tcase_add_test(t, the_last_attempt_decides_whatever_the_order);
    tcase_add_test(t, good_is_strictly_below_every_limit);
    tcase_add_test(t, good_looks_at_every_limit);
    tcase_add_test(t, only_an_absent_tpot_escapes_its_limit);
    tcase_add_test(t, a_required_structure_must_have_passed);
    tcase_add_test(t, every_combination_agrees_with_the_table);
    tcase_add_test(t, reasons_have_names);
    suite_add_tcase(s, t);
    return check_main(s);
}
