/* population.h: groups the attempts of a log into user requests, counts them and takes percentiles.
 *
 * For logs that do not fit into memory as records: attempts are added one by one. The judgements
 * are lab 01's (intervals.h, classify.h, percentile.h).
 *
 * Memory: 88 bytes a user request (48 of them its six intervals, 8 bytes an observation) and 4 to
 * 12 bytes of index; percentiles take 16 more bytes a request while they are computed. A million
 * requests need about 110 MB. Of an id only a 128-bit hash is kept, under a random key: the
 * probability that two of a million ids have the same hash is below 10^-26.
 *
 * A request that the server finished and that no client measured (classify.h: finished_by_server)
 * is a class of its own, neither completed nor failed:
 *   - It is in the percentiles of the server's intervals: server_ttft, queue_delay, tpot where its
 *     boundary is token_sent, and gpu_execution. It is in none of the client's (client_ttft, e2e).
 *     An answer that ended by its length is in them, too: for a server it is an answer.
 *   - A limit on a client's interval is not computable while there is such a request: its value
 *     exists and nobody knows it.
 *   - It is in counts.requests, and never in counts.failed or counts.useful. So it is no failure
 *     either when the objective's list of failures names "not_delivered".
 *
 * If a request has several attempts, the one with the highest number decides, as in
 * classify_request: its verdicts and its intervals count. Time lost in earlier attempts is in none
 * of the intervals.
 */
#ifndef SERVELAB_OBJECTIVE_POPULATION_H
#define SERVELAB_OBJECTIVE_POPULATION_H

#include "objective/classify.h"
#include "objective/percentile.h"
#include "objective/slo.h"
#include "record/intervals.h"

struct population;

/* NULL when memory is out. `o` says which reasons count in counts.failed; it must outlive the
 * population. NULL: every reason but delivered. */
struct population *population_create(const struct objective *o);
void population_free(struct population *p);

/* Adds one attempt, with its intervals and its own classification (classify_request with n = 1);
 * `good` is used only with an objective. An attempt that is already there counts in `repeated` and
 * nowhere else (attempt numbers above 64 are not checked). 0, or -1 and *e when memory is out. */
int population_add(struct population *p, const struct record *r, const struct intervals *iv,
                   const struct classification *c, bool good, struct err *e);

struct population_summary {
    int64_t records;  /* records added */
    int64_t repeated; /* of these, attempts that were there already */
    int64_t requests; /* user requests */
    int64_t retried;  /* of these, with more than one attempt */
    int64_t completed, useful, good;
    int64_t finished_by_server;  /* of them, by the server's records alone */
    int64_t by_reason[REASON_N]; /* the others: with finished_by_server they add up to requests */
    int64_t quality[4], structure[4]; /* by enum verdict */
    struct slo_counts counts; /* interval_s is NaN: a log does not state the measured interval */
};
void population_summarize(const struct population *p, struct population_summary *out);

enum population_part {
    POPULATION_ALL,      /* a request that was not completed counts as +infinity */
    POPULATION_COMPLETED /* without those; with what the server finished, as stated above */
};
/* A percentile of one interval. A completed request without this interval (TPOT of one token, no
 * GPU events) is in neither part. Sorts on the first call for an interval. */
struct percentile population_percentile(struct population *p, enum interval_id id,
                                        enum population_part part, int32_t percentile_milli);

/* The percentile that a limit of scope "population" is compared with (POPULATION_ALL). When
 * requests lack the client's half and the interval is a client's, *unmeasured is their number and
 * the percentile is not present, so that slo_limit says "not computable"; otherwise *unmeasured is
 * 0. */
struct percentile population_limit(struct population *p, const struct latency_limit *limit,
                                   int64_t *unmeasured);

#endif
