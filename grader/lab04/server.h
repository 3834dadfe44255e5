/* server.h: the learner's files as a real server: the whole product with their objects in it, in
 * the sandbox, without a network, driven over a Unix socket. See server.c. */
#ifndef SERVELAB_GRADER_LAB04_SERVER_H
#define SERVELAB_GRADER_LAB04_SERVER_H

#include "core/grading.h"

/* The members of struct lab (lab.h) for the checks that run it. */
int lab04_server_prepare(const struct sandbox *sb, struct workplace *w, const char *home,
                         const bool *wanted, void **own, struct err *e);
void lab04_server_run(const struct check_def *def, const struct grading *g, struct check_result *r);
void lab04_server_release(void *own);

#endif
