/* Takes the engine's lock twice: it would wait for ever without computing, until the clock on the
 * wall ends each check.
 * examined: lost; says: SIGABRT
 * trusted: nothing
 */
#include "serve/engine.h"

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    (void)wake_ns, (void)e;
    pthread_mutex_lock(&g->lock);
    pthread_mutex_lock(&g->lock);
    return ENGINE_WORKED;
}
