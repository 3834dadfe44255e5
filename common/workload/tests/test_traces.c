/* test_traces.c: published formats of traces, and the line, column and expectation in the errors of
 * bad rows. The samples are our own, in the published form.
 *
 *   test_traces --rows FORMAT FILE [skip]   prints the rows, for test_traces_published.py
 */
/* servelab-test: waits */
#include "workload/traces_internal.h"

#include "base/clock.h"
#include "testing/check_main.h"
#include "workload/lines.h"
#include "workload/spec.h"

#include "trace_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define AZURE_HEAD    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
#define BURSTGPT_HEAD "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
#define VIDUR_HEAD    "arrived_at,num_prefill_tokens,num_decode_tokens\n"

static struct trace read_text(enum trace_format format, const char *text) {
    struct trace t;
    struct err e = {0};
    int rc = trace_of_text(&t, text, strlen(text), format, false, &e);
    ck_assert_msg(rc == 0, "line %d: %s: %s", e.line, e.field, e.text);
    return t;
}

static void expect_row(const struct trace *t, int64_t i, int64_t at_ns, int32_t prompt,
                       int32_t output) {
    const struct trace_row *r = &t->rows[i];
    ck_assert_msg(r->at_ns == at_ns && r->prompt_tokens == prompt && r->output_tokens == output,
                  "row %lld: %lld %d %d", (long long)i, (long long)r->at_ns, r->prompt_tokens,
                  r->output_tokens);
}

/* ---- good files ---- */

START_TEST(azure_2023_seven_digits_and_no_last_line_end) {
    struct trace t = read_text(TRACE_AZURE, AZURE_HEAD "2023-11-16 18:15:46.6805900,374,44\n"
                                                       "2023-11-16 18:15:50.9951690,396,109\n"
                                                       "2023-11-16 18:15:51.2224671,879,55");
    ck_assert_int_eq(t.n, 3);
    expect_row(&t, 0, 0, 374, 44);
    expect_row(&t, 1, 4314579000, 396, 109);
    expect_row(&t, 2, 4541877100, 879, 55);
    ck_assert_int_eq(t.facts.rows, 3);
    ck_assert_int_eq(t.facts.prompt_tokens, 374 + 396 + 879);
    ck_assert_int_eq(t.facts.output_tokens, 44 + 109 + 55);
    ck_assert(!t.facts.unsorted && t.facts.skipped == 0 && t.facts.zero_token_rows == 0);
    ck_assert_double_eq_tol(t.facts.recorded_rps, 2 / 4.5418771, 1e-12);
    ck_assert_int_eq(t.longest_output, 109);
    trace_clear(&t);
}
END_TEST

START_TEST(azure_2024_zones_with_and_without_a_fraction) {
    struct trace t = read_text(TRACE_AZURE, AZURE_HEAD "2024-05-11 23:59:59.999999+00:00,10,1\n"
                                                       "2024-05-12 00:00:00+00:00,20,2\n"
                                                       "2024-05-12 00:00:00.004163+00:00,30,3\n"
                                                       "2024-05-12 00:00:01Z,40,4\n");
    ck_assert_int_eq(t.n, 4);
    expect_row(&t, 1, 1000, 20, 2); /* over midnight */
    expect_row(&t, 2, 4164000, 30, 3);
    expect_row(&t, 3, 1000001000, 40, 4);
    trace_clear(&t);
}
END_TEST

START_TEST(azure_dates_against_timegm) {
    static const char *const dates[] = {
        "1970-01-01 00:00:00", "1972-02-29 12:00:01", "1999-12-31 23:59:59", "2000-02-29 00:00:00",
        "2000-03-01 00:00:00", "2023-02-28 23:59:59", "2024-02-29 23:59:59", "2024-03-01 00:00:00",
        "2024-12-31 23:59:59", "2025-01-01 00:00:00", "2038-01-19 03:14:08", "2099-12-31 23:59:59"};
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        struct tm tm = {0};
        ck_assert(strptime(dates[i], "%Y-%m-%d %H:%M:%S", &tm) != NULL);
        int64_t ns = -1;
        const char *wrong = azure_time_ns(dates[i], strlen(dates[i]), &ns);
        ck_assert_msg(!wrong && ns == (int64_t)timegm(&tm) * NS_PER_S, "%s: %lld", dates[i],
                      (long long)ns);
    }
    /* every day of 1970 .. 2099 is a day after the one before */
    int64_t before = -86400 * NS_PER_S;
    bool right = true;
    for (time_t s = 0; s < INT64_C(4102444800); s += 86400) {
        char text[32];
        struct tm tm;
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", gmtime_r(&s, &tm));
        int64_t ns;
        right &= !azure_time_ns(text, strlen(text), &ns) && ns == before + 86400 * NS_PER_S;
        before = ns;
    }
    ck_assert(right);
}
END_TEST

