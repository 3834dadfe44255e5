/* kernel_report.h: what the checking runtime of common/simt says about a run, read with suspicion:
 * it comes from the process in which a submission ran.
 */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_REPORT_H
#define SERVELAB_GRADER_LAB03_KERNEL_REPORT_H

#include "backend/kernel_spec.h"

/* Reads a whole report. finding gets the first error, as a clean sentence with file and line (""
 * when there is none, left alone when it says something already); without `practice` only its kind
 * and place. counts may be NULL. 0, or -1 with *e when it is no report, or says nothing of the
 * kernel. */
int lab03_report_read(const char *text, size_t n, const char *kernel, bool practice, char *finding,
                      size_t cap, struct kernel_counts *counts, struct err *e);

/* The same from what a process that ended early left on its standard error. */
void lab03_report_from_output(const char *output, size_t n, bool practice, char *finding,
                              size_t cap);

#endif
