/* test_json.c: the strict reader accepts what RFC 8259 asks for and refuses the rest with a place.
 */
#include "base/json.h"
#include "base/json_scan.h"
#include "testing/check_main.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static cJSON *parse(const char *text, struct err *e) {
    memset(e, 0, sizeof *e);
    return json_parse(text, strlen(text), 1, e);
}

struct refused {
    const char *text;
    int line;
    const char *field;
    const char *says;
};

static const struct refused refused[] = {
    {"", 1, "", "empty"},
    {" \n ", 2, "", "empty"},
    {"{\"a\":1,\"a\":2}", 1, "a", "twice"},
    {"{\"a\":1,\n\"\\u0061\":2}", 2, "a", "twice"},
    {"{\"x\":[{},{\"b\":{\"c\":1,\n\n\"c\":1}}]}", 3, "x[1].b.c", "twice"},
    {"{} {}", 1, "", "after the end"},
    {"1 \n2", 2, "", "after the end"},
    {"{\"t\":NaN}", 1, "t", "NaN"},
    {"{\"t\":-Infinity}", 1, "t", "Infinity"},
    {"{\"t\":-NaN}", 1, "t", "NaN"},
    {"[1,\n]", 2, "[1]", "comma"},
    {"{\"a\":1,\n}", 2, "", "comma"},
    {"[1 2]", 1, "[0]", "','"},
    {"{\"a\" 1}", 1, "a", "':'"},
    {"{a:1}", 1, "", "double quotes"},
    {"{'a':1}", 1, "", "double quotes"},
    {"[01]", 1, "[0]", "leading zero"},
    {"[-]", 1, "[0]", "digit"},
    {"[1.]", 1, "[0]", "decimal point"},
    {"[1e+]", 1, "[0]", "exponent"},
    {"[.5]", 1, "[0]", "value"},
    {"[+1]", 1, "[0]", "plus"},
    {"[0x10]", 1, "[0]", "','"},
    {"[1e400]", 1, "[0]", "range of a double"},
    {"[True]", 1, "[0]", "true"},
    {"[None]", 1, "[0]", "null"},
    {"[tru]", 1, "[0]", "value"},
    {"// x\n1", 1, "", "comments"},
    {"[\"\\x\"]", 1, "[0]", "escape"},
    {"[\"\\u12g4\"]", 1, "[0]", "hexadecimal"},
    {"[\"\\u0000\"]", 1, "[0]", "NUL"},
    {"[\"\\ud800\"]", 1, "[0]", "surrogate"},
    {"[\"\\ud800\\u0041\"]", 1, "[0]", "surrogate"},
    {"[\"\\udc00\"]", 1, "[0]", "surrogate"},
    {"[\"a\nb\"]", 1, "[0]", "line ends inside a string"},
    {"[\"a\tb\"]", 1, "[0]", "control byte"},
    {"[\"\xc0\xaf\"]", 1, "[0]", "UTF-8"},
    {"[\"\xed\xa0\x80\"]", 1, "[0]", "UTF-8"},
    {"[\"\xf4\x90\x80\x80\"]", 1, "[0]", "UTF-8"},
    {"[\"\x80\"]", 1, "[0]", "UTF-8"},
    {"[\"\xe2\x82\"]", 1, "[0]", "UTF-8"},
    {"\xff\xfe{", 1, "", "UTF-16"},
    {"{\"odd key\":{\"a.b\":nan}}", 1, "[\"odd key\"][\"a.b\"]", "NaN"},
};

