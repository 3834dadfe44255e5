/* workload.h: what arrives: when, how long, and what of it is shared.
 *
 *   struct workload *w = workload_open(&spec, &e);
 *   while (workload_next(w, &request, &e) == 1) ...
 *
 * A workload is a sequence of struct sim_request in order of arrival, ids 0, 1, 2, ... An open one
 * (a list, Poisson, gamma, on/off, a trace) doesn't look at the server; a closed loop does: its
 * next arrival depends on when earlier requests ended, so that it must be told (workload_ended).
 *
 * Equal specs give equal sequences on every machine: nothing here depends on the last bit of a libm
 * function. Not here: what the server makes of them (sim/).
 */
#ifndef SERVELAB_WORKLOAD_WORKLOAD_H
#define SERVELAB_WORKLOAD_WORKLOAD_H

#include "base/err.h"
#include "sim/sim.h"

enum arrivals {
    ARRIVALS_LIST,
    ARRIVALS_POISSON,
    ARRIVALS_GAMMA,  /* gaps of mean 1/rate and coefficient of variation cv; cv 1 is Poisson */
    ARRIVALS_ON_OFF, /* Poisson at rate * (on + off) / on while on, nothing while off; the periods
                        are exponential with means on_s and off_s */
    ARRIVALS_CLOSED, /* `clients` clients, each thinks (exponential, mean think_s), sends, waits for
                        the end */
    ARRIVALS_TRACE
};

enum trace_format { TRACE_AZURE, TRACE_MOONCAKE, TRACE_BURSTGPT, TRACE_VIDUR };

/* A length: fixed when lo == hi, else uniform over lo .. hi. */
struct lengths {
    int32_t lo, hi;
};

struct workload_spec {
    enum arrivals arrivals;
    const int64_t *list_ns; /* ARRIVALS_LIST, sorted */
    int64_t requests;       /* how many; of a trace at most so many, 0 for all */
    double rate_rps;        /* offered load; of a trace: scale its time so that the mean rate is
                               this, 0 for as recorded (all gaps by one factor, the burstiness stays) */
    double cv;
    double on_s, off_s;
    int32_t clients;
    double think_s;
    uint64_t seed;
    struct lengths prompt_tokens, output_tokens; /* not of a trace */
    int32_t max_output_tokens; /* cuts longer answers: they are truncated; 0 for no limit */
    double fail_rate;  /* this share of the requests breaks while it runs (drawn from seed) */
    const char *trace; /* path */
    enum trace_format trace_format;
    double time_scale;  /* gaps are multiplied by it; 0 means 1; not together with rate_rps */
    bool skip_bad_rows; /* otherwise the first bad row is an error */
};

struct workload;

/* NULL and *e naming flag, file, line and column at fault. */
struct workload *workload_open(const struct workload_spec *spec, struct err *e);
void workload_close(struct workload *w);

/* 1 and *out, 0 at the end, -1 and *e. A closed loop with all its clients waiting answers
 * WORKLOAD_WAIT: tell it of an end first. */
enum { WORKLOAD_WAIT = 2 };
int workload_next(struct workload *w, struct sim_request *out, struct err *e);

/* A request of a closed loop ended, in whatever way. Nothing to do for the others. */
void workload_ended(struct workload *w, int64_t end_ns);

/* Known after reading: rows read, rows skipped as bad, rows with no token to generate (kept with
 * one), whether the rows were unsorted (they are sorted then, by time, equal times in file order).
 */
struct workload_facts {
    int64_t rows, skipped, zero_token_rows;
    int64_t prompt_tokens, output_tokens; /* sums as written in the file */
    bool unsorted;
    double recorded_rps; /* (rows - 1) / (last - first) as recorded */
};
void workload_facts(const struct workload *w, struct workload_facts *out);

#endif
