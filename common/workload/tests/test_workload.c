/* test_workload.c: properties of every sequence of requests, digests of sequences (a seed gives the
 * same everywhere), and the errors of bad specs. Arrival times: test_arrivals.c.
 *
 *   test_workload --print SPEC N   the first N requests of SPECS[SPEC], for test_sequences.py */
#include "workload/workload.h"

#include "testing/check_main.h"
#include "workload/decimal.h"
#include "workload/spec.h"

#include "sequence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 100000 };

static const int64_t LIST[] = {0, 0, 1000000, 1000001, 7000000};

static const struct workload_spec SPECS[] = {
    {.arrivals = ARRIVALS_POISSON, .rate_rps = 5.5},
    {.arrivals = ARRIVALS_GAMMA, .rate_rps = 5.5, .cv = 2.5},
    {.arrivals = ARRIVALS_GAMMA, .rate_rps = 5.5, .cv = 0.6},
    {.arrivals = ARRIVALS_ON_OFF, .rate_rps = 5.5, .on_s = 10, .off_s = 35},
    {.arrivals = ARRIVALS_CLOSED, .clients = 17, .think_s = 0.1},
    {.arrivals = ARRIVALS_CLOSED, .clients = 5},
    {.arrivals = ARRIVALS_LIST, .list_ns = LIST, .requests = 5},
};
enum { N_SPECS = sizeof SPECS / sizeof *SPECS };

/* Made once by this test (it prints what it got); equal on every machine, compiler and flag. */
static const uint64_t DIGESTS[N_SPECS] = {
    0xaa08aad6968bdb7e, 0x744361941e890b06, 0xc2f20339614ce095, 0x4e6f80eb72b8af05,
    0xef14c2375b93e149, 0x9d8a86e4d150160a, 0x2bbcaa073fbef1c6};

static struct workload_spec whole_spec(size_t i) {
    struct workload_spec s = SPECS[i];
    if (s.requests == 0) s.requests = N;
    s.seed = 42;
    s.prompt_tokens = (struct lengths){100, 3000};
    s.output_tokens = (struct lengths){1, 700};
    s.max_output_tokens = 512;
    s.fail_rate = 0.03;
    return s;
}

struct sequence {
    struct sim_request *r;
    int64_t n;
};

static struct sequence sequence_of(const struct workload_spec *s) {
    struct err e = {0};
    struct workload *w = workload_open(s, &e);
    ck_assert_msg(w != NULL, "%s: %s", e.field, e.text);
    struct sequence q = {.r = malloc((size_t)N * sizeof *q.r)};
    ck_assert(q.r != NULL);
    q.n = take_requests(w, q.r, N, &e);
    ck_assert_msg(q.n >= 0, "%s: %s", e.field, e.text);
    struct sim_request more;
    ck_assert_int_eq(workload_next(w, &more, &e), 0);
    ck_assert_int_eq(workload_peek_ns(w), INT64_MAX);
    ck_assert(workload_over(w));
    workload_close(w);
    return q;
}

static bool same(const struct sim_request *a, const struct sim_request *b) {
    return digest_request(DIGEST_START, a) == digest_request(DIGEST_START, b);
}

START_TEST(digests_are_those_committed) {
    struct workload_spec s = whole_spec((size_t)_i);
    struct sequence q = sequence_of(&s);
    uint64_t h = DIGEST_START;
    for (int64_t i = 0; i < q.n; i++) h = digest_request(h, &q.r[i]);
    ck_assert_msg(h == DIGESTS[_i], "spec %d: got 0x%016llx, want 0x%016llx", _i,
                  (unsigned long long)h, (unsigned long long)DIGESTS[_i]);
    free(q.r);
}
END_TEST

