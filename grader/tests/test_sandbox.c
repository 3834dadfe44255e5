/* test_sandbox.c: what a program in the sandbox can and can't do, with bubblewrap and without; and
 * the child's seccomp filter. The programs are shell scripts: the sandbox does not depend on what
 * it runs. */
/* servelab-test: waits long */
#include "core/sandbox.h"

#include "child/child_seccomp.c"

#include "base/clock.h"
#include "testing/check_main.h"

#include <asm/sockios.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* _i of a loop test: 0 bubblewrap (left out by main on a machine without it: probe_says_which tests
 * the probe), 1 rlimits */
static void mode(struct sandbox *sb, int i) {
    sandbox_probe(sb, i == 1);
    ck_assert_int_eq(sb->mode, i == 1 ? SANDBOX_RLIMITS : SANDBOX_BWRAP);
}

static struct sandbox_job script_job(const char *argv[4], const char *script) {
    static const char *const env[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = script;
    argv[3] = NULL;
    return (struct sandbox_job){.argv = argv,
                                .env = env,
                                .cwd = "/",
                                .channel_fd = -1,
                                .cpu_s = 2,
                                .wall_ms = 30000,
                                .memory_bytes = INT64_C(512) << 20,
                                .file_bytes = 1 << 20,
                                .processes = 32,
                                .output_cap = 4096};
}

/* Runs a script; its output as text in `out`. */
static struct sandbox_run run_with(const struct sandbox *sb, const struct sandbox_job *job,
                                   char *out, size_t cap) {
    struct sandbox_run run, copy;
    struct err e;
    int rc = sandbox_execute(sb, job, &run, &e);
    ck_assert_msg(rc == 0, "%s", rc ? e.text : "");
    snprintf(out, cap, "%.*s", (int)run.output_len, run.output);
    copy = run;
    sandbox_release(&run);
    return copy;
}

static struct sandbox_run run_script(const struct sandbox *sb, const char *script, char *out,
                                     size_t cap) {
    const char *argv[4];
    struct sandbox_job job = script_job(argv, script);
    return run_with(sb, &job, out, cap);
}

static char out[4096];

START_TEST(output_status_and_signals) {
    struct sandbox sb;
    mode(&sb, _i);
    struct sandbox_run r = run_script(&sb, "echo one; echo two >&2; exit 7", out, sizeof out);
    ck_assert_int_eq(r.end, SANDBOX_EXITED);
    ck_assert_int_eq(r.code, 7);
    ck_assert_str_eq(out, "one\ntwo\n");
    r = run_script(&sb, "kill -SEGV $$", out, sizeof out);
    ck_assert_int_eq(r.end, SANDBOX_SIGNAL);
    ck_assert_int_eq(r.code, SIGSEGV);
    r = run_script(&sb, "cat; echo end", out, sizeof out); /* stdin is at its end */
    ck_assert_str_eq(out, "end\n");
    r = run_script(&sb, "exec >&- 2>&-; exit 3", out, sizeof out); /* closes its output early */
    ck_assert_int_eq(r.code, 3);
    ck_assert_uint_eq(r.output_seen, 0);
}
END_TEST

START_TEST(starts_clean) {
    struct sandbox sb;
    mode(&sb, _i);
    signal(SIGPIPE, SIG_IGN);
    setenv("SECRET", "x", 1);
    int fd = open("/dev/null", O_RDONLY); /* not close-on-exec */
    run_script(&sb, "env | grep -c SECRET; ls /proc/self/fd | tr '\\n' ' '; id -u", out,
               sizeof out);
    close(fd);
    ck_assert_msg(strstr(out, "0\n0 1 2 3 "), "%s", out); /* 3 is opened by ls, for /proc */
    ck_assert_ptr_null(strstr(out, " 4 "));
    if (geteuid() == 0) ck_assert_ptr_nonnull(strstr(out, "65534")); /* as root: nobody */
}
END_TEST

START_TEST(wall_clock_and_cpu) {
    struct sandbox sb;
    const char *argv[4];
    mode(&sb, _i);
    struct sandbox_job job = script_job(argv, "sleep 100");
    job.wall_ms = 300;
    int64_t start = clock_monotonic_ns();
    struct sandbox_run r = run_with(&sb, &job, out, sizeof out);
    ck_assert_int_eq(r.end, SANDBOX_TIMEOUT);
    ck_assert_int_lt(clock_monotonic_ns() - start, 20 * NS_PER_S);
    job = script_job(argv, "while :; do :; done");
    job.cpu_s = 1;
    r = run_with(&sb, &job, out, sizeof out);
    ck_assert_int_eq(r.end, SANDBOX_TIMEOUT);
    job = script_job(argv, "trap '' XCPU TERM INT; while :; do :; done"); /* the hard limit */
    job.cpu_s = 1;
    r = run_with(&sb, &job, out, sizeof out);
    ck_assert(r.end == SANDBOX_TIMEOUT || (r.end == SANDBOX_SIGNAL && r.code == SIGKILL));
}
END_TEST

START_TEST(an_answer_moves_the_deadline_up_to_the_longest) {
    int64_t before_ns = clock_monotonic_ns();
    struct sandbox_run r = {.deadline_ns = before_ns + 1,
                            .wall_ns = 10 * NS_PER_S,
                            .last_deadline_ns = before_ns + 3600 * NS_PER_S};
    sandbox_progress(&r);
    ck_assert_int_ge(r.deadline_ns, before_ns + 10 * NS_PER_S);
    r.last_deadline_ns = before_ns + 5 * NS_PER_S;
    sandbox_progress(&r);
    ck_assert_int_eq(r.deadline_ns, r.last_deadline_ns);
}
END_TEST

START_TEST(floods) { /* output without end, with and without newlines */
    struct sandbox sb;
    mode(&sb, _i);
    ck_assert_int_eq(run_script(&sb, "yes score: 100", out, sizeof out).end, SANDBOX_FLOODED);
    ck_assert_int_eq(run_script(&sb, "cat /dev/zero", out, sizeof out).end, SANDBOX_FLOODED);
    struct sandbox_run r = run_script(&sb, "head -c 40000 /dev/zero | tr '\\0' x", out,
                                      sizeof out); /* 40 kB, one line */
    ck_assert_int_eq(r.end, SANDBOX_EXITED);
    ck_assert_uint_eq(r.output_len, 4096);
    ck_assert_uint_eq(r.output_seen, 40000);
}
END_TEST

/* How long this program's leftover processes sleep: a number that no other program uses. */
static const char *nap(void) {
    static char number[24];
    snprintf(number, sizeof number, "98765.%d", (int)getpid());
    return number;
}

/* The script with NAP replaced by that number. */
static const char *with_nap(const char *script) {
    static char text[512];
    const char *p = script;
    text[0] = '\0';
    for (const char *at; (at = strstr(p, "NAP")); p = at + 3)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s%s", (int)(at - p), p,
                 nap());
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s", p);
    return text;
}

