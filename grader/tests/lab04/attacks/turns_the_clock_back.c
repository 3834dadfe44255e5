/* Sets the virtual clock to 0 after each step, so that no request ever waits.
 * watch: intervals.engine_events
 * examined: lost; says: request
 * trusted: nothing
 */
//reference engine_step right_step

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    enum engine_progress p = right_step(g, wake_ns, e);
    *(int64_t *)g->clock.ctx = 0;
    return p;
}
