/* child/lab04_lock.h: asks whether a lock is held. */
#ifndef SERVELAB_GRADER_CHILD_LAB04_LOCK_H
#define SERVELAB_GRADER_CHILD_LAB04_LOCK_H

#include <pthread.h>
#include <stdbool.h>

bool lab04_lock_held(pthread_mutex_t *m);

#endif