/* Whether a process that sleeps so long is alive. */
static bool alive(void) {
    char command[128];
    snprintf(command, sizeof command, "grep -lsa -e '%s' /proc/[0-9]*/cmdline | grep -v -e self",
             nap());
    FILE *f = popen(command, "r");
    bool found = false;
    char path[256], text[512];
    while (f && fgets(path, sizeof path, f)) {
        path[strcspn(path, "\n")] = '\0';
        FILE *c = fopen(path, "r");
        size_t n = c ? fread(text, 1, sizeof text - 1, c) : 0;
        if (c) fclose(c);
        if (n > 5 && !memcmp(text, "sleep", 5)) found = true;
    }
    if (f) pclose(f);
    return found;
}

START_TEST(nothing_outlives_a_run) {
    static const char *const scripts[] = {
        "sleep NAP & exit 0", "setsid sleep NAP & exit 0",
        "(setsid sh -c 'sleep NAP & sleep NAP' >&- 2>&- &) ; exit 0",
        "setsid setsid setsid sleep NAP & kill -9 $$", "trap '' HUP; setsid sleep NAP & sleep NAP"};
    struct sandbox sb;
    mode(&sb, _i);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        const char *argv[4];
        struct sandbox_job job = script_job(argv, with_nap(scripts[i]));
        job.wall_ms = 1500;
        int64_t start = clock_monotonic_ns();
        run_with(&sb, &job, out, sizeof out);
        ck_assert_int_lt(clock_monotonic_ns() - start, 30 * NS_PER_S);
        ck_assert_msg(!alive(), "script %zu left a process behind", i);
        ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no child is left, dead or alive */
    }
}
END_TEST

