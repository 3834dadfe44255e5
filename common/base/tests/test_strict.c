/* test_strict.c: members that are unknown, missing or null, and the values of fields. */
#include "base/json.h"
#include "base/strict.h"
#include "testing/check_main.h"

#include <string.h>

static const char *const MEMBERS[] = {"name", "count", NULL};
static struct err e;

static cJSON *parsed(const char *text) {
    cJSON *tree = json_parse(text, strlen(text), 1, &e);
    ck_assert_ptr_nonnull(tree);
    return tree;
}

START_TEST(members_are_known_and_in_a_form_all_there) {
    static const struct {
        const char *json;
        int known, form;
        const char *field, *says;
    } cases[] = {
        {"{\"name\": 1, \"count\": null}", 0, 0, NULL, NULL},
        {"{\"name\": 1}", 0, -1, "p.count", "is missing; write null where it doesn't apply"},
        {"{\"nam\": 1, \"count\": 1}", -1, -1, "p.nam",
         "\"nam\" is not a known member; the nearest one is \"name\""},
        {"{\"\\u001b\": 1}", -1, -1, "p.?", "\"?\" is not a known member"},
        {"[]", -1, -1, "p", "must be an object"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cJSON *tree = parsed(cases[i].json);
        ck_assert_int_eq(strict_known(tree, "p", MEMBERS, &e), cases[i].known);
        ck_assert_int_eq(strict_members(tree, "p", MEMBERS, &e), cases[i].form);
        if (cases[i].form) ck_assert_str_eq(e.field, cases[i].field);
        if (cases[i].form) ck_assert_msg(strstr(e.text, cases[i].says) != NULL, "%s", e.text);
        cJSON_Delete(tree);
    }
}
END_TEST

START_TEST(null_is_absent) {
    cJSON *tree = parsed("{\"name\": null, \"count\": 0}");
    ck_assert_ptr_null(strict_at(tree, "name"));
    ck_assert_ptr_null(strict_at(tree, "other"));
    ck_assert_ptr_nonnull(strict_at(tree, "count"));
    cJSON_Delete(tree);
}
END_TEST

START_TEST(fields_have_bounds) {
    cJSON *v = parsed("[\" a\", \"abc\", 1.5, 7, true, \"gren\"]");
    static const char *const colors[] = {"red", "green", NULL};
    char text[4], place[STRICT_PATH_BYTES];
    int64_t n;
    int choice;
    double x;
    bool b;
#define AT(i) cJSON_GetArrayItem(v, i)
    ck_assert(!strict_string(AT(0), "t", 1, text, sizeof text, &e));
    ck_assert(strict_text(AT(0), "t", 1, text, sizeof text, &e) && strstr(e.text, "blank space"));
    ck_assert(!strict_text(AT(1), "t", 3, text, sizeof text, &e) && !strcmp(text, "abc"));
    ck_assert(strict_text(AT(1), "t", 1, text, 3, &e) && strstr(e.text, "1 to 2 bytes; it has 3"));
    ck_assert(strict_int(AT(2), "n", 0, 9, &n, &e) && strstr(e.text, "whole number"));
    ck_assert(!strict_int(AT(3), "n", 0, 9, &n, &e) && n == 7);
    ck_assert(strict_int(AT(3), "n", 0, 6, &n, &e) && strstr(e.text, "from 0 to 6"));
    ck_assert(!strict_number(AT(2), "x", 0, 9, &x, &e) && x == 1.5);
    ck_assert(strict_number(AT(4), "x", 0, 9, &x, &e) && strstr(e.text, "must be a number"));
    ck_assert(!strict_bool(AT(4), "b", &b, &e) && b);
    ck_assert(strict_bool(AT(3), "b", &b, &e));
    ck_assert(strict_choice(AT(5), "c", colors, &choice, &e) &&
              strstr(e.text, "nearest one is \"green\""));
    ck_assert(strict_choice(AT(3), "c", colors, &choice, &e) &&
              strstr(e.text, "one of: red, green"));
    ck_assert(strict_list(v, "l", 0, 5, &choice, &e) && strstr(e.text, "it has 6"));
    ck_assert_str_eq(strict_path(place, "a", "b", 0), "a.b");
    ck_assert_str_eq(strict_path(place, "", "b", 0), "b");
    ck_assert_str_eq(strict_path(place, "a", NULL, 3), "a[3]");
    cJSON_Delete(v);
}
END_TEST

int main(void) {
    Suite *s = suite_create("strict");
    TCase *t = tcase_create("strict");
    tcase_add_test(t, members_are_known_and_in_a_form_all_there);
    tcase_add_test(t, null_is_absent);
    tcase_add_test(t, fields_have_bounds);
    suite_add_tcase(s, t);
    return check_main(s);
}
