/* sandbox_reap.c: see sandbox_reap.h. The grader is a subreaper, so orphans of the run become its
 * children. A walk through /proc finds every process whose parent is the grader. */
#include "core/sandbox_reap.h"

#include "base/clock.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_OWN_CHILDREN = 256 };

static pid_t own[MAX_OWN_CHILDREN]; /* children that existed before the run */
static size_t n_own;

/* The parent's pid, and the number of threads, from /proc/PID/stat; 0 when the process is gone. */
static pid_t parent_of(pid_t pid, int *threads) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    char *end = strrchr(text, ')'); /* the name may contain any byte, brackets too */
    int ppid = 0;
    if (!end || sscanf(end + 1,
                       " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                       "%*d %d",
                       &ppid, threads) != 2)
        return 0;
    return ppid;
}

static bool is_own(pid_t pid) {
    for (size_t i = 0; i < n_own; i++)
        if (own[i] == pid) return true;
    return false;
}

/* Calls `each` for every process in /proc. */
static void walk(void (*each)(pid_t pid, void *ctx), void *ctx) {
    DIR *d = opendir("/proc");
    if (!d) return;
    for (struct dirent *de; (de = readdir(d));) {
        int pid = atoi(de->d_name);
        if (pid > 0) each(pid, ctx);
    }
    closedir(d);
}

static void remember(pid_t pid, void *ctx) {
    int threads;
    if (parent_of(pid, &threads) == *(pid_t *)ctx && n_own < MAX_OWN_CHILDREN) own[n_own++] = pid;
}

/* Whether there is any child, alive or dead. Usually there is none; then the walk is skipped. */
static bool have_children(void) {
    siginfo_t si;
    return waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void reap_prepare(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t self = getpid();
    n_own = 0;
    if (have_children()) walk(remember, &self);
}

struct strays {
    pid_t self, leader;
    int n; /* that are still there */
};

/* Each is waited for by its number: asked for any child, the kernel may name one that existed
 * before the run, and has ended, again and again. */
static void end_stray(pid_t pid, void *ctx) {
    struct strays *s = ctx;
    int threads;
    if (parent_of(pid, &threads) != s->self || is_own(pid)) return;
    kill(pid, SIGKILL);
    if (pid == s->leader || waitpid(pid, NULL, WNOHANG) != pid) s->n++;
}

void reap_all(pid_t leader, int *status) {
    struct strays s = {getpid(), leader, 0};
    int64_t until = clock_monotonic_ns() + 5 * NS_PER_S;
    for (size_t i = 0; i < n_own; i++) /* it was one when another run was started beside it */
        if (own[i] == leader) own[i] = 0;
    kill(-leader, SIGKILL);
    do {
        int st;
        if (waitpid(leader, &st, WNOHANG) == leader && status) *status = st;
        if (!have_children()) break;
        s.n = 0;
        walk(end_stray, &s);
        if (s.n == 0) break;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    } while (clock_monotonic_ns() < until);
}

struct user_count {
    uid_t user;
    int n;
};

static void count_of_user(pid_t pid, void *ctx) {
    struct user_count *c = ctx;
    char path[64];
    struct stat st;
    int threads = 0;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (stat(path, &st) || st.st_uid != c->user) return;
    if (parent_of(pid, &threads)) c->n += threads;
}

int reap_count_processes(uid_t user) {
    struct user_count c = {user, 0};
    walk(count_of_user, &c);
    return c.n;
}
