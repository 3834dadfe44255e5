/* bench_stalls.c: how often, and for how long, does this machine stop a thread of real-time
 * priority that only computes? It computes for 3 ms of each 10, as the small model's server does
 * below its knee. No model of a server predicts such a stall, and one of them is the p99 of a run
 * of 100 requests.
 *
 *     build/obj/gcc-release-solutions/common/sim/bench/bench_stalls [SECONDS]      (default 30)
 */
#include "base/clock.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COMPUTE_MS = 3, SLEEP_MS = 7, STALL_MS = 3 };

struct stalls {
    int n;
    int64_t longest_ns, sum_ns;
};

static void note(struct stalls *s, int64_t ns) {
    if (ns < STALL_MS * NS_PER_MS) return;
    s->n++;
    s->sum_ns += ns;
    if (ns > s->longest_ns) s->longest_ns = ns;
}

static void show(const char *what, const struct stalls *s) {
    printf("%-10s %4d stalls of %d ms or more, longest %.1f ms, together %.1f ms\n", what, s->n,
           STALL_MS, (double)s->longest_ns / 1e6, (double)s->sum_ns / 1e6);
}

int main(int argc, char **argv) {
    const struct sched_param priority = {.sched_priority = 1};
    struct stalls computing = {0}, waking = {0};
    int64_t seconds = argc > 1 ? atoi(argv[1]) : 30;
    if (sched_setscheduler(0, SCHED_RR, &priority)) printf("no real-time priority here\n");
    for (int64_t end = clock_monotonic_ns() + seconds * NS_PER_S, last;
         clock_monotonic_ns() < end;) {
        int64_t began = last = clock_monotonic_ns();
        while (last - began < COMPUTE_MS * NS_PER_MS) {
            int64_t now = clock_monotonic_ns();
            note(&computing, now - last);
            last = now;
        }
        nanosleep(&(struct timespec){0, SLEEP_MS * NS_PER_MS}, NULL);
        note(&waking, clock_monotonic_ns() - last - SLEEP_MS * NS_PER_MS);
    }
    show("computing", &computing);
    show("waking", &waking);
    return 0;
}
