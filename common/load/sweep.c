/* sweep.c: see sweep.h. */
#include "load/sweep.h"

#include <math.h>
#include <stdbool.h>

struct state {
    sweep_probe *probe;
    void *ctx;
    struct sweep_result found;
    bool stopped;
};

static enum sweep_answer ask(struct state *s, double rps) {
    if (s->found.probes == SWEEP_MOST_PROBES) s->stopped = true;
    if (s->stopped) return SWEEP_STOP;
    enum sweep_answer answer = s->probe(s->ctx, rps);
    s->found.probes++;
    if (answer == SWEEP_STOP)
        s->stopped = true;
    else if (answer == SWEEP_MET)
        s->found.met_rps = fmax(s->found.met_rps, rps);
    else if (answer != SWEEP_EMPTY)
        s->found.missed_rps = fmin(s->found.missed_rps, rps);
    return answer;
}

static void walk(struct state *s, const struct sweep_search *search) {
    int misses = 0;
    double rps = search->from_rps;
    while (!s->stopped && misses < SWEEP_MISSES_TO_STOP && rps <= search->to_rps * (1 + 1e-9)) {
        enum sweep_answer answer = ask(s, rps);
        if (answer == SWEEP_NOT_MEASURED) return;
        if (answer != SWEEP_EMPTY) misses = answer == SWEEP_MET ? 0 : misses + 1;
        rps *= search->factor;
    }
}

struct sweep_result sweep_find(const struct sweep_search *search, sweep_probe *probe, void *ctx) {
    struct state s = {.probe = probe, .ctx = ctx, .found = {.missed_rps = INFINITY}};
    walk(&s, search);
    const struct sweep_result *f = &s.found;
    while (!s.stopped && f->met_rps > 0 && isfinite(f->missed_rps) &&
           f->missed_rps > f->met_rps * (1 + search->resolution))
        if (ask(&s, sqrt(f->met_rps * f->missed_rps)) == SWEEP_EMPTY) break;
    return s.found;
}