START_TEST(burstgpt_zero_responses_stay_as_requests_of_one_token) {
    struct trace t =
        read_text(TRACE_BURSTGPT, BURSTGPT_HEAD "5,GPT-3.5,472,18,490,Conversation log\n"
                                                "45,GPT-3.5,1087,0,1087,API log\n"
                                                "118,GPT-4,0,276,276,API log\n");
    ck_assert_int_eq(t.n, 3);
    expect_row(&t, 0, 0, 472, 18);
    expect_row(&t, 1, 40 * NS_PER_S, 1087, 1);
    expect_row(&t, 2, 113 * NS_PER_S, 1, 276);
    ck_assert_int_eq(t.facts.zero_token_rows, 2);
    ck_assert_int_eq(t.facts.prompt_tokens, 472 + 1087); /* as written, not as kept */
    ck_assert_int_eq(t.facts.output_tokens, 18 + 276);
    trace_clear(&t);
    /* the third file has two columns more, and seconds with a point */
    t = read_text(TRACE_BURSTGPT,
                  "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total "
                  "tokens,Log Type\n"
                  "19440110.0,8f1c,43,GPT-4,906,446,1352,Conversation log\n"
                  "19440161.5,77aa,2,GPT-3.5,36,29,65,API log\n");
    expect_row(&t, 0, 0, 906, 446);
    expect_row(&t, 1, 51500 * NS_PER_MS, 36, 29);
    trace_clear(&t);
}
END_TEST

START_TEST(vidur_seconds_as_python_prints_them) {
    struct trace t = read_text(TRACE_VIDUR, VIDUR_HEAD "0.0,374,44\n"
                                                       "7.5e-05,91,16\n"
                                                       "5.8926549999999995,396,109\n");
    expect_row(&t, 0, 0, 374, 44);
    expect_row(&t, 1, 75000, 91, 16);
    expect_row(&t, 2, 5892655000, 396, 109);
    trace_clear(&t);
}
END_TEST

START_TEST(mooncake_milliseconds_and_prefixes) {
    struct trace t = read_text(
        TRACE_MOONCAKE,
        "{\"timestamp\": 100, \"input_length\": 1200, \"output_length\": 6, \"hash_ids\": [0, 1, "
        "2]}\n"
        "{\"hash_ids\":[0,1,7] , \"extra\":{\"a\":[1,{\"b\":\"]}\\\"\"}]}, \"output_length\":52,"
        "\"input_length\":1100,\"timestamp\":127.5}\r\n"
        " { \"timestamp\" : 3e2 , \"input_length\" : 5 , \"output_length\" : 1 }\n"
        "{\"timestamp\":300,\"input_length\":600,\"output_length\":1,\"hash_ids\":[]}");
    ck_assert_int_eq(t.n, 4);
    expect_row(&t, 0, 0, 1200, 6);
    expect_row(&t, 1, 27500 * 1000, 1100, 52);
    expect_row(&t, 2, 200 * NS_PER_MS, 5, 1);
    expect_row(&t, 3, 200 * NS_PER_MS, 600, 1);
    ck_assert_int_eq(t.n_prefixes, 6);
    ck_assert_int_eq(t.rows[0].n_prefix, 3);
    ck_assert_int_eq(t.rows[2].n_prefix, 0);
    const uint64_t *a = t.prefixes + t.rows[0].prefix_at, *b = t.prefixes + t.rows[1].prefix_at;
    ck_assert(a[0] == b[0] && a[1] == b[1] && a[2] != b[2]);
    ck_assert(a[0] != 0 && a[0] != a[1]); /* id 0 is a block too */
    trace_clear(&t);
}
END_TEST

START_TEST(dressing_of_the_file_doesnt_matter) {
    static const char *const same[] = {
        AZURE_HEAD "2023-11-16 18:15:46,1,2\n2023-11-16 18:15:47,3,4\n",
        "\xef\xbb\xbf" AZURE_HEAD "2023-11-16 18:15:46,1,2\n2023-11-16 18:15:47,3,4",
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46,1,2\r\n2023-11-16 "
        "18:15:47,3,4\r\n\r\n",
        "\n" AZURE_HEAD "\n2023-11-16 18:15:46,1,2\n\n\n2023-11-16 18:15:47,3,4\n\n",
        "GeneratedTokens,NumImages,TIMESTAMP,ContextTokens\n2,x,2023-11-16 "
        "18:15:46,1\n4,,2023-11-16 "
        "18:15:47,3\n",
        /* not sorted */
        AZURE_HEAD "2023-11-16 18:15:47,3,4\n2023-11-16 18:15:46,1,2\n",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct trace t = read_text(TRACE_AZURE, same[i]);
        ck_assert_int_eq(t.n, 2);
        expect_row(&t, 0, 0, 1, 2);
        expect_row(&t, 1, NS_PER_S, 3, 4);
        ck_assert_int_eq(t.facts.unsorted, i == 5);
        trace_clear(&t);
    }
}
END_TEST

