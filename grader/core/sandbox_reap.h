/* sandbox_reap.h: the end of every process that a run started, also of those that left its group
 * and session. Used by sandbox.c alone. */
#ifndef SERVELAB_GRADER_CORE_SANDBOX_REAP_H
#define SERVELAB_GRADER_CORE_SANDBOX_REAP_H

#include <sys/types.h>

/* Makes this process the parent of its orphaned descendants, and remembers the children that it has
 * already, which are none of the run's. Call before the fork. */
void reap_prepare(void);

/* Kills the process group of `leader` and every descendant that outlived it, until none is left or
 * five seconds have passed. With `status`, the leader has not been waited for yet, and its status
 * goes there. */
void reap_all(pid_t leader, int *status);

/* How many processes (with their threads) a user has now. */
int reap_count_processes(uid_t user);

#endif