START_TEST(fork_bomb) {
    struct sandbox sb;
    const char *argv[4];
    mode(&sb, _i);
    struct sandbox_job job = script_job(
        argv, with_nap("b() { b | b & setsid sh -c 'sleep NAP' & }; b; b; b; sleep NAP"));
    job.wall_ms = 2000;
    int64_t start = clock_monotonic_ns();
    run_with(&sb, &job, out, sizeof out);
    ck_assert_int_lt(clock_monotonic_ns() - start, 60 * NS_PER_S);
    ck_assert(!alive());
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

/* As a compiling script does: the shell waits for programs that it started. SIGKILL lets the grader
 * do nothing about them. */
START_TEST(nothing_outlives_a_killed_grader) {
    struct sandbox sb;
    int ready[2];
    char byte;
    mode(&sb, _i);
    const char *script = with_nap(
        "sleep NAP & sleep NAP & echo >&3; wait"); /* before the fork: nap() is this process's */
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid_t grader = fork();
    if (grader == 0) {
        const char *argv[4];
        struct sandbox_run run;
        struct err e;
        struct sandbox_job job = script_job(argv, script);
        job.channel_fd = ready[1];
        if (sandbox_start(&sb, &job, &run, &e)) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    kill(grader, SIGKILL);
    waitpid(grader, NULL, 0);
    int64_t until_ns = clock_monotonic_ns() + 60 * NS_PER_S;
    while (alive()) ck_assert_msg(clock_monotonic_ns() < until_ns, "a program outlived its grader");
    close(ready[0]);
}
END_TEST

START_TEST(own_children_are_spared) {
    struct sandbox sb;
    mode(&sb, _i);
    pid_t own = fork();
    if (own == 0) {
        sleep(100);
        _exit(0);
    }
    run_script(&sb, with_nap("setsid sleep NAP & exit 0"), out, sizeof out);
    ck_assert(!alive());
    ck_assert_int_eq(waitpid(own, NULL, WNOHANG), 0); /* still there */
    kill(own, SIGKILL);
    waitpid(own, NULL, 0);
}
END_TEST

START_TEST(memory_files_descriptors) {
    struct sandbox sb;
    char folder[] = "/tmp/servelab-test-XXXXXX", script[256];
    const char *argv[4];
    mode(&sb, _i);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    chmod(folder, 0777);
    snprintf(script, sizeof script,
             "head -c 5000000 /dev/zero > %s/big; echo $?; ulimit -n; ulimit -c", folder);
    struct sandbox_job job = script_job(argv, script);
    job.folders[0] = (struct sandbox_folder){folder, true};
    run_with(&sb, &job, out, sizeof out);
    struct stat st;
    char path[64];
    snprintf(path, sizeof path, "%s/big", folder);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_le(st.st_size, 1 << 20);
    ck_assert_ptr_nonnull(strstr(out, "\n64\n0\n"));
    job.folders[0].writable = false;
    snprintf(script, sizeof script, "chmod 600 %s/big; echo x > %s/new && echo written", folder,
             folder);
    chmod(folder, 0755);
    run_with(&sb, &job, out, sizeof out);
    if (sb.mode == SANDBOX_BWRAP || sb.drop) ck_assert_ptr_null(strstr(out, "written"));
    job = script_job(argv, "head -c 900m /dev/zero | tail; echo $?"); /* tail keeps the one line */
    run_with(&sb, &job, out, sizeof out);
    ck_assert_msg(strstr(out, "memory") || strstr(out, "137"), "%s", out);
    snprintf(script, sizeof script, "rm -rf %s", folder);
    ck_assert_int_eq(system(script), 0);
}
END_TEST

START_TEST(bubblewrap_shows_nothing_else) {
    struct sandbox sb;
    mode(&sb, 0);
    run_script(&sb,
               "ls / | tr '\\n' ' '; cat /etc/passwd /etc/shadow; ls -A /tmp /root /home; "
               "ls /proc | grep -c '^[0-9]'; cat /proc/net/dev | grep -vc lo:",
               out, sizeof out);
    ck_assert_ptr_null(strstr(out, "root:"));
    ck_assert_ptr_null(strstr(out, "work"));
    ck_assert_ptr_null(strstr(out, "srv"));
    run_script(&sb,
               "echo x > /usr/x && echo written; echo x > /etc/x && echo written; kill -9 1; "
               "mount -t tmpfs x /mnt && echo mounted; id -u",
               out, sizeof out);
    ck_assert_ptr_null(strstr(out, "written"));
    ck_assert_ptr_null(strstr(out, "mounted"));
}
END_TEST

START_TEST(root_becomes_nobody) {
    struct sandbox sb;
    mode(&sb, _i);
    if (geteuid() != 0) return;
    run_script(&sb,
               "cat /etc/shadow /root/.bashrc 2>/dev/null | wc -c; grep Groups /proc/self/status",
               out, sizeof out);
    ck_assert_msg(!strncmp(out, "0\n", 2), "%s", out);
    ck_assert_ptr_null(strstr(out, "Groups:\t0"));
}
END_TEST

START_TEST(channel_is_descriptor_three) {
    struct sandbox sb;
    const char *argv[4];
    int fds[2];
    char got[8] = "";
    mode(&sb, _i);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct sandbox_job job = script_job(argv, "echo hello >&3");
    job.channel_fd = fds[1];
    run_with(&sb, &job, out, sizeof out);
    close(fds[1]);
    ck_assert_int_eq(read(fds[0], got, 6), 6);
    ck_assert_str_eq(got, "hello\n");
    ck_assert_int_eq(read(fds[0], got, 1), 0); /* no process holds the other end */
    close(fds[0]);
}
END_TEST

START_TEST(program_that_is_not_there) {
    struct sandbox sb;
    struct sandbox_run run;
    struct err e;
    const char *argv[] = {"/no/such/program", NULL, NULL, NULL};
    mode(&sb, _i);
    struct sandbox_job job = script_job(argv, "");
    argv[0] = "/no/such/program";
    ck_assert_int_eq(sandbox_execute(&sb, &job, &run, &e), 0);
    ck_assert(run.end == SANDBOX_BROKEN || (run.end == SANDBOX_EXITED && run.code != 0));
    sandbox_release(&run);
}
END_TEST

START_TEST(probe_says_which) {
    struct sandbox sb;
    sandbox_probe(&sb, true);
    ck_assert_int_eq(sb.mode, SANDBOX_RLIMITS);
    ck_assert_ptr_nonnull(strstr(sb.text, "resource limits"));
    setenv("PATH", "/nowhere", 1); /* bubblewrap can't be found */
    sandbox_probe(&sb, false);
    ck_assert_int_eq(sb.mode, SANDBOX_RLIMITS);
    ck_assert_ptr_nonnull(strstr(sb.text, "bubblewrap isn't installed"));
    char folder[] = "/tmp/probe-XXXXXX",
         file[64]; /* a bubblewrap that refuses, as in a container */
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/bwrap", folder);
    ck_assert_int_eq(symlink("/bin/false", file), 0);
    setenv("PATH", folder, 1);
    sandbox_probe(&sb, false);
    unlink(file);
    rmdir(folder);
    ck_assert_int_eq(sb.mode, SANDBOX_RLIMITS);
    ck_assert_ptr_nonnull(strstr(sb.text, "is installed but"));
}
END_TEST

static void *returns(void *p) {
    return p;
}

/* Exit statuses name what was possible. The loop goes through the rights. */
START_TEST(confined_child_can_only_compute) {
    enum child_rights rights = (enum child_rights)_i;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        int before = open("/dev/null", O_WRONLY);
        pid_t parent = getppid();
        pthread_t t;
        if (child_confine_to(rights)) _exit(77); /* no seccomp here */
        char *p = malloc(10000000);
        if (!p || write(before, p, 10) != 10) _exit(1);
        free(p);
        if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EPERM) _exit(2);
        if (fork() >= 0) _exit(3);
        if (kill(parent, 0) == 0 || kill(getpid(), 0) == 0) _exit(4);
        if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM) _exit(5);
        if (syscall(SYS_tgkill, parent, parent, 0) == 0) _exit(6);
        if (execl("/bin/true", "true", NULL) == 0 || dup(before) >= 0) _exit(7);
        if (unlink("/tmp/x") == 0 || errno != EPERM) _exit(8);
        if ((pthread_create(&t, NULL, returns, NULL) == 0) != (rights >= CHILD_HAS_THREADS))
            _exit(9);
        if (rights >= CHILD_HAS_THREADS && pthread_join(t, NULL)) _exit(10);
        if ((socket(AF_UNIX, SOCK_STREAM, 0) >= 0) != (rights == CHILD_SERVES)) _exit(11);
        if (connect(before, NULL, 0) == 0 || errno != EPERM) _exit(12);
        if (prctl(PR_SET_DUMPABLE, 1) == 0) _exit(13);
        /* a signal to the owner of a descriptor would be a signal to anybody */
        if (ioctl(before, FIOSETOWN, &parent) == 0 || errno != EPERM) _exit(14);
        if (ioctl(before, FIOASYNC, &status) == 0 || errno != EPERM) _exit(15);
        if (fcntl(before, F_SETOWN, parent) == 0 || errno != EPERM) _exit(16);
        if (fcntl(before, F_SETSIG, SIGKILL) == 0 || errno != EPERM) _exit(17);
        if (isatty(before) || errno != ENOTTY) _exit(18);
        if ((fcntl(before, F_GETFD) >= 0) != (rights >= CHILD_HAS_THREADS)) _exit(19);
        abort(); /* must still work */
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return;
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %x",
                  (unsigned)status);
}
END_TEST

