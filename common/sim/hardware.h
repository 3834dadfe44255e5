/* hardware.h: the cost model (cost.h) and the cache size of a known LLM on a known GPU.
 *
 * Each member of a deployment changes the cost model by a published formula; hardware.c has the
 * formula, its source and its assumptions. Bandwidth, operations/s and overhead are fitted to
 * measurements (calibration.h); calibration/README.md has the errors on points that weren't fitted.
 *
 * What the model gives: a prompt of 2,048 tokens, an answer of 256, Llama-2-7B at 16 bits, one
 * GPU with 80 GiB. A test computes this table with the code below.
 *
 *                                                          A100       H100
 *   prefill of the prompt                                131 ms      45 ms
 *   one more token, alone                               10.1 ms     6.3 ms
 *   the whole answer, alone                              2.71 s     1.66 s
 *   requests whose cache fits                                52         52
 *   one more token for each, all of these together      48.3 ms    29.3 ms
 *   tokens/s in decode, alone                                99        158
 *   tokens/s in decode, together                           1076       1774
 *   requests/s at most, prefill included                    2.7        5.3
 *   tokens in a pass where operations overtake bytes        138        245
 *   cache read / weights read, together                     4.6        4.6
 *
 * How to read it, for the A100:
 * - Prefill has 2,048 tokens for each reading of the weights, far beyond the 138 where operations
 *   take over: it is as fast as the GPU computes. Decode alone has one: it is as fast as the GPU
 *   reads 13 GB. So the prompt's 2,048 tokens cost as much as 13 tokens of the answer.
 * - A person alone on the GPU waits 5 % of the time for the first token and 95 % for the rest.
 *   Faster arithmetic would hardly be felt; fewer weight bits would.
 * - 52 requests at once yield not 52 but 11 times the tokens, because attention isn't shared: the
 *   caches read in each step are 4.6 times the weights. A model with fewer KV heads, or fewer KV
 *   bits, moves that limit, and lets more requests in.
 * - At full load 36 % of the time goes into prefill. While one runs, the others' decode waits: a
 * gap of 131 ms between two tokens where 48 ms is usual. That is what chunked prefill is for.
 */
#ifndef SERVELAB_SIM_HARDWARE_H
#define SERVELAB_SIM_HARDWARE_H

#include "base/err.h"
#include "sim/cost.h"

#include <stdbool.h>

struct model_shape {
    const char *name; /* "llama-2-7b" */
    int32_t width, layers, heads, kv_heads, head_size, ffn, vocabulary;
    int64_t parameters;
    int32_t experts, active_experts; /* 1, 1 for a dense model */
    bool tied;                       /* the output matrix is the embedding */
};

struct gpu {
    const char *name; /* "a100", "h100" */
    int64_t memory_bytes;
    double bandwidth, flops; /* data sheet: bytes/s, dense 16-bit operations/s */
    int64_t effective_bandwidth, effective_flops, overhead_ns; /* calibrated; overhead_ns is of
                                                                  CALIBRATED_LAYERS layers */
};

struct deployment {
    const struct model_shape *model;
    const struct gpu *gpu;
    int weight_bits, kv_bits; /* 16, 8, 4 */
    int draft_tokens;         /* speculative decoding: drafted a round; 0 is off */
    double acceptance;        /* probability that a drafted token is accepted, 0 .. 1 */
    double draft_cost;        /* time of one draft step / time of one target step */
    bool fused;               /* fused operators: fewer launches an iteration */
    double memory_reserve;    /* share of memory kept for activations and workspace */
};

/* The defaults: 16 bit, no speculation, fused, 10 % reserve. -1 and *e, which lists the known names
 * and suggests the nearest. */
int deployment_find(const char *model, const char *gpu, struct deployment *out, struct err *e);

/* 0 and *out, or -1 and *e naming the member that is out of range. */
int deployment_cost(const struct deployment *d, struct cost_model *out, struct err *e);

/* The number of blocks of KV_BLOCK_TOKENS tokens that fit beside the weights. -1 and *e: not even
 * one does. */
int64_t deployment_kv_blocks(const struct deployment *d, struct err *e);

/* ---- parts of the above ---- */

/* Bytes of the weights on the GPU, and of one token's keys and values in all layers. */
int64_t deployment_weight_bytes(const struct deployment *d);
int64_t deployment_kv_bytes_per_token(const struct deployment *d);

/* Speculative decoding: mean tokens of a round; 1 when it is off. A simulated decode iteration
 * still gives one token and is 1 / this of a round. So times and throughput are right, but the
 * simulator counts this many times as many iterations (and IPS) as a real engine has passes over
 * the target; divide by it to compare. */
double deployment_tokens_per_round(const struct deployment *d);

/* Expected number of experts of one layer that at least one of `tokens` tokens uses, in 1/65536. */
int64_t experts_touched_65536(int32_t experts, int32_t active, int64_t tokens);

/* Empty token slots in a sequence's last KV block (internal fragmentation): 0 .. 15, 7.5 on average
 * over lengths. Paged attention has no other fragmentation. */
int32_t kv_unused_slots(int32_t tokens);

#endif