/* A byte order mark, CRLF, a blank line and a missing last line end, in every format. Times as
 * Python prints floats. */
START_TEST(dressing_doesnt_matter_in_any_format) {
    static const struct {
        enum trace_format format;
        const char *text;
    } same[] = {
        {TRACE_AZURE, "\xef\xbb\xbfTIMESTAMP,ContextTokens,GeneratedTokens\r\n\r\n"
                      "2023-11-16 18:15:46,600,2\r\n2023-11-16 18:15:46.5,700,4"},
        {TRACE_BURSTGPT, "\xef\xbb\xbfTimestamp,Request tokens,Response tokens\r\n\r\n"
                         "5e0,600,2\r\n5.5,700,4"},
        {TRACE_VIDUR, "\xef\xbb\xbf"
                      "arrived_at,num_prefill_tokens,num_decode_tokens\r\n\r\n"
                      "7.5e-05,600,2\r\n5.00075E-1,700,4"},
        {TRACE_MOONCAKE,
         "\xef\xbb\xbf{\"timestamp\":1e3,\"input_length\":600,\"output_length\":2}\r\n\r\n"
         "{\"timestamp\":1.5e+3,\"input_length\":700,\"output_length\":4}"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct trace t = read_text(same[i].format, same[i].text);
        ck_assert_int_eq(t.n, 2);
        expect_row(&t, 0, 0, 600, 2);
        expect_row(&t, 1, NS_PER_S / 2, 700, 4);
        trace_clear(&t);
    }
}
END_TEST

#define ROW(ids) "{\"timestamp\":0,\"input_length\":600,\"output_length\":2,\"hash_ids\":" ids "}\n"

START_TEST(prefix_ids_of_64_bits_without_a_sign) {
    struct trace t =
        read_text(TRACE_MOONCAKE, ROW("[18446744073709551615,0]") ROW("[18446744073709551615]")
                                      ROW("[9223372036854775807]") ROW("[9223372036854775808]")
                                          ROW("[18446744073709551614]") ROW("[0]"));
    uint64_t first[6];
    for (int i = 0; i < 6; i++) first[i] = t.prefixes[t.rows[i].prefix_at];
    ck_assert(first[0] == first[1]);
    for (int i = 1; i < 6; i++) {
        ck_assert(first[i] != 0); /* would mean that nothing is known */
        for (int k = 1; k < i; k++) ck_assert(first[i] != first[k]);
    }
    ck_assert(t.prefixes[t.rows[0].prefix_at + 1] == first[5]);
    trace_clear(&t);
}
END_TEST

START_TEST(an_optional_member_that_is_null_is_absent) {
    struct trace t = read_text(TRACE_MOONCAKE, ROW("null") ROW("[7]") ROW("[]"));
    ck_assert_int_eq(t.n, 3);
    ck_assert(t.rows[0].n_prefix == 0 && t.rows[1].n_prefix == 1 && t.rows[2].n_prefix == 0);
    trace_clear(&t);
}
END_TEST

START_TEST(equal_times_stay_in_the_order_of_the_file) {
    struct trace t =
        read_text(TRACE_VIDUR, VIDUR_HEAD "2,1,1\n1,2,1\n2,3,1\n1,4,1\n0.5,5,1\n2,6,1\n1,7,1\n");
    static const int32_t want[] = {5, 2, 4, 7, 1, 3, 6};
    ck_assert(t.facts.unsorted);
    for (int i = 0; i < 7; i++) ck_assert_int_eq(t.rows[i].prompt_tokens, want[i]);
    trace_clear(&t);
}
END_TEST

/* ---- bad files ---- */

static const struct {
    enum trace_format format;
    const char *text;
    size_t n; /* 0: its length */
    int line;
    const char *column, *expected;
} BAD[] = {
    {TRACE_AZURE, AZURE_HEAD "2023-11-16 18:15:46,1,2\n2023-11-16 18:15:47,x,4\n", 0, 3,
     "ContextTokens",
     "expected a whole number from 0 to 100000000, found 'x' (not a number); correct the row, or "
     "leave such rows out with --skip-bad-rows"},
    {TRACE_AZURE, AZURE_HEAD "2023-11-16 18:15:46,1,-2\n", 0, 2, "GeneratedTokens", "(negative)"},
    {TRACE_AZURE, AZURE_HEAD "2023-11-16 18:15:46,1,1e5\n", 0, 2, "GeneratedTokens", "'1e5'"},
    {TRACE_AZURE, AZURE_HEAD "2023-11-16 18:15:46,1,2.0\n", 0, 2, "GeneratedTokens", "'2.0'"},
    {TRACE_AZURE, AZURE_HEAD "2023-11-16 18:15:46,,2\n", 0, 2, "ContextTokens", "found ''"},
    {TRACE_AZURE, AZURE_HEAD "2023-11-16 18:15:46, 1,2\n", 0, 2, "ContextTokens", "' 1'"},
    {TRACE_AZURE, AZURE_HEAD "2023-11-16 18:15:46,100000001,2\n", 0, 2, "ContextTokens",
     "too large"},
    {TRACE_AZURE, AZURE_HEAD "2023-11-16 18:15:46,99999999999999999999999,2\n", 0, 2,
     "ContextTokens", "too large"},
    {TRACE_AZURE, AZURE_HEAD "2023-11-16 18:15:46,1\n", 0, 2, "row",
     "expected 3 columns as in the first line, found '2023-11-16 18:15:46,1' (2)"},
    {TRACE_AZURE, AZURE_HEAD "2023-11-16 18:15:46,1,2,\n", 0, 2, "row", "(4)"},
    {TRACE_AZURE, AZURE_HEAD "\n \n", 0, 3, "row", "3 columns"},
    {TRACE_AZURE, AZURE_HEAD "2023-02-29 18:15:46,1,2\n", 0, 2, "TIMESTAMP", "no such day"},
    {TRACE_AZURE, AZURE_HEAD "2100-02-29 18:15:46,1,2\n", 0, 2, "TIMESTAMP", "not a year"},
    {TRACE_AZURE, AZURE_HEAD "1969-12-31 23:59:59,1,2\n", 0, 2, "TIMESTAMP", "not a year"},
    {TRACE_AZURE, AZURE_HEAD "2023-13-01 18:15:46,1,2\n", 0, 2, "TIMESTAMP", "no such day"},
    {TRACE_AZURE, AZURE_HEAD "2023-00-01 18:15:46,1,2\n", 0, 2, "TIMESTAMP", "no such day"},
    {TRACE_AZURE, AZURE_HEAD "2023-01-00 18:15:46,1,2\n", 0, 2, "TIMESTAMP", "no such day"},
    {TRACE_AZURE, AZURE_HEAD "2023-01-01 24:00:00,1,2\n", 0, 2, "TIMESTAMP", "time of day"},
    {TRACE_AZURE, AZURE_HEAD "2023-01-01 23:59:60,1,2\n", 0, 2, "TIMESTAMP", "time of day"},
    {TRACE_AZURE, AZURE_HEAD "2023-01-01 1:00:00,1,2\n", 0, 2, "TIMESTAMP", "not a time"},
    {TRACE_AZURE, AZURE_HEAD "2023-01-01T18:15:46,1,2\n", 0, 2, "TIMESTAMP", "not a time"},
    {TRACE_AZURE, AZURE_HEAD "nan,1,2\n", 0, 2, "TIMESTAMP", "such as 2023-11-16"},
    {TRACE_AZURE, AZURE_HEAD "2023-01-01 18:15:46.,1,2\n", 0, 2, "TIMESTAMP", "no digit"},
    {TRACE_AZURE, AZURE_HEAD "2023-01-01 18:15:46.1234567891,1,2\n", 0, 2, "TIMESTAMP",
     "up to 9 digits"},
    {TRACE_AZURE, AZURE_HEAD "2023-01-01 18:15:46+01:00,1,2\n", 0, 2, "TIMESTAMP", "+00:00"},
    {TRACE_AZURE, AZURE_HEAD "2023-01-01 18:15:46,1\0,2\n",
     sizeof(AZURE_HEAD "2023-01-01 18:15:46,1\0,2\n") - 1, 2, "ContextTokens", "'1?'"},
    {TRACE_AZURE, AZURE_HEAD "\"2023-01-01 18:15:46\",1,2\n", 0, 2, "TIMESTAMP", "not a time"},
    {TRACE_AZURE, AZURE_HEAD, 0, 0, "", "no usable row"},
    {TRACE_AZURE, "", 0, 0, "", "is empty"},
    {TRACE_AZURE, "2023-11-16 18:15:46,1,2\n", 0, 1, "TIMESTAMP",
     "expected the columns TIMESTAMP, ContextTokens and GeneratedTokens, found '2023-11-16"},
    {TRACE_AZURE, "TIMESTAMP,GeneratedTokens\n", 0, 1, "ContextTokens", "no such column"},
    {TRACE_AZURE, "\n" VIDUR_HEAD "0,1,2\n", 0, 2, "TIMESTAMP", "looks like --trace-format vidur"},
    {TRACE_AZURE, "{\"timestamp\": 0}\n", 0, 1, "TIMESTAMP", "--trace-format mooncake"},
    {TRACE_VIDUR, AZURE_HEAD, 0, 1, "arrived_at", "--trace-format azure"},
    {TRACE_VIDUR, BURSTGPT_HEAD, 0, 1, "arrived_at", "--trace-format burstgpt"},
    {TRACE_VIDUR, ",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,",
     0, 1, "arrived_at", "first 64"},
    {TRACE_VIDUR, VIDUR_HEAD "-0.5,1,2\n", 0, 2, "arrived_at",
     "expected seconds from 0 on, found '-0.5' (negative)"},
    {TRACE_VIDUR, VIDUR_HEAD "NaN,1,2\n", 0, 2, "arrived_at", "not a number"},
    {TRACE_VIDUR, VIDUR_HEAD "inf,1,2\n", 0, 2, "arrived_at", "not a number"},
    {TRACE_VIDUR, VIDUR_HEAD "1e300,1,2\n", 0, 2, "arrived_at", "too large"},
    {TRACE_VIDUR, VIDUR_HEAD "9223372036.9,1,2\n", 0, 2, "arrived_at", "too large"},
    {TRACE_BURSTGPT, BURSTGPT_HEAD "5,GPT-3.5,472,18,490,a,b\n", 0, 2, "row", "6 columns"},
    {TRACE_BURSTGPT, BURSTGPT_HEAD "5,GPT-3.5,472,-1,490,a\n", 0, 2, "Response tokens", "negative"},
    {TRACE_MOONCAKE, "[]\n", 0, 1, "row", "a JSON object with timestamp"},
    {TRACE_MOONCAKE, "{}\n", 0, 1, "timestamp", "found '' (missing)"},
    {TRACE_MOONCAKE, "{\"timestamp\":1,\"input_length\":1}\n", 0, 1, "output_length", "missing"},
    {TRACE_MOONCAKE, "{\"timestamp\":1,\"input_length\":1,\"output_length\":1\n", 0, 1, "", ""},
    {TRACE_MOONCAKE, "{\"timestamp\":1,\"timestamp\":1}\n", 0, 1, "timestamp", ""},
    {TRACE_MOONCAKE, "{\"timestamp\":NaN}\n", 0, 1, "timestamp", ""},
    {TRACE_MOONCAKE, "{\"timestamp\":\"5\"}\n", 0, 1, "timestamp", "milliseconds"},
    {TRACE_MOONCAKE, "{\"timestamp\":-5}\n", 0, 1, "timestamp", "negative"},
    {TRACE_MOONCAKE, "{\"timestamp\":5,\"input_length\":1.5}\n", 0, 1, "input_length", "'1.5'"},
    {TRACE_MOONCAKE, "{\"timestamp\":5,\"input_length\":null}\n", 0, 1, "input_length", "'null'"},
    {TRACE_MOONCAKE,
     "{\"timestamp\":5,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1,2]}\n", 0, 1,
     "hash_ids", "expected at most 1, one per 512 of the 512 prompt tokens"},
    {TRACE_MOONCAKE,
     "{\"timestamp\":5,\"input_length\":512,\"output_length\":1,\"hash_ids\":[[1]]}\n", 0, 1,
     "hash_ids", "found '[1]'"},
    {TRACE_MOONCAKE,
     "{\"timestamp\":5,\"input_length\":512,\"output_length\":1,\"hash_ids\":{\"a\":1}}\n", 0, 1,
     "hash_ids", "a list of whole numbers"},
    {TRACE_MOONCAKE,
     "{\"timestamp\":5,\"input_length\":512,\"output_length\":1,\"hash_ids\":[-1]}\n", 0, 1,
     "hash_ids", "negative"},
    {TRACE_MOONCAKE, ROW("[18446744073709551616]"), 0, 1, "hash_ids",
     "expected a list of whole numbers from 0 to 2^64 - 1, found '18446744073709551616' (too "
     "large)"},
    {TRACE_MOONCAKE, ROW("[1.8446744073709552e+19]"), 0, 1, "hash_ids", "not a number"},
    {TRACE_MOONCAKE, ROW("[null]"), 0, 1, "hash_ids", "found 'null'"},
    {TRACE_MOONCAKE, AZURE_HEAD, 0, 1, "", ""},
};

START_TEST(a_bad_row_gives_line_column_and_expectation) {
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct trace t;
        struct err e = {0};
        size_t n = BAD[i].n ? BAD[i].n : strlen(BAD[i].text);
        ck_assert_msg(trace_of_text(&t, BAD[i].text, n, BAD[i].format, false, &e) == -1,
                      "case %zu was accepted", i);
        ck_assert_msg(e.line == BAD[i].line && strstr(e.text, BAD[i].expected) && e.text[0],
                      "case %zu: %d: %s: %s", i, e.line, e.field, e.text);
        ck_assert_msg(!BAD[i].column[0] || !strcmp(e.field, BAD[i].column), "case %zu: %s: %s", i,
                      e.field, e.text);
        ck_assert(!t.rows && !t.prefixes && t.n == 0);
    }
}
END_TEST

