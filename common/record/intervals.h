/* intervals.h: from events to intervals. Lab 01 writes this interface (intervals.c); `servelab
 * record`, the page's numbers and the objective report run the very same file.
 *
 * The one rule: an interval has both ends on one clock. Subtracting across clocks is an error
 * unless the record states the clocks' offset and its uncertainty, and then the result carries the
 * uncertainty. An interval whose ends are not both there is absent: not zero, not -1. A negative
 * interval is an error, never clamped.
 */
#ifndef SERVELAB_RECORD_INTERVALS_H
#define SERVELAB_RECORD_INTERVALS_H

#include "record/record.h"

enum interval_status {
    INTERVAL_OK = 0,
    INTERVAL_ABSENT,      /* an end is missing, or the interval is not defined for this request */
    INTERVAL_CROSS_CLOCK, /* ends on two clocks and no offset is stated */
    INTERVAL_NEGATIVE     /* the end lies before the start: a fault of the record */
};

struct interval {
    enum interval_status status; /* ns and uncertainty_ns mean something only when INTERVAL_OK */
    int64_t ns;
    int64_t uncertainty_ns; /* 0 on one clock */
};

enum tpot_boundary { TPOT_NONE, TPOT_TOKEN_SENT, TPOT_BROWSER_BYTES };

struct intervals {
    struct interval client_ttft;   /* first_byte_received - request_submitted */
    struct interval server_ttft;   /* first_token - request_accepted */
    struct interval queue_delay;   /* request_admitted - request_accepted (tokenization included) */
    struct interval e2e;           /* final_byte_received - request_submitted */
    struct interval tpot;          /* time per output token after the first */
    struct interval gpu_execution; /* sum of the declared gpu ranges */
    enum tpot_boundary tpot_boundary;
};

/* The interval from *start to *end, either of which may be NULL (then absent). `r` is asked for a
 * clock offset when the clocks differ: with t_start - t_end's clocks offset by o, the result is
 * (end - start) brought to one clock. */
struct interval interval_between(const struct record *r, const struct event *start,
                                 const struct event *end);

/* Quotient rounded to nearest, halves away from zero. d > 0. Both within +-2^53. */
int64_t interval_divide(int64_t n, int64_t d);

/* All the intervals of one record. tpot: with at least two token_sent events, (last - first
 * token_sent) / (output_tokens - 1), boundary token_sent; without them (final_byte - first_byte) /
 * (output_tokens - 1), boundary browser_bytes; absent when output_tokens < 2 or unknown.
 * gpu_execution: each gpu_start pairs with the next gpu_end of its range; an end without a start,
 * or a start without an end, makes it absent. */
void intervals_compute(const struct record *r, struct intervals *out);

/* Inter-token latencies: the gaps between successive token_sent events, each divided by the tokens
 * of the later one and repeated once per token (pooled per token), in order. Writes at most cap
 * values to out_ns and returns how many there are. Events with tokens == 0 carry no text token and
 * are passed over. TTFT is never part of it. */
size_t intervals_itl(const struct record *r, int64_t *out_ns, size_t cap);

/* Given by us, not by the learner (record/interval_names.c). */
enum interval_id {
    IV_CLIENT_TTFT,
    IV_SERVER_TTFT,
    IV_QUEUE_DELAY,
    IV_E2E,
    IV_TPOT,
    IV_GPU_EXECUTION,
    IV_N
};
const char *interval_name(enum interval_id id);
int interval_from_name(const char *name); /* enum interval_id, or -1 */
const struct interval *interval_get(const struct intervals *iv, enum interval_id id);

#endif
