/* session.h: runs one process of a built submission for one check. Used by run_check.c and
 * dialogue.c only. */
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
    struct session *twin; /* CHECK_SURVIVES: the program without sanitizers, asked the same */
    uint32_t heap;        /* of the child, after the last answer */
    int grew;             /* with how many cases it grew */
    bool theirs;          /* it didn't start, and a program with stand-ins does */
};

/* Starts the process and waits for its greeting. If none comes, the start is repeated; then a
 * program with stand-ins in the place of the submission's files is started. If that one doesn't
 * start either, the machine is in trouble (no process left, no memory). -1 with *e; session_blame
 * sets the result. */
int session_start(struct session *s, struct err *e);

/* After session_start failed: lost, or the grader's fault. */
void session_blame(struct session *s, const struct err *e);

/* Describes how the process ended, for a person. The exit status is not shown when the seed is
 * hidden: a submission could put a part of the case there. */
void session_describe_end(const struct session *s, char *out, size_t cap);

/* Says why function `name` is not there: its file was refused, or (then true) it isn't written. */
bool session_todo(const struct session *s, const char *name, char *out, size_t cap);

/* Copies what the process printed into the result; practice seeds only. */
void session_keep_printed(struct session *s);

void check_fault(struct check_result *r, const struct err *e);
void check_lose(struct check_result *r, const char *message);

#endif
