/* prompts.h: makes the prompts of a load: token ids of an exact count, or text of about as many.
 *
 * A prompt is a function of the salt, the number of its request, its length and what it shares. The
 * salt is another one in each run unless the caller sets it: the same prompts sent twice would meet
 * a prefix cache that the first run has filled.
 *   ids    uniform in [0, vocab). Exact, but only for a server that takes ids to /v1/completions.
 *   text   common English words. Most vocabularies give each of them one token, but the count is
 *          the server's to say (its `usage`).
 * Not here: prompts with a checkable answer, which the server makes (GET /v1/presets).
 */
#ifndef SERVELAB_LOAD_PROMPTS_H
#define SERVELAB_LOAD_PROMPTS_H

#include "base/buffer.h"
#include "workload/request.h"

#include <stdint.h>

enum {
    PROMPT_VOCAB = 256 /* ids below it are in every vocabulary: each has the single bytes */
};

struct prompt_maker {
    uint64_t salt;
    int32_t vocab;         /* ids are below it */
    int32_t shared_tokens; /* the first of each prompt are the same for all */
};

/* The tokens of one request's prompt: ids[0..r->prompt_tokens). r->id, r->prompt_tokens and, of a
 * trace with prefix hashes, r->prefix are read: tokens under equal hashes are equal. */
void prompt_ids(const struct prompt_maker *p, const struct sim_request *r, int32_t *ids);

/* The same as words, appended to *b. */
void prompt_text(const struct prompt_maker *p, const struct sim_request *r, struct buffer *b);

#endif
