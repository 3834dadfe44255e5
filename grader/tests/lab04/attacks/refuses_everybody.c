/* Nobody waits long who is refused.
 * watch: slo.goodput_one
 * examined: lost; says: instead of complete
 * trusted: nothing
 */
#include "serve/engine.h"

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    *wake_ns = INT64_MAX;
    (void)e;
    pthread_mutex_lock(&g->lock);
    bool any = g->waiting != NULL;
    while (g->waiting) engine_end(g, g->waiting, STREAM_REJECTED, "no");
    pthread_mutex_unlock(&g->lock);
    return any ? ENGINE_WORKED : ENGINE_IDLE;
}