START_TEST(sorted_with_consecutive_ids_and_lengths_in_range) {
    struct workload_spec s = whole_spec((size_t)_i);
    struct sequence q = sequence_of(&s);
    ck_assert_int_eq(q.n, s.requests);
    int64_t wrong = -1;
    for (int64_t i = 0; i < q.n; i++) {
        const struct sim_request *r = &q.r[i];
        bool right = r->id == i && r->arrival_ns >= (i ? r[-1].arrival_ns : 0) &&
                     r->prompt_tokens >= 100 && r->prompt_tokens <= 3000 && r->output_tokens >= 1 &&
                     r->output_tokens <= 512 && r->wanted_tokens <= 700 &&
                     (r->wanted_tokens <= 512 ? r->output_tokens == r->wanted_tokens
                                              : r->output_tokens == 512) &&
                     r->max_output_tokens == 512 && r->fail_after >= 0 &&
                     r->fail_after <= r->output_tokens && r->prefix_hash == 0 && !r->prefix;
        if (!right && wrong < 0) wrong = i;
    }
    ck_assert_msg(wrong < 0, "request %lld", (long long)wrong);
    free(q.r);
}
END_TEST

START_TEST(a_shorter_run_begins_a_longer_one_and_equal_specs_are_equal) {
    struct workload_spec s = whole_spec((size_t)_i);
    struct sequence whole = sequence_of(&s), again = sequence_of(&s);
    s.requests = s.requests < 1000 ? 3 : 777;
    struct sequence part = sequence_of(&s);
    ck_assert_int_eq(part.n, s.requests);
    bool equal = whole.n == again.n, begins = true;
    for (int64_t i = 0; i < whole.n; i++) equal &= same(&whole.r[i], &again.r[i]);
    for (int64_t i = 0; i < part.n; i++) begins &= same(&whole.r[i], &part.r[i]);
    ck_assert(equal);
    ck_assert(begins);
    free(whole.r), free(again.r), free(part.r);
}
END_TEST

START_TEST(another_seed_is_another_sequence) {
    struct workload_spec s = whole_spec((size_t)_i);
    struct sequence a = sequence_of(&s);
    s.seed++;
    struct sequence b = sequence_of(&s);
    int64_t times = 0, prompts = 0, outputs = 0, fates = 0;
    for (int64_t i = 0; i < a.n; i++) {
        times += a.r[i].arrival_ns == b.r[i].arrival_ns;
        prompts += a.r[i].prompt_tokens == b.r[i].prompt_tokens;
        outputs += a.r[i].wanted_tokens == b.r[i].wanted_tokens;
        fates += a.r[i].fail_after && b.r[i].fail_after;
    }
    if (s.arrivals != ARRIVALS_LIST) {
        if (s.arrivals != ARRIVALS_CLOSED) ck_assert_int_lt(times, 10);
        ck_assert_int_lt(prompts, N / 2901 * 2);
        ck_assert_int_lt(outputs, N / 700 * 2);
        ck_assert_int_lt(fates, (int64_t)(N * 0.03 * 0.03 * 2));
    }
    free(a.r), free(b.r);
}
END_TEST

/* One thing changes, the others stay: what a sweep relies on. */
START_TEST(streams_are_independent) {
    struct workload_spec s = whole_spec(1);
    struct sequence a = sequence_of(&s);
    s.rate_rps *= 2;
    s.fail_rate = 0.06;
    s.output_tokens = (struct lengths){1, 70};
    struct sequence b = sequence_of(&s);
    bool prompts = true, nested = true;
    int64_t off_ns = 0;
    for (int64_t i = 0; i < a.n; i++) {
        prompts &= a.r[i].prompt_tokens == b.r[i].prompt_tokens;
        nested &= !a.r[i].fail_after || b.r[i].fail_after;
        int64_t off = llabs(a.r[i].arrival_ns - 2 * b.r[i].arrival_ns);
        if (off > off_ns) off_ns = off;
    }
    ck_assert(prompts);
    ck_assert(nested);
    ck_assert_int_lt(off_ns, 200); /* of 10^13: gaps are kept to a fraction of a ns */
    free(a.r), free(b.r);
}
END_TEST

