/* traces.h: reads recorded workloads in four published formats.
 *
 *   azure     CSV: TIMESTAMP (UTC, "2023-11-16 18:15:46.6805900", up to 9 digits or none, with or
 *             without "+00:00": the 2024 files have both kinds), ContextTokens, GeneratedTokens.
 *             Patel et al., Splitwise, ISCA 2024; Stojkovic et al., DynamoLLM, HPCA 2025
 *             (github.com/Azure/AzurePublicDataset)
 *   mooncake  JSON lines: timestamp in milliseconds, input_length, output_length, and
 *             optionally hash_ids (one per 512 tokens of the prompt, from 0 to 2^64 - 1; equal ids
 *             mean equal beginnings; null is an absent list).
 *             Qin et al., Mooncake, FAST 2025 (github.com/kvcache-ai/Mooncake)
 *   burstgpt  CSV: Timestamp in seconds, "Request tokens", "Response tokens"; Model, Total tokens,
 *             Log Type, and in the third file Session ID and Elapsed time aren't used.
 *             Wang et al., BurstGPT, KDD 2025 (github.com/HPMLL/BurstGPT)
 *   vidur     CSV: arrived_at in seconds, num_prefill_tokens, num_decode_tokens.
 *             Agrawal et al., Vidur, MLSys 2024 (github.com/microsoft/vidur, data/processed_traces)
 *
 * The columns of a CSV are found by their names in its first line, in any order; other columns are
 * ignored. Quoted fields aren't supported: none of the files has them. Blank lines are skipped; LF,
 * CRLF, a byte order mark and a missing last line end are accepted. Unsorted rows are sorted by
 * time, equal times in the order of the file.
 *
 * Time 0 is the first arrival. BurstGPT's times are whole seconds: the requests of one second come
 * as one group. Times are rounded to the ns, never through a double.
 *
 * A row with 0 prompt or output tokens is a real request: it is kept with one token, and counted.
 * In BurstGPT a response of 0 tokens marks a request that failed on the recorded server. That is
 * not a property of the load, and without the row the load would be lighter than it was, so that it
 * is kept like any other row of 0 tokens. If you want only the others, use the published file
 * without failures.
 *
 * A bad row is an error with its line and column, or with skip_bad_rows counted and left out. Bad
 * are a wrong number of fields, a token count that isn't a whole number from 0 to 10^8 in digits, a
 * time that is negative or not a number or date, a line over 1 MiB, anything but strict JSON, and
 * more hash_ids than the prompt has blocks. Memory: 32 bytes a row, 8 more a prefix block.
 */
#ifndef SERVELAB_WORKLOAD_TRACES_H
#define SERVELAB_WORKLOAD_TRACES_H

#include "workload/workload.h"

enum { TRACE_PREFIX_TOKENS = 512 }; /* a Mooncake prefix block */

struct trace_row {
    int64_t at_ns;                        /* since the first arrival */
    int32_t prompt_tokens, output_tokens; /* at least 1 */
    int64_t prefix_at; /* its hashes: prefixes[prefix_at .. prefix_at + n_prefix) */
    int32_t n_prefix;
    int32_t line; /* in the file */
};

struct trace {
    struct trace_row *rows; /* (n), by time */
    int64_t n, cap;
    uint64_t *prefixes; /* never 0, which means "not known" in a sim_request */
    int64_t n_prefixes, cap_prefixes;
    int32_t longest_output;
    struct workload_facts facts;
};

/* Reads a regular file, or standard input for "-" (only once; a sweep, which opens its workload for
 * each rate, needs a file). A trace without a good row is an error. 0, or -1 with *e (line, column)
 * and *t cleared. */
int trace_read(struct trace *t, const char *path, enum trace_format format, bool skip_bad_rows,
               struct err *e);
/* The same from an open descriptor, which the caller closes. */
int trace_read_fd(struct trace *t, int fd, enum trace_format format, bool skip_bad_rows,
                  struct err *e);
void trace_clear(struct trace *t);

#endif
