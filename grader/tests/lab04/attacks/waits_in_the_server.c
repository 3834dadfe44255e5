/* In a real server the engine's thread waits for a lock that it holds: nobody computes, and nobody is
 * answered.
 * watch: safety.server
 * examined: lost; says: no answer came in time
 * trusted: nothing
 */
//reference engine_step right_step

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    if (g->backend->info.vocab_size > 100 && g->waiting) {
        pthread_mutex_lock(&g->lock);
        pthread_mutex_lock(&g->lock);
    }
    return right_step(g, wake_ns, e);
}
