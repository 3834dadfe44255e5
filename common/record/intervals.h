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

enum { INTERVALS_MAX_OPEN_RANGES = 32 };          /* gpu ranges that may be open at one time */
#define INTERVAL_MAX_NS INT64_C(9007199254740992) /* 2^53, as for timestamps: 104 days */

/* The interval from *start to *end, either of which may be NULL (then absent).
 *
 * Two clocks: the end is brought to the start's clock. r->offsets states t_a - t_b = offset_ns, so
 * with a the start's clock and b the end's, ns = end + offset_ns - start; with a and b the other
 * way round, ns = end - offset_ns - start. The first offset that names both clocks counts; offsets
 * are never chained over a third clock. uncertainty_ns is the offset's. A result below 0 is
 * INTERVAL_NEGATIVE, even where the uncertainty would allow 0: nothing is excused.
 *
 * With any status but INTERVAL_OK, ns and uncertainty_ns are 0. */
struct interval interval_between(const struct record *r, const struct event *start,
                                 const struct event *end);

/* Quotient rounded to nearest, halves away from zero: 5/2 is 3, -5/2 is -3, 7/3 is 2. d > 0. Both
 * within +-2^54. */
int64_t interval_divide(int64_t n, int64_t d);

/* All the intervals of one record; every member of *out is set. Each event is the first of its kind
 * (record_event), except where said.
 *
 * tpot: with at least two token_sent events that carry a token (tokens >= 1), (last - first of
 * those) / (output_tokens - 1), boundary token_sent: a closing event without a token doesn't extend
 * it. With fewer, (final_byte_received - first_byte_received) / (output_tokens - 1), boundary
 * browser_bytes. Divided by the achieved number of tokens, never the requested one, also where an
 * event carries several; rounded by interval_divide, the uncertainty too. Absent, with boundary
 * TPOT_NONE, when output_tokens < 2 or unknown, or an end is missing.
 *
 * gpu_execution: in file order, each gpu_start pairs with the next gpu_end of its range; ranges may
 * nest and overlap, and then count each. Absent when there is no gpu event, when an end has no
 * start or a start no end (a second start of a range that is open included), when more than
 * INTERVALS_MAX_OPEN_RANGES are open at once, or when the sum passes INTERVAL_MAX_NS. Otherwise, if
 * a pair is cross-clock or negative, it has the status of the first such pair. Uncertainties add
 * up. */
void intervals_compute(const struct record *r, struct intervals *out);

/* Inter-token latencies: the gaps between successive token_sent events, each divided by the tokens
 * of the later one (interval_divide) and repeated once per token (pooled per token), in order.
 * Writes at most cap values to out_ns and returns how many there are, which may be more; out_ns may
 * be NULL when cap is 0. Events with tokens == 0 carry no token and are passed over, so that the
 * gap runs from the token before to the token after. TTFT is never part of it. A gap that is
 * negative or across clocks leaves no sequence to speak of: the answer is 0, whatever was written.
 */
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
/* "first_byte_received - request_submitted": what is printed beside the label, because other tools
 * call other things TTFT or TPOT. tpot's depends on the boundary. */
const char *interval_formula(const struct intervals *iv, enum interval_id id);

/* Could this have happened (record/plausible.c)? Events of each clock in causal order, client_ttft
 * >= server_ttft, and e2e >= client_ttft; an interval that is absent or in error answers no. `why`
 * (cap bytes) gets one sentence either way. A browser stamp in microseconds where nanoseconds are
 * meant shows up here. */
bool record_plausible(const struct record *r, const struct intervals *iv, char *why, size_t cap);

#endif
