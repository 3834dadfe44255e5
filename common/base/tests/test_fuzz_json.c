/* test_fuzz_json.c: some ten thousand fixed mutations of JSON, for `make test`. */
#include "fuzz_json.c"

#include "testing/check_main.h"

static const char *const seeds[] = {
    "{\"a\":[1,{\"b\":-2.5e+3,\"c\":\"\\u00e9\\ud83d\\ude00\\n\"}],\"d\":null,\"e\":true}",
    "\xef\xbb\xbf [ 9007199254740993, 1.00000000000000000001, 1e-400, 0.1, 12345678901234567 ]\r\n",
    "{\"k1\":1,\"k2\":2,\"k3\":3,\"\\u006b4\":{\"\":{\"\xe2\x82\xac\":\"\xf0\x9f\x98\x80\"}}}",
    "[[[[[[[[[[]]]]]]]]]]",
    "\"plain\"",
    "-0.0",
    "",
};

START_TEST(any_bytes_are_refused_or_print_and_read_back) {
    fuzz_mutate(seeds, sizeof seeds / sizeof *seeds, 60000, 7);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_json");
    TCase *t = tcase_create("fuzz_json");
    tcase_add_test(t, any_bytes_are_refused_or_print_and_read_back);
    suite_add_tcase(s, t);
    return check_main(s);
}
