/* report.h: measures an operating point from request records and judges it by an objective. Lab 04
 * writes this interface (report.c).
 *
 * The steps: report_attempt reads one record, report_group makes user requests of attempts,
 * report_measure makes an operating point of the user requests of one run, report_verdict judges
 * it, report_regions compares points. `servelab report` prints what they find.
 *
 * The rules that keep a report honest:
 *   - A request counts by when the schedule wanted it sent, not by when a late client sent it.
 *   - A retry counts once as work and every time as resource: a user request has one verdict and
 *     one latency, which begins at its first attempt; the GPU seconds of all its attempts add up.
 *   - Every request of the window is in every denominator. One that was not completed is +infinity
 *     in every percentile; the percentile over completed requests alone stands beside it.
 *   - Speed is looked at after the answer is known to be right.
 */
#ifndef SERVELAB_OBJECTIVE_REPORT_H
#define SERVELAB_OBJECTIVE_REPORT_H

#include "objective/point.h"
#include "objective/slo.h"
#include "record/intervals.h"

/* ---- one attempt ----------------------------------------------------------------------------- */

/* What a report keeps of a record. */
struct report_attempt {
    char request_id[64];
    int32_t attempt;
    int line;       /* where its record begins in the log; set by the caller */
    bool at_server; /* the record lacks the client's half: the two times are the server's */
    int64_t submitted_ns;
    int64_t ended_ns;    /* -1: not known */
    struct intervals iv; /* client_ttft and e2e begin at submitted_ns */
    enum completion_reason reason;
    bool finished_by_server; /* classify.h: no client measured it */
    char check[48];          /* of quality; "": none */
    enum verdict quality;    /* VERDICT_NOT_EVALUATED where the record names no check */
    enum verdict structure;
    int32_t prompt_tokens, cached_prompt_tokens, output_tokens; /* -1: not known */
    double gpu_seconds, joules;                                 /* NaN: not known */
};

/* Reads *r. scheduled_ns: when the schedule wanted it sent, on the clock of request_submitted; -1:
 * the record does not state it.
 *
 *   submitted_ns  scheduled_ns; without it, the time of request_submitted; without that, of
 *                 request_accepted (at_server is true then); without that, -1
 *   ended_ns      the time of final_byte_received. Without it, submitted_ns plus the time from
 *                 request_accepted to the last event of the server's clock: what the server knows
 *                 of how long it took. -1 if one of these is missing
 *   iv            intervals_compute, then client_ttft and e2e longer by request_submitted minus
 *                 scheduled_ns: the lag of the client is part of what its user waits
 *   gpu_seconds   the record's; without it, the interval gpu_execution; without that, NaN
 *
 * An interval that is negative, also after the lag is added, is an error that names it in
 * e->field. 0, or -1 and *e. */
int report_attempt(const struct record *r, int64_t scheduled_ns, enum truncation_rule truncation,
                   struct report_attempt *out, struct err *e);

/* ---- one user request ------------------------------------------------------------------------ */

struct report_request {
    const struct report_attempt *deciding; /* the attempt with the highest number */
    int32_t attempts;
    int64_t arrival_ns;  /* submitted_ns of the attempt with the lowest number */
    struct intervals iv; /* the deciding attempt's; client_ttft and e2e begin at arrival_ns */
    struct classification c;
    bool good;                  /* classify_good of these */
    double gpu_seconds, joules; /* of all its attempts; NaN if one of them does not state it */
};

/* Groups attempts[0..n), in any order and not changed, by request id. out[0..n) is room for the
 * user requests; *n_out is their number. They are in the order of arrival, equal ones in the order
 * of their ids. They point into `attempts`.
 *
 * -1 and *e: an attempt is there twice (e->line is the later line) or was submitted before one with
 * a lower number, or memory is out. */
int report_group(const struct objective *o, const struct report_attempt *attempts, size_t n,
                 struct report_request *out, size_t *n_out, struct err *e);

/* ---- an operating point ---------------------------------------------------------------------- */

