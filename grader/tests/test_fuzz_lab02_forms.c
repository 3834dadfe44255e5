/* test_fuzz_lab02_forms.c: some thousand fixed mutations of lab 02's two forms, for `make test`. */
#include "fuzz_lab02_forms.c"

#include "testing/check_main.h"

START_TEST(any_bytes_are_refused_or_within_bounds) {
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

int main(void) {
    Suite *s = suite_create("fuzz_lab02_forms");
    TCase *t = tcase_create("fuzz_lab02_forms");
    tcase_add_test(t, any_bytes_are_refused_or_within_bounds);
    suite_add_tcase(s, t);
    return check_main(s);
}
