/* machine.h: the machine that a submission's engine runs on: virtual time, a KV cache that holds
 * token ids, and the next token of a sequence.
 *
 * The machine is in the grader. The engine's backend, in the child, sends each step to it as a
 * query. So a token is only known to an engine that asks for it with the right tokens in the right
 * blocks, and time passes only here. The next token is a keyed function of the whole sequence, read
 * back through the block table: a lost, doubled or foreign block changes every token after it.
 *
 * For the sanitizers' checks, which compare nothing, the child has a machine of its own.
 */
#ifndef SERVELAB_GRADER_LAB04_MACHINE_H
#define SERVELAB_GRADER_LAB04_MACHINE_H

#include "base/kv_block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MACHINE_VOCAB = 90, /* token id t is the character ' ' + t; id 0 ends an answer */
    MACHINE_END = 0,
    MACHINE_MAX_REQUESTS = 28,
    MACHINE_MAX_PROMPT = 120,
    MACHINE_MAX_OUTPUT = 40,
    MACHINE_MAX_SEQ = MACHINE_MAX_PROMPT + MACHINE_MAX_OUTPUT,
    MACHINE_MAX_BLOCKS = 160,
    MACHINE_MAX_SEQS = 16,
    MACHINE_KEEN = 64, /* as a group: the policy that preempts (child/lab04_policy.c) */
    MACHINE_MAX_STEPS = 6000,
    MACHINE_MAX_QUERY = 2000, /* numbers of one query; wire.h bounds its bytes */
    MACHINE_MAX_REPLY = 3 + MACHINE_MAX_SEQS
};

struct machine_request {
    int64_t arrival_ns;
    int32_t n_prompt, max_output, ends_after;
    bool ignore_end;
    int32_t cancel_at; /* the client leaves when so many tokens were delivered; -1: never */
    int32_t reads;     /* -1: all of it. Otherwise its client reads nothing, and the stream has room
                          for so many more tokens */
    int32_t prompt[MACHINE_MAX_PROMPT];
};

struct machine_config {
    bool local; /* the child runs it */
    int64_t key;
    int32_t kv_blocks, token_budget, max_running, group; /* 0: continuous batching */
    bool prefix_cache;
    int32_t fail_at;     /* the step that fails; -1: none */
    int32_t odd_at;      /* the step whose first row of logits is not finite; -1: none */
    int32_t cancel_step; /* during this step the client of request cancel_id leaves; -1: never */
    int32_t cancel_id;
    int64_t setup_ns, per_token_ns; /* a step of n tokens takes setup + n * per_token */
    int32_t n_requests;
    struct machine_request request[MACHINE_MAX_REQUESTS];
};

/* What a case holds of it, as numbers: `out` has room for MACHINE_CONFIG_NUMBERS. Returns how many;
 * 0 when n numbers are not a configuration. With `hide`, the key is not written. */
enum { MACHINE_CONFIG_NUMBERS = 16 + MACHINE_MAX_REQUESTS * (7 + MACHINE_MAX_PROMPT) };
size_t machine_config_write(const struct machine_config *c, bool hide, int64_t *out);
bool machine_config_read(struct machine_config *c, const int64_t *v, size_t n);

/* The whole answer of a request: returns its number of tokens; *stops: it ends with "stop". */
int32_t machine_answer(const struct machine_config *c, const struct machine_request *r,
                       int32_t *tokens, bool *stops);

/* What the machine saw of one request. */
struct machine_seen {
    int32_t n_delivered, end; /* enum stream_state when its end was reported; 0 before */
    int64_t first_ns, end_ns; /* when its first token, and its end, were delivered; -1 */
    int64_t token_ns;         /* when its first token was computed; -1 */
    int64_t began_ns;         /* the start of the step that computed its first prompt tokens; -1 */
    int64_t begins;           /* steps that began it at position 0 */
    bool in_failed;           /* it was in the batch that failed, or got the odd logits */
    bool wrong;               /* what was delivered is not its answer */
};

struct machine {
    struct machine_config c;
    int64_t now_ns, computed;      /* tokens */
    int32_t steps, failed, locked; /* locked: of the steps, those during which nobody can submit */
    int32_t kv[MACHINE_MAX_BLOCKS * KV_BLOCK_TOKENS]; /* -1: nothing was written there */
    struct machine_seen seen[MACHINE_MAX_REQUESTS];
    int32_t answer[MACHINE_MAX_REQUESTS][MACHINE_MAX_OUTPUT], n_answer[MACHINE_MAX_REQUESTS];
    bool stops[MACHINE_MAX_REQUESTS];
    int64_t starts[MACHINE_MAX_STEPS]; /* of the steps, (steps) */
    bool by_first_token;               /* each prompt's first token is its own */
    char fault[200];                   /* the first rule that a step broke; "" */
};
void machine_init(struct machine *m, const struct machine_config *c);

/* Runs one query, q[0..n), and writes the reply: returns its length, or 0 when it is not a query. A
 * query is
 *   kind, until_ns, deliveries, for each: request, end, tokens, ids...
 * and for a step: whether the engine's lock is held, parts, for each: tokens, pos0, want_logits,
 * blocks, ids..., block numbers... The reply: failed, now_ns, for each part that wants one an id,
 * or what its logits are instead. */
enum { MACHINE_NAN = -1, MACHINE_INFINITE = -2 };
enum { MACHINE_STEP, MACHINE_IDLE, MACHINE_LAST };
size_t machine_run(struct machine *m, const int64_t *q, size_t n, int64_t *reply);

#endif
