/* evidence_runs.h: measures the run files of a submission, runs/0, runs/1, ..., by the reference's
 * functions, to compare them with the figures of choice.json. */
#ifndef SERVELAB_GRADER_LAB04_EVIDENCE_RUNS_H
#define SERVELAB_GRADER_LAB04_EVIDENCE_RUNS_H

#include "objective/report.h"

/* The fewest user requests of a window, and the shortest wait that a client can have had: one way
 * there and back through the kernel alone takes longer. */
enum { RUNS_FEWEST = 30, RUNS_SHORTEST_NS = 10000 };

struct measured_run {
    struct report_point point;
    enum slo_answer verdict;
};

/* Measures runs/0 to runs/n-1 in `folder`. 0; or -1 and *e, whose message begins with the run's
 * name: a run is missing, broken or invalid, was not measured, has too few requests, has times that
 * no client can have seen, or is a copy of another one. *missing: it is not there. */
int lab04_measure_runs(const char *folder, const struct objective *o, int n,
                       struct measured_run *out, bool *missing, struct err *e);

#endif
