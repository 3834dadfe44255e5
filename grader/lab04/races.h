/* races.h: the learner's engine in a thread of its own, with clients in theirs, under
 * ThreadSanitizer (child/lab04_threads.c). See races.c. */
#ifndef SERVELAB_GRADER_LAB04_RACES_H
#define SERVELAB_GRADER_LAB04_RACES_H

#include "core/grading.h"

/* Builds w->out/races from the four files, all of which were accepted. -1 with *e: the grader's
 * fault. */
int lab04_races_build(const struct sandbox *sb, struct workplace *w, const char *home,
                      struct err *e);
/* Runs it. */
void lab04_races_run(const struct grading *g, struct check_result *r);

#endif
