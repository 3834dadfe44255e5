/* crash.c: handles signals in a kernel: a stack that is used up, a division by zero, a failed
 * assert.
 *
 * The handler calls functions that aren't safe in a signal handler. The program ends in any case:
 * an alarm ends it if the report hangs.
 */
#include "crash.h"
#include "block.h"
#include "report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HANDLER_STACK_BYTES = 256 << 10, BELOW = 1 << 20 /* the lowest stack's overrun */ };

static const char *what(int signal, uintptr_t address) {
    const struct worker *w = simt_worker;
    uintptr_t stacks = (uintptr_t)w->stacks;
    size_t room = (size_t)MAX_THREADS * (FIBER_STACK_BYTES + FIBER_GUARD_BYTES);
    if (signal == SIGFPE)
        return "divides an integer by zero. A GPU doesn't stop there, but the result is undefined";
    if (signal == SIGABRT) return "has failed an assert, or called abort()";
    if (signal == SIGSEGV && address + BELOW - stacks < room + BELOW)
        return "needs more than 64 KiB for its local variables: keep large arrays in shared or "
               "global memory";
    return "made an access that the processor refused";
}

static void on_signal(int signal, siginfo_t *info, void *context) {
    struct worker *w = simt_worker;
    (void)context;
    if (!w || !w->current) { /* not in a kernel: the default action */
        struct sigaction plain = {.sa_handler = SIG_DFL};
        sigaction(signal, &plain, NULL);
        raise(signal);
        return;
    }
    alarm(60);
    simt_u3 t = w->index_of[w->thread];
    char text[400];
    snprintf(text, sizeof text, "thread (%u,%u,%u) of kernel %s %s", t.x, t.y, t.z, w->job->l.name,
             what(signal, (uintptr_t)info->si_addr));
    report_crash(text);
}

void crash_watch(struct worker *w) {
    w->signal_stack = malloc(HANDLER_STACK_BYTES);
    stack_t s = {.ss_sp = w->signal_stack, .ss_size = HANDLER_STACK_BYTES};
    struct sigaction a = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    if (s.ss_sp) sigaltstack(&s, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction now;
        sigaction(signals[i], NULL, &now);
        if (now.sa_handler == SIG_DFL)
            sigaction(signals[i], &a, NULL); /* handlers of the program stay */
    }
}