START_TEST(bad_rows_are_counted_when_they_are_skipped) {
    struct trace t;
    struct err e = {0};
    static const char text[] = AZURE_HEAD "2023-11-16 18:15:46,1,2\n"
                                          "2023-11-16 18:15:47,x,4\n"
                                          "\n"
                                          "2023-11-16 18:15:48,5,0\n"
                                          "2023-11-16 18:15:48\n";
    ck_assert_int_eq(trace_of_text(&t, text, strlen(text), TRACE_AZURE, true, &e), 0);
    ck_assert_int_eq(t.n, 2);
    ck_assert_int_eq(t.facts.rows, 2);
    ck_assert_int_eq(t.facts.skipped, 2);
    ck_assert_int_eq(t.facts.first_skipped_line, 3);
    ck_assert_int_eq(t.facts.zero_token_rows, 1);
    ck_assert_int_eq(t.rows[1].line, 5);
    trace_clear(&t);
    /* what isn't a row isn't skipped: the first line, and a file without a good one */
    ck_assert_int_eq(trace_of_text(&t, text + 10, strlen(text) - 10, TRACE_AZURE, true, &e), -1);
    static const char all_bad[] = VIDUR_HEAD "a,b,c\nd,e,f\n";
    ck_assert_int_eq(trace_of_text(&t, all_bad, strlen(all_bad), TRACE_VIDUR, true, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "all of them are bad"));
    /* the prefixes of a skipped row go with it */
    static const char prefixes[] =
        "{\"timestamp\":5,\"input_length\":600,\"output_length\":1,\"hash_ids\":[1,-2]}\n"
        "{\"timestamp\":5,\"input_length\":600,\"output_length\":1,\"hash_ids\":[3,4]}\n";
    ck_assert_int_eq(trace_of_text(&t, prefixes, strlen(prefixes), TRACE_MOONCAKE, true, &e), 0);
    ck_assert_int_eq(t.n_prefixes, 2);
    ck_assert_int_eq(t.rows[0].prefix_at, 0);
    trace_clear(&t);
}
END_TEST

