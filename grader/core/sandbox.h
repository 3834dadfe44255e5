/* sandbox.h: runs one untrusted program with limits on everything, and ends every process that it
 * started.
 *
 * Two modes; sandbox_probe chooses. With bubblewrap the program has its own user, process, network
 * and file-system view: only /usr and the folders it was given. Without it there are resource
 * limits, a separate session, and a kill of everything the program started; the program can then
 * read what this user can read, and the verdict says so. If the grader runs as root, the program
 * runs as nobody (65534) in both modes: bubblewrap alone would leave root's files readable.
 *
 * Limited: wall-clock and CPU time, memory, file size, processes, descriptors, output. One run at a
 * time in one grader process: a process that outlives a run is found as a child of the grader and
 * killed.
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
    bool drop;      /* the grader is root: the program becomes nobody */
    char text[280]; /* for the verdict: "bubblewrap 0.8.0", or what is used instead and why */
};

/* Finds out which mode works on this machine. `force_rlimits`: for tests and --sandbox rlimits.
 * Never fails: rlimits always work. */
void sandbox_probe(struct sandbox *sb, bool force_rlimits);

/* A folder that the program may see, under the same path inside and outside. */
struct sandbox_folder {
    const char *path;
    bool writable;
};

enum { SANDBOX_MAX_FOLDERS = 4 };

struct sandbox_job {
    const char *const *argv; /* argv[0] an absolute path, NULL at the end */
    const char *const *env;  /* "NAME=value", NULL at the end; the program's whole environment */
    const char *cwd;
    struct sandbox_folder folders[SANDBOX_MAX_FOLDERS];
    int channel_fd; /* becomes descriptor 3; -1 for none. The caller closes its copy */
    int cpu_s, wall_ms;
    int64_t memory_bytes; /* address space; 0 for no limit (the sanitizers reserve terabytes) */
    int64_t file_bytes;   /* largest file it may write */
    int processes;        /* in addition to those that its user already has */
    size_t output_cap; /* bytes of stdout and stderr that are kept; ten times as many end the run */
};

enum sandbox_end {
    SANDBOX_RUNNING,
    SANDBOX_EXITED,  /* code is its exit status */
    SANDBOX_SIGNAL,  /* code is the signal */
    SANDBOX_TIMEOUT, /* wall clock or CPU */
    SANDBOX_FLOODED, /* printed too much */
    SANDBOX_BROKEN,  /* could not be started: the grader's fault */
    SANDBOX_STOPPED  /* the grading itself was interrupted */
};

/* Ends the current run, and every later one at once, with SANDBOX_STOPPED; for signal handlers.
 * sandbox_stopped returns the signal, 0 for none. sandbox_resume clears it. */
void sandbox_stop(int sig);
int sandbox_stopped(void);
void sandbox_resume(void);

struct sandbox_run {
    pid_t pid;
    int output_fd;
    int64_t deadline_ns;
    int64_t last_deadline_ns, wall_ns; /* for sandbox_progress */
    enum sandbox_end end;
    int code;
    char *output; /* owned; output_len bytes, not terminated */
    size_t output_len, output_cap, output_seen;
    bool bwrap;
    bool waited; /* with SANDBOX_TIMEOUT: by the wall clock, its CPU time was not used up */
};

/* Starts the program. -1 with *e when that failed. */
int sandbox_start(const struct sandbox *sb, const struct sandbox_job *job, struct sandbox_run *run,
                  struct err *e);

/* Reads the output that has arrived and checks the deadline; never blocks. Non-zero when the run
 * must end (run->end has the reason). */
int sandbox_pump(struct sandbox_run *run);

/* Whether the process has ended by itself. It stays to be finished. */
bool sandbox_ended(const struct sandbox_run *run);

/* The program has answered: it gets wall_ms again from now on, but never more than
 * SANDBOX_LONGEST times wall_ms in all. On a busy machine each answer can wait for a processor, so
 * a limit on the whole would cost points that the program deserves. */
enum { SANDBOX_LONGEST = 3 };
void sandbox_progress(struct sandbox_run *run);

/* Waits for the end, at most until the deadline; with `stop`, ends the run at once. Then kills what
 * is left of it. Afterwards run->end and run->code are final. */
void sandbox_finish(struct sandbox_run *run, bool stop);

void sandbox_release(struct sandbox_run *run);

/* start, pump until the end, finish. */
int sandbox_execute(const struct sandbox *sb, const struct sandbox_job *job,
                    struct sandbox_run *run, struct err *e);

/* A signal's name and meaning, for a message: "SIGSEGV (touched memory that isn't its own)". */
const char *sandbox_signal_text(int sig);

#endif
