/* test_surrogates.c: surrogate pairs that are split over two events. */
#include "load/surrogates.h"
#include "testing/check_main.h"

#include <string.h>

/* Joins the events, which "|" separates; expects the same form. */
static void expect(const char *events, const char *want) {
    struct surrogates s = {0};
    struct buffer out = {0};
    buffer_puts(&out, "");
    for (;;) {
        size_t n = strcspn(events, "|");
        surrogates_join(&s, events, n, &out);
        if (!events[n]) break;
        buffer_puts(&out, "|");
        events += n + 1;
    }
    ck_assert_str_eq(out.bytes, want);
    buffer_release(&out);
}

START_TEST(halves_become_a_pair) {
    expect("\"\\ud83d\"|\"\\ude00\"", "\"\"|\"\\ud83d\\ude00\"");
    expect("\"a\\uD83D\"|{}|\"\\uDE00b\"", "\"a\"|{}|\"\\ud83d\\ude00b\"");
    expect("[\"\\ud83d\",\"\\ud83d\"]|[\"\\ude00\",\"\\ude00\"]",
           "[\"\",\"\"]|[\"\\ud83d\\ude00\",\"\\ud83d\\ude00\"]");
}
END_TEST

START_TEST(everything_else_stays) {
    static const char *const same[] = {
        "",
        "\"\\ud83d\\ude00\"",
        "\"\\u00e9\\n\\\\\"",
        "\"\\\\ud83d\"",
        "\"\\\\\\\\ude00\"",
        "\"\\ud8\"",
        "\\",
        "\"\\u0000\"",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) expect(same[i], same[i]);
}
END_TEST

START_TEST(a_half_alone_is_replaced_or_left_out) {
    expect("\"\\ude00\"", "\"\\ufffd\"");
    expect("\"\\ud83d\\ude00\\ude00\"", "\"\\ud83d\\ude00\\ufffd\"");
    expect("\"\\ud83dx\"", "\"x\"");
    expect("\"\\ud83d\"|\"\\ude00\"|\"\\ude00\"", "\"\"|\"\\ud83d\\ude00\"|\"\\ufffd\"");
}
END_TEST

int main(void) {
    Suite *s = suite_create("surrogates");
    TCase *t = tcase_create("surrogates");
    tcase_add_test(t, halves_become_a_pair);
    tcase_add_test(t, everything_else_stays);
    tcase_add_test(t, a_half_alone_is_replaced_or_left_out);
    suite_add_tcase(s, t);
    return check_main(s);
}
