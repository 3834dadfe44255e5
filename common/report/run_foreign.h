/* run_foreign.h: reads the result of another tool as a run: of `vllm bench serve --save-detailed`,
 * of AIPerf (profile_export.jsonl) and of GuideLLM (its JSON).
 *
 * A file is recognised by its content. Each request becomes an attempt with the times that the tool
 * states, by the tool's own definitions (common/DEFINITIONS.md, keys in brackets):
 *
 *   tool        submitted_ns        client_ttft     e2e ends with        tpot
 *   vLLM        start_times         ttfts           last counted chunk   (latency - ttft) /
 *               [V1]                                (latencies, or the   (tokens - 1)
 *                                                   sum of the gaps)
 *   AIPerf      request_start_ns    time_to_first_  request_latency:     inter_token_latency
 *               [A1] [A2]           token           last text
 *   GuideLLM    request_start       first_token_    request_end: the     (last_token_iteration -
 *               [G1] [G2]           iteration       stream is closed     first) / (tokens - 1)
 *
 * What a tool doesn't write is absent: the server's half, the scheduled send, finish reasons (no
 * truncation is seen), checks, and of a failed request its latencies. GuideLLM's "TPOT" is not
 * read: it contains the first token. A file of summaries alone is refused, because percentiles over
 * successful requests are no answer to an objective over all; the message names the file or the
 * flag that has the requests.
 */
#ifndef SERVELAB_REPORT_RUN_FOREIGN_H
#define SERVELAB_REPORT_RUN_FOREIGN_H

#include "report/run_read.h"

/* Fills run->attempts and run->source from the file at `path`. 1: done; 0: it is no other tool's
 * result; -1 and *e. */
int run_foreign_read(struct report_run *run, const char *path, struct err *e);

#endif
