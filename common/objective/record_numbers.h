/* record_numbers.h: the numbers of one record as a JSON object: its intervals and its
 * classification.
 *
 * `servelab record check --json` prints this object, and the server answers with it for GET
 * /v1/records/{id}/intervals.
 */
#ifndef SERVELAB_OBJECTIVE_RECORD_NUMBERS_H
#define SERVELAB_OBJECTIVE_RECORD_NUMBERS_H

#include "base/buffer.h"
#include "objective/classify.h"

/* Appends the object, without a line end. Its keys are stable: request_id; client_ttft_ns,
 * server_ttft_ns, queue_delay_ns, e2e_ns, tpot_ns and tpot_boundary (each null when absent or in
 * error); completion, completion_reason, quality, structure, useful; and good unless it is NULL. */
void record_numbers_json(struct buffer *b, const struct record *r, const struct intervals *iv,
                         const struct classification *c, const bool *good);

#endif
