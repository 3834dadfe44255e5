/* engine_step.c: one iteration of the server: plan, blocks, compute, sample, stream
 * (serve/engine.h has the rules; serve/engine_queue.c the pieces).
 *
 * One idea: the queue changes under the lock, the long computation runs without it, and its results
 * are handed on under the lock again. A request that is cancelled meanwhile gets no token; the next
 * step drops it. Not here: which request runs (the policy), and what the text says (answer.h tells
 * whether the answer is over).
 */
#include "serve/engine.h"

#include "serve/stamps.h"
#include "base/lab_todo.h"

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    LAB_TODO("engine_step");
}
