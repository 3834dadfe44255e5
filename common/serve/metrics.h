/* metrics.h: counts what a server's requests did and prints it for GET /metrics, as Prometheus text
 * with the names and buckets of vLLM 0.33.0 (vllm/v1/metrics/loggers.py, buckets.py).
 *
 * Everything but the gauges is counted once per attempt, when its server's half is complete, from
 * its record alone: an event or field of record.h. So sums and counts equal those of the log to the
 * nanosecond, whatever the client posts later. A request that runs is not in these numbers yet;
 * vLLM counts each step of its engine. The metrics, each with its two events or its field:
 *
 *   - vllm:time_to_first_token_seconds: first_token - request_accepted, of each attempt with
 *     both, cancelled or not. vLLM begins at the arrival in its front end.
 *   - vllm:inter_token_latency_seconds: token_sent - token_sent before, of those that carry
 *     tokens. One observation a gap, also if several tokens came in it. An answer that is not
 *     streamed has no gaps here. vLLM takes the time between the outputs of its engine's
 *     steps.
 *   - vllm:time_per_output_token_seconds: the same numbers under the name that vLLM used
 *     before it renamed the metric.
 *   - vllm:request_time_per_output_token_seconds: (last - first token_sent with tokens) /
 *     (output_tokens - 1), rounded to a nanosecond, of each finished attempt with two such
 *     events and two tokens. vLLM observes 0 for an answer of one token.
 *   - vllm:e2e_request_latency_seconds: response_finished - request_accepted, of each finished
 *     attempt.
 *   - vllm:request_queue_time_seconds: request_admitted - tokenization_finished, of each
 *     attempt with both. It begins after tokenization, as vLLM's does; queue_delay
 *     (intervals.h) begins before.
 *   - vllm:request_success_total: attempts that were not refused, by finished_reason. Finished
 *     are "stop" and "length": response_finished without an error; "stop" is every finish
 *     reason but length. The others are "abort" (request_cancelled) and "error"
 *     (request_failed, or an error inside the answer). vLLM doesn't count what its client
 *     aborts.
 *   - vllm:admission_rejections_total: attempts that found the queue full (HTTP 429).
 *   - servelab:requests_refused_total: attempts with request_rejected, those with 429 among
 *     them. Every attempt is in this counter or in request_success.
 *   - vllm:prompt_tokens_total: workload.prompt_tokens of attempts with a first_token or a
 *     finish reason: the whole prompt was computed or found in the cache.
 *   - vllm:generation_tokens_total: workload.output_tokens of every attempt.
 *   - vllm:prefix_cache_queries_total: workload.prompt_tokens of the attempts that were looked
 *     up in the prefix cache.
 *   - vllm:prefix_cache_hits_total: workload.cached_prompt_tokens.
 *   - vllm:num_preemptions_total: request_preempted events.
 *   - vllm:spec_decode_num_drafts_total, vllm:spec_decode_num_draft_tokens_total,
 *     vllm:spec_decode_num_accepted_tokens_total: workload.draft_steps, draft_tokens and
 *     accepted_draft_tokens; only with a draft model, as in vLLM. Mean tokens of a step that checks
 *     drafts: 1 + accepted / drafts. vLLM also accepts drafted tokens behind the answer's end.
 *   - vllm:num_requests_running, vllm:num_requests_waiting, vllm:kv_cache_usage_perc: gauges
 *     of the engine now. The last is blocks in use / all blocks, from 0 to 1.
 *
 * Every sample has the labels model_name and engine="0". On a paced server (backend/paced.h) it has
 * the label paced, too: every time is then a simulated one.
 */
#ifndef SERVELAB_SERVE_METRICS_H
#define SERVELAB_SERVE_METRICS_H

#include "base/buffer.h"
#include "record/record.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metrics_histogram { MH_TTFT, MH_ITL, MH_TPOT, MH_E2E, MH_QUEUE, MH_N };
enum metrics_end { ME_STOP, ME_LENGTH, ME_ABORT, ME_ERROR, ME_N };
enum { METRICS_MAX_BUCKETS = 23 };

/* Zero-initialised: no attempt. The caller keeps a lock. */
struct metrics {
    struct {
        __int128 sum_ns; /* 64 bits are full after a year of 256 answers at a time */
        int64_t count;
        int64_t in[METRICS_MAX_BUCKETS]; /* of the bucket alone, not of those below */
    } histogram[MH_N];
    int64_t ended[ME_N], refused, queue_full;
    int64_t prompt_tokens, output_tokens, queried_tokens, cached_tokens, preemptions;
    int64_t draft_steps, draft_tokens, accepted_tokens;
};

/* Counts one attempt, whose server's half is complete. */
void metrics_add(struct metrics *m, const struct record *r);

/* What is not counted: the engine's load now, and the labels. */
struct metrics_now {
    const char *model_name;
    const char *paced; /* "llama-2-7b on h100"; NULL: real time */
    int32_t running, waiting, kv_blocks, free_kv_blocks;
    bool speculates; /* there is a draft model */
};
/* Appends the whole page. */
void metrics_print(struct buffer *b, const struct metrics *m, const struct metrics_now *now);

#endif