START_TEST(lengths_are_uniform_and_failures_have_their_share) {
    struct workload_spec s = {.arrivals = ARRIVALS_POISSON,
                              .rate_rps = 1,
                              .requests = N,
                              .prompt_tokens = {10, 19},
                              .output_tokens = {64, 64},
                              .fail_rate = 0.25};
    struct sequence q = sequence_of(&s);
    int64_t count[10] = {0}, failed = 0, quarter[4] = {0};
    bool fixed = true;
    for (int64_t i = 0; i < N; i++) {
        count[q.r[i].prompt_tokens - 10]++;
        fixed &= q.r[i].output_tokens == 64 && q.r[i].max_output_tokens == 64;
        if (q.r[i].fail_after) failed++, quarter[(q.r[i].fail_after - 1) / 16]++;
    }
    ck_assert(fixed);
    double chi2 = 0;
    for (int k = 0; k < 10; k++) chi2 += pow((double)count[k] - N / 10.0, 2) / (N / 10.0);
    ck_assert_double_lt(chi2, 27.88); /* 9 degrees of freedom, 0.1 % */
    ck_assert_double_eq_tol((double)failed / N, 0.25, 4 * sqrt(0.25 * 0.75 / N));
    for (int k = 0; k < 4; k++)
        ck_assert_double_eq_tol((double)quarter[k] / (double)failed, 0.25, 0.015);
    free(q.r);
}
END_TEST

START_TEST(all_or_none_fail_and_lengths_default_to_one) {
    for (int all = 0; all < 2; all++) {
        struct workload_spec s = {
            .arrivals = ARRIVALS_POISSON, .rate_rps = 1, .requests = 1000, .fail_rate = all};
        struct sequence q = sequence_of(&s);
        bool right = true;
        for (int64_t i = 0; i < q.n; i++)
            right &= q.r[i].fail_after == all && q.r[i].prompt_tokens == 1 &&
                     q.r[i].output_tokens == 1 && q.r[i].max_output_tokens == 1;
        ck_assert(right);
        free(q.r);
    }
}
END_TEST

START_TEST(a_policy_is_told_the_longest_answer_possible_not_its_length) {
    struct workload_spec s = whole_spec(0);
    s.max_output_tokens = 0;
    s.requests = 100;
    struct sequence q = sequence_of(&s);
    for (int64_t i = 0; i < q.n; i++) {
        ck_assert_int_eq(q.r[i].max_output_tokens, 700);
        ck_assert_int_eq(q.r[i].output_tokens, q.r[i].wanted_tokens);
    }
    free(q.r);
    s.max_output_tokens = 1;
    q = sequence_of(&s);
    for (int64_t i = 0; i < q.n; i++)
        ck_assert(q.r[i].max_output_tokens == 1 && q.r[i].output_tokens == 1);
    free(q.r);
}
END_TEST

/* ---- bad specs ---- */

#define POISSON .arrivals = ARRIVALS_POISSON, .requests = 5
#define GAMMA   .arrivals = ARRIVALS_GAMMA, .requests = 5, .rate_rps = 1
#define ON_OFF  .arrivals = ARRIVALS_ON_OFF, .requests = 5
#define CLOSED  .arrivals = ARRIVALS_CLOSED, .requests = 5
#define TRACE   .arrivals = ARRIVALS_TRACE, .trace = "/nonexistent"

