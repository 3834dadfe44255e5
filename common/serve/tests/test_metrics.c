/* test_metrics.c: what one attempt's record adds to the metrics, and how the numbers are printed.
 */
#include "testing/check_main.h"

#include "base/clock.h"
#include "serve/metrics.h"

#include <stdio.h>
#include <string.h>

static const struct metrics_now now = {.model_name = "m", .kv_blocks = 8, .free_kv_blocks = 6};

static char *page_of(const struct metrics *m, const struct metrics_now *n) {
    static struct buffer b;
    buffer_clear(&b);
    metrics_print(&b, m, n);
    ck_assert(!b.failed);
    return b.bytes;
}

static void add(struct record *r, enum event_kind kind, int64_t t_ns, int32_t tokens) {
    struct event ev = {.kind = kind, .clock = CLOCK_SERVER, .t_ns = t_ns, .tokens = tokens};
    ck_assert_int_eq(record_add_event(r, &ev, NULL), 0);
}

/* Accepted at 100 ns, admitted 40 ns after tokenization, first token at 1 ms + 100 ns. */
static void begin(struct record *r) {
    record_init(r);
    add(r, EV_REQUEST_ACCEPTED, 100, 0);
    add(r, EV_TOKENIZATION_FINISHED, 110, 0);
    add(r, EV_REQUEST_ADMITTED, 150, 0);
    add(r, EV_FIRST_TOKEN, NS_PER_MS + 100, 0);
    r->workload.prompt_tokens = 20;
    r->workload.output_tokens = 4;
}

static void end(struct record *r, enum event_kind kind, const char *finish, const char *error) {
    add(r, kind, 10 * NS_PER_MS + 100, 0);
    strcpy(r->outcome.finish_reason, finish);
    strcpy(r->outcome.error, error);
}

static struct metrics counted(struct record *r) {
    struct metrics m = {0};
    metrics_add(&m, r);
    record_release(r);
    return m;
}

START_TEST(each_interval_has_its_two_events) {
    struct record r;
    begin(&r);
    add(&r, EV_TOKEN_SENT, 2 * NS_PER_MS, 0); /* the role alone */
    add(&r, EV_TOKEN_SENT, 3 * NS_PER_MS, 1);
    add(&r, EV_TOKEN_SENT, 5 * NS_PER_MS, 2);
    add(&r, EV_TOKEN_SENT, 5 * NS_PER_MS + 1000, 1);
    add(&r, EV_TOKEN_SENT, 9 * NS_PER_MS, 0); /* closing */
    end(&r, EV_RESPONSE_FINISHED, "stop", "");
    struct metrics m = counted(&r);
    static const int64_t sum_ns[MH_N] = {[MH_TTFT] = NS_PER_MS,
                                         [MH_ITL] = 2 * NS_PER_MS + 1000,
                                         [MH_TPOT] = 667000, /* 2,001,000 / 3 */
                                         [MH_E2E] = 10 * NS_PER_MS,
                                         [MH_QUEUE] = 40};
    for (int h = 0; h < MH_N; h++) {
        ck_assert_int_eq((int64_t)m.histogram[h].sum_ns, sum_ns[h]);
        ck_assert_int_eq(m.histogram[h].count, h == MH_ITL ? 2 : 1);
    }
    ck_assert_int_eq(m.prompt_tokens, 20);
    ck_assert_int_eq(m.output_tokens, 4);
    ck_assert_int_eq(m.ended[ME_STOP], 1);
}
END_TEST

START_TEST(a_mean_over_no_gap_is_not_observed) {
    struct record r;
    begin(&r);
    add(&r, EV_TOKEN_SENT, 3 * NS_PER_MS, 4); /* an answer that is not streamed */
    end(&r, EV_RESPONSE_FINISHED, "length", "");
    struct metrics m = counted(&r);
    ck_assert_int_eq(m.histogram[MH_TPOT].count, 0);
    ck_assert_int_eq(m.histogram[MH_ITL].count, 0);
    ck_assert_int_eq(m.histogram[MH_E2E].count, 1);
    ck_assert_int_eq(m.ended[ME_LENGTH], 1);
}
END_TEST

/* How an attempt ends, what counts it, and whether it has an end-to-end latency. */
START_TEST(every_end_is_counted_once) {
    static const struct {
        enum event_kind event;
        const char *finish, *error;
        int32_t status;
        enum metrics_end end; /* ME_N: refused */
        int64_t queue_full;
    } of[] = {
        {EV_RESPONSE_FINISHED, "stop", "", 200, ME_STOP, 0},
        {EV_RESPONSE_FINISHED, "tool_calls", "", 200, ME_STOP, 0},
        {EV_RESPONSE_FINISHED, "length", "", 200, ME_LENGTH, 0},
        {EV_RESPONSE_FINISHED, "", "the cache is broken", 200, ME_ERROR, 0},
        {EV_REQUEST_FAILED, "", "the cache is broken", 500, ME_ERROR, 0},
        {EV_REQUEST_CANCELLED, "", "the client went away", 200, ME_ABORT, 0},
        {EV_REQUEST_CANCELLED, "stop", "the client went away", 200, ME_ABORT, 0},
        {EV_REQUEST_REJECTED, "", "full", 429, ME_N, 1},
        {EV_REQUEST_REJECTED, "", "max_tokens", 400, ME_N, 0},
        {EV_REQUEST_REJECTED, "", "draining", 503, ME_N, 0},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct record r;
        begin(&r);
        end(&r, of[i].event, of[i].finish, of[i].error);
        r.outcome.http_status = of[i].status;
        struct metrics m = counted(&r);
        for (int e = 0; e < ME_N; e++) ck_assert_int_eq(m.ended[e], e == (int)of[i].end);
        ck_assert_int_eq(m.refused, of[i].end == ME_N);
        ck_assert_int_eq(m.queue_full, of[i].queue_full);
        ck_assert_int_eq(m.histogram[MH_E2E].count, of[i].end <= ME_LENGTH);
    }
}
END_TEST

