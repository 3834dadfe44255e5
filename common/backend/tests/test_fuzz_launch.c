/* test_fuzz_launch.c: some thousand fixed mutations of launch files and expressions. */
#include "fuzz_launch.c"

#include "testing/check_main.h"
#include "testing/fuzz.h"

static const char *const seeds[] = {
    "{\"k\": {\"grid\": [\"rows\"], \"block\": [256], \"shared_bytes\": \"4 * d\"}}",
    "{\"k\": {\"grid\": [\"ceil(d, 32)\", \"min(rows, 8)\", 1], \"block\": [32, \"8\"]}}",
    "ceil(rows * (d - 3), 128) + max(top_k, 1) / 2",
    "((((rows))))-(-d)/top_k",
};

START_TEST(no_bytes_break_the_reader) {
    fuzz_mutate(seeds, sizeof seeds / sizeof *seeds, 40000, 5);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_launch");
    TCase *t = tcase_create("fuzz");
    tcase_add_test(t, no_bytes_break_the_reader);
    suite_add_tcase(s, t);
    return check_main(s);
}