START_TEST(huge_lines_are_bad_rows_and_large_files_need_no_memory_for_lines) {
    enum { HUGE = 3 * LINES_MAX_BYTES };
    char *text = malloc(HUGE + 400);
    ck_assert(text != NULL);
    size_t n = (size_t)sprintf(text, "%s0,1,1\n", VIDUR_HEAD);
    memset(text + n, '7', HUGE);
    n += HUGE;
    n += (size_t)sprintf(text + n, "\n1,2,2\n");
    struct trace t;
    struct err e = {0};
    ck_assert_int_eq(trace_of_text(&t, text, n, TRACE_VIDUR, false, &e), -1);
    ck_assert_int_eq(e.line, 3);
    ck_assert_ptr_nonnull(strstr(e.text, "longer than 1048576 bytes"));
    ck_assert_int_eq(trace_of_text(&t, text, n, TRACE_VIDUR, true, &e), 0);
    ck_assert_int_eq(t.n, 2);
    ck_assert_int_eq(t.facts.skipped, 1);
    expect_row(&t, 1, NS_PER_S, 2, 2);
    trace_clear(&t);
    /* at the end of the file, too, and as its only line */
    ck_assert_int_eq(trace_of_text(&t, text, n - 7, TRACE_VIDUR, true, &e), 0);
    ck_assert_int_eq(t.n, 1);
    trace_clear(&t);
    /* lines around the size of the buffer, with either end */
    for (size_t more = 0; more < 12; more++) {
        size_t digits = LINES_MAX_BYTES - 8 + more / 2;
        n = (size_t)sprintf(text, "%s", VIDUR_HEAD);
        memset(text + n, '0', digits);
        n += digits;
        n += (size_t)sprintf(text + n, "1,2,3%s\n9,8,7", more % 2 ? "\r" : "");
        bool fits = digits + 5 <= LINES_MAX_BYTES;
        ck_assert_int_eq(trace_of_text(&t, text, n, TRACE_VIDUR, true, &e), 0);
        ck_assert_msg(t.n == (fits ? 2 : 1), "%zu more: %d", more, (int)t.n);
        trace_clear(&t);
    }
    free(text);
}
END_TEST

