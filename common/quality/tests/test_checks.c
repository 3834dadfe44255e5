/* test_checks.c: the named checks on answers, right, wrong and odd. */
#include "quality/checks.h"
#include "testing/check_main.h"

#include <string.h>

static struct quality_result judge(const char *check, const char *expected, const char *answer) {
    struct quality_result out;
    struct err e;
    ck_assert_int_eq(quality_judge(check, expected, answer, strlen(answer), &out, &e), 0);
    return out;
}

START_TEST(digits_are_compared_as_text) {
    static const struct {
        const char *check, *expected, *answer;
        enum verdict want;
    } cases[] = {
        {"key-recall/1", " 4815", " 4815", VERDICT_PASSED},
        {"key-recall/1", " 4815", "4815, as asked\n", VERDICT_PASSED},
        {"key-recall/1", " 4815", "The value is 4815.", VERDICT_PASSED},
        {"key-recall/1", " 4815", " 4816", VERDICT_FAILED}, /* the neighbouring key's value */
        {"key-recall/1", " 4815", " 48151", VERDICT_FAILED},
        {"key-recall/1", " 4815", " 481", VERDICT_FAILED},
        {"key-recall/1", " 0042", " 42", VERDICT_FAILED},
        {"key-recall/1", " 0042", " 0042", VERDICT_PASSED},
        {"key-recall/1", " 4815", "", VERDICT_FAILED},
        {"key-recall/1", " 4815", "not 12 but 4815", VERDICT_FAILED},
        {"sum/1", "42", "42", VERDICT_PASSED},
        {"sum/1", "42", "42.", VERDICT_PASSED},
        {"sum/1", "42", "142", VERDICT_FAILED},
        {"sum/1", "42", "4 2", VERDICT_FAILED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quality_result r = judge(cases[i].check, cases[i].expected, cases[i].answer);
        ck_assert_msg(r.quality == cases[i].want, "case %zu: '%s'", i, cases[i].answer);
        ck_assert_int_eq(r.structure, VERDICT_NOT_REQUIRED);
    }
}
END_TEST

START_TEST(a_count_is_all_of_its_numbers_and_no_others) {
    static const struct {
        const char *answer;
        enum verdict want;
        const char *detail;
    } cases[] = {
        {" 0098 0099 0100", VERDICT_PASSED, "all 3 numbers"},
        {"0098, 0099 and 0100.\n", VERDICT_PASSED, "all 3 numbers"},
        {" 0098 0099", VERDICT_FAILED, "got 2 numbers, want 0100 next"},
        {" 0098 0099 0100 0101", VERDICT_FAILED, "got 0101 after the last number"},
        {" 0098 0100 0100", VERDICT_FAILED, "number 2 is 0100, want 0099"},
        {" 98 99 100", VERDICT_FAILED, "number 1 is 98, want 0098"},
        {" 009800990100", VERDICT_FAILED, "number 1 is 009800990100, want 0098"},
        {"", VERDICT_FAILED, "got 0 numbers, want 0098 next"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quality_result r = judge("key-count/1", " 0098 0099 0100", cases[i].answer);
        ck_assert_msg(r.quality == cases[i].want, "case %zu: '%s'", i, cases[i].answer);
        ck_assert_msg(strstr(r.detail, cases[i].detail) != NULL, "case %zu: '%s'", i, r.detail);
        ck_assert_int_eq(r.structure, VERDICT_NOT_REQUIRED);
    }
    ck_assert_int_eq(judge("key-count/1", "", "").quality, VERDICT_FAILED);
}
END_TEST

/* What SmolLM2 and larger models say, and near misses. */
START_TEST(a_sentence_is_judged_by_its_numbers) {
    static const struct {
        const char *check, *expected, *answer;
        enum verdict want;
        const char *detail;
    } cases[] = {
        {"plain-recall/1", "4815", "4815", VERDICT_PASSED, "1 in all"},
        {"plain-recall/1", "4815",
         "The line \"key K7Q2 4815\" is the first line that starts with K7Q2.", VERDICT_PASSED,
         "1 in all"},
        {"plain-recall/1", "4815", "**4815**: I found key K7Q2 4815 at 07:32.", VERDICT_PASSED, ""},
        {"plain-recall/1", "4815", "It is not 4815", VERDICT_PASSED, ""}, /* isn't seen */
        {"plain-recall/1", "4815", "key K7Q2 4816", VERDICT_FAILED, "value 1 is 4816, want 4815"},
        {"plain-recall/1", "4815", "4815 or 1234", VERDICT_FAILED, "value 2 is 1234, want none"},
        {"plain-recall/1", "4815", "1234 or 4815", VERDICT_FAILED, ""},
        {"plain-recall/1", "4815", "48151", VERDICT_FAILED, "value 1 is none, want 4815"},
        {"plain-recall/1", "4815", "K4815", VERDICT_FAILED, ""},
        {"plain-recall/1", "4815", "4,815", VERDICT_FAILED, ""},
        {"plain-recall/1", "0042", "42", VERDICT_FAILED, ""},
        {"plain-recall/1", "0042", "0042", VERDICT_PASSED, ""},
        {"plain-recall/1", "4815", "", VERDICT_FAILED, ""},
        {"plain-recall/1", "", "", VERDICT_FAILED, ""},
        {"plain-pair/1", "4815 0042", "key K7Q2 4815\nkey B3F9 0042", VERDICT_PASSED, "2 in all"},
        {"plain-pair/1", "4815 0042", "4815, 0042. So 0042 and 4815.", VERDICT_PASSED, "2 in all"},
        {"plain-pair/1", "4815 4815", "4815 and 4815", VERDICT_PASSED, "1 in all"},
        {"plain-pair/1", "4815 0042", "0042 and 4815", VERDICT_FAILED,
         "value 1 is 0042, want 4815"},
        {"plain-pair/1", "4815 0042", "4815", VERDICT_FAILED, "value 2 is none, want 0042"},
        {"plain-pair/1", "4815 0042", "4815 0042 7777", VERDICT_FAILED,
         "value 3 is 7777, want none"},
        {"plain-sum/1", "42", "42", VERDICT_PASSED, "the last number is 42, want 42"},
        {"plain-sum/1", "42", "12 + 30 = 42\n\nThe answer is: 42.", VERDICT_PASSED, ""},
        {"plain-sum/1", "42", "12 + 30 = 43. No, it is 42!", VERDICT_PASSED, ""},
        {"plain-sum/1", "42", "42 is 12 + 30", VERDICT_FAILED, "the last number is 30, want 42"},
        {"plain-sum/1", "42", "142", VERDICT_FAILED, ""},
        {"plain-sum/1", "42", "042", VERDICT_FAILED, ""},
        {"plain-sum/1", "42", "42.0", VERDICT_FAILED, "the last number is 0, want 42"},
        {"plain-sum/1", "42", "forty-two", VERDICT_FAILED, "the last number is none, want 42"},
        {"plain-sum/1", "", "", VERDICT_FAILED, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quality_result r = judge(cases[i].check, cases[i].expected, cases[i].answer);
        ck_assert_msg(r.quality == cases[i].want, "case %zu: '%s': %s", i, cases[i].answer,
                      r.detail);
        ck_assert_msg(strstr(r.detail, cases[i].detail) != NULL, "case %zu: '%s'", i, r.detail);
        ck_assert_int_eq(r.structure, VERDICT_NOT_REQUIRED);
    }
}
END_TEST

START_TEST(a_call_has_a_shape_and_a_content) {
    const char *want = "{\"tool\":\"sub\",\"args\":[10,3]}";
    static const struct {
        const char *answer;
        enum verdict quality, structure;
    } cases[] = {
        {"{\"tool\":\"sub\",\"args\":[10,3]}", VERDICT_PASSED, VERDICT_PASSED},
        {" {\"args\": [10, 3], \"tool\": \"sub\"}\n", VERDICT_PASSED, VERDICT_PASSED},
        {"{\"tool\":\"sub\",\"args\":[3,10]}", VERDICT_FAILED, VERDICT_PASSED},
        {"{\"tool\":\"add\",\"args\":[10,3]}", VERDICT_FAILED, VERDICT_PASSED},
        {"{\"tool\":\"sub\",\"args\":[10]}", VERDICT_FAILED, VERDICT_FAILED},
        {"{\"tool\":\"pow\",\"args\":[10,3]}", VERDICT_FAILED, VERDICT_FAILED},
        {"{\"tool\":\"sub\",\"args\":[\"10\",\"3\"]}", VERDICT_FAILED, VERDICT_FAILED},
        {"{\"tool\":\"sub\",\"args\":[10,3],\"note\":1}", VERDICT_FAILED, VERDICT_FAILED},
        {"{\"tool\":\"sub\",\"args\":[10,3]", VERDICT_FAILED, VERDICT_FAILED},
        {"{\"tool\":\"sub\",\"tool\":\"sub\",\"args\":[10,3]}", VERDICT_FAILED, VERDICT_FAILED},
        {"{\"tool\":\"sub\",\"args\":[10,3]} {}", VERDICT_FAILED, VERDICT_FAILED},
        {"[10,3]", VERDICT_FAILED, VERDICT_FAILED},
        {"", VERDICT_FAILED, VERDICT_FAILED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quality_result r = judge("tool-call/1", want, cases[i].answer);
        ck_assert_msg(r.quality == cases[i].quality && r.structure == cases[i].structure,
                      "case %zu: '%s' gave quality %d, structure %d", i, cases[i].answer, r.quality,
                      r.structure);
    }
}
END_TEST

START_TEST(a_strange_answer_is_judged_and_never_printed_raw) {
    struct quality_result out;
    struct err e;
    static const char answer[] = "12\x01\xff\n4815\0 99";
    ck_assert_int_eq(quality_judge("key-recall/1", " 4815", answer, sizeof answer - 1, &out, &e),
                     0);
    ck_assert_int_eq(out.quality, VERDICT_FAILED);
    ck_assert_int_eq(
        quality_judge("plain-pair/1", "4815 0042", answer, sizeof answer - 1, &out, &e), 0);
    ck_assert_int_eq(out.quality, VERDICT_FAILED);
    static const char call[] = "{\"tool\":\"get\",\"args\":[\"\x1b[31m\"]}";
    ck_assert_int_eq(quality_judge("tool-call/1", "{\"tool\":\"get\",\"args\":[\"K7Q2\"]}", call,
                                   sizeof call - 1, &out, &e),
                     0);
    ck_assert_int_eq(out.quality, VERDICT_FAILED);
    for (const char *c = out.detail; *c; c++) ck_assert(*c >= 0x20 && *c < 0x7f);
}
END_TEST

START_TEST(an_unknown_check_is_an_error_that_lists_the_known_ones) {
    struct quality_result out;
    struct err e;
    ck_assert_int_eq(quality_judge("key-recall/2", "1", "1", 1, &out, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "key-recall/1"));
}
END_TEST

START_TEST(a_result_is_written_with_its_checks_name) {
    struct record r;
    record_init(&r);
    struct quality_result failed = {VERDICT_FAILED, VERDICT_PASSED, ""};
    quality_write(&r, "tool-call/1", &failed);
    ck_assert_str_eq(r.quality.check, "tool-call/1");
    ck_assert_int_eq(r.quality.verdict, VERDICT_FAILED);
    ck_assert_str_eq(r.structure.check, "tool-call/1");
    ck_assert_int_eq(r.structure.verdict, VERDICT_PASSED);
    struct quality_result passed = {VERDICT_PASSED, VERDICT_NOT_REQUIRED, ""};
    quality_write(&r, "sum/1", &passed);
    ck_assert_str_eq(r.structure.check, "");
    record_release(&r);
}
END_TEST

int main(void) {
    Suite *s = suite_create("quality checks");
    TCase *t = tcase_create("checks");
    tcase_add_test(t, digits_are_compared_as_text);
    tcase_add_test(t, a_count_is_all_of_its_numbers_and_no_others);
    tcase_add_test(t, a_sentence_is_judged_by_its_numbers);
    tcase_add_test(t, a_call_has_a_shape_and_a_content);
    tcase_add_test(t, a_strange_answer_is_judged_and_never_printed_raw);
    tcase_add_test(t, an_unknown_check_is_an_error_that_lists_the_known_ones);
    tcase_add_test(t, a_result_is_written_with_its_checks_name);
    suite_add_tcase(s, t);
    return check_main(s);
}
