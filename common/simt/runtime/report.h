/* report.h: how findings leave the program. */
#ifndef SIMT_REPORT_H
#define SIMT_REPORT_H

enum { EXIT_FOUND = 86 }; /* a checked program that found an error */

/* Says why and ends the program at once. Called by the watchdog's OS thread. */
void report_time_limit(const char *why) __attribute__((noreturn));
/* The same for a signal in a kernel. */
void report_crash(const char *what) __attribute__((noreturn));

#endif
