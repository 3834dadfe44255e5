/* report.h: ends the program with a finding; called by the watchdog and the signal handlers. */
#ifndef SIMT_REPORT_H
#define SIMT_REPORT_H

enum { EXIT_FOUND = 86 }; /* a checked program that found an error */

/* Reports why and ends the program at once. Called on the watchdog's OS thread. */
void report_time_limit(const char *why) __attribute__((noreturn));
/* The same for a signal in a kernel. */
void report_crash(const char *what) __attribute__((noreturn));

#endif
