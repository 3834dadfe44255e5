/* test_nearest.c: suggestions, and lists cut to their room. */
#include "base/nearest.h"
#include "testing/check_main.h"

#include <string.h>

static const char *const NAMES[] = {"a100", "h100", "mistral-7b"};

START_TEST(the_nearest_name_is_found) {
    ck_assert_str_eq(nearest_name("h100", NAMES, 3), "h100");
    ck_assert_str_eq(nearest_name("H100", NAMES, 3), "h100");
    ck_assert_str_eq(nearest_name("mistal", NAMES, 3), "mistral-7b");
    ck_assert_str_eq(nearest_name("x100", NAMES, 3), "a100"); /* equally near: the first */
    ck_assert_str_eq(nearest_name("", NAMES, 3), "a100");
    ck_assert_ptr_null(nearest_name("a100", NAMES, 0));
    char longer[200];
    memset(longer, 'h', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    ck_assert_str_eq(nearest_name(longer, NAMES, 3), "a100");
    const char *const mixed[] = {longer, "b"};
    ck_assert_str_eq(nearest_name("a", mixed, 2), "b");
}
END_TEST

START_TEST(a_list_is_cut_to_its_room) {
    char buf[64];
    ck_assert_str_eq(list_names(NAMES, 3, buf, sizeof buf), "a100, h100, mistral-7b");
    ck_assert_str_eq(list_names(NAMES, 3, buf, 8), "a100, h");
    ck_assert_str_eq(list_names(NAMES, 0, buf, sizeof buf), "");
}
END_TEST

int main(void) {
    Suite *s = suite_create("nearest");
    TCase *t = tcase_create("nearest");
    tcase_add_test(t, the_nearest_name_is_found);
    tcase_add_test(t, a_list_is_cut_to_its_room);
    suite_add_tcase(s, t);
    return check_main(s);
}
