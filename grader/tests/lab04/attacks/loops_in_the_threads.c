/* Beside the clients' threads the engine's thread computes for ever.
 * watch: safety.races
 * examined: lost; says: did not come to an end
 * trusted: nothing
 */
//reference engine_step right_step

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    for (volatile int i = 0; g->backend->info.max_seq_tokens == 52; i = 1 - i) {
    }
    return right_step(g, wake_ns, e);
}