static const int64_t UNSORTED[] = {5, 3}, BEFORE_ZERO[] = {-1, 3};
static const struct {
    struct workload_spec spec;
    const char *field, *text;
} BAD[] = {
    {{POISSON}, "--rate-rps", "is needed: a number from 1e-06 to 1e+09, not 0 or left out"},
    {{POISSON, .rate_rps = -1}, "--rate-rps", "not -1"},
    {{POISSON, .rate_rps = NAN}, "--rate-rps", "nan"},
    {{POISSON, .rate_rps = INFINITY}, "--rate-rps", "not inf"},
    {{POISSON, .rate_rps = 1e-300}, "--rate-rps", "1e-300"},
    {{.arrivals = ARRIVALS_POISSON, .rate_rps = 1},
     "--requests",
     "is needed: a whole number from 1"},
    {{.arrivals = ARRIVALS_POISSON, .rate_rps = 1, .requests = -4}, "--requests", "-4"},
    {{.arrivals = ARRIVALS_POISSON, .rate_rps = 1e-6, .requests = 1000000}, "--requests", "years"},
    {{POISSON, .rate_rps = 1, .cv = 2}, "--cv", "no meaning with --arrivals poisson"},
    {{POISSON, .rate_rps = 1, .cv = NAN}, "--cv", "no meaning"},
    {{POISSON, .rate_rps = 1, .list_ns = LIST}, "--arrivals-ms", "no meaning"},
    {{POISSON, .rate_rps = 1, .on_s = 1}, "--on-s", "no meaning"},
    {{POISSON, .rate_rps = 1, .off_s = 1}, "--off-s", "no meaning"},
    {{POISSON, .rate_rps = 1, .clients = 1}, "--clients", "no meaning"},
    {{POISSON, .rate_rps = 1, .think_s = 1}, "--think-s", "no meaning"},
    {{POISSON, .rate_rps = 1, .trace = "x"}, "--trace", "no meaning"},
    {{POISSON, .rate_rps = 1, .time_scale = 2}, "--time-scale", "no meaning"},
    {{POISSON, .rate_rps = 1, .skip_bad_rows = true}, "--skip-bad-rows", "no meaning"},
    {{POISSON, .rate_rps = 1, .fail_rate = 1.5}, "--fail-rate", "from 0 to 1"},
    {{POISSON, .rate_rps = 1, .fail_rate = NAN}, "--fail-rate", "from 0 to 1"},
    {{POISSON, .rate_rps = 1, .max_output_tokens = -1}, "--max-output-tokens", "-1"},
    {{POISSON, .rate_rps = 1, .prompt_tokens = {5, 4}}, "--prompt-tokens", "from 5"},
    {{POISSON, .rate_rps = 1, .output_tokens = {0, 4}}, "--output-tokens", "from 1"},
    {{POISSON, .rate_rps = 1, .output_tokens = {1, INT32_MAX}}, "--output-tokens", "100000000"},
    {{GAMMA}, "--cv", "from 0.05 to 20"},
    {{GAMMA, .cv = INFINITY}, "--cv", "inf"},
    {{ON_OFF, .rate_rps = 1}, "--on-s", "from 1e-06"},
    {{ON_OFF, .rate_rps = 1, .on_s = 1, .off_s = -1}, "--off-s", "-1"},
    {{ON_OFF, .rate_rps = 1, .on_s = 1e-5}, "--on-s", "lengthen"},
    {{ON_OFF, .rate_rps = 1e8, .on_s = 1, .off_s = 99}, "--rate-rps", "while on"},
    {{CLOSED}, "--clients", "from 1"},
    {{CLOSED, .clients = 3, .think_s = -0.5}, "--think-s", "-0.5"},
    {{CLOSED, .clients = 3, .think_s = NAN}, "--think-s", "nan"},
    {{CLOSED, .clients = 3, .rate_rps = 3}, "--rate-rps", "no meaning with --arrivals closed"},
    {{.arrivals = ARRIVALS_LIST, .requests = 1}, "--arrivals-ms", "missing"},
    {{.arrivals = ARRIVALS_LIST, .list_ns = LIST}, "--requests", "from 1"},
    {{.arrivals = ARRIVALS_LIST, .list_ns = UNSORTED, .requests = 2}, "--arrivals-ms", "sort"},
    {{.arrivals = ARRIVALS_LIST, .list_ns = BEFORE_ZERO, .requests = 2}, "--arrivals-ms", "sort"},
    {{.arrivals = ARRIVALS_LIST, .list_ns = LIST, .requests = 2, .rate_rps = 1},
     "--rate-rps",
     "no meaning with --arrivals-ms"},
    {{.arrivals = ARRIVALS_TRACE}, "--trace", "missing"},
    {{TRACE, .prompt_tokens = {5, 5}}, "--prompt-tokens", "no meaning with --trace"},
    {{TRACE, .output_tokens = {5, 5}}, "--output-tokens", "no meaning with --trace"},
    {{TRACE, .time_scale = -1}, "--time-scale", "-1"},
    {{TRACE, .time_scale = NAN}, "--time-scale", "nan"},
    {{TRACE, .rate_rps = NAN}, "--rate-rps", "nan"},
    {{TRACE, .rate_rps = 1, .time_scale = 2}, "--time-scale", "one of them"},
    {{TRACE, .requests = -1}, "--requests", "from 0"},
    {{TRACE}, "", "No such file"},
    {{.arrivals = (enum arrivals)77}, "--arrivals", "a kind of arrivals"},
    {{TRACE, .trace_format = (enum trace_format)77}, "--arrivals", "a kind of"},
};

