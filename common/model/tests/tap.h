/* tap.h: TAP lines for tests that skip where a file is missing, which Check can't report. */
#ifndef SERVELAB_MODEL_TESTS_TAP_H
#define SERVELAB_MODEL_TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_n, tap_failed;

/* "ok N - NAME" or "not ok N - NAME: WHY". Returns ok. */
__attribute__((format(printf, 3, 4))) static inline bool tap(bool ok, const char *name,
                                                             const char *why, ...) {
    va_list ap;
    printf("%sok %d - %s", ok ? "" : "not ", ++tap_n, name);
    tap_failed += !ok;
    if (!ok) {
        printf(": ");
        va_start(ap, why);
        vprintf(why, ap);
        va_end(ap);
    }
    printf("\n");
    fflush(stdout);
    return ok;
}

static inline void tap_skip(const char *name, const char *reason) {
    printf("ok %d - %s # SKIP %s\n", ++tap_n, name, reason);
}

static inline int tap_end(void) {
    printf("1..%d\n", tap_n);
    return tap_failed ? 1 : 0;
}

#endif