START_TEST(what_isnt_a_file_is_refused_and_a_pipe_is_read) {
    struct trace t;
    struct err e = {0};
    ck_assert_int_eq(trace_read(&t, "/nonexistent", TRACE_AZURE, false, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "No such file"));
    ck_assert_int_eq(trace_read(&t, "/", TRACE_AZURE, false, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "is a folder"));
    ck_assert_int_eq(trace_read(&t, "/dev/null", TRACE_AZURE, false, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "not a regular file"));
    int folder = open("/", O_RDONLY); /* reading it fails */
    ck_assert_int_eq(trace_read_fd(&t, folder, TRACE_AZURE, true, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "can't be read"));
    close(folder);
    int ends[2];
    static const char text[] = VIDUR_HEAD "0,1,1\n";
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
    close(ends[1]);
    ck_assert_int_eq(trace_read_fd(&t, ends[0], TRACE_VIDUR, false, &e), 0);
    ck_assert_int_eq(t.n, 1);
    trace_clear(&t);
    close(ends[0]);
}
END_TEST

/* ---- as a workload ---- */

static struct workload *open_text(struct workload_spec *s, const char *text, struct err *e) {
    static char path[] = "/tmp/servelab-trace-XXXXXX";
    strcpy(path + sizeof path - 7, "XXXXXX");
    int fd = mkstemp(path);
    ck_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    s->arrivals = ARRIVALS_TRACE;
    s->trace = path;
    struct workload *w = workload_open(s, e);
    unlink(path);
    return w;
}

