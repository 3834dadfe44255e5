/* jobs.c: see jobs.h. */
#include "sim/jobs.h"

#include "base/lab_todo.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PARALLEL = 1024, LOOK_EVERY_MS = 200 };

struct frame {
    int rc;
    struct err e;
    char answer[JOBS_MAX_ANSWER];
};
_Static_assert(sizeof(struct frame) <= PIPE_BUF, "an answer is one write");

struct child {
    pid_t pid;
    int fd;
    size_t job;
};

static volatile sig_atomic_t stopped;

static void on_signal(int sig) {
    (void)sig;
    stopped = 1;
}

/* ---- children ---- */

static void child_main(const struct jobs *j, size_t job, int fd, const struct sigaction old[2]) {
    static struct frame f;
    sigaction(SIGINT, &old[0], NULL);
    sigaction(SIGTERM, &old[1], NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no reader is left for the answer */
    f.rc = j->run(j->ctx, job, f.answer, &f.e);
    ssize_t wrote = write(fd, &f, sizeof f);
    _exit(wrote == (ssize_t)sizeof f ? 0 : 1);
}

static int start(const struct jobs *j, size_t job, const struct sigaction old[2], struct child *c,
                 struct err *e) {
    int fds[2];
    if (pipe(fds))
        return err_set(e, "no pipe for another run: %s; take fewer --jobs", strerror(errno));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        child_main(j, job, fds[1], old);
    }
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return err_set(e, "no process for another run: %s; try --jobs 1", strerror(errno));
    }
    *c = (struct child){pid, fds[0], job};
    return 0;
}

static int reap(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}

/* Reads the answer of a child that has written it or died. */
static int finish(const struct jobs *j, const struct child *c, struct err *e) {
    static struct frame f;
    ssize_t got;
    do got = read(c->fd, &f, sizeof f);
    while (got < 0 && errno == EINTR);
    close(c->fd);
    int status = reap(c->pid);
    char name[160];
    if (got != (ssize_t)sizeof f && WIFEXITED(status) && WEXITSTATUS(status) == LAB_NOT_ATTEMPTED)
        return err_set(e, "a lab file is not attempted"), JOBS_NOT_ATTEMPTED;
    if (got != (ssize_t)sizeof f) {
        j->name(j->ctx, c->job, name, sizeof name);
        if (WIFSIGNALED(status))
            err_set(e, "%s: the run died of signal %d (%s); is the policy at fault?", name,
                    WTERMSIG(status), strsignal(WTERMSIG(status)));
        else
            err_set(e, "%s: the run ended with exit status %d and no answer", name,
                    WEXITSTATUS(status));
        return JOBS_DIED;
    }
    if (f.rc) {
        *e = f.e;
        if (e->field[0] || e->line) return f.rc; /* the input is at fault, not this job */
        j->name(j->ctx, c->job, name, sizeof name);
        err_set(e, "%s: %s", name, f.e.text);
        return f.rc;
    }
    j->done(j->ctx, c->job, f.answer);
    return 0;
}

static void end_all(const struct child *children, int n) {
    for (int i = 0; i < n; i++) kill(children[i].pid, SIGKILL);
    for (int i = 0; i < n; i++) {
        close(children[i].fd);
        reap(children[i].pid);
    }
}

/* ---- the pool ---- */

/* Waits until a child has answered or died; its index, or -1 after LOOK_EVERY_MS or a signal. */
static int wait_for_one(const struct child *children, int n) {
    struct pollfd fds[MAX_PARALLEL];
    for (int i = 0; i < n; i++) fds[i] = (struct pollfd){children[i].fd, POLLIN, 0};
    if (poll(fds, (nfds_t)n, LOOK_EVERY_MS) < 1) return -1;
    for (int i = 0; i < n; i++)
        if (fds[i].revents) return i;
    return -1;
}

static int run_pool(const struct jobs *j, size_t n, const struct sigaction old[2], struct err *e) {
    struct child children[MAX_PARALLEL];
    int running = 0, rc = 0, most = j->parallel < MAX_PARALLEL ? j->parallel : MAX_PARALLEL;
    size_t next = 0;
    while (!rc && !stopped && (next < n || running)) {
        if (next < n && running < most) {
            rc = start(j, next++, old, &children[running], e);
            if (!rc) running++;
            continue;
        }
        int i = wait_for_one(children, running);
        if (i < 0) continue;
        struct child c = children[i];
        children[i] = children[--running];
        rc = finish(j, &c, e);
    }
    end_all(children, running);
    return rc ? rc : stopped ? JOBS_STOPPED : 0;
}

int jobs_run(const struct jobs *j, size_t n, struct err *e) {
    INVARIANT(j->answer_size <= JOBS_MAX_ANSWER && j->parallel > 0);
    struct sigaction mine = {.sa_handler = on_signal}, old[2];
    stopped = 0;
    sigaction(SIGINT, &mine, &old[0]);
    sigaction(SIGTERM, &mine, &old[1]);
    int rc = run_pool(j, n, old, e);
    sigaction(SIGINT, &old[0], NULL);
    sigaction(SIGTERM, &old[1], NULL);
    return rc;
}
