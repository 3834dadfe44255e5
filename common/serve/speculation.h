/* speculation.h: speculative decoding: a small draft model proposes tokens, and the target checks
 * all of them in one step (Leviathan, Kalman, Matias, ICML 2023).
 *
 * The policy plans one token for a sequence that decodes. The engine then lets the draft model
 * propose up to draft_tokens further ones, greedily and one after the other, and the target
 * computes the logits after each of them in the same step. The target's own choice at each place is
 * what counts: it is made from the target's logits, by the request's own sampler with its rules and
 * its random numbers, exactly as without a draft. While the choice is the drafted token, the logits
 * of the next place are there already, and a step is saved. From the first other choice on the
 * drafts are rejected.
 *
 * So an answer is the one of plain decoding, token for token: greedy, sampled with a seed, with
 * penalties, stop strings or a JSON grammar. For sampled answers this is rejection sampling with a
 * draft that is certain of its token: that token x is accepted with the target's probability p(x),
 * and otherwise the choice has the distribution p without x. (Both hold as far as the target's
 * logits do not depend on the batch: those of the native backend don't. cuBLAS may round a product
 * of other sizes differently, which can decide a near tie otherwise.)
 *
 * What it takes. Drafts use what the plan leaves: its token budget, KV blocks and logits
 * (backend_config.draft_tokens), and never more than the answer can still have. Both models share
 * the block tables: a block of the pool is a block of 16 tokens in both caches, so each takes the
 * bytes of both, and a prefix that is found is found in both. The draft model computes each prompt,
 * too. Where it falls behind by one token, it computes that one with the next.
 *
 * Counted, in the record (draft_steps, draft_tokens, accepted_draft_tokens), the step log and
 * /metrics: a drafted token is accepted when the logits after it chose a token of the answer; it
 * has saved a step. The others are work for nothing, charged to their request.
 */
#ifndef SERVELAB_SERVE_SPECULATION_H
#define SERVELAB_SERVE_SPECULATION_H

#include "serve/engine.h"

/* With o->draft, whose limits must be at least those of o->backend, and whose vocabulary must be of
 * the same size. NULL and *e otherwise, or when memory is out. */
struct speculation *speculation_create(const struct engine_options *o, struct err *e);
/* These take NULL: no draft model. */
void speculation_free(struct speculation *sp);
/* Why the draft model can compute no more; NULL: it can. */
const char *speculation_lost(const struct speculation *sp);

/* What the target computed in the last step, drafted tokens included: g->batch without drafts. */
const struct backend_seq *speculation_batch(const struct engine *g);
/* Completes the step's line. True: it is kept until the step's drafts are taken, and logged then.
 */
bool speculation_keep_step(struct speculation *sp, struct step *s);

/* Mean tokens of a step that checks `drafted` tokens, if each is accepted with the same probability
 * independently of the others: (1 - a^(drafted+1)) / (1 - a), as in the simulator
 * (deployment_tokens_per_round of sim/hardware.h). */
double speculation_tokens_per_pass(double a, int32_t drafted);

#endif
