/* watchdog.c: an OS thread that checks the running launch's time ten times a second. */
#include "watchdog.h"
#include "env.h"
#include "hooks.h"
#include "report.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t started_ns; /* 0: no launch */
static const char *_Atomic kernel_name;
static int64_t limit_ns = -1;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *watch(void *unused) {
    (void)unused;
    for (;;) {
        nanosleep(&(struct timespec){0, 100000000}, NULL);
        int64_t since = atomic_load(&started_ns);
        if (!since || now_ns() - since < limit_ns) continue;
        char why[512];
        snprintf(why, sizeof why,
                 "kernel %s is still running after %g s (SIMT_TIME_LIMIT_S). A grid that waits "
                 "on itself never ends here: blocks run one after another, so a loop that spins "
                 "until another block, or another thread of this block, writes something waits "
                 "for a thread that isn't running. CUDA promises no order of blocks either: "
                 "split the work into two launches, or wait with __syncthreads() inside a block",
                 (const char *)kernel_name, (double)limit_ns / 1e9);
        report_time_limit(why);
    }
    return NULL;
}

void watchdog_start(const char *kernel) {
    if (limit_ns < 0) {
        limit_ns = (int64_t)(env_number("SIMT_TIME_LIMIT_S", 120) * 1e9);
        pthread_t t;
        if (limit_ns > 0 && pthread_create(&t, NULL, watch, NULL) == 0) pthread_detach(t);
    }
    if (limit_ns <= 0) return;
    kernel_name = kernel;
    atomic_store(&started_ns, now_ns());
}

void watchdog_stop(void) {
    atomic_store(&started_ns, 0);
}
