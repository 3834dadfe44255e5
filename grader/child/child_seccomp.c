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
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>

static void prepare_sanitizer(void) {
    char place[64];
    __sanitizer_sandbox_on_notify(NULL);
    __sanitizer_symbolize_pc(__builtin_return_address(0), "%l", place, sizeof place);
}
#else
static void prepare_sanitizer(void) {}
#endif

#if !defined(OUR_ARCH)
int child_confine(void) {
    return -1;
}
#else

#define FIELD(member) ((unsigned)offsetof(struct seccomp_data, member))
#define LOAD(member)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(member))
#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                           \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

int child_confine(void) {
    unsigned self = (unsigned)getpid();
    struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0),
        REFUSE,
        LOAD(nr),
        /* the channel, and lines that the learner prints */
        ALLOW(__NR_read),
        ALLOW(__NR_write),
        ALLOW(__NR_writev), /* assert */
        ALLOW(__NR_fstat),
#ifdef __NR_newfstatat
        ALLOW(__NR_newfstatat), /* stdio asks what stdout is */
#endif
        ALLOW(__NR_ioctl),      /* stdio asks whether it is a terminal */
        ALLOW(__NR_lseek),
        /* memory */
        ALLOW(__NR_brk),
        ALLOW(__NR_mmap),
        ALLOW(__NR_munmap),
        ALLOW(__NR_mremap),
        ALLOW(__NR_mprotect),
        ALLOW(__NR_madvise),
        ALLOW(__NR_futex),
        ALLOW(__NR_getrandom), /* malloc, in newer C libraries */
        /* the end: exit, abort, and a handler's return */
        ALLOW(__NR_exit),
        ALLOW(__NR_exit_group),
        ALLOW(__NR_rt_sigprocmask),
        ALLOW(__NR_rt_sigaction),
        ALLOW(__NR_rt_sigreturn),
        ALLOW(__NR_getpid),
        ALLOW(__NR_gettid),
        ALLOW(__NR_sigaltstack), /* the sanitizers' way out */
        ALLOW(__NR_sched_yield),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 0, 3), /* only to this process: abort */
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        REFUSE,
    };
    prepare_sanitizer();
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
#endif
