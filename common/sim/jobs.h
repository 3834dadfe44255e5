/* jobs.h: runs many independent jobs, each in a child process, several at a time; each answers with
 * one small struct through a pipe. */
#ifndef SERVELAB_SIM_JOBS_H
#define SERVELAB_SIM_JOBS_H

#include "base/err.h"

#include <stddef.h>

enum {
    JOBS_MAX_ANSWER = 3000
}; /* bytes: with its frame at most PIPE_BUF, so that it is one write */

/* Computes job `job` into answer, in the child. 0, or a negative number and *e. */
typedef int job_fn(void *ctx, size_t job, void *answer, struct err *e);

/* Called in the parent for each answer, in the order in which jobs end. */
typedef void job_done_fn(void *ctx, size_t job, const void *answer);

/* The name of a job in messages, such as "policy static:8 at 5 requests/s". Returns buf. */
typedef const char *job_name_fn(void *ctx, size_t job, char *buf, size_t cap);

struct jobs {
    job_fn *run;
    job_done_fn *done;
    job_name_fn *name;
    void *ctx;
    size_t answer_size;
    int parallel;
};

/* Runs jobs 0 .. n - 1, at most `parallel` at a time. Returns 0; JOBS_STOPPED after SIGINT or
 * SIGTERM; the negative number of the first job that failed, with its *e; JOBS_DIED and *e if a
 * job's process died; JOBS_NOT_ATTEMPTED if a job called a lab's starter (base/lab_todo.h), which
 * has printed a message. No child is left on return, and the handlers of the two signals are
 * restored. */
enum { JOBS_STOPPED = 1, JOBS_DIED = -1, JOBS_NOT_ATTEMPTED = -3 };
int jobs_run(const struct jobs *j, size_t n, struct err *e);

#endif
