/* summary.h: computes the figures of a load from its records and its rows.
 *
 * The population is the requests whose scheduled send lies in the measured window (results.h). Each
 * is classified by lab 01's functions; one that was not completed is +infinity in every percentile,
 * and percentiles over the completed ones alone are computed as well. Latencies:
 *   TTFT   first text - scheduled send       and the same from the actual send
 *   e2e    end of the answer - scheduled send   likewise
 *   TPOT   joined records: (last - first token_sent) / (output tokens - 1); records of the client
 *          alone: intervals_of_client (record/intervals.h), absent where the text came in a piece.
 *   ITL    joined records: gaps between token_sent events, a token each, pooled. Records of the
 *          client alone: gaps between chunks with text, which are gaps between tokens only where
 *          the server sends one token a chunk; none of a text in one piece.
 * An answer that was asked for at a fixed length (all but the checkable prompts) and ended with
 * finish reason "length" is complete.
 */
#ifndef SERVELAB_LOAD_SUMMARY_H
#define SERVELAB_LOAD_SUMMARY_H

#include "load/results.h"
#include "objective/point.h"
#include "objective/population.h"

struct load_summary {
    struct population *scheduled, *sent; /* latencies from the scheduled, from the actual send */
    const struct objective *objective;   /* NULL: none */
    struct population_summary counts;    /* of the window */
    int64_t within_limits; /* completed, and within the objective's limits of a single request,
                              judged or not */
    double window_s;       /* NaN where the window has no length */
    double offered_rps;    /* scheduled in the window / its length */
    double achieved_rps;   /* completed whose end is in the window / its length */
    double output_tps;     /* output tokens of these / its length; NaN where one's aren't known */
    double good_rps;       /* NaN without an objective */
    bool stable;           /* objective/point.h; false where the window has no length */
    int64_t *itl_ns;       /* pooled, of completed requests of the window: (n_itl) */
    size_t n_itl, cap_itl;
    bool itl_of_chunks;                          /* of chunks, not of tokens */
    int64_t client_only;                         /* records without the server's half */
    int64_t in_one_piece;                        /* of these, without a TPOT for this reason */
    int64_t uncounted;                           /* completed, and no usage says their tokens */
    int64_t prompt_tokens, cached_prompt_tokens; /* sums over the window; cached: -1, not stated */
    char paced[96];                              /* "llama-2-7b on h100": the records say so; "" */
};

/* Reads the log. -1 and *e: a record is wrong, an interval of one is negative (*e names it), or
 * memory is out. load_summary_release after either. */
int load_summarize(struct load_summary *s, const struct load_results *r, const char *log_path,
                   const struct objective *o, struct err *e);
void load_summary_release(struct load_summary *s);

/* Against the objective: the verdict and the percentile of each of its limits. */
enum slo_answer load_verdict(const struct load_summary *s, struct percentile *limits,
                             struct slo_counts *counts);

#endif