/* Both ends belong to it, as in a run file. from_ns < to_ns. */
struct report_window {
    int64_t from_ns, to_ns;
    int64_t
        unplaced; /* user requests of the run that can't be placed in it: their records lack the
                     client's half, were cut off, or begin with a later attempt than the first */
};

/* How long the service took to recover from failures.
 *
 * An outage begins when a user request ends with one of the objective's failure reasons, unless
 * another outage is on. It ends when the first completed request ends that arrived after the outage
 * began. All user requests count, also those that arrived outside the window; one whose end is not
 * known does not. */
struct report_recovery {
    int64_t outages;
    int64_t longest_ns; /* of those that ended; 0 without any */
    bool unended;       /* one was on at the end of the data: it is longer than can be said */
};

struct report_point {
    struct report_window window;
    struct operating_point load; /* point_measure over the window: offered load, throughput, mean
                                    latency, stability. A request whose end is not known is still
                                    in the system one nanosecond after all else */
    int64_t attempts;            /* all tries of the window's user requests */
    int64_t requests, retried;   /* user requests that arrived in the window; with several tries */
    int64_t completed, useful, good;
    int64_t finished_by_server;       /* neither completed nor failed, as in population.h */
    int64_t by_reason[REASON_N];      /* the others */
    int64_t quality[4], structure[4]; /* by enum verdict */
    int64_t unjudged;                 /* completed, and no check says whether they are right */
    int64_t other_check;              /* evaluated, but by another check than the objective names */
    struct slo_counts counts;         /* failed: by the objective's failure reasons. useful: -1 (not
                                         measured) if requests of the window were completed and not one of
                                         its requests was evaluated, or if none was completed and
                                         the server finished some: nobody knows which arrived */
    struct percentile limit[OBJECTIVE_MAX_LIMITS];       /* of o->latency[i]; population limits */
    struct percentile limit_of_ok[OBJECTIVE_MAX_LIMITS]; /* the same over completed ones alone */
    int64_t prompt_tokens, cached_prompt_tokens, output_tokens; /* sums over the deciding attempts;
                                                                   -1: one of them is not known */
    double gpu_seconds, joules; /* sums over all attempts; NaN if one is not known */
    struct report_recovery recovery;
};

/* Measures requests[0..n), as report_group left them, n >= 1. The population is the user requests
 * that arrived in the window. All requests count for stability and for recovery.
 *
 * A request that the server finished and no client measured ends as completed for the load and in
 * the percentiles of the server's intervals. If there is one, or one that can't be placed, a limit
 * on client_ttft or e2e has no percentile: its value exists and nobody knows it.
 *
 * 0, or -1 and *e: the window is empty or memory is out. */
int report_measure(const struct objective *o, const struct report_request *requests, size_t n,
                   const struct report_window *window, struct report_point *out, struct err *e);

/* Is the point valid? In this order:
 *   missed          if the queue is not stable, slo_verdict is missed, the longest outage is not
 *                   below max_recovery_s or did not end (where the objective states it), no request
 *                   was useful (useful is 0), whatever the objective states, or joules / useful is
 *                   known and not below joules_per_response
 *   not computable  if slo_verdict is not computable, the objective states a failure rate and some
 *                   requests can't be placed, or the objective states a hard limit that the records
 *                   can't answer: gpu_memory_gib always, joules_per_response without joules or
 *                   useful completions
 *   met             otherwise */
enum slo_answer report_verdict(const struct objective *o, const struct report_point *p);

/* Indexes into points[0..n); -1 where there is none. knee and saturation: curve_knee and
 * curve_saturation (point.h) of the points' loads. best_valid: of the points whose verdict is met,
 * the one with the most useful completions a second; of equal ones the first. */
struct report_regions {
    int knee, saturation, best_valid;
};
/* 0, or -1 and *e when memory is out. */
int report_regions(const struct objective *o, const struct report_point *points, size_t n,
                   struct report_regions *out, struct err *e);

#endif