START_TEST(a_bad_spec_gives_its_flag) {
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct err e = {0};
        struct workload *w = workload_open(&BAD[i].spec, &e);
        ck_assert_msg(!w, "case %zu was accepted", i);
        ck_assert_msg(e.line == 0 && !strcmp(e.field, BAD[i].field) && strstr(e.text, BAD[i].text),
                      "case %zu: %s: %s", i, e.field, e.text);
        ck_assert(!workload_err_input(&BAD[i].spec, &e) == !!*BAD[i].field);
        ck_assert(!workload_open(&BAD[i].spec, NULL)); /* the caller may pass no struct err */
    }
}
END_TEST

/* ---- words ---- */

START_TEST(names_and_their_suggestions) {
    struct err e;
    enum arrivals a;
    enum trace_format f;
    ck_assert(!spec_arrivals("--arrivals", "on-off", &a, &e) && a == ARRIVALS_ON_OFF);
    ck_assert(!spec_arrivals("--arrivals", "closed", &a, &e) && a == ARRIVALS_CLOSED);
    ck_assert(spec_arrivals("--arrivals", "list", &a, &e)); /* it has its own flag */
    ck_assert(spec_arrivals("--arrivals", "possion", &a, &e));
    ck_assert_str_eq(e.field, "--arrivals");
    ck_assert_ptr_nonnull(strstr(e.text, "poisson, gamma, on-off or closed"));
    ck_assert(!spec_trace_format("--trace-format", "vidur", &f, &e) && f == TRACE_VIDUR);
    ck_assert(spec_trace_format("--trace-format", "csv", &f, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "azure, mooncake, burstgpt or vidur"));
}
END_TEST

START_TEST(lengths_in_words) {
    struct err e;
    struct lengths l = {0, 0};
    ck_assert(!spec_lengths("--x", "2048", &l, &e) && l.lo == 2048 && l.hi == 2048);
    ck_assert(!spec_lengths("--x", "1:700", &l, &e) && l.lo == 1 && l.hi == 700);
    static const char *const bad[] = {
        "",           "0",   "-1", "1:", ":5",  "5:4", "1:2:3",
        "1.5",        "1e3", " 5", "5 ", "nan", "0:5", "99999999999999999999",
        "1:100000001"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(spec_lengths("--x", bad[i], &l, &e) == -1, "'%s'", bad[i]);
        ck_assert_str_eq(e.field, "--x");
    }
    ck_assert(l.lo == 1 && l.hi == 700); /* untouched */
}
END_TEST

