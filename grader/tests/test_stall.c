/* test_stall.c: a program that will give no answer is told from a slow one by its own time
 * (lab04/stall.h). */
/* servelab-test: waits */
#include "lab04/stall.h"

#include "base/clock.h"
#include "testing/check_main.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap_ms(int ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static void computes(void) {
    for (volatile int i = 0;; i = 1 - i) {
    }
}

static void *computes_too(void *ctx) {
    computes();
    return ctx;
}

/* The main thread waits, another one computes. */
static void computes_in_a_thread(void) {
    pthread_t t;
    pthread_create(&t, NULL, computes_too, NULL);
    pthread_join(t, NULL);
}

static void computes_in_a_child(void) {
    if (fork() == 0) computes();
    for (;;) pause();
}

static void *computes_briefly(void *ctx) {
    int64_t until_ns = clock_monotonic_ns() + 50 * NS_PER_MS;
    while (clock_monotonic_ns() < until_ns) {
    }
    return ctx;
}

/* The time of a thread or child that has ended counts, too. */
static void computes_in_short_threads(void) {
    for (pthread_t t; pthread_create(&t, NULL, computes_briefly, NULL) == 0;) pthread_join(t, NULL);
}

static void computes_in_short_children(void) {
    for (;;) {
        pid_t child = fork();
        if (child == 0) _exit(computes_briefly(NULL) != NULL);
        waitpid(child, NULL, 0);
    }
}

static void waits(void) {
    for (;;) pause();
}

/* As the thread of ThreadSanitizer does beside a deadlock. */
static void wakes_up_now_and_then(void) {
    for (;;) nap_ms(100);
}

/* A machine that gives it no time. */
static void is_stopped(void) {
    raise(SIGSTOP);
}

/* Works and sleeps in turns, as an honest server with a slow disk. */
static void computes_a_little(void) {
    for (;;) {
        int64_t until_ns = clock_monotonic_ns() + 20 * NS_PER_MS;
        while (clock_monotonic_ns() < until_ns) {
        }
        nap_ms(60);
    }
}

/* Looks until it is said that no answer comes, at most for `most_ms`. */
static enum stall watched(void (*program)(void), int most_ms) {
    struct stall_watch w = {0};
    enum stall s = STALL_NONE;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        setsid();
        program();
        _exit(0);
    }
    for (int64_t until_ns = clock_monotonic_ns() + most_ms * NS_PER_MS;
         !s && clock_monotonic_ns() < until_ns; nap_ms(5))
        s = stall_look(&w, pid);
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return s;
}

enum { DEADLINE_MS = 120000, HONEST_MS = 4000 };

START_TEST(a_program_that_computes_without_end) {
    ck_assert_int_eq(watched(computes, DEADLINE_MS), STALL_COMPUTES);
    ck_assert_int_eq(watched(computes_in_a_thread, DEADLINE_MS), STALL_COMPUTES);
    ck_assert_int_eq(watched(computes_in_a_child, DEADLINE_MS), STALL_COMPUTES);
    ck_assert_int_eq(watched(computes_in_short_threads, DEADLINE_MS), STALL_COMPUTES);
    ck_assert_int_eq(watched(computes_in_short_children, DEADLINE_MS), STALL_COMPUTES);
}
END_TEST

START_TEST(a_program_that_waits_for_ever) {
    ck_assert_int_eq(watched(waits, DEADLINE_MS), STALL_WAITS);
    ck_assert_int_eq(watched(wakes_up_now_and_then, DEADLINE_MS), STALL_WAITS);
}
END_TEST

START_TEST(a_program_that_gets_no_time_is_not_blamed) {
    ck_assert_int_eq(watched(is_stopped, HONEST_MS), STALL_NONE);
}
END_TEST

START_TEST(a_program_that_works_and_sleeps_is_not_blamed) {
    ck_assert_int_eq(watched(computes_a_little, HONEST_MS), STALL_NONE);
}
END_TEST

int main(void) {
    Suite *s = suite_create("stall");
    TCase *tc = tcase_create("stall");
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, a_program_that_computes_without_end);
    tcase_add_test(tc, a_program_that_waits_for_ever);
    tcase_add_test(tc, a_program_that_gets_no_time_is_not_blamed);
    tcase_add_test(tc, a_program_that_works_and_sleeps_is_not_blamed);
    suite_add_tcase(s, tc);
    return check_main(s);
}
