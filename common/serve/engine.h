/* engine.h: the loop that turns queued requests into tokens. Lab 04 writes engine_step
 * (engine_step.c).
 *
 * One thread runs engine_step again and again: ask the policy for a plan, give and take KV blocks,
 * step the backend, sample, hand tokens to their streams, stamp events. HTTP threads only submit,
 * read and cancel, under the engine's lock.
 */
#ifndef SERVELAB_SERVE_ENGINE_H
#define SERVELAB_SERVE_ENGINE_H

#include "backend/backend.h"
#include "base/clock.h"
#include "record/record.h"
#include "sched/policy.h"
#include "serve/kv_blocks.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum seq_state { SEQ_WAITING, SEQ_RUNNING, SEQ_FINISHED };

/* One request inside the engine. Fields are owned by the engine's lock unless said otherwise. */
struct seq {
    int64_t id;
    enum seq_state state;
    int64_t arrival_ns;
    int32_t *tokens; /* prompt, then generated ids; (n_prompt + n_generated) */
    int32_t n_prompt, n_generated, max_output;
    int32_t computed; /* tokens whose keys and values are in the cache */
    int32_t preemptions;
    struct kv_table kv;
    bool cancelled;        /* set by the HTTP side; honoured at the next step */
    struct stream *stream; /* where its text goes (serve/stream.h) */
    struct seq *next;      /* in its queue */
};

struct engine {
    struct backend *backend;
    const struct policy_ops *policy;
    void *policy_state;
    struct clock clock;
    struct kv_pool *kv;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t work;  /* signalled on submit, cancel and shutdown */
    struct seq *waiting, *running;
    int32_t n_waiting, n_running;
    bool draining; /* finish what is there, accept nothing */

    float *logits; /* (max_seqs, vocab_size) scratch of the engine thread */
};

enum engine_progress {
    ENGINE_WORKED, /* an iteration ran or a request ended */
    ENGINE_IDLE,   /* nothing to do until a submit, a cancel or *wake_ns */
    ENGINE_FAULT /* the backend or the policy failed; every request of the batch was failed with *e
                  */
};

/* One iteration. Called with the lock free, by the engine thread only; it holds the lock except
 * while the backend computes. *wake_ns: when to ask again although nothing happened (INT64_MAX:
 * never). */
enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e);

#endif
