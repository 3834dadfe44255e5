/* engine.h: turns queued requests into tokens, one step after the other. Lab 04 writes engine_step
 * (engine_step.c).
 *
 * One thread runs engine_step in a loop. A step asks the policy for a plan, gives and takes KV
 * blocks, runs the backend, samples, hands text to the streams, and stamps events. The HTTP thread
 * submits, cancels and asks for the load; the main thread drains and stops. All of them take the
 * engine's lock.
 *
 * Output tokens are all generated ids except the one that ends the answer: it has no text and is
 * never sent. An answer that ends with its first id is empty, and has no first token and no TTFT.
 */
#ifndef SERVELAB_SERVE_ENGINE_H
#define SERVELAB_SERVE_ENGINE_H

#include "backend/backend.h"
#include "base/clock.h"
#include "model/sampler.h"
#include "model/tokenizer.h"
#include "record/record.h"
#include "sched/policy.h"
#include "serve/answer.h"
#include "serve/kv_blocks.h"
#include "serve/records.h"
#include "serve/step_log.h"
#include "serve/stream.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum seq_state { SEQ_WAITING, SEQ_RUNNING, SEQ_FINISHED };

/* One request inside the engine. The engine's lock guards each field without a comment about it. */
struct seq {
    int64_t id;
    enum seq_state state;
    int64_t arrival_ns;
    int32_t *tokens; /* prompt, then generated ids; (n_prompt + n_generated), room for max_output */
    int32_t n_prompt, n_generated, max_output;
    int32_t computed; /* tokens whose keys and values are in the cache */
    int32_t cached;   /* of them, found by prefix reuse at its first admission; -1 before */
    int32_t preemptions;
    int32_t draft_steps, drafted, accepted; /* with a draft model (serve/speculation.h) */
    int32_t draft_lag; /* 1: the draft model has not seen the last computed token yet; or 0 */
    struct kv_table kv;
    int32_t ends_after; /* as in struct engine_request */
    bool ignore_end;    /* the end token is an ordinary token: a fixed output length */
    bool scores;        /* as in struct engine_request, and the next two */
    bool prompt_scores;
    int32_t top_scores;
    int32_t n_scored;       /* tokens of the prompt whose scores were pushed */
    bool chosen_scored;     /* the backend chose the next token and scored it; engine thread only */
    float chosen_logprob;   /* its score, without logits; engine thread only */
    bool cancelled;         /* set by the HTTP side; honoured at the next step */
    struct sampler sampler; /* engine thread only */
    struct answer answer;   /* engine thread only */
    struct stream *stream;  /* where its text goes (serve/stream.h); one reference */
    struct live_record *live; /* its record; stamped under live->lock */
    double joules_from;       /* engine.joules_each at its admission */
    struct seq *next;         /* in its queue */
};

/* Frees the request's own memory; its blocks, stream and record are the caller's. */
void seq_free(struct seq *s);

struct engine {
    struct backend *backend;
    const struct tokenizer *tokenizer;
    const struct policy_ops *policy;
    void *policy_state;
    struct clock clock;
    struct records *records;
    struct kv_pool *kv; /* engine thread only */
    bool prefix_cache;  /* never changes, nor does the next */
    struct step_log *step_log;
    struct energy_meter *energy;     /* NULL: joules are not measured */
    struct speculation *speculation; /* NULL: no draft model. Engine thread only */

    pthread_mutex_t lock;          /* guards all below */
    pthread_cond_t work;           /* signalled on submit, cancel and shutdown */
    struct seq *waiting, *running; /* in order of arrival (preempted first); of admission */
    int32_t n_waiting, n_running, max_waiting;
    int64_t next_id;
    int32_t free_kv_blocks; /* of *kv, for engine_load_of */
    const char *lost;       /* backend->lost, likewise */
    bool draining;          /* accept no request, finish the others */
    bool stopping;          /* accept no request, cancel the others */
    /* What the meter showed last, and what a request that ran all the time would have used: the
     * running requests of a moment have equal shares of its energy. */
    double joules_seen, joules_each;

    /* scratch of the engine thread */
    float *logits;                                      /* (max_seqs, vocab_size) */
    struct backend_choice *choices;                     /* (backend_max_logits) by row of a step */
    struct policy_request *waiting_view, *running_view; /* (max_waiting), (max_seqs) */
    struct policy_action *actions;                      /* (max_waiting + max_seqs) */
    struct backend_seq *batch;                          /* (max_seqs) */
    struct seq **batch_of; /* (max_seqs) the sequence of each part of the batch */

    pthread_t thread;
    bool started;
};

/* ---- the step ------------------------------------------------------------------------------- */

enum engine_progress {
    ENGINE_WORKED, /* an iteration ran or a request ended */
    ENGINE_IDLE,   /* nothing to do until a submit, a cancel or *wake_ns */
    ENGINE_FAULT /* the backend or the policy failed; every request of the batch was failed with *e
                  */
};

/* One iteration. Only the engine thread calls it, without holding the lock; it holds the lock
 * except while the backend computes. *wake_ns: when to call it again even if nothing happens until
 * then (INT64_MAX: never). *e is set with ENGINE_FAULT. */
enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e);

/* The functions that engine_step calls, all of them with the lock held. Given (engine_queue.c).
 *
 * Ends every request whose client has gone away; true when there was one. */
bool engine_drop_cancelled(struct engine *g);
/* The queue as the policy sees it now. It points into the engine's scratch: valid until the next
 * call. */
struct policy_view engine_view(struct engine *g);
/* A request by id, waiting or running; NULL when it isn't there. */
struct seq *engine_find(struct engine *g, int64_t id);
/* Moves a request from the waiting queue to the end of the running set, and back: a preempted
 * request goes before those that never ran. Its blocks are unchanged and no event is stamped. */
