/* server.h: the learner's files as a real server: the whole product with their objects in it, in
 * the sandbox, without a network, driven over a Unix socket. See server.c. */
#ifndef SERVELAB_GRADER_LAB04_SERVER_H
#define SERVELAB_GRADER_LAB04_SERVER_H

#include "core/grading.h"

/* Builds w->out/server from the four files, all of which were accepted. -1 with *e: the grader's
 * fault. */
int lab04_server_build(const struct sandbox *sb, struct workplace *w, const char *home,
                       struct err *e);
/* Runs it. */
void lab04_server_run(const struct check_def *def, const struct grading *g, struct check_result *r);

#endif
