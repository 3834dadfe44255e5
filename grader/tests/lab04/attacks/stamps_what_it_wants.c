/* The record gets invented times, before a step could have begun.
 * watch: intervals.engine_events
 * examined: lost; says: request
 * trusted: nothing
 */
//reference engine_step right_step

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    for (struct seq *s = g->running; s; s = s->next)
        for (size_t i = 0; i < s->live->record.n_events; i++)
            s->live->record.events[i].t_ns = s->arrival_ns;
    return right_step(g, wake_ns, e);
}
