/* test_page_embed.c: the files inside the program are the files in the tree, and nothing else is.
 */
#include "testing/check_main.h"
#include "web/page.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"index.html", "style.css", "app.js", "measure.js",
                                    "request.js", "result.js", "sse.js", "timeline.js"};

START_TEST(embedded_file_equals_the_tree) {
    char path[64], url[64];
    static char bytes[1 << 20];
    snprintf(path, sizeof path, "common/web/%s", names[_i]);
    snprintf(url, sizeof url, "/%s", names[_i]);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s can't be opened; tests run at the top of the tree", path);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    struct page_file file;
    ck_assert(page_find(url, &file));
    ck_assert_uint_eq(file.n, n);
    ck_assert_mem_eq(file.data, bytes, n);
    ck_assert_ptr_nonnull(strstr(file.type, "charset=utf-8"));
}
END_TEST

START_TEST(only_listed_paths_exist) {
    static const char *const refused[] = {"",           "/tests/mock_server.py",
                                          "/../page.c", "/page.c",
                                          "/app.js/",   "/app.jsx",
                                          "app.js",     "/APP.JS"};
    struct page_file file;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        ck_assert_msg(!page_find(refused[i], &file), "%s was found", refused[i]);
    ck_assert(page_find("/", &file));
    ck_assert_int_eq(memcmp(file.data, "<!doctype html>", 15), 0);
}
END_TEST

static Suite *page_suite(void) {
    Suite *s = suite_create("page_embed");
    TCase *c = tcase_create("page");
    tcase_add_loop_test(c, embedded_file_equals_the_tree, 0, sizeof names / sizeof *names);
    tcase_add_test(c, only_listed_paths_exist);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return check_main(page_suite());
}
