/* child/lab04_lock.c: the locks of the one thread in this process. A lock that is taken twice, or
 * given back by who does not hold it, ends the process with the reason at once: a real lock would
 * wait for ever. The C library's functions of these names are replaced. Races between threads:
 * child/lab04_threads.c. */
#include "child/lab04_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first bytes of a lock: whether it is held. Zeroed memory is a free lock, as in glibc. */
static int *held(pthread_mutex_t *m) {
    return (int *)m;
}

static void stop(const char *why) {
    fprintf(stderr, "%s\n", why);
    abort();
}

bool lab04_lock_held(pthread_mutex_t *m) {
    return *held(m);
}

int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr) {
    (void)attr;
    memset(m, 0, sizeof *m);
    return 0;
}

int pthread_mutex_destroy(pthread_mutex_t *m) {
    if (*held(m)) stop("a lock is destroyed while it is held");
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t *m) {
    if (*held(m)) stop("a lock is taken by the thread that holds it: it would wait for ever");
    *held(m) = 1;
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *m) {
    if (!*held(m)) stop("a lock is given back that is not held");
    *held(m) = 0;
    return 0;
}
