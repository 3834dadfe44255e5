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
 * function. More than that: arrivals, prompt lengths, output lengths and failures are drawn from
 * streams of their own, so that
 *   - of two generated workloads that differ only in `requests` the shorter is the beginning of the
 *     longer;
 *   - of two that differ only in rate_rps the one is the other on a stretched clock: the points of
 *     a sweep differ by the load and not by luck;
 *   - of two that differ only in fail_rate, what fails at the lower rate fails at the higher.
 * A Poisson count keeps its variance: no arrival is moved so that the last one lands at n / rate.
 *
 * Not here: what the server makes of them (sim/), the formats of traces (traces.h), flags (spec.h).
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

/* A length: fixed when lo == hi, else uniform over lo .. hi. {0, 0}, not stated, means 1. */
struct lengths {
    int32_t lo, hi;
};

/* What isn't stated is 0. A field that the kind of arrivals has no use for must be 0: an error
 * names its flag, because a flag without effect is a misunderstanding. Of use are
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
    int32_t max_output_tokens; /* cuts longer answers: they are truncated; 0 for no limit */
    double fail_rate;  /* this share of the requests breaks while it runs (drawn from seed) */
    const char *trace; /* path */
    enum trace_format trace_format;
    double time_scale;  /* gaps are multiplied by it; 0 means 1 */
    bool skip_bad_rows; /* otherwise the first bad row is an error */
};

struct workload;

/* NULL and *e. An error in the spec names its flag in e->field ("--rate-rps"). An error in the
 * trace has the column there, and e->line where it belongs to a line; the file's name for messages
 * is workload_err_input(spec, e). Lists are copied, a trace is read whole. */
struct workload *workload_open(const struct workload_spec *spec, struct err *e);
void workload_close(struct workload *w);

/* spec->trace when *e, from workload_open, is about that file; NULL when it is about a flag. */
const char *workload_err_input(const struct workload_spec *spec, const struct err *e);

/* 1 and *out, 0 at the end, -1 and *e. A closed loop with all its clients waiting answers
 * WORKLOAD_WAIT: tell it of an end first.
 *
 * max_output_tokens of a request is what its policy may know: the spec's where it has one, else the
 * longest answer possible (output_tokens.hi, or the longest of the trace); never the length itself.
 * Prefix hashes live until workload_close. */
enum { WORKLOAD_WAIT = 2 };
int workload_next(struct workload *w, struct sim_request *out, struct err *e);

/* When the request that workload_next would give arrives; INT64_MAX at the end and where it would
 * answer WORKLOAD_WAIT. What a closed loop says here can become earlier by workload_ended: let the
 * server run only to its own next end, and look again, before you take the arrival. */
int64_t workload_peek_ns(struct workload *w);

/* No further arrival will come, whatever the server does. */
bool workload_over(const struct workload *w);

/* A request of a closed loop ended, in whatever way. Nothing to do for the others. */
void workload_ended(struct workload *w, int64_t end_ns);

/* Known after reading: rows read, rows skipped as bad, rows with no token to generate (kept with
 * one), whether the rows were unsorted (they are sorted then, by time, equal times in file order).
 * All 0 for what isn't a trace.
 */
struct workload_facts {
    int64_t rows, skipped, zero_token_rows;
    int64_t first_skipped_line;           /* of the first bad row; 0: none */
    int64_t prompt_tokens, output_tokens; /* sums as written in the file */
    bool unsorted;
    double recorded_rps; /* (rows - 1) / (last - first) as recorded; 0 when they are one instant */
};
void workload_facts(const struct workload *w, struct workload_facts *out);

#endif
