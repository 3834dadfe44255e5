/* intervals.h: computes the intervals of a record (TTFT, TPOT, ...) from its events. Lab 01 writes
 * this interface (intervals.c); `servelab record`, the page and the objective report use the same
 * file.
 *
 * An interval has both ends on one clock. Subtracting across clocks is an error unless the record
 * states the clocks' offset and its uncertainty; then the result has that uncertainty. If an end is
 * missing, the interval is absent: not 0 and not -1. A negative interval is an error; it is never
 * clamped. A person experiences client_ttft (when the answer begins) and e2e (when it is complete).
 */
#ifndef SERVELAB_RECORD_INTERVALS_H
#define SERVELAB_RECORD_INTERVALS_H

#include "record/record.h"

enum interval_status {
    INTERVAL_OK = 0,
    INTERVAL_ABSENT,      /* an end is missing, or the interval is not defined for this request */
    INTERVAL_CROSS_CLOCK, /* ends on two clocks and no offset is stated */
    INTERVAL_NEGATIVE     /* the end is before the start: the record is wrong */
};

struct interval {
    enum interval_status status; /* ns and uncertainty_ns are valid only with INTERVAL_OK */
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

enum { INTERVALS_MAX_OPEN_RANGES = 32 };          /* gpu ranges open at one time */
#define INTERVAL_MAX_NS INT64_C(9007199254740992) /* 2^53, as for timestamps: 104 days */

/* The interval from *start to *end; absent if either is NULL.
 *
 * With two clocks, the end is converted to the start's clock. r->offsets states t_a - t_b =
 * offset_ns: if a is the start's clock and b the end's, ns = end + offset_ns - start; if a is the
 * end's and b the start's, ns = end - offset_ns - start. The first offset that names both clocks is
 * used; offsets are not chained over a third clock. uncertainty_ns is the offset's. A result below
 * 0 is INTERVAL_NEGATIVE, also if the uncertainty would allow 0.
 *
 * With any status but INTERVAL_OK, ns and uncertainty_ns are 0.
 */
struct interval interval_between(const struct record *r, const struct event *start,
                                 const struct event *end);

/* Quotient rounded to nearest, halves away from zero: 5/2 is 3, -5/2 is -3, 7/3 is 2. d > 0. Both
 * within +-2^54. */
int64_t interval_divide(int64_t n, int64_t d);

/* Computes all intervals of one record; sets every member of *out. Each event is the first of its
 * kind (record_event), except as stated here.
 *
 * tpot: with at least two token_sent events that carry a token (tokens >= 1), it is (last - first
 * of those) / (output_tokens - 1) with boundary token_sent; a closing event without a token does
 * not extend it. With fewer, it is (final_byte_received - first_byte_received) / (output_tokens -
 * 1) with boundary browser_bytes. The divisor is the number of tokens generated, not the number
 * requested, also if an event carries several. Rounded by interval_divide, the uncertainty too.
 * Absent, with boundary TPOT_NONE, if output_tokens < 2 or unknown, or an end is missing.
 *
 * gpu_execution: the sum over gpu ranges. In file order, each gpu_start pairs with the next gpu_end
 * of its range; ranges may nest and overlap, and each counts. Absent if there is no gpu event, if
 * an end has no start or a start no end (also a second start of an open range), if more than
 * INTERVALS_MAX_OPEN_RANGES are open at once, or if the sum exceeds INTERVAL_MAX_NS. Otherwise, if
 * a pair is cross-clock or negative, it has the status of the first such pair. Uncertainties add
 * up.
 */
void intervals_compute(const struct record *r, struct intervals *out);

/* Inter-token latencies (ITL): the gaps between successive token_sent events, each divided by the
 * tokens of the later one (interval_divide) and repeated once per token, in order. Writes at most
 * cap values to out_ns and returns how many there are, which may be more; out_ns may be NULL if cap
 * is 0. Events with tokens == 0 are skipped: the gap runs from the previous token to the next. TTFT
 * is never part of it. If a gap is negative or across clocks, the result is 0 and the contents of
 * out_ns have no meaning. */
size_t intervals_itl(const struct record *r, int64_t *out_ns, size_t cap);

/* Given (record/interval_names.c); not written by the learner. */
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
/* The formula, such as "first_byte_received - request_submitted". It is printed beside each label,
 * because tools differ in what they call TTFT or TPOT. That of tpot depends on its boundary. */
const char *interval_formula(const struct intervals *iv, enum interval_id id);

/* Given (record/client_text.c). A record that holds the client's half alone may have a member
 * "client" (load/client.h) with "answer_chunks", "reasoning_chunks" and "chunk_gaps_ns".
 *
 * record_in_one_piece: true if it is such a record of at least two output tokens, and its text came
 * in one chunk, or in several that one read brought. Such a text has no pace, and so it has no
 * TPOT.
 *
 * record_counts_too_many: true if it is such a record with more output tokens, by its server's
 * count, than max_output_tokens. A time divided by such a count means nothing.
 *
 * intervals_of_client: call it after intervals_compute. It makes tpot absent if one of the two is
 * true; otherwise, if the gaps are stated, tpot is their sum / (output_tokens - 1): from the first
 * text to the last one, without the usage and [DONE] that follow it. Other records and intervals
 * are left as they are. */
bool record_in_one_piece(const struct record *r);
bool record_counts_too_many(const struct record *r);
void intervals_of_client(const struct record *r, struct intervals *iv);

/* Could these events have happened (record/plausible.c)? true if the events of each clock are in
 * causal order, client_ttft >= server_ttft, and e2e >= client_ttft; false if one of the three is
 * absent or in error. `why` (cap bytes) gets one sentence either way. This finds, for example, a
 * browser timestamp in microseconds instead of nanoseconds. */
bool record_plausible(const struct record *r, const struct intervals *iv, char *why, size_t cap);

#endif
