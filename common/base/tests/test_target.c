/* test_target.c: output files: whole or as before, links and devices stay what they are. */
#include "base/target.h"
#include "testing/check_main.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/servelab-target-XXXXXX", path[PATH_MAX];

static const char *in_folder(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void holds(const char *name, const char *want) {
    char got[64] = "";
    FILE *f = fopen(in_folder(name), "r");
    ck_assert_ptr_nonnull(f);
    got[fread(got, 1, sizeof got - 1, f)] = '\0';
    fclose(f);
    ck_assert_str_eq(got, want);
    ck_assert_int_ne(access(strcat(path, ".partial"), F_OK), 0);
}

START_TEST(a_file_is_written_and_replaced) {
    struct err e;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(target_check(in_folder("a"), &e), 0);
    ck_assert_int_ne(access(path, F_OK), 0); /* checking leaves nothing behind */
    ck_assert_int_eq(target_write(in_folder("a"), "first", 5, &e), 0);
    holds("a", "first");
    ck_assert_int_eq(target_write(in_folder("a"), "2", 1, &e), 0);
    holds("a", "2");
    ck_assert_int_eq(target_check(in_folder("a"), &e), 0);
    holds("a", "2");
    ck_assert_int_eq(symlink("a", in_folder("link")), 0);
    ck_assert_int_eq(target_write(in_folder("link"), "3", 1, &e), 0);
    holds("a", "3");
    struct stat st;
    ck_assert(!lstat(in_folder("link"), &st) && S_ISLNK(st.st_mode));
    unlink(in_folder("link"));
    unlink(in_folder("a"));
    rmdir(folder);
}
END_TEST

START_TEST(devices_stay_devices) {
    struct err e;
    struct stat st;
    ck_assert_int_eq(target_check("/dev/null", &e), 0);
    ck_assert_int_eq(target_write("/dev/null", "x", 1, &e), 0);
    ck_assert(!stat("/dev/null", &st) && S_ISCHR(st.st_mode));
    if (access("/dev/full", W_OK)) return;
    ck_assert_int_eq(target_check("/dev/full", &e), 0);
    ck_assert_int_eq(target_write("/dev/full", "x", 1, &e), -1);
    ck_assert_str_eq(e.text, "can't be written: No space left on device");
}
END_TEST

START_TEST(what_cannot_be_opened_is_refused) {
    static const struct {
        const char *path, *says;
    } cases[] = {{"/nonexistent/x", "No such file"}, {"/tmp", "is a folder; name a file"}};
    struct err e;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(target_check(cases[i].path, &e), -1);
        ck_assert_msg(strstr(e.text, cases[i].says) != NULL, "%s", e.text);
        ck_assert_int_eq(target_write(cases[i].path, "x", 1, &e), -1);
        ck_assert_msg(strstr(e.text, cases[i].says) != NULL, "%s", e.text);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("target");
    TCase *t = tcase_create("target");
    tcase_add_test(t, a_file_is_written_and_replaced);
    tcase_add_test(t, devices_stay_devices);
    tcase_add_test(t, what_cannot_be_opened_is_refused);
    suite_add_tcase(s, t);
    return check_main(s);
}
