/* run_steps.h: sums up the engine's steps of a measured window, from a server's step log. */
#ifndef SERVELAB_REPORT_RUN_STEPS_H
#define SERVELAB_REPORT_RUN_STEPS_H

#include "report/run_read.h"

/* Reads the log (serve/step_log.h). A step belongs to the window by when it started. The window is
 * on the client's clock, the log on its machine's CLOCK_MONOTONIC, which reads ahead_ns less: the
 * log must be of the same machine. A last line that was cut off is left out. 0, or -1 and *e with
 * the line. */
int run_steps_read(struct run_steps *s, const char *path, const struct report_window *window,
                   int64_t ahead_ns, struct err *e);

#endif
