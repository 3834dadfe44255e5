/* child_seccomp.c: lets the kernel refuse every system call that a computation does not need. See
 * child.h. A second protection: the object's symbols were checked before it was linked, and the
 * sandbox is around the process. This one also stops machine code that is hidden in constants.
 *
 * In the sanitizers' build, too: what their runtime opens for a report (the map of the memory, the
 * program's lines) it opens before, and the thread that watches the memory is not confined.
 */
#include "child/child.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>

static void prepare_sanitizer(void) {
    char place[64];
    __sanitizer_sandbox_on_notify(NULL);
    __sanitizer_symbolize_pc(__builtin_return_address(0), "%l", place, sizeof place);
}
#else
static void prepare_sanitizer(void) {}
#endif

/* The labs' child programs compute. A program that may do more has a function of its own. */
__attribute__((weak)) int child_confine(void) {
    return child_confine_to(CHILD_COMPUTES);
}

#if !defined(OUR_ARCH)
int child_confine_to(enum child_rights rights) {
    (void)rights;
    return -1;
}
#else

static const int computes[] = {
    /* the channel, and lines that the learner prints */
    __NR_read, __NR_write, __NR_writev /* assert */, __NR_fstat,
#ifdef __NR_newfstatat
    __NR_newfstatat, /* stdio asks what stdout is */
#endif
    __NR_lseek,
    /* memory */
    __NR_brk, __NR_mmap, __NR_munmap, __NR_mremap, __NR_mprotect, __NR_madvise, __NR_futex,
    __NR_getrandom /* malloc, in newer C libraries */,
    /* the end: exit, abort, and a handler's return */
    __NR_exit, __NR_exit_group, __NR_rt_sigprocmask, __NR_rt_sigaction, __NR_rt_sigreturn,
    __NR_getpid, __NR_gettid, __NR_sigaltstack /* the sanitizers' way out */, __NR_sched_yield};

static const int has_threads[] = {
    __NR_set_robust_list, __NR_rseq,         __NR_set_tid_address, __NR_sched_getaffinity,
    __NR_clock_gettime,   __NR_gettimeofday, __NR_nanosleep,       __NR_clock_nanosleep,
#ifdef __NR_alarm
    __NR_alarm, /* simt's handler of signals */
#endif
    __NR_setitimer,       __NR_close};

/* Of fcntl and ioctl only these. Others make a signal go to a process of the same user when
 * something comes through the channel (F_SETOWN, FIOSETOWN). */
static const unsigned asks_terminal[] = {TCGETS, 0x802c542a /* TCGETS2 */};
static const unsigned fcntl_commands[] = {F_GETFD, F_SETFD, F_GETFL,
                                          F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC};

static const int serves[] = {
    __NR_bind,        __NR_listen,     __NR_accept,     __NR_accept4,       __NR_getsockname,
    __NR_getpeername, __NR_setsockopt, __NR_getsockopt, __NR_shutdown,      __NR_recvfrom,
    __NR_recvmsg,     __NR_sendto,     __NR_sendmsg,    __NR_epoll_create1, __NR_epoll_ctl,
    __NR_epoll_pwait, __NR_eventfd2,   __NR_pipe2,      __NR_ppoll,         __NR_pselect6,
#ifdef __NR_epoll_wait
    __NR_epoll_wait,  __NR_poll,       __NR_select,
#endif
};

struct filter {
    struct sock_filter of[400];
    unsigned short n;
};

static void add(struct filter *f, unsigned short code, unsigned k, unsigned char yes,
                unsigned char no) {
    if (f->n < sizeof f->of / sizeof *f->of)
        f->of[f->n++] = (struct sock_filter)BPF_JUMP(code, k, yes, no);
}

static void load(struct filter *f, size_t at) {
    add(f, BPF_LD | BPF_W | BPF_ABS, (unsigned)at, 0, 0);
}

static void give(struct filter *f, unsigned verdict) {
    add(f, BPF_RET | BPF_K, verdict, 0, 0);
}

static void allow(struct filter *f, const int *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        add(f, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)list[i], 0, 1);
        give(f, SECCOMP_RET_ALLOW);
    }
}

/* Allows a call whose argument `at` satisfies the test; then the number is loaded again. */
static void allow_if(struct filter *f, int number, int at, unsigned short test, unsigned k) {
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 4);
    load(f, offsetof(struct seccomp_data, args[0]) + 8 * (unsigned)at);
    add(f, BPF_JMP | test | BPF_K, k, 0, 1);
    give(f, SECCOMP_RET_ALLOW);
    load(f, offsetof(struct seccomp_data, nr));
}

/* Allows a call whose second argument is in the list. */
static void allow_second(struct filter *f, int number, const unsigned *list, size_t n) {
    for (size_t i = 0; i < n; i++) allow_if(f, number, 1, BPF_JEQ, list[i]);
}

int child_confine_to(enum child_rights rights) {
    static struct filter f;
    f.n = 0;
    load(&f, offsetof(struct seccomp_data, arch));
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0);
    give(&f, SECCOMP_RET_ERRNO | EPERM);
    load(&f, offsetof(struct seccomp_data, nr));
    allow(&f, computes, sizeof computes / sizeof *computes);
    allow_if(&f, __NR_tgkill, 0, BPF_JEQ, (unsigned)getpid()); /* abort */
    allow_second(&f, __NR_ioctl, asks_terminal, sizeof asks_terminal / sizeof *asks_terminal);
    if (rights >= CHILD_HAS_THREADS) {
        allow(&f, has_threads, sizeof has_threads / sizeof *has_threads);
        allow_second(&f, __NR_fcntl, fcntl_commands,
                     sizeof fcntl_commands / sizeof *fcntl_commands);
        allow_if(&f, __NR_clone, 0, BPF_JSET, CLONE_THREAD);
        allow_if(&f, __NR_prctl, 0, BPF_JEQ, PR_SET_NAME);
        add(&f, BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1); /* its flags can't be seen: */
        give(&f, SECCOMP_RET_ERRNO | ENOSYS);                  /* the C library takes clone */
    }
    if (rights >= CHILD_SERVES) {
        allow(&f, serves, sizeof serves / sizeof *serves);
        allow_if(&f, __NR_socket, 0, BPF_JEQ, AF_UNIX);
    }
    give(&f, SECCOMP_RET_ERRNO | EPERM);
    prepare_sanitizer();
    struct sock_fprog program = {f.n, f.of};
    /* a server has threads already; a sanitizer's own thread is left alone */
    unsigned all = rights == CHILD_SERVES ? SECCOMP_FILTER_FLAG_TSYNC : 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, all, &program) ? -1 : 0;
}
#endif
