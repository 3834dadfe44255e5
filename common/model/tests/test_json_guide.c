/* test_json_guide.c: the guide accepts exactly the beginnings of JSON objects. Judged by
 * json_parse: every beginning of a valid text is accepted, and what is accepted to its end is
 * valid. */
#include "base/json.h"
#include "base/rng.h"
#include "model/json_guide.h"
#include "testing/check_main.h"

#include <stdio.h>
#include <string.h>

static bool takes(const char *text, size_t n, bool *done) {
    struct json_guide g = {0};
    bool ok = json_guide_push(&g, text, n);
    *done = ok && json_guide_done(&g);
    return ok;
}

static const char *const valid[] = {
    "{}",
    "{ }",
    "{\"a\":1}",
    "{\"a\": [1, -0.5e+3, 0, 10, 2E7, -0],\n  \"b\" :{\"c\":[]}, \"\": \"x\\n\\u00e9\\\\\\\"\" }",
    "{\"t\":[true,false,null,[[[{}]]], \"\xc3\xa9\"]}",
    "{\"tool\":\"sub\",\"args\":[10,3]}",
};

START_TEST(every_beginning_of_an_object_is_taken) {
    const char *text = valid[_i];
    bool done;
    for (size_t n = 0; n <= strlen(text); n++) {
        ck_assert_msg(takes(text, n, &done), "%.*s", (int)n, text);
        ck_assert_int_eq(done, n == strlen(text));
    }
    cJSON *tree = json_parse(text, strlen(text), 1, NULL);
    ck_assert(cJSON_IsObject(tree));
    cJSON_Delete(tree);
}
END_TEST

START_TEST(what_is_none_is_refused_where_it_fails) {
    static const char *const bad[] = {
        "[",          " ",          "{,",          "{1",          "{\"a\"}",     "{\"a\":}",
        "{\"a\":1,}", "{\"a\":1]",  "{\"a\":[1}",  "{\"a\":[,",   "{\"a\":[1,]", "{\"a\":01",
        "{\"a\":1.}", "{\"a\":.",   "{\"a\":+",    "{\"a\":1e}",  "{\"a\":1e+}", "{\"a\":-}",
        "{\"a\":--",  "{\"a\":1..", "{\"a\":1e1.", "{\"a\":tru}", "{\"a\":trux", "{\"a\":nulll",
        "{\"\\x",     "{\"\\u12g",  "{\"\n",       "{}}",         "{} ",         "{\"a\":\"b\"\"",
        "{\"a\":1 2", "{\"a\"\"",   "{a",          "{\"a\":'",    "{\"a\":1\t.", "{\"a\":t "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bool done;
        size_t n = strlen(bad[i]);
        ck_assert_msg(!takes(bad[i], n, &done), "'%s' was taken", bad[i]);
        ck_assert_msg(takes(bad[i], n - 1, &done), "'%s' without its last byte was refused",
                      bad[i]);
    }
}
END_TEST

START_TEST(depth_and_blanks_are_bounded) {
    char text[400] = "{\"a\":";
    size_t n = strlen(text);
    bool done;
    memset(text + n, '[', 100);
    ck_assert(takes(text, n + JSON_GUIDE_DEPTH - 1, &done));
    ck_assert(!takes(text, n + JSON_GUIDE_DEPTH, &done));
    memset(text + n, ' ', 100);
    ck_assert(takes(text, n + JSON_GUIDE_BLANKS, &done));
    ck_assert(!takes(text, n + JSON_GUIDE_BLANKS + 1, &done));
}
END_TEST

/* Random texts that the guide accepts are closed by it, and then json_parse takes them. */
START_TEST(what_it_takes_is_json) {
    static const char letters[] = "{}[]:,\"\\ \n019-+.eEtrufalsn/bxA\x01\xc3";
    struct rng r;
    int closed = 0;
    rng_seed(&r, 11);
    for (int round = 0; round < 20000; round++) {
        struct json_guide g = {0};
        char text[120];
        size_t n = 0;
        while (n < sizeof text && !json_guide_done(&g)) {
            struct json_guide next = g;
            char c = letters[rng_below(&r, sizeof letters - 1)];
            if (!json_guide_push(&next, &c, 1)) continue;
            g = next;
            text[n++] = c;
        }
        if (!json_guide_done(&g) || memchr(text, '\xc3', n)) continue; /* that one is not UTF-8 */
        cJSON *tree = json_parse(text, n, 1, &(struct err){0});
        /* it refuses more: keys that are there twice, halves of surrogates, huge numbers */
        if (tree) closed++;
        cJSON_Delete(tree);
        struct err e = {0};
        if (!tree && json_parse(text, n, 1, &e) == NULL)
            ck_assert_msg(strstr(e.text, "twice") || strstr(e.text, "surrogate") ||
                              strstr(e.text, "NUL") || strstr(e.text, "number"),
                          "%.*s: %s", (int)n, text, e.text);
    }
    ck_assert_int_gt(closed, 5000);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("json guide");
    TCase *t = tcase_create("json guide");
    tcase_add_loop_test(t, every_beginning_of_an_object_is_taken, 0, sizeof valid / sizeof *valid);
    tcase_add_test(t, what_is_none_is_refused_where_it_fails);
    tcase_add_test(t, depth_and_blanks_are_bounded);
    tcase_add_test(t, what_it_takes_is_json);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
