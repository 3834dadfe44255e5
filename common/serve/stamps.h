/* stamps.h: the server's own events, stamped where they happen. Lab 04 writes this interface
 * (stamps.c).
 *
 * Each function reads the clock once, first thing, and appends one event to the request's record.
 * The caller holds the record's lock. Clock "server", source server_log (scheduler_log for
 * admission, preemption and resumption), clock_api as the clock says
 * ("CLOCK_MONOTONIC").
 *
 * How far the HTTP library's hand-overs lie from the wire: measured once with strace (absolute
 * timestamps at system call entry, brought to CLOCK_MONOTONIC; the tracer's stops are inside the
 * figures, so they are upper bounds) over 5 streamed requests of 93 tokens on a 2-vCPU AMD EPYC
 * virtual machine, libmicrohttpd 0.9.75, while other jobs kept both cores busy:
 *   recvfrom that reads the header    -> request_accepted   36 to 128 us (n 5)
 *   token_sent                        -> sendto, its bytes  median 27 us, p95 99 us, max 158 us (n
 * 465) sendto of the last bytes          -> response_finished  24 to 151 us (n 5) One token_sent is
 * one sendto. What the kernel and the network do after it, only the client sees.
 */
#ifndef SERVELAB_SERVE_STAMPS_H
#define SERVELAB_SERVE_STAMPS_H

#include "base/clock.h"
#include "record/record.h"

/* Header read, id given, body not parsed: called from the HTTP library's first call for the
 * request. */
void stamp_accepted(struct record *r, const struct clock *c);
void stamp_tokenized(struct record *r, const struct clock *c, int32_t prompt_tokens);
/* Batch position and blocks given: admitted the first time, resumed after a preemption. */
void stamp_admitted(struct record *r, const struct clock *c);
void stamp_preempted(struct record *r, const struct clock *c);
/* The first generated token id is on the host. Only the first call of a request has an effect. */
void stamp_first_token(struct record *r, const struct clock *c);
/* Bytes that carry `tokens` tokens (0 for a held-back or closing piece) are handed to the HTTP
 * library. */
void stamp_token_sent(struct record *r, const struct clock *c, int32_t tokens);
/* The HTTP library reports the response complete. */
void stamp_finished(struct record *r, const struct clock *c);
void stamp_rejected(struct record *r, const struct clock *c);
void stamp_cancelled(struct record *r, const struct clock *c);
void stamp_failed(struct record *r, const struct clock *c);

#endif
