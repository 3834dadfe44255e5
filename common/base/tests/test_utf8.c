/* test_utf8.c: every code point there and back, ill-formed bytes, characters that err_clean
 * replaces. */
#include "base/err.h"
#include "base/utf8.h"
#include "testing/check_main.h"

#include <string.h>

START_TEST(every_code_point_comes_back) {
    for (uint32_t cp = 0; cp < 0x110000; cp++) {
        char bytes[4];
        if (cp >= 0xd800 && cp < 0xe000) continue; /* surrogates */
        size_t n = utf8_encode(cp, bytes);
        bool whole = utf8_char_bytes(bytes, n) == n && utf8_decode(bytes, n) == cp;
        for (size_t cut = 1; cut < n; cut++) whole &= !utf8_char_bytes(bytes, cut);
        if (!whole) ck_abort_msg("U+%04X", cp); /* an assertion each would take half a minute */
    }
}
END_TEST

START_TEST(ill_formed_bytes_are_no_character) {
    static const char *const bad[] = {
        "\x80",         "\xbf",         "\xc0\x80",         "\xc1\xbf",
        "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80", "\xff",         "\xe2\x82z",        "\xc3("};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_uint_eq(utf8_char_bytes(bad[i], strlen(bad[i])), 0);
}
END_TEST

START_TEST(a_stream_replaces_each_ill_formed_part) {
    static const struct {
        const char *in, *out;
    } cases[] = {{"a\xe2\x82\xac", "a\xe2\x82\xac"},
                 {"\xe2\x82z", "\xef\xbf\xbdz"},
                 {"\xf0\x90\xc3\xa9", "\xef\xbf\xbd\xc3\xa9"},
                 {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char held[4];
        int32_t n_held = 0;
        char out[32];
        size_t n = 0;
        for (const char *p = cases[i].in; *p; p++)
            n += utf8_stream(held, &n_held, (unsigned char)*p, out + n);
        out[n] = '\0';
        ck_assert_str_eq(out, cases[i].out);
        ck_assert_int_eq(n_held, 0);
    }
}
END_TEST

START_TEST(errors_are_cleaned) {
    static const struct {
        const char *in, *out;
    } cases[] = {{"plain \xc3\xa9 \xf0\x9f\x98\x80", "plain \xc3\xa9 \xf0\x9f\x98\x80"},
                 {"a\nb\x1b[31m\x7f", "a?b?[31m?"},
                 {"\xc2\x9b", "?"},                      /* C1: a control sequence begins */
                 {"x\xe2\x80\xaey\xe2\x81\xa6", "x?y?"}, /* direction override and isolate */
                 {"\xff\xe2\x82", "???"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        strcpy(text, cases[i].in);
        ck_assert_str_eq(err_clean(text), cases[i].out);
    }
    struct err e;
    err_at(&e, 3, "f\xe2\x80\xae", "is [%s]", "\r\n");
    ck_assert_str_eq(e.field, "f?");
    ck_assert_str_eq(e.text, "is [??]");
}
END_TEST

int main(void) {
    Suite *s = suite_create("utf8");
    TCase *t = tcase_create("utf8");
    tcase_add_test(t, every_code_point_comes_back);
    tcase_add_test(t, ill_formed_bytes_are_no_character);
    tcase_add_test(t, a_stream_replaces_each_ill_formed_part);
    tcase_add_test(t, errors_are_cleaned);
    suite_add_tcase(s, t);
    return check_main(s);
}
