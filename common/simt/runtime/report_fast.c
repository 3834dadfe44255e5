/* report_fast.c: the reports of fast mode: a launch that exceeded the time limit, or crashed. */
#ifndef SIMT_CHECK
#include "report.h"

#include <stdio.h>
#include <unistd.h>

void report_time_limit(const char *why) {
    fprintf(stderr, "simt: %s\n", why);
    fflush(NULL);
    _exit(EXIT_FOUND);
}

void report_crash(const char *what) {
    report_time_limit(what);
}
#endif
