/* test_launch.c: expressions with known values, valid launch files, and refusals with their
 * messages.
 */
#include "backend/launch.h"

#include "testing/check_main.h"

#include <string.h>

static const char *const name[] = {"rows", "d", "top_k"};
static const int64_t value[] = {7, 576, 0};
static const struct launch_names names = {name, value, 3};

START_TEST(expressions_have_their_value) {
    static const struct {
        const char *text;
        int64_t value;
    } c[] = {{"rows", 7},
             {"2 * rows + 1", 15},
             {"2*(rows+1)", 16},
             {"d / 100", 5},
             {"d - 3 - 3", 570},
             {"100 / 10 / 5", 2},
             {"ceil(d, 100)", 6},
             {"ceil(600, 100)", 6},
             {"ceil(0, 4)", 0},
             {"min(rows, 3) + max(rows, 9)", 12},
             {"-rows + 10", 3},
             {"ceil(-7, 2)", -3},
             {"  rows", 7},
             {"rows ", 7},
             {"9007199254740992", INT64_C(1) << 53}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct err e = {0};
        int64_t v = -1;
        ck_assert_msg(launch_eval(c[i].text, &names, "x", &v, &e) == 0, "%s: %s", c[i].text,
                      e.text);
        ck_assert_msg(v == c[i].value, "%s: got %lld", c[i].text, (long long)v);
    }
}
END_TEST

static void refused(const char *text, const char *why) {
    struct err e = {0};
    int64_t v = 77;
    ck_assert_msg(launch_eval(text, &names, "grid[0]", &v, &e) == -1, "%s was accepted", text);
    ck_assert_msg(strstr(e.text, why) != NULL, "%s: \"%s\" doesn't contain \"%s\"", text, e.text,
                  why);
    ck_assert_str_eq(e.field, "grid[0]");
    ck_assert_int_eq(v, 77);
}

START_TEST(bad_expressions_are_refused_with_a_reason) {
    refused("", "ends too early");
    refused("rows +", "ends too early");
    refused("cols", "\"cols\" is not a size of this kernel; it has: rows, d, top_k");
    refused("row", "not a size");
    refused("rows2", "not a size");
    refused("rows / top_k", "division by zero");
    refused("ceil(rows, top_k)", "ceil divides");
    refused("rows rows", "nothing may follow");
    refused("(rows", "expected )");
    refused("ceil(rows)", "expected a comma");
    refused("sqrt(rows, 2)", "the only functions are");
    refused("0x10", "only whole numbers");
    refused("1.5", "only whole numbers");
    refused("1e3", "only whole numbers");
    refused("9007199254740993", "beyond 2^53");
    refused("9007199254740992 + 1", "beyond 2^53");
    refused("9007199254740992 * 9007199254740992", "beyond 2^53");
    refused("rows % 2", "nothing may follow");
    refused("((((((((((((((((((((((((((((((((((((((((rows))))))))))))))))))))))))))))))))))))))))",
            "nested too deeply");
    refused("----------------------------------------rows", "nested too deeply");
    char longest[400];
    memset(longest, '1', sizeof longest);
    longest[300] = 0;
    refused(longest, "longer than 256");
}
END_TEST

static int shape_from(const char *json, struct launch_shape *s, struct err *e) {
    struct launch_rule r;
    if (launch_rule_parse(json, strlen(json), "rmsnorm", &r, e)) return -1;
    return launch_shape_of(&r, &names, s, e);
}

START_TEST(a_launch_file_gives_a_shape) {
    struct launch_shape s;
    struct err e;
    ck_assert_int_eq(shape_from("{\"rmsnorm\": {\"grid\": [\"rows\", 2], \"block\": [256],"
                                " \"shared_bytes\": \"4 * d\"}, \"other\": 3}",
                                &s, &e),
                     0);
    ck_assert_uint_eq(s.grid[0], 7);
    ck_assert_uint_eq(s.grid[1], 2);
    ck_assert_uint_eq(s.grid[2], 1);
    ck_assert_uint_eq(s.block[0], 256);
    ck_assert_uint_eq(s.block[1], 1);
    ck_assert_uint_eq(s.shared_bytes, 2304);
    ck_assert_int_eq(shape_from("{\"rmsnorm\": {\"grid\": [1], \"block\": [32, 8, 4]}}", &s, &e),
                     0);
    ck_assert_uint_eq(s.shared_bytes, 0);
}
END_TEST