START_TEST(the_prompt_counts_when_it_was_computed) {
    struct record r;
    record_init(&r);
    add(&r, EV_REQUEST_ACCEPTED, 100, 0);
    r.workload.prompt_tokens = 20;
    end(&r, EV_REQUEST_CANCELLED, "", "the client went away");
    struct metrics m = counted(&r);
    ck_assert_int_eq(m.prompt_tokens, 0);
    ck_assert_int_eq(m.queried_tokens, 0);
    begin(&r);
    r.workload.cached_prompt_tokens = 16;
    add(&r, EV_REQUEST_PREEMPTED, 2 * NS_PER_MS, 0);
    add(&r, EV_REQUEST_RESUMED, 3 * NS_PER_MS, 0);
    add(&r, EV_REQUEST_PREEMPTED, 4 * NS_PER_MS, 0);
    end(&r, EV_REQUEST_CANCELLED, "", "the client went away");
    m = counted(&r);
    ck_assert_int_eq(m.prompt_tokens, 20);
    ck_assert_int_eq(m.queried_tokens, 20);
    ck_assert_int_eq(m.cached_tokens, 16);
    ck_assert_int_eq(m.preemptions, 2);
    ck_assert_int_eq(m.histogram[MH_TTFT].count, 1); /* it had one, whatever came then */
}
END_TEST

/* A value equal to a bound is in its bucket; the counts of the page include those below. */
START_TEST(bounds_belong_to_their_bucket) {
    static const int64_t ttft_ns[] = {NS_PER_MS, NS_PER_MS + 1, 2560 * NS_PER_S,
                                      2560 * NS_PER_S + 1};
    struct metrics m = {0};
    for (int i = 0; i < 4; i++) {
        struct record r;
        record_init(&r);
        add(&r, EV_REQUEST_ACCEPTED, 7, 0);
        add(&r, EV_FIRST_TOKEN, 7 + ttft_ns[i], 0);
        end(&r, EV_REQUEST_CANCELLED, "", "");
        metrics_add(&m, &r);
        record_release(&r);
    }
    const char *page = page_of(&m, &now);
#define TTFT "vllm:time_to_first_token_seconds"
#define L    "{model_name=\"m\",engine=\"0\""
    static const char *const lines[] = {
        "\n# TYPE " TTFT " histogram\n" TTFT "_bucket" L ",le=\"0.001\"} 1\n",
        TTFT "_bucket" L ",le=\"0.005\"} 2\n",
        TTFT "_bucket" L ",le=\"1.0\"} 2\n",
        TTFT "_bucket" L ",le=\"2.5\"} 2\n",
        TTFT "_bucket" L ",le=\"640.0\"} 2\n",
        TTFT "_bucket" L ",le=\"2560.0\"} 3\n",
        TTFT "_bucket" L ",le=\"+Inf\"} 4\n",
        TTFT "_sum" L "} 5120.002000002\n",
        TTFT "_count" L "} 4\n",
        "vllm:request_success_total" L ",finished_reason=\"abort\"} 4\n",
        "vllm:kv_cache_usage_perc" L "} 0.25\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(strstr(page, lines[i]) != NULL, "no %s in\n%s", lines[i], page);
}
END_TEST

START_TEST(a_sum_outlasts_64_bits) {
    struct metrics m = {0};
    m.histogram[MH_E2E].sum_ns = (__int128)INT64_MAX * 3 + 5;
    ck_assert_ptr_nonnull(
        strstr(page_of(&m, &now), "e2e_request_latency_seconds_sum" L "} 27670116110.564327426\n"));
}
END_TEST

START_TEST(labels_are_escaped_and_say_when_time_is_simulated) {
    struct metrics m = {0};
    struct metrics_now odd = now;
    odd.model_name = "a\"b\\c\nd\xff";
    odd.paced = "llama-2-7b on h100";
    const char *page = page_of(&m, &odd);
    ck_assert_ptr_nonnull(strstr(page, "{model_name=\"a\\\"b\\\\c?d?\",engine=\"0\","
                                       "paced=\"llama-2-7b on h100\"} 0\n"));
    int samples = 0, paced = 0;
    for (const char *line = page; *line; line = strchr(line, '\n') + 1) samples += *line != '#';
    for (const char *at = page; (at = strstr(at, ",paced=\"llama-2-7b on h100\"")); at++) paced++;
    ck_assert_int_eq(paced, samples);
    ck_assert_ptr_null(strstr(page_of(&m, &now), "paced"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("metrics");
    TCase *t = tcase_create("metrics");
    tcase_add_test(t, each_interval_has_its_two_events);
    tcase_add_test(t, a_mean_over_no_gap_is_not_observed);
    tcase_add_test(t, every_end_is_counted_once);
    tcase_add_test(t, the_prompt_counts_when_it_was_computed);
    tcase_add_test(t, bounds_belong_to_their_bucket);
    tcase_add_test(t, a_sum_outlasts_64_bits);
    tcase_add_test(t, labels_are_escaped_and_say_when_time_is_simulated);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
