/* test_nfc.c: the rules of normalisation, each with its example. The ids of Qwen2's tokenizer are
 * in test_tokenizer_folders.py; check_nfc.py compares every character with Hugging Face's library.
 *
 *   test_nfc --lines   normalises the lines of standard input */
#include "model/nfc.h"
#include "testing/check_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *normal(const char *text, size_t n, size_t *n_out) {
    char *out;
    struct err e;
    if (nfc_normalise(text, n, &out, n_out, &e)) abort();
    if (out) return out;
    *n_out = n;
    return memcpy(malloc(n + 1), text, n);
}

static void expect(const char *text, const char *want) {
    size_t n;
    char *out = normal(text, strlen(text), &n), *again;
    ck_assert_msg(n == strlen(want) && !memcmp(out, want, n), "'%s' gave '%.*s', not '%s'", text,
                  (int)n, out, want);
    size_t m;
    again = normal(out, n, &m);
    ck_assert_msg(m == n && !memcmp(out, again, n), "'%s' changes twice", text);
    free(out);
    free(again);
}

START_TEST(a_text_without_marks_is_not_copied) {
    char *out;
    size_t n;
    struct err e;
    ck_assert_int_eq(nfc_normalise("abc \xc3\xa9 \xc2\xa0", 9, &out, &n, &e), 0);
    ck_assert_ptr_null(out);
    ck_assert_int_eq(nfc_normalise("", 0, &out, &n, &e), 0);
    ck_assert_ptr_null(out);
}
END_TEST

START_TEST(marks_are_composed_and_ordered) {
    expect("e\u0301", "\u00e9");
    expect("e\u0301\u0301", "\u00e9\u0301");
    expect("\u1e9b\u0323", "\u1e9b\u0323");       /* a mark below goes before one above ... */
    expect("\u017f\u0307\u0323", "\u1e9b\u0323"); /* ... and both orders are the same text */
    expect("a\u0315\u0300\u05ae"
           "b",
           "\u00e0\u05ae\u0315b");
    expect("a\u0328\u0301", "\u0105\u0301");
    expect("a\u0301\u0328", "\u0105\u0301");
    expect("\u0301e", "\u0301e"); /* a mark with nothing before it */
    expect("a\u0345\u0301", "\u00e1\u0345");
}
END_TEST

START_TEST(singletons_and_exclusions_are_taken_apart) {
    expect("\u212b \u2126 \u212a", "\u00c5 \u03a9 K"); /* Angstrom, Ohm, Kelvin */
    expect("\u0958", "\u0915\u093c");                  /* a composition exclusion */
    expect("\u0915\u093c", "\u0915\u093c");
    expect("\u0344", "\u0308\u0301"); /* not a starter's */
    expect("\ufb1d", "\u05d9\u05b4");
    expect("\uf900", "\u8c48");
    expect("\U0001d15e", "\U0001d157\U0001d165");
}
END_TEST

START_TEST(hangul_is_composed) {
    expect("\u1112\u1161\u11ab\u1100\u1173\u11af", "\ud55c\uae00");
    expect("\uac00\u11a8", "\uac01");
    expect("\uac01\u11a8", "\uac01\u11a8");       /* it has a tail already */
    expect("\u1100\u1161\u11a7", "\uac00\u11a7"); /* U+11A7 is no tail */
    expect("\ud7a3", "\ud7a3");
    expect("\u1161\u1100", "\u1161\u1100");
}
END_TEST

START_TEST(ill_formed_bytes_stay_and_part) {
    expect("e\xff\u0301", "e\xff\u0301");
    expect("\xcc", "\xcc");
    expect("\xcc\x80\xcc", "\xcc\x80\xcc");
    expect("\xed\xa0\x80"
           "e\u0301",
           "\xed\xa0\x80\u00e9");
}
END_TEST

/* Quadratic time would take minutes. */
START_TEST(a_long_run_of_marks_is_ordered_at_once) {
    enum { PAIRS = 1 << 20 };
    char *text = malloc(4 * PAIRS + 1), *out;
    size_t n;
    text[0] = 'q';
    for (size_t i = 0; i < PAIRS; i++) memcpy(text + 1 + 4 * i, "\u0301\u0323", 4);
    out = normal(text, 4 * PAIRS + 1, &n);
    ck_assert_uint_eq(n, 4 * PAIRS + 1);
    for (size_t i = 0; i < 2 * PAIRS; i++)
        if (memcmp(out + 1 + 2 * i, i < PAIRS ? "\u0323" : "\u0301", 2))
            ck_abort_msg("mark %zu", i);
    free(text);
    free(out);
}
END_TEST

static int lines(void) {
    char *line = NULL;
    size_t cap = 0, m;
    for (ssize_t n; (n = getline(&line, &cap, stdin)) >= 0;) {
        char *out = normal(line, (size_t)n, &m);
        fwrite(out, 1, m, stdout);
        free(out);
    }
    free(line);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "--lines")) return lines();
    Suite *suite = suite_create("nfc");
    TCase *t = tcase_create("nfc");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_text_without_marks_is_not_copied);
    tcase_add_test(t, marks_are_composed_and_ordered);
    tcase_add_test(t, singletons_and_exclusions_are_taken_apart);
    tcase_add_test(t, hangul_is_composed);
    tcase_add_test(t, ill_formed_bytes_stay_and_part);
    tcase_add_test(t, a_long_run_of_marks_is_ordered_at_once);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
