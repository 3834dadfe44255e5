/* classify.h: classifies a user request: completed, of which quality, useful, good. Lab 01 writes
 * this interface (classify.c).
 *
 * A *user request* groups its attempts by request id: a retry counts once as work and every time as
 * resource.
 *   completed  the whole answer arrived: delivered, without an error, with a finish reason, not
 *       truncated
 *   quality    the verdict of a named check
 *   useful     completed, quality passed, and structure not failed
 *   good       useful, and within the limits for one request
 * So speed is looked at only after the answer is known to be right.
 */
#ifndef SERVELAB_OBJECTIVE_CLASSIFY_H
#define SERVELAB_OBJECTIVE_CLASSIFY_H

#include "objective/objective.h"
#include "record/intervals.h"
#include "record/record.h"

/* Why a request is complete or not. In order of precedence: the first that applies is reported. */
enum completion_reason {
    REASON_DELIVERED,      /* complete */
    REASON_REJECTED,       /* event request_rejected, or http_status 429 or 503 */
    REASON_CANCELLED,      /* event request_cancelled: the client went away */
    REASON_TIMED_OUT,      /* outcome.error is "timed_out" */
    REASON_INTERNAL_ERROR, /* event request_failed, or http_status 500 or above except 503 */
    REASON_IN_BAND_ERROR,  /* http_status 200 and a non-empty outcome.error */
    REASON_NOT_DELIVERED, /* outcome.delivered is false, http_status is stated and not 200, an error
                             is stated without a status, or an event of the six is missing; of a
                             record with no other event the client's three are enough (its server
                             keeps no records) */
    REASON_NO_FINISH_REASON, /* the stream ended without a finish reason: the answer may be
                                incomplete */
    REASON_TRUNCATED, /* finish_reason "length", unless the objective declares a fixed output length
                       */
    REASON_N
};

struct classification {
    bool completed; /* exactly when reason is REASON_DELIVERED */
    enum completion_reason reason;
    enum verdict quality; /* of the deciding attempt (the last); NOT_EVALUATED if no check is named,
                             whatever the verdict is */
    enum verdict structure; /* of the same attempt, as in the record */
    bool useful;            /* completed, quality passed, structure not failed */
    int32_t attempts;       /* how many records the request has */
};

/* Why one attempt ended as it did. */
enum completion_reason classify_attempt(const struct record *r, enum truncation_rule truncation);

/* Classifies one user request from its attempts, attempts[0..n), n >= 1, in any order. The attempt
 * with the highest number decides (of equal numbers, the first given). A quality verdict of
 * NOT_EVALUATED is never useful. */
void classify_request(const struct record *const *attempts, size_t n,
                      enum truncation_rule truncation, struct classification *out);

/* Good: useful, and every limit of scope "request" is met; if the objective requires a structure
 * check, it must have passed (not required or not evaluated is not enough). A limit is met if ns <
 * below_ns. A limit on an absent TPOT does not apply (the answer had fewer than two tokens). A
 * limit on any other absent interval, or on one in error, is missed. Limits of scope "population"
 * are ignored. */
bool classify_good(const struct classification *c, const struct intervals *iv,
                   const struct objective *o);

/* Given (objective/names.c); not written by the learner. */
const char *completion_reason_name(enum completion_reason r); /* "delivered", ... */
int completion_reason_from_name(const char *name);            /* enum completion_reason, or -1 */

/* A class of its own among REASON_NOT_DELIVERED: the server finished the answer, and no client
 * measured it. Such a record has request_accepted, request_admitted, first_token (unless the answer
 * has no token) and response_finished, no event of a client, http_status 200 or none, a finish
 * reason (any) and no error. It is never completed, useful or good: whether the answer arrived is
 * not known. */
bool finished_by_server(const struct record *r, enum completion_reason reason);
#define FINISHED_BY_SERVER "finished_by_server"
/* The reason's name, or FINISHED_BY_SERVER. */
const char *attempt_reason_name(const struct record *r, enum completion_reason reason);

#endif
