/* traces.h: recorded workloads, read as published.
 *
 * (first state: only the types; the readers follow)
 */
#ifndef SERVELAB_WORKLOAD_TRACES_H
#define SERVELAB_WORKLOAD_TRACES_H

#include "workload/workload.h"

enum { TRACE_PREFIX_TOKENS = 512 }; /* a Mooncake prefix block */

struct trace_row {
    int64_t at_ns;
    int32_t prompt_tokens, output_tokens;
    int64_t prefix_at;
    int32_t n_prefix;
    int32_t line;
};

struct trace {
    struct trace_row *rows;
    int64_t n;
    uint64_t *prefixes;
    int32_t longest_output;
    struct workload_facts facts;
};

int trace_read(struct trace *t, const char *path, enum trace_format format, bool skip_bad_rows,
               struct err *e);
void trace_clear(struct trace *t);

#endif
