/* test_fuzz_openai.c: some thousand fixed mutations of completion requests, for `make test`. */
#include "fuzz_openai.c"

#include "testing/check_main.h"

static const char *const seeds[] = {
    "{\"model\":\"m\",\"prompt\":\"p\"}",
    "{\"model\":\"m\",\"prompt\":[1,2,999],\"max_tokens\":16,\"stop\":\"x\",\"seed\":-1}",
    "{\"model\":\"m\",\"prompt\":[\"one\"],\"ignore_eos\":true,\"user\":\"u\",\"n\":1}",
    "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\","
    "\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}],"
    "\"stream\":true,\"stream_options\":{\"include_usage\":true},\"stop\":[\"a\",\"b\",\"c\","
    "\"d\"],\"max_completion_tokens\":256,\"temperature\":0.5,\"top_p\":0.9,\"seed\":42}",
};

START_TEST(any_bytes_are_refused_or_within_bounds) {
    fuzz_mutate(seeds, sizeof seeds / sizeof *seeds, 40000, 5);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_openai");
    TCase *t = tcase_create("fuzz_openai");
    tcase_add_test(t, any_bytes_are_refused_or_within_bounds);
    suite_add_tcase(s, t);
    return check_main(s);
}
