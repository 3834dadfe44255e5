/* test_buffer.c: growth, JSON strings, and texts that are cut to fit. */
#include "base/buffer.h"
#include "base/json.h"
#include "testing/check_main.h"

#include <string.h>

START_TEST(it_grows_and_is_terminated) {
    struct buffer b = {0};
    for (int i = 0; i < 1000; i++) buffer_printf(&b, "%d,", i);
    ck_assert(!b.failed && b.n == 3890 && b.bytes[b.n] == '\0');
    ck_assert_str_eq(b.bytes + b.n - 4, "999,");
    buffer_clear(&b);
    buffer_puts(&b, "");
    ck_assert_str_eq(b.bytes, "");
    buffer_release(&b);
    ck_assert_ptr_null(b.bytes);
}
END_TEST

START_TEST(a_json_string_holds_any_bytes) {
    struct buffer b = {0};
    buffer_json(&b, "a\"\\\n\0\x7f\xff\xc3\xa9", 9);
    ck_assert_str_eq(b.bytes, "\"a\\\"\\\\\\n\\u0000\\u007f\xef\xbf\xbd\xc3\xa9\"");
    buffer_release(&b);
}
END_TEST

START_TEST(a_text_is_cut_between_characters) {
    char cut[6];
    text_cut(cut, sizeof cut, "abc\xe2\x82\xac"); /* the euro sign doesn't fit: no half of it */
    ck_assert_str_eq(cut, "abc");
    text_cut(cut, sizeof cut, "a\n\xff");
    ck_assert_str_eq(cut, "a??");
}
END_TEST

int main(void) {
    Suite *s = suite_create("buffer");
    TCase *t = tcase_create("buffer");
    tcase_add_test(t, it_grows_and_is_terminated);
    tcase_add_test(t, a_json_string_holds_any_bytes);
    tcase_add_test(t, a_text_is_cut_between_characters);
    suite_add_tcase(s, t);
    return check_main(s);
}
