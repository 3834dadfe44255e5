/* sandbox.h: one untrusted program, run with bounds on everything, and nothing of it left behind.
 *
 * Two modes, probed at start. With bubblewrap the program has its own user, process, network and
 * file-system view: only /usr and the folders it was given. Without it, resource limits, a session
 * of its own and a kill of everything it started; then it can read what this user can read, and the
 * verdict says so. As root, the program runs as nobody (65534) in both modes: bubblewrap alone
 * would leave root's files readable.
 *
 * Bounded: wall-clock and CPU time, memory, file size, processes, descriptors, output. One run at a
 * time in one grader process: what outlives a run is found as our child and killed.
 */
#ifndef SERVELAB_GRADER_CORE_SANDBOX_H
#define SERVELAB_GRADER_CORE_SANDBOX_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sandbox_mode { SANDBOX_BWRAP, SANDBOX_RLIMITS };

struct sandbox {
    enum sandbox_mode mode;
    bool drop;      /* we are root: the program becomes nobody */
    char text[200]; /* for the verdict: "bubblewrap 0.8.0" or what holds instead and why */
};

/* Finds out what works here. `force_rlimits` is for tests and for --sandbox rlimits. Never fails:
 * rlimits always work. */
void sandbox_probe(struct sandbox *sb, bool force_rlimits);

/* A folder the program may see, under the same path inside and outside. */
struct sandbox_folder {
    const char *path;
    bool writable;
};

enum { SANDBOX_MAX_FOLDERS = 4 };

struct sandbox_job {
    const char *const *argv; /* argv[0] an absolute path, NULL at the end */
    const char *const *env;  /* "NAME=value", NULL at the end; the program gets nothing else */
    const char *cwd;
    struct sandbox_folder folders[SANDBOX_MAX_FOLDERS];
    int channel_fd; /* becomes descriptor 3; -1 for none. The caller closes its copy */
    int cpu_s, wall_ms;
    int64_t memory_bytes; /* address space; 0 for no limit (the sanitizers reserve terabytes) */
    int64_t file_bytes;   /* largest file it may write */
    int processes;        /* beyond those that its user already has */
    size_t output_cap;    /* bytes of stdout and stderr kept; ten times as much ends the run */
};

enum sandbox_end {
    SANDBOX_RUNNING,
    SANDBOX_EXITED,  /* code is its exit status */
    SANDBOX_SIGNAL,  /* code is the signal */
    SANDBOX_TIMEOUT, /* wall clock or CPU */
    SANDBOX_FLOODED, /* printed too much */
    SANDBOX_BROKEN,  /* could not be started: our fault */
    SANDBOX_STOPPED  /* the grading itself was interrupted */
};

/* Ends the run in progress, and every later one at once, with SANDBOX_STOPPED: for a signal's
 * handler. sandbox_stopped says by which signal; 0 when by none. sandbox_resume forgets it. */
void sandbox_stop(int sig);
int sandbox_stopped(void);
void sandbox_resume(void);

struct sandbox_run {
    pid_t pid;
    int output_fd;
    int64_t deadline_ns;
    enum sandbox_end end;
    int code;
    char *output; /* owned; output_len bytes, not terminated */
    size_t output_len, output_cap, output_seen;
    bool bwrap;
};

/* Starts the program. -1 with *e when that failed. */
int sandbox_start(const struct sandbox *sb, const struct sandbox_job *job, struct sandbox_run *run,
                  struct err *e);

/* Takes output that has arrived and looks at the clock; never blocks. Non-zero once the run must
 * not go on (run->end says why). */
int sandbox_pump(struct sandbox_run *run);

/* Waits for the end, at most until the deadline, or ends the run at once with `stop`; kills
 * whatever is left of it. Afterwards run->end and run->code are final. */
void sandbox_finish(struct sandbox_run *run, bool stop);

void sandbox_release(struct sandbox_run *run);

/* start, pump until the end, finish. */
int sandbox_execute(const struct sandbox *sb, const struct sandbox_job *job,
                    struct sandbox_run *run, struct err *e);

/* A signal's name for a message: "SIGSEGV (touched memory that isn't its own)". */
const char *sandbox_signal_text(int sig);

#endif