START_TEST(lists_in_words) {
    struct err e;
    int64_t *list, n;
    ck_assert_int_eq(spec_list_ms("--arrivals-ms", "0,1.5,1.5,1000000000", &list, &n, &e), 0);
    ck_assert_int_eq(n, 4);
    ck_assert_int_eq(list[1], 1500000);
    ck_assert_int_eq(list[2], 1500000);
    ck_assert_int_eq(list[3], INT64_C(1000000000000000));
    free(list);
    static const char *const bad[] = {"",   ",",   "1,",  ",1",   "1,,2",      "3,1",
                                      "-1", "nan", "1;2", "1, 2", "1000000001"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(spec_list_ms("--arrivals-ms", bad[i], &list, &n, &e) == -1, "'%s'", bad[i]);
}
END_TEST

START_TEST(decimals_become_nanoseconds) {
    static const struct {
        const char *text;
        int64_t unit_ns, want; /* -1: negative, -2: no number, -3: too large */
    } cases[] = {
        {"0", 1000000000, 0},
        {"5", 1000000000, 5000000000},
        {"5.8926549999999995", 1000000000, 5892655000},
        {"19440110.0", 1000000000, 19440110000000000},
        {"7.5e-05", 1000000000, 75000},
        {"1E+2", 1000000, 100000000},
        {".5", 1000, 500},
        {"5.", 1000, 5000},
        {"0.0000000005", 1000000000, 1},
        {"0.00000000049999999999999999999999", 1000000000, 0},
        {"1e-400", 1000000000, 0},
        {"0e999999999999", 1000000000, 0},
        {"-0", 1000000000, 0},
        {"4611686018.427387904", 1000000000, 4611686018427387904},
        {"4611686018.427387905", 1000000000, -3},
        {"1e999999999999", 1000000000, -3},
        {"99999999999999999999999999", 1, -3},
        {"-1", 1000000000, -1},
        {"-1e-30", 1000000000, -1},
        {"", 1, -2},
        {"-", 1, -2},
        {".", 1, -2},
        {"1.2.3", 1, -2},
        {"1e", 1, -2},
        {"1e+", 1, -2},
        {"1e5.0", 1, -2},
        {"nan", 1, -2},
        {"inf", 1, -2},
        {"0x10", 1, -2},
        {" 1", 1, -2},
        {"1 ", 1, -2},
        {"+1", 1, -2},
        {"1,5", 1, -2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t got = 0;
        const char *wrong =
            decimal_ns(cases[i].text, strlen(cases[i].text), cases[i].unit_ns, &got);
        if (wrong) got = !strcmp(wrong, "negative") ? -1 : !strcmp(wrong, "not a number") ? -2 : -3;
        ck_assert_msg(got == cases[i].want, "%s: got %lld", cases[i].text, (long long)got);
    }
    uint64_t v;
    ck_assert(!decimal_whole("9223372036854775807", 19, INT64_MAX, &v) && v == INT64_MAX);
    ck_assert(decimal_whole("9223372036854775808", 19, INT64_MAX, &v) != NULL);
    ck_assert(!decimal_whole("18446744073709551615", 20, UINT64_MAX, &v) && v == UINT64_MAX);
    ck_assert(decimal_whole("18446744073709551616", 20, UINT64_MAX, &v) != NULL);
    ck_assert(decimal_whole("99999999999999999999", 20, UINT64_MAX, &v) != NULL);
    ck_assert(decimal_whole("", 0, 5, &v) != NULL);
    ck_assert(!decimal_whole("0005", 4, 5, &v) && v == 5);
    ck_assert(decimal_whole("6", 1, 5, &v) != NULL);
}
END_TEST

static int print_requests(size_t spec, int64_t n) {
    struct workload_spec s = whole_spec(spec);
    struct sim_request *r = malloc((size_t)N * sizeof *r);
    struct err e = {0};
    struct workload *w = workload_open(&s, &e);
    if (!r || !w) return 2;
    n = take_requests(w, r, n, &e);
    for (int64_t i = 0; i < n; i++)
        printf("%lld %lld %d %d %d %d\n", (long long)r[i].id, (long long)r[i].arrival_ns,
               r[i].prompt_tokens, r[i].output_tokens, r[i].wanted_tokens, r[i].fail_after);
    workload_close(w);
    free(r);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 4 && !strcmp(argv[1], "--print"))
        return print_requests(strtoul(argv[2], NULL, 10), strtoll(argv[3], NULL, 10));
    Suite *s = suite_create("workload");
    TCase *t = tcase_create("sequences");
    tcase_add_loop_test(t, digests_are_those_committed, 0, N_SPECS);
    tcase_add_loop_test(t, sorted_with_consecutive_ids_and_lengths_in_range, 0, N_SPECS);
    tcase_add_loop_test(t, a_shorter_run_begins_a_longer_one_and_equal_specs_are_equal, 0, N_SPECS);
    tcase_add_loop_test(t, another_seed_is_another_sequence, 0, N_SPECS);
    tcase_add_test(t, streams_are_independent);
    tcase_add_test(t, lengths_are_uniform_and_failures_have_their_share);
    tcase_add_test(t, all_or_none_fail_and_lengths_default_to_one);
    tcase_add_test(t, a_policy_is_told_the_longest_answer_possible_not_its_length);
    suite_add_tcase(s, t);
    TCase *b = tcase_create("bad input");
    tcase_add_test(b, a_bad_spec_gives_its_flag);
    tcase_add_test(b, names_and_their_suggestions);
    tcase_add_test(b, lengths_in_words);
    tcase_add_test(b, lists_in_words);
    tcase_add_test(b, decimals_become_nanoseconds);
    suite_add_tcase(s, b);
    return check_main(s);
}
