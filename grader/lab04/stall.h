/* stall.h: says whether a program in the sandbox will give no answer, by its own time and not by
 * the clock on the wall: it has computed for 2 s without one, or none of its threads computes or
 * waits for a processor any more. A slow or busy machine makes neither true. */
#ifndef SERVELAB_GRADER_LAB04_STALL_H
#define SERVELAB_GRADER_LAB04_STALL_H

#include <stdint.h>
#include <sys/types.h>

enum stall { STALL_NONE, STALL_COMPUTES, STALL_WAITS };

enum { STALL_CPU_S = 2 };

struct stall_watch {
    int64_t began_ns, looked_ns;  /* of the present window; began_ns 0: none yet */
    int64_t began_cpu, first_cpu; /* ticks of sysconf(_SC_CLK_TCK) */
    int looks, busy;              /* of the window; busy: a thread computed or could */
};

/* Looks at process pid and all that it started; cheap when called often. A zeroed watch begins at
 * its first look: zero it after every answer. */
enum stall stall_look(struct stall_watch *w, pid_t pid);

/* What a message says of it: "2 s of computing brought no answer: an endless loop?" */
const char *stall_text(enum stall s);

#endif