START_TEST(nul_is_a_character_where_it_is_allowed) {
    struct err e = {0};
    static const char text[] = "{\"a\":\"x\\u0000\\\\u0000y\\u0000\",\"b\":9007199254740993}";
    cJSON *tree = json_parse_with_nul(text, sizeof text - 1, 1, &e);
    ck_assert_msg(tree != NULL, "%s", e.text);
    char *a = tree->child->valuestring;
    ck_assert(json_has_nul(a));
    ck_assert_uint_eq(json_restore_nul(a), 10);
    ck_assert_mem_eq(a, "x\0\\u0000y\0", 11);
    ck_assert_str_eq(tree->child->next->valuestring, "9007199254740993");
    cJSON_Delete(tree);
    static const char *const bad[] = {"{\"\\u0000\":1}", "[\"\\uD800\"]", "[\"\xc0\x80\"]",
                                      "\"\\u000\""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_ptr_null(json_parse_with_nul(bad[i], strlen(bad[i]), 1, &e));
    ck_assert_ptr_null(json_parse(text, sizeof text - 1, 1, &e));
    ck_assert(!json_has_nul("x\xc0y") && !json_has_nul(""));
}
END_TEST

START_TEST(refuses_with_line_and_field) {
    const struct refused *c = &refused[_i];
    struct err e;
    ck_assert_ptr_null(parse(c->text, &e));
    ck_assert_msg(e.line == c->line, "%s: line %d, expected %d", c->text, e.line, c->line);
    ck_assert_msg(!strcmp(e.field, c->field), "%s: field '%s', expected '%s'", c->text, e.field,
                  c->field);
    ck_assert_msg(strstr(e.text, c->says) != NULL, "%s: says '%s'", c->text, e.text);
}
END_TEST

/* Every proper beginning of a document is refused as cut off, and nothing else is. */
START_TEST(every_beginning_is_cut_off) {
    static const char text[] =
        "{\"a\": [1, -2.5e+3, {\"k\\u00e9\": \"v\\n\\ud83d\\ude00 \xe2\x82\xac \xf0\x9f\x98\x80\"},"
        " true, false, null], \"b\": \"\"}";
    for (size_t n = 1; n < strlen(text); n++) {
        struct json_scan_result scan;
        struct err e;
        ck_assert_int_eq(json_scan(text, n, 1, &scan, &e), -1);
        ck_assert_msg(scan.cut_off, "%zu bytes: %s", n, e.text);
    }
    struct err e;
    cJSON *tree = parse(text, &e);
    ck_assert_msg(tree != NULL, "%s", e.text);
    cJSON_Delete(tree);
}
END_TEST

START_TEST(accepts_what_rfc_8259_asks_for) {
    static const char *const texts[] = {"0",
                                        "-0",
                                        "null",
                                        " true ",
                                        "\"\"",
                                        "[]",
                                        "{}",
                                        "[[],{}]",
                                        "\r\n[1]\r\n",
                                        "\xef\xbb\xbf{}",
                                        "\xef\xbb\xbf\x31",
                                        "[1E5,1e-5,0.5,-0.0,1.5E+2]",
                                        "[123456789012345678901234567890]",
                                        "\"\\ud83d\\ude00\\/\"",
                                        "\"\xf0\x9f\x98\x80\x7f\"",
                                        "{\"\":{\"\":0}}",
                                        "{\"A\":1,\"a\":2}",
                                        "[1e-400]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct err e;
        cJSON *tree = parse(texts[i], &e);
        ck_assert_msg(tree != NULL, "%s: %s", texts[i], e.text);
        cJSON_Delete(tree);
    }
}
END_TEST

START_TEST(depth_is_bounded_without_recursion) {
    enum { DEEP = 100000 };
    char *text = malloc(DEEP);
    struct err e;
    memset(text, '[', DEEP);
    ck_assert_ptr_null(json_parse(text, DEEP, 1, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "deeper than 64"));
    for (int i = 0; i < JSON_MAX_DEPTH; i++) text[JSON_MAX_DEPTH + i] = ']';
    cJSON *tree = json_parse(text, 2 * JSON_MAX_DEPTH, 1, &e);
    ck_assert_ptr_nonnull(tree);
    cJSON_Delete(tree);
    free(text);
}
END_TEST

/* Past FEW_KEYS another algorithm looks for duplicates: it must find the same. */
START_TEST(duplicate_among_many_keys) {
    char text[20000], want[32];
    for (int last = 30; last < 36; last++) {
        size_t used = (size_t)snprintf(text, sizeof text, "{\"o\":{");
        for (int i = 0; i < last; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "\"k%d\":%d,\n", i, i);
        snprintf(text + used, sizeof text - used, "\"k7\":1},\"z\":0}");
        snprintf(want, sizeof want, "o.k7");
        struct err e;
        ck_assert_ptr_null(parse(text, &e));
        ck_assert_str_eq(e.field, want);
        ck_assert_int_eq(e.line, last + 1);
    }
}
END_TEST

START_TEST(many_keys_in_good_time) {
    enum { KEYS = 300000 };
    char *text = malloc(KEYS * 24);
    size_t used = 1;
    text[0] = '{';
    for (int i = 0; i < KEYS; i++) used += (size_t)sprintf(text + used, "\"key%d\":0,", i * 7);
    text[used - 1] = '}';
    struct json_scan_result scan;
    struct err e;
    ck_assert_int_eq(json_scan(text, used, 1, &scan, &e), 0);
    free(text);
}
END_TEST

START_TEST(integers_are_exact) {
    static const struct {
        const char *text;
        int64_t value;
        const char *refused;
    } cases[] = {
        {"9007199254740992", JSON_MAX_INT, NULL},
        {"-9007199254740992", -JSON_MAX_INT, NULL},
        {"9007199254740993", 0, "2^53"},
        {"9007199254740993.0", 0, "2^53"},
        {"18446744073709551616", 0, "2^53"},
        {"1e300", 0, "2^53"},
        {"1e3", 1000, NULL},
        {"1.5e1", 15, NULL},
        {"90071992547409920e-1", JSON_MAX_INT, NULL},
        {"1.5", 0, "fraction"},
        {"1e-1", 0, "fraction"},
        {"1e-400", 0, "fraction"},
        {"1.00000000000000000001", 0, "fraction"},
        {"4503599627370497.0000001", 0, "fraction"},
        {"0e99999999999999999999", 0, NULL},
        {"-0", 0, NULL},
        {"\"5\"", 0, "not a string"},
        {"null", 0, "not null"},
        {"true", 0, "not true"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        struct err e;
        int64_t got = 77;
        snprintf(text, sizeof text, "{\"n\": %s}", cases[i].text);
        cJSON *tree = parse(text, &e);
        ck_assert_msg(tree != NULL, "%s: %s", text, e.text);
        int status = json_get_int(tree, "x", "n", -JSON_MAX_INT, JSON_MAX_INT, &got, &e);
        if (cases[i].refused) {
            ck_assert_msg(status == -1, "%s passed", text);
            ck_assert_msg(strstr(e.text, cases[i].refused) != NULL, "%s: %s", text, e.text);
            ck_assert_str_eq(e.field, "x.n");
        } else {
            ck_assert_msg(status == 0, "%s: %s", text, e.text);
            ck_assert_int_eq(got, cases[i].value);
        }
        cJSON_Delete(tree);
    }
}
END_TEST

START_TEST(integers_print_digit_for_digit) {
    static const int64_t values[] = {
        0, -1, 71000000000, 1000000000000000, 1234567890123450, JSON_MAX_INT, -JSON_MAX_INT};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        cJSON *obj = cJSON_CreateObject();
        char want[48];
        ck_assert_ptr_nonnull(json_add_int(obj, "v", values[i]));
        char *text = json_print(obj);
        snprintf(want, sizeof want, "{\"v\":%lld}", (long long)values[i]);
        ck_assert_str_eq(text, want);
        cJSON_free(text);
        cJSON_Delete(obj);
    }
    struct err e;
    const char *text = "{\"id\":123456789012345678901234567890,\"x\":1.00000000000000000001}";
    cJSON *tree = parse(text, &e);
    char *back = json_print(tree);
    ck_assert_str_eq(back, text);
    cJSON_free(back);
    cJSON_Delete(tree);
}
END_TEST

/* a locale with a decimal comma changes neither what is read nor what is written. */
START_TEST(decimal_comma_locale) {
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C"};
    for (size_t i = 0; i < 4 && !setlocale(LC_ALL, locales[i]); i++) {
    }
    ck_assert(json_literal_double("2.5", 3) == 2.5);
    struct err e;
    double v;
    cJSON *tree = parse("{\"v\":0.12345678901234567}", &e);
    ck_assert_ptr_nonnull(tree);
    ck_assert_int_eq(json_get_number(tree, "", "v", &v, &e), 0);
    ck_assert(v == 0.12345678901234567);
    cJSON_Delete(tree);
}
END_TEST

START_TEST(members_are_typed) {
    struct err e;
    cJSON *t = parse("{\"s\":\"x\",\"b\":true,\"n\":1.5,\"o\":{},\"a\":[],\"z\":null}", &e);
    const char *s = NULL;
    bool b, found;
    double d = 7;
    int64_t i;
    const cJSON *sub;
    ck_assert_int_eq(json_get_string(t, "", "s", &s, &e), 0);
    ck_assert_str_eq(s, "x");
    ck_assert_int_eq(json_get_bool(t, "", "b", &b, &e), 0);
    ck_assert_int_eq(json_get_object(t, "", "o", &sub, &e), 0);
    ck_assert_int_eq(json_get_array(t, "", "a", &sub, &e), 0);
    ck_assert_int_eq(json_get_number_opt(t, "", "z", &d, &found, &e), 0);
    ck_assert(!found && d == 7);
    ck_assert_int_eq(json_get_string_opt(t, "", "nowhere", &s, &found, &e), 0);
    ck_assert(!found);
    ck_assert_int_eq(json_get_string_opt(t, "", "b", &s, &found, &e), -1);
    ck_assert_int_eq(json_get_int(t, "p", "nowhere", 0, 1, &i, &e), -1);
    ck_assert_str_eq(e.field, "p.nowhere");
    ck_assert_ptr_nonnull(strstr(e.text, "missing"));
    ck_assert_int_eq(json_get_int(t, "", "S", 0, 1, &i, &e), -1); /* case matters */
    ck_assert_int_eq(json_get_object(t, "", "a", &sub, &e), -1);
    cJSON_Delete(t);
}
END_TEST

START_TEST(line_of_a_path) {
    const char *text = "\n{\"a\": 1,\n \"x\": [\n  {},\n  {\"a.b\": \"]}\\\"\",\n   \"c\":\n 5}],\n"
                       " \"z\": \"q\"}";
    size_t n = strlen(text);
    ck_assert_int_eq(json_line_of(text, n, 1, ""), 2);
    ck_assert_int_eq(json_line_of(text, n, 1, "a"), 2);
    ck_assert_int_eq(json_line_of(text, n, 1, "x"), 3);
    ck_assert_int_eq(json_line_of(text, n, 1, "x[0]"), 4);
    ck_assert_int_eq(json_line_of(text, n, 1, "x[1]"), 5);
    ck_assert_int_eq(json_line_of(text, n, 1, "x[1].c"), 7);
    ck_assert_int_eq(json_line_of(text, n, 1, "x[1].missing"), 5);
    ck_assert_int_eq(json_line_of(text, n, 1, "x[9].c"), 3);
    ck_assert_int_eq(json_line_of(text, n, 10, "z"), 17);
    ck_assert_int_eq(json_line_of(text, n, 1, "[2]"), 2);
    ck_assert_int_eq(json_line_of("", 0, 5, "x"), 5);
}
END_TEST

START_TEST(files_that_are_none) {
    struct err e;
    ck_assert_ptr_null(json_parse_file("/nonexistent/x.json", &e));
    ck_assert_ptr_nonnull(strstr(e.text, "opened"));
    ck_assert_ptr_null(json_parse_file("/", &e));
    ck_assert_ptr_nonnull(strstr(e.text, "folder"));
    ck_assert_ptr_null(json_parse_file("/dev/zero", &e));
    ck_assert_ptr_nonnull(strstr(e.text, "regular"));
    char path[] = "/tmp/servelab-json-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_ptr_null(json_parse_file(path, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "empty"));
    ck_assert_int_eq(write(fd, "{\"a\":\n!}", 8), 8);
    ck_assert_ptr_null(json_parse_file(path, &e));
    ck_assert_int_eq(e.line, 2);
    close(fd);
    unlink(path);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("json");
    TCase *t = tcase_create("json");
    tcase_add_loop_test(t, refuses_with_line_and_field, 0, sizeof refused / sizeof *refused);
    tcase_add_test(t, nul_is_a_character_where_it_is_allowed);
    tcase_add_test(t, every_beginning_is_cut_off);
    tcase_add_test(t, accepts_what_rfc_8259_asks_for);
    tcase_add_test(t, depth_is_bounded_without_recursion);
    tcase_add_test(t, duplicate_among_many_keys);
    tcase_add_test(t, many_keys_in_good_time);
    tcase_add_test(t, integers_are_exact);
    tcase_add_test(t, integers_print_digit_for_digit);
    tcase_add_test(t, decimal_comma_locale);
    tcase_add_test(t, members_are_typed);
    tcase_add_test(t, line_of_a_path);
    tcase_add_test(t, files_that_are_none);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
