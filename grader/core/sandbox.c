/* sandbox.c: starts, watches and ends an untrusted program. See sandbox.h. sandbox_reap.c kills
 * what it leaves behind. */
#include "core/sandbox.h"

#include "core/sandbox_reap.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    NOBODY = 65534,
    MAX_ARGS = 96,
    EXIT_NOT_STARTED = 125, /* setting up the process between fork and exec failed */
    SIGNAL_BASE = 128 /* bubblewrap exits with this plus the signal's number, as a shell does */
};

/* ---- the command line ------------------------------------------------------------------------ */

struct args {
    const char *v[MAX_ARGS];
    int n;
};

static void arg(struct args *a, const char *text) {
    INVARIANT(a->n < MAX_ARGS - 1);
    a->v[a->n++] = text;
    a->v[a->n] = NULL;
}

static void args3(struct args *a, const char *x, const char *y, const char *z) {
    arg(a, x);
    arg(a, y);
    arg(a, z);
}

/* /lib and the like are links into /usr on most systems, separate folders on others. */
static void bind_system(struct args *a) {
    static const char *const roots[][2] = {{"/bin", "usr/bin"},     {"/sbin", "usr/sbin"},
                                           {"/lib", "usr/lib"},     {"/lib64", "usr/lib64"},
                                           {"/lib32", "usr/lib32"}, {"/libx32", "usr/libx32"}};
    args3(a, "--ro-bind", "/usr", "/usr");
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        struct stat st;
        if (lstat(roots[i][0], &st)) continue;
        if (S_ISLNK(st.st_mode))
            args3(a, "--symlink", roots[i][1], roots[i][0]);
        else
            args3(a, "--ro-bind", roots[i][0], roots[i][0]);
    }
    args3(a, "--ro-bind-try", "/etc/alternatives", "/etc/alternatives");
    args3(a, "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache");
}

static void bwrap_args(struct args *a, const struct sandbox_job *job) {
    arg(a, "bwrap");
    bind_system(a);
    args3(a, "--dev", "/dev", "--proc");
    arg(a, "/proc");
    args3(a, "--size", "67108864", "--tmpfs");
    arg(a, "/tmp");
    for (int i = 0; i < SANDBOX_MAX_FOLDERS && job->folders[i].path; i++)
        args3(a, job->folders[i].writable ? "--bind" : "--ro-bind", job->folders[i].path,
              job->folders[i].path);
    args3(a, "--remount-ro", "/dev", "--remount-ro"); /* these file systems have no size limit */
    arg(a, "/");
    args3(a, "--chdir", job->cwd, "--unshare-all");
    args3(a, "--die-with-parent", "--new-session", "--");
    for (int i = 0; job->argv[i]; i++) arg(a, job->argv[i]);
}

/* ---- between fork and exec: only calls that are safe there ----------------------------------- */

/* At most what the grader itself may have. grade.c made sure that this is enough. */
static void limit(int what, rlim_t soft, rlim_t hard) {
    struct rlimit r;
    if (getrlimit(what, &r)) _exit(EXIT_NOT_STARTED);
    if (hard < r.rlim_max) r.rlim_max = hard;
    r.rlim_cur = soft < r.rlim_max ? soft : r.rlim_max;
    if (setrlimit(what, &r)) _exit(EXIT_NOT_STARTED);
}

static void set_limits(const struct sandbox_job *job, rlim_t processes) {
    limit(RLIMIT_CPU, (rlim_t)job->cpu_s, (rlim_t)job->cpu_s + 1);
    limit(RLIMIT_FSIZE, (rlim_t)job->file_bytes, (rlim_t)job->file_bytes);
    limit(RLIMIT_NOFILE, 64, 64);
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_NPROC, processes, processes);
    if (job->memory_bytes) limit(RLIMIT_AS, (rlim_t)job->memory_bytes, (rlim_t)job->memory_bytes);
}

static void become_nobody(void) {
    if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
        setresuid(NOBODY, NOBODY, NOBODY))
        _exit(EXIT_NOT_STARTED);
}

