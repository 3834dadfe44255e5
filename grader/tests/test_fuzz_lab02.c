/* test_fuzz_lab02.c: fixed mutations of lab 02's cases and of its two data files, for `make test`.
 */
#include "fuzz_lab02.c"
#include "tests/fuzz_bytes.h"

START_TEST(data_files) {
    static const char *const names[] = {"solutions/02_queue_sim/findings.json",
                                        "solutions/02_queue_sim/protocol.json"};
    const char *seeds[2];
    for (int i = 0; i < 2; i++) {
        struct err e;
        size_t n;
        seeds[i] = json_read_file(names[i], &n, &e);
        ck_assert_msg(seeds[i] != NULL, "%s: %s", names[i], e.text);
    }
    fuzz_mutate(seeds, 2, 20000, 47);
    for (int i = 0; i < 2; i++) free((char *)seeds[i]);
}
END_TEST

START_TEST(cases) {
    fuzz_cases(&lab02);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_lab02");
    TCase *t = tcase_create("fuzz_lab02");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, data_files);
    tcase_add_test(t, cases);
    suite_add_tcase(s, t);
    return check_main(s);
}