static void expect_arrivals(struct workload_spec s, const int64_t *want_ns, int n) {
    struct err e = {0};
    s.trace_format = TRACE_VIDUR;
    struct workload *w =
        open_text(&s, VIDUR_HEAD "10,100,5\n11,200,50\n11,300,0\n14,400,500\n", &e);
    ck_assert_msg(w != NULL, "%s: %s", e.field, e.text);
    struct sim_request r;
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(workload_peek_ns(w), want_ns[i]);
        ck_assert_int_eq(workload_next(w, &r, &e), 1);
        ck_assert_int_eq(r.id, i);
        ck_assert_int_eq(r.arrival_ns, want_ns[i]);
        ck_assert_int_eq(r.prompt_tokens, 100 * (i + 1));
        int32_t wanted = (int32_t[]){5, 50, 1, 500}[i], limit = s.max_output_tokens;
        ck_assert_int_eq(r.wanted_tokens, wanted);
        ck_assert_int_eq(r.output_tokens, limit && wanted > limit ? limit : wanted);
        ck_assert_int_eq(r.max_output_tokens, limit ? limit : 500);
    }
    ck_assert_int_eq(workload_next(w, &r, &e), 0);
    struct workload_facts f;
    workload_facts(w, &f);
    ck_assert(f.rows == 4 && f.zero_token_rows == 1 && f.output_tokens == 555);
    workload_close(w);
}

START_TEST(one_factor_scales_all_gaps) {
    const int64_t s = NS_PER_S;
    expect_arrivals((struct workload_spec){0}, (int64_t[]){0, s, s, 4 * s}, 4);
    expect_arrivals((struct workload_spec){.time_scale = 0.5, .max_output_tokens = 50},
                    (int64_t[]){0, s / 2, s / 2, 2 * s}, 4);
    /* 3 gaps at 3 requests/s: one second */
    expect_arrivals((struct workload_spec){.rate_rps = 3}, (int64_t[]){0, s / 4, s / 4, s}, 4);
    /* the rate is that of the requests that are used: 2 gaps at 4 requests/s */
    expect_arrivals((struct workload_spec){.rate_rps = 4, .requests = 3},
                    (int64_t[]){0, s / 2, s / 2}, 3);
    expect_arrivals((struct workload_spec){.requests = 100}, (int64_t[]){0, s, s, 4 * s}, 4);
}
END_TEST

START_TEST(what_cant_be_scaled_is_refused) {
    struct err e = {0};
    struct workload_spec s = {.rate_rps = 4, .trace_format = TRACE_VIDUR};
    ck_assert(!open_text(&s, VIDUR_HEAD "5,1,1\n5,1,1\n", &e));
    ck_assert_str_eq(e.field, "--rate-rps");
    ck_assert(workload_err_input(&s, &e) == NULL);
    s = (struct workload_spec){.time_scale = 1e6, .trace_format = TRACE_VIDUR};
    ck_assert(!open_text(&s, VIDUR_HEAD "0,1,1\n50000000,1,1\n", &e));
    ck_assert_str_eq(e.field, "--time-scale");
    s = (struct workload_spec){.trace_format = TRACE_VIDUR};
    ck_assert(!open_text(&s, VIDUR_HEAD "0,1,1\n0,1,x\n", &e));
    ck_assert(e.line == 3 && workload_err_input(&s, &e) == s.trace);
}
END_TEST

START_TEST(prefixes_reach_the_requests) {
    struct err e = {0};
    struct workload_spec s = {.trace_format = TRACE_MOONCAKE};
    struct workload *w =
        open_text(&s,
                  "{\"timestamp\":5,\"input_length\":600,\"output_length\":1,\"hash_ids\":[3,4]}\n"
                  "{\"timestamp\":4,\"input_length\":60,\"output_length\":1}\n"
                  "{\"timestamp\":9.5,\"input_length\":60,\"output_length\":1,\"hash_ids\":[8]}\n"
                  "{\"timestamp\":9,\"input_length\":600,\"output_length\":1,\"hash_ids\":[3,5]}\n",
                  &e);
    ck_assert(w != NULL);
    struct sim_request r[4];
    for (int i = 0; i < 4; i++) ck_assert_int_eq(workload_next(w, &r[i], &e), 1);
    ck_assert(!r[0].prefix && r[0].prefix_hash == 0 && r[0].n_prefix == 0);
    ck_assert(r[1].n_prefix == 2 && r[1].prefix_unit == 512 && r[1].prefix_hash == r[1].prefix[0]);
    ck_assert(r[3].n_prefix == 1 && r[3].prefix_hash == r[3].prefix[0] && r[3].prefix_hash != 0);
    ck_assert(r[1].prefix_hash == r[2].prefix_hash && r[1].prefix[1] != r[2].prefix[1]);
    workload_close(w);
}
END_TEST

