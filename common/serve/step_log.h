/* step_log.h: a line of JSON for each iteration of the engine: what it computed and how long it
 * took.
 *
 * The first line describes the run, each further line is one step:
 *   {"schema": "servelab.step-log.v1", "clock_api": "CLOCK_MONOTONIC", "backend": "cpu",
 *    "paced": null, "kv_blocks": 4096, "token_budget": 512, "max_batch": 8}
 *   {"start_ns": 1, "end_ns": 2, "prefill_tokens": 512, "decode_tokens": 3, "sequences": 4,
 *    "context_tokens": 9000, "attended_tokens": 200000, "waiting": 2, "kv_blocks_used": 640}
 * Times are on the server's clock, the one of the records. A step's tokens, context and attended
 * positions are those of sim/cost.h: `servelab sim calibrate` fits a cost model to them.
 *
 * With a draft model (serve/speculation.h) the head has "draft_tokens": the most of a sequence and
 * step. Each step has, too:
 *   "draft_tokens": 8, "accepted_draft_tokens": 5, "acceptance_rate": 0.625,
 * "tokens_per_pass": 2.667 The rate is null where nothing was drafted, the last number where no
 * sequence decodes: it is the tokens that each decoding sequence gained by the step. context_tokens
 * and attended_tokens then count the drafted tokens as well, and the times include the draft
 * model's.
 *
 * The log is a diagnostic: lines are buffered, so a killed process loses the last ones.
 */
#ifndef SERVELAB_SERVE_STEP_LOG_H
#define SERVELAB_SERVE_STEP_LOG_H

#include "backend/backend.h"
#include "base/clock.h"

struct step_log;

struct step {
    int64_t start_ns, end_ns;
    int32_t prefill_tokens;  /* of prompts, and of answers that are recomputed after a preemption */
    int32_t decode_tokens;   /* one for each sequence that decodes */
    int32_t sequences;       /* in the batch */
    int64_t context_tokens;  /* sum of the tokens in their caches, the new ones included */
    int64_t attended_tokens; /* sum over the new tokens of the positions each attends to */
    int32_t waiting;         /* requests that did not take part for want of a batch position */
    int32_t kv_blocks_used;  /* blocks that sequences hold */
    bool speculates;         /* there is a draft model; otherwise the next two are 0 */
    int32_t draft_tokens, accepted_draft_tokens;
};

/* Creates or empties the file and writes the first line. draft_tokens: of engine_options. NULL and
 * *e when it can't be written. */
struct step_log *step_log_open(const char *path, const struct backend *b, const struct clock *c,
                               int32_t draft_tokens, struct err *e);

/* Appends a line; one thread. Does nothing with NULL. A write that fails is reported by close. */
void step_log_add(struct step_log *l, const struct step *s);

/* Writes what is buffered and closes. -1 and *e when a line could not be written. */
int step_log_close(struct step_log *l, struct err *e);

/* Reads line n of such a log. 1: *s is a step; 0: the line is the head; -1 and *e: it is neither.
 */
int step_log_parse(const char *text, int n, struct step *s, struct err *e);

/* Calls `each` for every step of a log, with its line. A last line without its newline that can't
 * be read is left out: a killed server leaves it so. 0, or -1 and *e: a line is no step, begins
 * before the step above it has ended, or is a second head. */
typedef void step_log_fn(void *ctx, const struct step *s, const char *line);
int step_log_each(const char *path, step_log_fn *each, void *ctx, struct err *e);

#endif