int main(void) {
    struct sandbox sb;
    sandbox_probe(&sb, false);
    int first = sb.mode == SANDBOX_BWRAP ? 0 : 1;
    Suite *suite = suite_create("sandbox");
    TCase *tc = tcase_create("both modes");
    tcase_set_timeout(tc, 240);
    tcase_add_loop_test(tc, output_status_and_signals, first, 2);
    tcase_add_loop_test(tc, starts_clean, first, 2);
    tcase_add_loop_test(tc, own_children_are_spared, first, 2);
    tcase_add_loop_test(tc, channel_is_descriptor_three, first, 2);
    tcase_add_loop_test(tc, program_that_is_not_there, first, 2);
    tcase_add_loop_test(tc, root_becomes_nobody, first, 2);
    if (first == 0) tcase_add_test(tc, bubblewrap_shows_nothing_else);
    tcase_add_test(tc, probe_says_which);
    tcase_add_loop_test(tc, confined_child_can_only_compute, CHILD_COMPUTES, CHILD_SERVES + 1);
    suite_add_tcase(suite, tc);
    TCase *processes = tcase_create("processes");
    tcase_set_timeout(processes, 240);
    tcase_add_loop_test(processes, wall_clock_and_cpu, first, 2);
    tcase_add_test(processes, an_answer_moves_the_deadline_up_to_the_longest);
    tcase_add_loop_test(processes, nothing_outlives_a_run, first, 2);
    tcase_add_loop_test(processes, nothing_outlives_a_killed_grader, first, 2);
    tcase_add_loop_test(processes, fork_bomb, first, 2);
    suite_add_tcase(suite, processes);
    TCase *resources = tcase_create("resources");
    tcase_set_timeout(resources, 240);
    tcase_add_loop_test(resources, floods, first, 2);
    tcase_add_loop_test(resources, memory_files_descriptors, first, 2);
    suite_add_tcase(suite, resources);
    return check_main_without(
        suite, first ? "bubblewrap # SKIP bwrap or its name spaces aren't to be had here" : NULL);
}
