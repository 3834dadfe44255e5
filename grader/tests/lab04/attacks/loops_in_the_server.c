/* In a real server the engine's thread computes for ever and answers nobody.
 * watch: safety.server
 * examined: lost; says: an endless loop
 * trusted: nothing
 */
//reference engine_step right_step

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    for (volatile int i = 0; g->backend->info.vocab_size > 100 && g->waiting; i = 1 - i) {
    }
    return right_step(g, wake_ns, e);
}
