/* programs.h: lab 04's checks of kind CHECK_OWN: programs that are built from the learner's files
 * besides the child. The members of struct lab (core/lab.h). */
#ifndef SERVELAB_GRADER_LAB04_PROGRAMS_H
#define SERVELAB_GRADER_LAB04_PROGRAMS_H

#include "core/grading.h"

int lab04_prepare(const struct sandbox *sb, struct workplace *w, const char *home,
                  const bool *wanted, void **own, struct err *e);
void lab04_run(const struct check_def *def, const struct grading *g, struct check_result *r);
void lab04_release(void *own);

#endif
