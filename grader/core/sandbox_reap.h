/* sandbox_reap.h: ends every process that a run started, also those that left its group and
 * session. Used by sandbox.c only. */
#ifndef SERVELAB_GRADER_CORE_SANDBOX_REAP_H
#define SERVELAB_GRADER_CORE_SANDBOX_REAP_H

#include <sys/types.h>

/* Makes this process the parent of its orphaned descendants, and remembers its present children,
 * which do not belong to the run. Call before the fork. */
void reap_prepare(void);

/* Kills the process group of `leader` and every descendant that outlived it, until none is left or
 * five seconds have passed. With `status`, the leader has not been waited for yet, and its status
 * goes there. */
void reap_all(pid_t leader, int *status);

/* The number of processes of a user, threads included. */
int reap_count_processes(uid_t user);

#endif