START_TEST(an_hour_of_azure_is_read_in_well_under_50_ms) {
    enum { ROWS = 19366, ROW_BYTES = 48 };
    char *text = malloc((size_t)ROWS * ROW_BYTES + 64);
    ck_assert(text != NULL);
    size_t n = (size_t)sprintf(text, AZURE_HEAD);
    for (int i = 0; i < ROWS; i++)
        n += (size_t)sprintf(text + n, "2023-11-16 18:%02d:%02d.%07d,%d,%d\n", i / 330, i / 6 % 60,
                             i * 517 % 10000000, i % 4000, i % 900);
    double best_ms = 1e9; /* processor time, the best of three: neighbours don't count */
    for (int round = 0; round < 3; round++) {
        struct trace t;
        struct err e;
        struct timespec from, to;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
        ck_assert_int_eq(trace_of_text(&t, text, n, TRACE_AZURE, false, &e), 0);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
        double ms =
            (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
        if (ms < best_ms) best_ms = ms;
        ck_assert_int_eq(t.n, ROWS);
        trace_clear(&t);
    }
    ck_assert_msg(best_ms < 50, "%g ms", best_ms);
    ck_assert_uint_eq(sizeof(struct trace_row), 32);
    free(text);
}
END_TEST

static int print_rows(const char *format_name, const char *path, bool skip) {
    struct err e = {0};
    enum trace_format format;
    struct trace t;
    if (spec_trace_format("FORMAT", format_name, &format, &e) ||
        trace_read(&t, path, format, skip, &e)) {
        char text[600];
        printf("error %s\n", err_format(&e, path, text, sizeof text));
        return 2;
    }
    printf("rows %lld skipped %lld zero %lld prompt %lld output %lld unsorted %d\n",
           (long long)t.facts.rows, (long long)t.facts.skipped, (long long)t.facts.zero_token_rows,
           (long long)t.facts.prompt_tokens, (long long)t.facts.output_tokens, t.facts.unsorted);
    for (int64_t i = 0; i < t.n; i++) {
        const struct trace_row *r = &t.rows[i];
        printf("%lld %d %d", (long long)r->at_ns, r->prompt_tokens, r->output_tokens);
        for (int32_t k = 0; k < r->n_prefix; k++)
            printf(" %llx", (unsigned long long)t.prefixes[r->prefix_at + k]);
        printf("\n");
    }
    trace_clear(&t);
    return 0;
}

int main(int argc, char **argv) {
    if (argc >= 4 && !strcmp(argv[1], "--rows")) return print_rows(argv[2], argv[3], argc > 4);
    Suite *s = suite_create("traces");
    TCase *g = tcase_create("good files");
    tcase_add_test(g, azure_2023_seven_digits_and_no_last_line_end);
    tcase_add_test(g, azure_2024_zones_with_and_without_a_fraction);
    tcase_add_test(g, azure_dates_against_timegm);
    tcase_add_test(g, burstgpt_zero_responses_stay_as_requests_of_one_token);
    tcase_add_test(g, vidur_seconds_as_python_prints_them);
    tcase_add_test(g, mooncake_milliseconds_and_prefixes);
    tcase_add_test(g, dressing_of_the_file_doesnt_matter);
    tcase_add_test(g, dressing_doesnt_matter_in_any_format);
    tcase_add_test(g, prefix_ids_of_64_bits_without_a_sign);
    tcase_add_test(g, an_optional_member_that_is_null_is_absent);
    tcase_add_test(g, equal_times_stay_in_the_order_of_the_file);
    suite_add_tcase(s, g);
    TCase *b = tcase_create("bad files");
    tcase_add_test(b, a_bad_row_gives_line_column_and_expectation);
    tcase_add_test(b, bad_rows_are_counted_when_they_are_skipped);
    tcase_add_test(b, huge_lines_are_bad_rows_and_large_files_need_no_memory_for_lines);
    tcase_add_test(b, what_isnt_a_file_is_refused_and_a_pipe_is_read);
    suite_add_tcase(s, b);
    TCase *w = tcase_create("as a workload");
    tcase_add_test(w, one_factor_scales_all_gaps);
    tcase_add_test(w, what_cant_be_scaled_is_refused);
    tcase_add_test(w, prefixes_reach_the_requests);
    tcase_add_test(w, an_hour_of_azure_is_read_in_well_under_50_ms);
    suite_add_tcase(s, w);
    return check_main(s);
}
