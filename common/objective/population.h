/* population.h: the user requests of a log, added record by record.
 *
 * Offers: the grouping of attempts by request id, the counts of what became of the requests, and
 * their percentiles, for logs that don't fit into memory as records. The judgements themselves are
 * lab 01's (intervals.h, classify.h, percentile.h); nothing is judged here.
 *
 * Memory: a fixed 88 bytes a user request (48 of them its six intervals, 8 bytes an observation)
 * and 4 to 12 bytes of index; percentiles take 16 more bytes a request while they are computed. A
 * million requests need about 110 MB. Of an id only 128 hash bits are kept, under a key drawn at
 * random: two different ids fall together with a probability below 10^-26 in a million.
 *
 * Of a request with several attempts the one with the highest number decides, as in
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

/* NULL when memory is out. `o` may be NULL and must outlive the population: it says which reasons
 * count as failures in counts.failed (without it every reason but delivered). */
struct population *population_create(const struct objective *o);
void population_free(struct population *p);

/* Adds one attempt, with its intervals and its classification by itself (classify_request with n =
 * 1); `good` only means something with an objective. An attempt that was added before counts in
 * `repeated` and nowhere else: the first one stands (attempt numbers above 64 are not looked up).
 * -1 with *e set when memory is out. */
int population_add(struct population *p, const struct record *r, const struct intervals *iv,
                   const struct classification *c, bool good, struct err *e);

struct population_summary {
    int64_t records;  /* all that were added */
    int64_t repeated; /* of which had the request id and attempt of one before */
    int64_t requests; /* user requests */
    int64_t retried;  /* of which had more than one attempt */
    int64_t completed, useful, good;
    int64_t by_reason[REASON_N];
    int64_t quality[4], structure[4]; /* by enum verdict */
    struct slo_counts counts; /* interval_s is NaN: a log doesn't say how long it measured */
};
void population_summarize(const struct population *p, struct population_summary *out);

enum population_part {
    POPULATION_ALL,      /* a request that was not completed is +infinity, whatever the reason */
    POPULATION_COMPLETED /* the completed ones alone */
};
/* A percentile of one interval. Completed requests for which the interval is not defined (TPOT of
 * one token, no GPU events) are in neither part. Sorts on the first call for an interval. */
struct percentile population_percentile(struct population *p, enum interval_id id,
                                        enum population_part part, int32_t percentile_milli);

#endif