void engine_to_running(struct engine *g, struct seq *s);
void engine_to_waiting(struct engine *g, struct seq *s);
/* Pushes the log-probabilities of a token that was chosen, if the request asks for them. False when
 * memory is out: then the request was ended. */
bool engine_push_scores(struct engine *g, struct seq *s, const float *logits, int32_t id);
/* A request may ask for the log-probabilities of its prompt. Its part of batch[0..n) then wants the
 * logits of all its tokens, and is cut so that the batch wants those of max_seqs tokens at most. */
void engine_want_prompt_scores(struct engine *g, int32_t n);
/* Pushes those of the prompt's tokens that the part's logits predict. False as above. */
bool engine_push_prompt_scores(struct engine *g, struct seq *s, const struct backend_seq *part,
                               const float *logits);
/* Computes batch[0..n) into g->logits: backend_step, and with a draft model the drafts before it
 * (serve/speculation.h). A backend may choose tokens itself, where a request needs no logits for
 * anything else: then its sampler knows the id, and its row of g->logits holds nothing. The lock is
 * *not* held. 0, or -1 and *e. */
int engine_compute(struct engine *g, int32_t n, struct err *e);
/* After the results were taken: where the token that was chosen is the one that was drafted, the
 * step after it is computed already. Makes batch[0..m), batch_of and logits those of these steps
 * and returns m, for their results to be taken likewise. 0: there are none (left). */
int32_t engine_take_drafted(struct engine *g);
/* A step over batch[0..n) began at start_ns and ended just now: a line in the step log. */
void engine_note_step(struct engine *g, int32_t n, int64_t start_ns);
/* Ends the request: gives its blocks back, closes its stream and frees it. `why` is the finish
 * reason with STREAM_DONE, otherwise the message. Stamps request_rejected and request_cancelled.
 * request_failed is stamped at the connection, where it is known whether the answer has begun: then
 * the fault is an error inside the answer, otherwise an HTTP 500. */
void engine_end(struct engine *g, struct seq *s, enum stream_state how, const char *why);

/* ---- from outside ---------------------------------------------------------------------------- */

struct engine_options {
    struct backend *backend; /* must outlive the engine, as must the next two */
    const struct tokenizer *tokenizer;
    struct records *records;
    const struct policy_ops *policy;
    const char *policy_arg; /* "" for none */
    struct clock clock;
    int32_t max_waiting;         /* further requests get SUBMIT_FULL */
    bool prefix_cache;           /* reuse the KV blocks of prompts that begin alike */
    struct step_log *step_log;   /* NULL: steps are not logged; the caller closes it */
    struct energy_meter *energy; /* NULL: joules are not measured; the caller closes it */
    struct backend *draft;       /* outlives the engine; NULL: no speculative decoding */
    int32_t draft_tokens; /* most tokens drafted for a sequence in a step; >= 1 with a draft */
};

/* NULL and *e when memory is out, or the parts don't fit each other. */
struct engine *engine_create(const struct engine_options *o, struct err *e);
/* Starts the engine thread; -1 and *e when it can't. A test may call engine_step itself instead. */
int engine_start(struct engine *g, struct err *e);
/* Call it after engine_stop. Waits for the thread and ends the remaining requests as cancelled. */
void engine_join(struct engine *g);
/* Stops and joins unless that was done, and frees everything; NULL is allowed. */
void engine_free(struct engine *g);

/* The arguments of engine_submit. */
struct engine_request {
    const int32_t *prompt; /* (n_prompt), copied */
    int32_t n_prompt;
    int32_t max_output; /* >= 0; n_prompt + max_output <= backend->info.max_seq_tokens */
    struct sampler_config sampling;  /* copied; of its rules, the engine sets prompt and ends */
    const struct answer_stop *stops; /* (n_stops), copied */
    int32_t n_stops;
    bool ignore_end;
    bool scores;           /* push the log-probabilities of each chosen token, the end token too */
    bool prompt_scores;    /* of each token of the prompt as well; needs `scores` */
    int32_t top_scores;    /* and of so many most likely tokens beside each */
    int32_t ends_after;    /* > 0: the answer ends with "stop" after so many tokens, whatever they
                              are: a length that a workload states */
    int64_t arrival_ns;    /* request_accepted */
    struct stream *stream; /* the engine takes its own reference */
    struct live_record *live; /* held until the stream is closed */
};

enum engine_submit {
    SUBMIT_OK,
    SUBMIT_FULL,      /* max_waiting requests wait */
    SUBMIT_TOO_LARGE, /* prompt and max_output need more KV blocks than the whole cache has */
    SUBMIT_DRAINING,
    SUBMIT_NO_MEMORY
};
/* Queues n requests, all of them or none; ids[i] names request i for engine_cancel. */
enum engine_submit engine_submit_all(struct engine *g, const struct engine_request *r, int32_t n,
                                     int64_t *ids);
/* Queues one. */
enum engine_submit engine_submit(struct engine *g, const struct engine_request *r, int64_t *id);

/* The client is gone: the next step drops the request and stamps request_cancelled. False when the
 * request has ended already; then nothing is stamped. */
bool engine_cancel(struct engine *g, int64_t id);

/* Accepts no request from now on; the others go on. */
void engine_drain(struct engine *g);
/* Cancels every request at the next step, then the thread ends. */
void engine_stop(struct engine *g);

struct engine_load {
    int32_t waiting, running;
    int32_t kv_blocks, free_kv_blocks; /* after the last step */
    const char *lost; /* why the backend can compute no more, valid until engine_free; or NULL */
};
struct engine_load engine_load_of(struct engine *g);

#endif
