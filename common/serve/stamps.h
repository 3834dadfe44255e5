/* stamps.h: appends the server's events to a request's record, each with the time it happens. Lab
 * 04 writes this interface (stamps.c).
 *
 * Each function reads the clock once, first thing, and appends one event to the request's record.
 * The caller holds the record's lock. Clock "server", source server_log (scheduler_log for
 * admission, preemption and resumption), clock_api as the clock says
 * ("CLOCK_MONOTONIC").
 *
 * How far the stamps are from the system calls was measured once with strace, over 5 streamed
 * requests of 93 tokens on a 2-vCPU AMD EPYC virtual machine, libmicrohttpd 0.9.75, while other
 * jobs kept both cores busy. The times at system call entry were brought to CLOCK_MONOTONIC. The
 * tracer's stops are inside the figures, so they are upper bounds:
 *
 *   recvfrom of the header   -> request_accepted      36 to 128 us (n 5)
 *   token_sent               -> sendto of its bytes   median 27 us, p95 99 us, max 158 us (n 465)
 *   sendto of the last bytes -> response_finished     24 to 151 us (n 5)
 *
 * One token_sent is one sendto. Only the client sees what the kernel and the network do after it.
 */
#ifndef SERVELAB_SERVE_STAMPS_H
#define SERVELAB_SERVE_STAMPS_H

#include "base/clock.h"
#include "record/record.h"

/* The header is read, an id is given, the body is not parsed: at the HTTP library's first call for
 * the request. */
void stamp_accepted(struct record *r, const struct clock *c);
/* Token ids of the prompt exist; also sets workload.prompt_tokens. */
void stamp_tokenized(struct record *r, const struct clock *c, int32_t prompt_tokens);
/* It has a batch position and blocks: request_admitted the first time, request_resumed later. */
void stamp_admitted(struct record *r, const struct clock *c);
/* It lost them. */
void stamp_preempted(struct record *r, const struct clock *c);
/* The first generated token id is on the host. Only the first call of a request has an effect. */
void stamp_first_token(struct record *r, const struct clock *c);
/* Bytes that carry `tokens` tokens (0 for a held-back or closing piece) are handed to the HTTP
 * library. */
void stamp_token_sent(struct record *r, const struct clock *c, int32_t tokens);
/* The HTTP library reports the response complete. */
void stamp_finished(struct record *r, const struct clock *c);
/* It ends without a delivered answer: refused, given up by its client, or by a fault of the server.
 */
void stamp_rejected(struct record *r, const struct clock *c);
void stamp_cancelled(struct record *r, const struct clock *c);
void stamp_failed(struct record *r, const struct clock *c);

#endif