/* Sets descriptors: /dev/null on 0, the output pipe on 1 and 2, the channel on 3, none above. */
static void set_descriptors(int output, int channel) {
    int null = open("/dev/null", O_RDONLY);
    if (null < 0) _exit(EXIT_NOT_STARTED);
    /* move all above 10 first: any of them may be one of 0..3 */
    int out = fcntl(output, F_DUPFD, 10), ch = channel < 0 ? -1 : fcntl(channel, F_DUPFD, 10);
    int nul = fcntl(null, F_DUPFD, 10);
    if (out < 0 || nul < 0 || (channel >= 0 && ch < 0)) _exit(EXIT_NOT_STARTED);
    if (dup2(nul, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(EXIT_NOT_STARTED);
    if (ch >= 0 && dup2(ch, 3) < 0) _exit(EXIT_NOT_STARTED);
    if (close_range(ch >= 0 ? 4 : 3, ~0U, 0)) {
        for (int fd = ch >= 0 ? 4 : 3; fd < 4096; fd++) close(fd);
    }
}

static void reset_signals(void) {
    for (int sig = 1; sig < 32; sig++) signal(sig, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Starts a process that ends the group of the calling one, its leader, as soon as that has ended.
 * The leader is ended with the grader (PR_SET_PDEATHSIG), but the compilers that it started are
 * not. Bubblewrap's process name space does this by itself. */
static void guard_group(void) {
    pid_t leader = getpid();
    pid_t pid = fork();
    if (pid < 0) _exit(EXIT_NOT_STARTED);
    if (pid > 0) return;
    setsid();
    if (close_range(0, ~0U, 0))
        for (int fd = 0; fd < 4096; fd++) close(fd);
    /* no signal from the leader: it may not signal root when it has become nobody */
    struct pollfd end = {(int)syscall(SYS_pidfd_open, leader, 0), POLLIN, 0};
    while (getppid() == leader) poll(&end, end.fd >= 0, 100);
    kill(-leader, SIGKILL);
    _exit(0);
}

static void start_child(const struct sandbox *sb, const struct sandbox_job *job,
                        const struct args *a, int output, rlim_t processes) {
    setsid();
    if (sb->mode == SANDBOX_RLIMITS) guard_group(); /* before the change of user: out of reach */
    reset_signals();
    set_descriptors(output, job->channel_fd);
    if (sb->drop) become_nobody();
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the change of user, which would clear it */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) _exit(EXIT_NOT_STARTED);
    set_limits(job, processes);
    if (sb->mode == SANDBOX_RLIMITS && chdir(job->cwd)) _exit(EXIT_NOT_STARTED);
    char *const *argv = (char *const *)(uintptr_t)a->v;
    char *const *env = (char *const *)(uintptr_t)job->env;
    if (sb->mode == SANDBOX_BWRAP)
        execvpe("bwrap", argv, env);
    else
        execve(job->argv[0], argv, env);
    _exit(EXIT_NOT_STARTED);
}

/* ---- starting -------------------------------------------------------------------------------- */

int sandbox_start(const struct sandbox *sb, const struct sandbox_job *job, struct sandbox_run *run,
                  struct err *e) {
    struct args a = {{NULL}, 0};
    memset(run, 0, sizeof *run);
    run->output_fd = -1;
    run->output_cap = job->output_cap;
    run->bwrap = sb->mode == SANDBOX_BWRAP;
    run->output = malloc(job->output_cap ? job->output_cap : 1);
    if (!run->output) return err_set(e, "no memory for a program's output");
    if (run->bwrap)
        bwrap_args(&a, job);
    else
        for (int i = 0; job->argv[i]; i++) arg(&a, job->argv[i]);
    /* RLIMIT_NPROC counts every process of the user, not only the sandbox's */
    rlim_t processes =
        (rlim_t)reap_count_processes(sb->drop ? NOBODY : getuid()) + (rlim_t)job->processes;
    int out[2];
    if (pipe2(out, O_CLOEXEC)) {
        free(run->output);
        return err_set(e, "pipe: %s", strerror(errno));
    }
    reap_prepare();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) start_child(sb, job, &a, out[1], processes);
    close(out[1]);
    if (pid < 0) {
        close(out[0]);
        free(run->output);
        return err_set(e, "fork: %s", strerror(errno));
    }
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    run->pid = pid;
    run->output_fd = out[0];
    int64_t now_ns = clock_monotonic_ns();
    run->wall_ns = job->wall_ms * NS_PER_MS;
    run->deadline_ns = now_ns + run->wall_ns;
    run->last_deadline_ns = now_ns + SANDBOX_LONGEST * run->wall_ns;
    return 0;
}

/* ---- watching -------------------------------------------------------------------------------- */

static void take_output(struct sandbox_run *run) {
    char buf[16384];
    ssize_t got;
    while (run->output_fd >= 0 && (got = read(run->output_fd, buf, sizeof buf)) != 0) {
        if (got < 0) return; /* no more output at present */
        size_t room = run->output_cap - run->output_len;
        size_t keep = (size_t)got < room ? (size_t)got : room;
        memcpy(run->output + run->output_len, buf, keep);
        run->output_len += keep;
        run->output_seen += (size_t)got;
        if (run->output_seen > 10 * run->output_cap) {
            run->end = SANDBOX_FLOODED;
            return;
        }
    }
    if (run->output_fd >= 0) close(run->output_fd);
    run->output_fd = -1;
}

static volatile sig_atomic_t stopped_by;

void sandbox_stop(int sig) {
    stopped_by = sig;
}

int sandbox_stopped(void) {
    return stopped_by;
}

void sandbox_resume(void) {
    stopped_by = 0;
}

int sandbox_pump(struct sandbox_run *run) {
    if (run->end) return run->end;
    if (stopped_by) return run->end = SANDBOX_STOPPED;
    take_output(run);
    if (!run->end && clock_monotonic_ns() > run->deadline_ns) {
        run->end = SANDBOX_TIMEOUT;
        run->waited = true;
    }
    return run->end;
}

bool sandbox_ended(const struct sandbox_run *run) {
    siginfo_t what = {0};
    return run->pid <= 0 ||
           (!waitid(P_PID, (id_t)run->pid, &what, WEXITED | WNOHANG | WNOWAIT) && what.si_pid > 0);
}

void sandbox_progress(struct sandbox_run *run) {
    int64_t until_ns = clock_monotonic_ns() + run->wall_ns;
    run->deadline_ns = until_ns < run->last_deadline_ns ? until_ns : run->last_deadline_ns;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void set_end(struct sandbox_run *run, int status) {
    int sig = 0, code = 0;
    if (WIFSIGNALED(status)) sig = WTERMSIG(status);
    if (WIFEXITED(status)) code = WEXITSTATUS(status);
    if (run->bwrap && code > SIGNAL_BASE && code < SIGNAL_BASE + 65) sig = code - SIGNAL_BASE;
    run->code = sig ? sig : code;
    run->end = sig == SIGXCPU ? SANDBOX_TIMEOUT : sig ? SANDBOX_SIGNAL : SANDBOX_EXITED;
    if (code == EXIT_NOT_STARTED) run->end = SANDBOX_BROKEN;
}

/* Waits for the process and takes its output; true when it ended on its own. */
static bool wait_for(struct sandbox_run *run, int *status) {
    for (int nap_ms = 0;; nap_ms = nap_ms < 20 ? nap_ms + 1 : 20) {
        pid_t got = waitpid(run->pid, status, WNOHANG);
        if (got == run->pid) return true;
        if (sandbox_pump(run)) return false;
        struct pollfd p = {run->output_fd, POLLIN, 0};
        poll(&p, run->output_fd >= 0, nap_ms);
    }
}

void sandbox_finish(struct sandbox_run *run, bool stop) {
    if (run->pid <= 0) return;
    int status = 0;
    enum sandbox_end why = run->end;
    bool ended = !stop && !why && wait_for(run, &status);
    if (!ended) ended = waitpid(run->pid, &status, WNOHANG) == run->pid;
    if (!why) why = run->end;
    reap_all(run->pid, ended ? NULL : &status);
    take_output(run);
    if (why)
        run->end = why; /* the time-out or the flood, not the signal that the grader sent */
    else
        set_end(run, status);
    if (run->output_fd >= 0) close(run->output_fd);
    run->output_fd = -1;
    run->pid = 0;
}

void sandbox_release(struct sandbox_run *run) {
    sandbox_finish(run, true);
    free(run->output);
    memset(run, 0, sizeof *run);
    run->output_fd = -1;
}

int sandbox_execute(const struct sandbox *sb, const struct sandbox_job *job,
                    struct sandbox_run *run, struct err *e) {
    if (sandbox_start(sb, job, run, e)) return -1;
    sandbox_finish(run, false);
    return 0;
}

/* ---- the probe ------------------------------------------------------------------------------- */

static const char *const plain_env[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};

/* Whether bwrap is in PATH. The next step differs: install the package, or allow name spaces. */
static bool bwrap_installed(void) {
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at;) {
        size_t n = strcspn(at, ":");
        char file[4096];
        snprintf(file, sizeof file, "%.*s/bwrap", (int)(n < 4000 ? n : 4000), at);
        if (!access(file, X_OK)) return true;
        at += n + (at[n] == ':');
    }
    return false;
}

static const char *mode_text(bool works, bool force_rlimits) {
    if (works) return "bubblewrap";
#define LIMITS                                                                                     \
    "resource limits and process-group kill, which hide neither your files nor the network "
    if (force_rlimits) return LIMITS "(asked for)";
    return bwrap_installed() ? LIMITS
               "(bubblewrap is installed but may not make name spaces here, as in many "
               "containers; `bwrap --ro-bind / / true` says why)"
                             : LIMITS "(bubblewrap isn't installed; `make deps` names the package)";
#undef LIMITS
}

/* Whether this is root and can become nobody. In a name space of one user it can't; there root has
 * that user's rights, and no others. */
static bool can_drop(void) {
    unsigned long inside, outside, n;
    bool mapped = false;
    if (geteuid() != 0) return false;
    FILE *f = fopen("/proc/self/uid_map", "r");
    if (!f) return true;
    while (fscanf(f, "%lu %lu %lu", &inside, &outside, &n) == 3)
        mapped |= inside <= NOBODY && NOBODY - inside < n;
    fclose(f);
    return mapped;
}

void sandbox_probe(struct sandbox *sb, bool force_rlimits) {
    static const char *const argv[] = {"/usr/bin/true", NULL};
    struct sandbox_job job = {.argv = argv,
                              .env = plain_env,
                              .cwd = "/",
                              .channel_fd = -1,
                              .cpu_s = 2,
                              .wall_ms =
                                  20000, /* high, so that a busy machine still gets bubblewrap */
                              .file_bytes = 1 << 20,
                              .processes = 512,
                              .output_cap = 1000};
    struct sandbox_run run;
    struct err e;
    *sb = (struct sandbox){.mode = SANDBOX_BWRAP, .drop = can_drop()};
    bool works = !force_rlimits && !sandbox_execute(sb, &job, &run, &e);
    if (works) {
        works = run.end == SANDBOX_EXITED && run.code == 0;
        sandbox_release(&run);
    }
    if (!works) sb->mode = SANDBOX_RLIMITS;
    snprintf(sb->text, sizeof sb->text, "%s%s", mode_text(works, force_rlimits),
             sb->drop ? ", as nobody" : "");
}

const char *sandbox_signal_text(int sig) {
    switch (sig) {
    case SIGSEGV:
        return "SIGSEGV (it touched memory that isn't its own, or recursed without end)";
    case SIGBUS:
        return "SIGBUS (it touched memory that isn't there)";
    case SIGFPE:
        return "SIGFPE (a division by zero, most likely)";
    case SIGABRT:
        return "SIGABRT (abort, a failed assert, or a corrupted heap)";
    case SIGILL:
        return "SIGILL (it ran into an instruction that isn't one)";
    case SIGKILL:
        return "SIGKILL (CPU time or memory was used up)";
    case SIGXFSZ:
        return "SIGXFSZ (it wrote a file that is too large)";
    case SIGSYS:
        return "SIGSYS (a system call that isn't allowed)";
    default:
        return "a signal";
    }
}