static void shape_refused(const char *json, const char *field, const char *why) {
    struct launch_shape s;
    struct err e = {0};
    ck_assert_msg(shape_from(json, &s, &e) == -1, "%s was accepted", json);
    ck_assert_msg(!strcmp(e.field, field), "%s: field \"%s\" (%s)", json, e.field, e.text);
    ck_assert_msg(strstr(e.text, why) != NULL, "%s: \"%s\"", json, e.text);
}

START_TEST(bad_launch_files_name_field_and_reason) {
    shape_refused("{}", "rmsnorm", "is missing");
    shape_refused("[]", "", "must be an object");
    shape_refused("{\"rmsnorm\": 3}", "rmsnorm", "must be an object");
    shape_refused("{\"rmsnorm\": {\"block\": [1]}}", "rmsnorm.grid", "one to three");
    shape_refused("{\"rmsnorm\": {\"grid\": [], \"block\": [1]}}", "rmsnorm.grid", "one to three");
    shape_refused("{\"rmsnorm\": {\"grid\": [1,1,1,1], \"block\": [1]}}", "rmsnorm.grid",
                  "one to three");
    shape_refused("{\"rmsnorm\": {\"grid\": [1], \"block\": [1], \"stream\": 0}}", "rmsnorm.stream",
                  "is not known");
    shape_refused("{\"rmsnorm\": {\"grid\": [1.5], \"block\": [1]}}", "rmsnorm.grid[0]",
                  "whole number");
    shape_refused("{\"rmsnorm\": {\"grid\": [null], \"block\": [1]}}", "rmsnorm.grid[0]",
                  "whole number");
    shape_refused("{\"rmsnorm\": {\"grid\": [\"cols\"], \"block\": [1]}}", "grid[0]", "not a size");
    shape_refused("{\"rmsnorm\": {\"grid\": [0], \"block\": [1]}}", "grid[0]",
                  "0 blocks; it may have 1 to");
    shape_refused("{\"rmsnorm\": {\"grid\": [1, 65536], \"block\": [1]}}", "grid[1]", "65535");
    shape_refused("{\"rmsnorm\": {\"grid\": [1], \"block\": [1025]}}", "block[0]",
                  "1025 threads; it may have 1 to 1024");
    shape_refused("{\"rmsnorm\": {\"grid\": [1], \"block\": [\"1000+d\"]}}", "block[0]",
                  "\"1000+d\" is here ");
    shape_refused("{\"rmsnorm\": {\"grid\": [1], \"block\": [64, 64]}}", "block", "4096 threads");
    shape_refused("{\"rmsnorm\": {\"grid\": [1], \"block\": [1, 1, 65]}}", "block[2]", "64");
    shape_refused("{\"rmsnorm\": {\"grid\": [1], \"block\": [1], \"shared_bytes\": 49153}}",
                  "shared_bytes", "49152");
    shape_refused("{\"rmsnorm\": {\"grid\": [1], \"block\": [1], \"shared_bytes\": \"-4\"}}",
                  "shared_bytes", "-4 bytes; it may have 0 to");
}
END_TEST

START_TEST(an_error_in_a_file_has_its_line) {
    struct launch_rule r;
    struct err e = {0};
    const char *json = "{\n \"rmsnorm\": {\n  \"grid\": [1],\n  \"block\": [true]}}\n";
    ck_assert_int_eq(launch_rule_parse(json, strlen(json), "rmsnorm", &r, &e), -1);
    ck_assert_int_eq(e.line, 4);
    ck_assert_int_eq(launch_rule_read("/nonexistent/launch.json", "rmsnorm", &r, &e), -1);
}
END_TEST

int main(void) {
    Suite *s = suite_create("launch");
    TCase *t = tcase_create("launch");
    tcase_add_test(t, expressions_have_their_value);
    tcase_add_test(t, bad_expressions_are_refused_with_a_reason);
    tcase_add_test(t, a_launch_file_gives_a_shape);
    tcase_add_test(t, bad_launch_files_name_field_and_reason);
    tcase_add_test(t, an_error_in_a_file_has_its_line);
    suite_add_tcase(s, t);
    return check_main(s);
}
