/* jobs.h: many independent computations in processes of their own, some at one time. Each answers
 * with one small struct through a pipe. Not here: what they compute. */
#ifndef SERVELAB_SIM_JOBS_H
#define SERVELAB_SIM_JOBS_H

#include "base/err.h"

#include <stddef.h>

enum { JOBS_MAX_ANSWER = 3000 }; /* bytes: with its frame within PIPE_BUF, so that it's one write */

/* Computes job `job` into answer, in the child. 0, or a negative number and *e. */
typedef int job_fn(void *ctx, size_t job, void *answer, struct err *e);

/* A job is done: called in the parent, in the order in which they end. */
typedef void job_done_fn(void *ctx, size_t job, const void *answer);

/* What a job is called in a message, such as "policy static:8 at 5 requests/s". Returns buf. */
typedef const char *job_name_fn(void *ctx, size_t job, char *buf, size_t cap);

struct jobs {
    job_fn *run;
    job_done_fn *done;
    job_name_fn *name;
    void *ctx;
    size_t answer_size;
    int parallel;
};

/* Runs jobs 0 .. n - 1. 0; JOBS_STOPPED after SIGINT or SIGTERM; the first failed job's negative
 * number and its *e; JOBS_DIED when a job's process died, which *e tells; JOBS_NOT_ATTEMPTED when
 * it met a lab's starter (base/lab_todo.h), which has said so itself. In every case all children
 * are gone on return. The two signals have their old meaning again afterwards. */
enum { JOBS_STOPPED = 1, JOBS_DIED = -1, JOBS_NOT_ATTEMPTED = -3 };
int jobs_run(const struct jobs *j, size_t n, struct err *e);

#endif
