/* test_lab_todo.c: a starter ends with status 3 and one line; a data file's first blank is found.
 */
#include "base/lab_todo.h"
#include "testing/check_main.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(one_line_and_status_3) {
    char said[512] = "";
    int pipe_of[2], status;
    ck_assert_int_eq(pipe(pipe_of), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(pipe_of[1], STDERR_FILENO);
        lab_todo("labs/01_request_record/slo.c", 12, "slo_limit");
    }
    close(pipe_of[1]);
    ssize_t n = read(pipe_of[0], said, sizeof said - 1);
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), LAB_NOT_ATTEMPTED);
    ck_assert_str_eq(said,
                     "labs/01_request_record/slo.c:12: slo_limit is not written yet, and it is "
                     "yours to write: labs/01_request_record/README.md explains it in the "
                     "section \"slo_limit\"\n");
    close(pipe_of[0]);
}
END_TEST

static const struct {
    const char *json, *path; /* path NULL: no blank */
} docs[] = {
    {"{\"a\": 1, \"b\": \"done\"}", NULL},
    {"{\"a\": null}", NULL}, /* "not known" is an answer, not a blank */
    {"{\"a\": \"TODO later\", \"TODO\": 1}", NULL},
    {"\"TODO\"", ""},
    {"{\"a\": \"TODO\"}", "a"},
    {"{\"events\": [{\"t\": 1}, {\"source\": \"x\"}, {\"t\": 2, \"source\": \"TODO\"}]}",
     "events[2].source"},
    {"[[\"x\", \"TODO\"], \"TODO\"]", "[0][1]"},
    {"{\"a\": {}, \"b\": [], \"c\": \"TODO\"}", "c"},
};

START_TEST(the_first_blank_is_found) {
    char path[64];
    cJSON *doc = cJSON_Parse(docs[_i].json);
    ck_assert_ptr_nonnull(doc);
    bool found = lab_todo_find(doc, path, sizeof path);
    ck_assert_int_eq(found, docs[_i].path != NULL);
    ck_assert_str_eq(path, found ? docs[_i].path : "");
    for (unsigned long cap = 1; cap < sizeof path; cap++) { /* the path is cut, the room kept */
        memset(path, '#', sizeof path);
        ck_assert_int_eq(lab_todo_find(doc, path, cap), found);
        ck_assert_uint_lt(strlen(path), cap);
        ck_assert_int_eq(path[cap], '#');
    }
    cJSON_Delete(doc);
}
END_TEST

int main(void) {
    Suite *s = suite_create("lab_todo");
    TCase *t = tcase_create("lab_todo");
    tcase_add_test(t, one_line_and_status_3);
    tcase_add_loop_test(t, the_first_blank_is_found, 0, (int)(sizeof docs / sizeof *docs));
    suite_add_tcase(s, t);
    return check_main(s);
}
