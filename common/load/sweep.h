/* sweep.h: the search of `servelab load sweep`: upwards until the objective is missed, then
 * between.
 *
 * A load that can't be measured (the client itself could not keep up) says nothing about the
 * server. The search treats it as a ceiling: it goes on below it and never above. A load without a
 * request says nothing either: the search goes on above it.
 */
#ifndef SERVELAB_LOAD_SWEEP_H
#define SERVELAB_LOAD_SWEEP_H

enum sweep_answer {
    SWEEP_MET,
    SWEEP_NOT_MET, /* missed, or not computable */
    SWEEP_NOT_MEASURED,
    SWEEP_EMPTY, /* so low a load that no request was due: a higher one may have some */
    SWEEP_STOP   /* an error or a signal: no more probes */
};

/* Sends one load and judges it. */
typedef enum sweep_answer sweep_probe(void *ctx, double rps);

struct sweep_search {
    double from_rps, to_rps; /* 0 < from <= to */
    double factor;           /* above 1: from one load to the next */
    double resolution;       /* above 0: bisect until missed <= met * (1 + resolution) */
};

enum { SWEEP_MOST_PROBES = 40, SWEEP_MISSES_TO_STOP = 2 };

struct sweep_result {
    double met_rps;    /* the highest load that met the objective; 0: none */
    double missed_rps; /* the lowest that did not or could not be measured; INFINITY: none */
    int probes;
};

/* Walks from from_rps by `factor` up to to_rps, until SWEEP_MISSES_TO_STOP loads in a row don't
 * meet the objective or one can't be measured; then bisects, by the geometric mean, between the
 * highest load that met it and the lowest that did not. A load above one that did not meet it may
 * meet it by chance: then missed_rps is below met_rps, and there is nothing to bisect. At most
 * SWEEP_MOST_PROBES probes. */
struct sweep_result sweep_find(const struct sweep_search *s, sweep_probe *probe, void *ctx);

#endif
