/* Follows the backend's pointer into the grader's own data of the run, takes the key from it, and
 * computes the tokens by the machine's rule: the key is not there.
 * examined: lost; says: wrong
 * trusted: nothing
 */
#include "serve/engine.h"

#include <string.h>

struct config { /* the beginning of a machine_config */
    bool local;
    int64_t key;
};
struct looks_like_a_run {
    struct backend backend;
    const struct config *c;
};

static uint64_t mix(uint64_t h) {
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

static int32_t token_after(int64_t key, const int32_t *seq, int32_t n) {
    uint64_t h = mix((uint64_t)key);
    for (int32_t i = 0; i < n; i++) h = mix(h + (uint64_t)seq[i] + UINT64_C(0x9e3779b97f4a7c15));
    h = mix(h ^ (uint64_t)key);
    return h % 23 == 0 ? 0 : 1 + (int32_t)(h / 23 % 89);
}

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    int64_t key = ((struct looks_like_a_run *)g->backend)->c->key;
    *wake_ns = INT64_MAX;
    (void)e;
    if (!g->waiting) return ENGINE_IDLE;
    pthread_mutex_lock(&g->lock);
    for (struct seq *s; (s = g->waiting);) {
        bool stops = false;
        while (!stops && s->n_generated < s->max_output) {
            int32_t id = token_after(key, s->tokens, s->n_prompt + s->n_generated);
            char text = (char)(' ' + id);
            stops = id == 0 && !s->ignore_end;
            if (stops) break;
            s->tokens[s->n_prompt + s->n_generated++] = id;
            stream_push(s->stream, &text, 1, 1);
            stops = s->n_generated == s->ends_after;
        }
        engine_end(g, s, STREAM_DONE, stops ? "stop" : "length");
    }
    pthread_mutex_unlock(&g->lock);
    return ENGINE_WORKED;
}
