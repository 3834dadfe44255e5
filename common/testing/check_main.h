/* check_main.h: how a Check program of ours ends: TAP on stdout for common/testing/run_tests.py,
 * every test in its own child with a timeout, exit status 1 when one failed.
 *
 *   int main(void) { return check_main(my_suite()); }
 *
 * CK_RUN_CASE and CK_RUN_SUITE select by name; CK_FORK=no CK_VERBOSITY=verbose is for a debugger.
 */
#ifndef SERVELAB_TESTING_CHECK_MAIN_H
#define SERVELAB_TESTING_CHECK_MAIN_H

#include <check.h>
#include <stdlib.h>

static inline int check_main(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    int ran = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
