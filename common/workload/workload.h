/* workload.h: generates or reads the sequence of requests that arrive: their times, lengths and
 * shared prefixes.
 *
 *   struct workload *w = workload_open(&spec, &e);
 *   while (workload_next(w, &request, &e) == 1) ...
 *
 * A workload is a sequence of struct sim_request in order of arrival, ids 0, 1, 2, ... An open one
 * (a list, Poisson, gamma, on/off, a trace) is independent of the server. In a closed loop the next
 * arrival depends on when earlier requests ended: the caller reports each end (workload_ended).
 *
 * Equal specs give equal sequences on every machine: nothing here depends on the last bit of a libm
 * function. Arrivals, prompt lengths, output lengths and failures are drawn from separate streams,
 * so that
 *   - of two generated workloads that differ only in `requests` the shorter is the beginning of the
 *     longer;
 *   - two that differ only in rate_rps are the same on a stretched clock: the points of a sweep
 *     differ by the load and not by chance;
 *   - of two that differ only in fail_rate, a request that fails at the lower rate fails at the
 *     higher.
 * A Poisson count keeps its variance: arrivals aren't scaled to end at n / rate.
 *
 * Not here: the simulation (sim/), the formats of traces (traces.h), parsing flags (spec.h).
 */
#ifndef SERVELAB_WORKLOAD_WORKLOAD_H
#define SERVELAB_WORKLOAD_WORKLOAD_H

#include "base/err.h"
#include "workload/request.h"

#include <stdbool.h>
#include <stddef.h>

enum arrivals {
    ARRIVALS_LIST,
    ARRIVALS_POISSON,
    ARRIVALS_GAMMA,  /* gaps of mean 1/rate and coefficient of variation cv; cv 1 is Poisson */
    ARRIVALS_ON_OFF, /* Poisson at rate * (on + off) / on while on, nothing while off; the periods
                        are exponential with means on_s and off_s. At time 0 it is on with
                        probability on / (on + off), so that the mean rate holds from the start */
    ARRIVALS_CLOSED, /* `clients` clients, each thinks (exponential, mean think_s), sends, waits for
                        the end */
    ARRIVALS_TRACE
};

enum trace_format { TRACE_AZURE, TRACE_MOONCAKE, TRACE_BURSTGPT, TRACE_VIDUR };

/* A length in tokens: fixed if lo == hi, else uniform over lo .. hi. {0, 0} (not given) means 1. */
struct lengths {
    int32_t lo, hi;
};

/* A field that isn't given is 0. A field that the kind of arrivals doesn't use must be 0; otherwise
 * an error names its flag, because a flag without effect is a mistake. The kinds use
 *   list_ns        list: needed (--arrivals-ms)
 *   requests       list (the length of list_ns), poisson, gamma, on-off, closed: all of them need
 *                  it; trace: at most so many, the earliest; 0 for all
 *   rate_rps       poisson, gamma, on-off: needed; trace: optional
 *   cv             gamma: needed
 *   on_s, off_s    on-off: on_s is needed
 *   clients        closed: needed; think_s: closed
 *   prompt_tokens, output_tokens   all but trace
 *   trace          trace: needed; with time_scale (or rate_rps, not both), skip_bad_rows
 *   seed, max_output_tokens, fail_rate   all */
struct workload_spec {
    enum arrivals arrivals;
    const int64_t *list_ns; /* ARRIVALS_LIST: (requests), sorted, from 0 on */
    int64_t requests;
    double rate_rps; /* offered load; of a trace: one factor on all gaps, so that the requests that
                        are used come at this mean rate ((n - 1) gaps); the burstiness stays */
    double cv;
    double on_s, off_s;
    int32_t clients;
    double think_s;
    uint64_t seed;
    struct lengths prompt_tokens, output_tokens;
    int32_t max_output_tokens; /* longer answers are cut there: truncated; 0: no limit */
    double fail_rate;  /* share of the requests that fail while they run (drawn from seed) */
    const char *trace; /* path */
    enum trace_format trace_format;
    double time_scale;  /* factor on all gaps; 0 means 1 */
    bool skip_bad_rows; /* otherwise the first bad row is an error */
};

struct workload;

/* NULL and *e on an error. For an error in the spec e->field is the flag ("--rate-rps"). For an
 * error in the trace it is the column, e->line is the line or 0, and workload_err_input(spec, e) is
 * the file's name for messages. Lists are copied; a trace is read completely. */
struct workload *workload_open(const struct workload_spec *spec, struct err *e);
void workload_close(struct workload *w);

/* spec->trace if *e, from workload_open, is about that file; NULL if it is about a flag. */
const char *workload_err_input(const struct workload_spec *spec, const struct err *e);

/* 1 and *out; 0 at the end; -1 and *e. WORKLOAD_WAIT: all clients of a closed loop wait; report an
 * end first (workload_ended).
 *
 * max_output_tokens of a request is the limit that its policy sees: the spec's, else the longest
 * possible answer (output_tokens.hi, or the longest of the trace); never the request's own length.
 * Prefix hashes are valid until workload_close. */
enum { WORKLOAD_WAIT = 2 };
int workload_next(struct workload *w, struct sim_request *out, struct err *e);

/* The arrival time of the request that workload_next would return; INT64_MAX at the end and for
 * WORKLOAD_WAIT. In a closed loop workload_ended can make it earlier: run the server only to its
 * next end, then call this again before you take the arrival. */
int64_t workload_peek_ns(struct workload *w);

/* True: there will be no further arrival. */
bool workload_over(const struct workload *w);

/* Reports the end of a request, complete or not, to a closed loop. Other kinds ignore it. */
void workload_ended(struct workload *w, int64_t end_ns);

/* Facts about a trace: rows read, bad rows skipped, rows with 0 prompt or output tokens (kept with
 * one), and whether the rows were unsorted (they are then sorted by time, equal times in file
 * order). All 0 if the workload isn't a trace. */
struct workload_facts {
    int64_t rows, skipped, zero_token_rows;
    int64_t first_skipped_line;           /* of the first bad row; 0: none */
    int64_t prompt_tokens, output_tokens; /* sums as written in the file */
    bool unsorted;
    double recorded_rps; /* (rows - 1) / (last - first) as recorded; 0 when they are one instant */
};
void workload_facts(const struct workload *w, struct workload_facts *out);

#endif
