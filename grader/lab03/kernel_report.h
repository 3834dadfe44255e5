/* kernel_report.h: reads the report of common/simt's checking runtime about a run. Nothing in it is
 * trusted: it comes from the process in which the submission ran. */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_REPORT_H
#define SERVELAB_GRADER_LAB03_KERNEL_REPORT_H

#include "backend/kernel_spec.h"

/* Reads a whole report. finding gets the first error, as a clean sentence with file and line; it is
 * unchanged when there is none, or when it has a text already. Without `practice`: only its kind
 * and place. counts may be NULL. 0, or -1 with *e when it is not a report, or
 * does not name the kernel. */
int lab03_report_read(const char *text, size_t n, const char *kernel, bool practice, char *finding,
                      size_t cap, struct kernel_counts *counts, struct err *e);

/* The same from the standard error of a process that ended early. */
void lab03_report_from_output(const char *output, size_t n, bool practice, char *finding,
                              size_t cap);

#endif
