/* The first request of a workload gets no result: another one takes its place in the batch.
 * examined: lost; says: request|none that
 * trusted: nothing
 */
#define engine_find(g, id) find_another(g, id)
struct engine;
struct seq *find_another(struct engine *g, long id);
//reference engine_step right_step
#undef engine_find

struct seq *engine_find(struct engine *g, int64_t id);
struct seq *find_another(struct engine *g, long id) {
    struct seq *s = engine_find(g, id);
    return s && id < 2 && g->running && g->running != s ? g->running : s;
}

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    return right_step(g, wake_ns, e);
}
