/* check_main.h: check_main, which runs the suite of a Check program as common/testing/run_tests.py
 * expects it.
 *
 *   int main(void) { return check_main(my_suite()); }
 *
 * check_main_without(suite, "bubblewrap # SKIP bwrap is not installed") also reports one skip, for
 * tests that were left out of the suite.
 *
 * It prints TAP on stdout, runs every test in a child process with a time limit, and returns exit
 * status 1 when a test failed or none ran. CK_RUN_SUITE and CK_RUN_CASE select by name; for a
 * debugger, set CK_FORK=no.
 */
#ifndef SERVELAB_TESTING_CHECK_MAIN_H
#define SERVELAB_TESTING_CHECK_MAIN_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static inline int check_main_without(Suite *suite, const char *skip) {
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    int ran = srunner_ntests_run(runner);
    srunner_free(runner);
    if (skip) printf("ok %d - %s\n1..%d\n", ran + 1, skip, ran + 1); /* the last plan counts */
    return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static inline int check_main(Suite *suite) {
    return check_main_without(suite, NULL);
}

#endif
