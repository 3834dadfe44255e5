/* Never takes a lock: in one thread nobody notices.
 * watch: safety.races
 * examined: lost; says: race
 * trusted: nothing
 */
#include <pthread.h>
#define pthread_mutex_lock(m)   0
#define pthread_mutex_unlock(m) 0
//reference engine_step right_step
#undef pthread_mutex_lock
#undef pthread_mutex_unlock

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    return right_step(g, wake_ns, e);
}
