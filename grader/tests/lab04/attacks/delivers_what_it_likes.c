/* Text that no machine has computed: every request gets an answer at once.
 * examined: lost; says: wrong
 * trusted: nothing
 */
//reference engine_step right_step

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    *wake_ns = INT64_MAX;
    (void)e;
    if (!g->waiting) return ENGINE_IDLE;
    pthread_mutex_lock(&g->lock);
    for (struct seq *s; (s = g->waiting);) {
        for (int32_t i = 0; i < s->max_output; i++) stream_push(s->stream, "A", 1, 1);
        s->n_generated = s->max_output;
        engine_end(g, s, STREAM_DONE, "length");
    }
    pthread_mutex_unlock(&g->lock);
    return right_step == 0 ? ENGINE_FAULT : ENGINE_WORKED;
}
