/* session.h: one process of a built submission, for one check. Used by run_check.c and dialogue.c
 * alone.
 */
#ifndef SERVELAB_GRADER_CORE_SESSION_H
#define SERVELAB_GRADER_CORE_SESSION_H

#include "core/channel.h"
#include "core/run_check.h"

struct session {
    const struct grading *g;
    const struct check_def *def;
    struct check_result *r;
    struct sandbox_run run;
    struct channel ch;
};

/* Starts the process and waits until it greets. A process that doesn't has met trouble of the
 * machine's (no process left, no memory): it is tried again, and then our fault, never the
 * submission's. -1 with *e. */
int session_start(struct session *s, struct err *e);

/* How the process ended, for a person. Exit statuses are not told when the seed is hidden: a
 * submission could put a part of the case there. */
void session_describe_end(const struct session *s, char *out, size_t cap);

/* What it printed goes into the result, with a practice seed. */
void session_keep_printed(struct session *s);

void check_fault(struct check_result *r, const struct err *e);
void check_lose(struct check_result *r, const char *message);

#endif
