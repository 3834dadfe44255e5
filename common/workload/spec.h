/* spec.h: a workload_spec from words: names, lengths, lists; and which combinations make sense.
 *
 * Offers what every command with these flags needs, so that their option tables stay thin:
 *   --arrivals poisson|gamma|on-off|closed      spec_arrivals
 *   --trace-format azure|mooncake|burstgpt|vidur   spec_trace_format
 *   --arrivals-ms 0,1,2.5                       spec_list_ms
 *   --prompt-tokens N or LO:HI                  spec_lengths
 * Not here: getopt, defaults, printing.
 */
#ifndef SERVELAB_WORKLOAD_SPEC_H
#define SERVELAB_WORKLOAD_SPEC_H

#include "workload/workload.h"

/* A request has at most so many tokens a side; the simulator takes up to 2^29. */
enum { SPEC_MAX_TOKENS = 100 * 1000 * 1000 };
enum { SPEC_MAX_LIST = 10 * 1000 * 1000 };
#define SPEC_MAX_REQUESTS INT64_C(1000000000000)

/* Each: 0, or -1 with e->field set to `flag` and the choices in the text. */
int spec_arrivals(const char *flag, const char *text, enum arrivals *out, struct err *e);
int spec_trace_format(const char *flag, const char *text, enum trace_format *out, struct err *e);
int spec_lengths(const char *flag, const char *text, struct lengths *out, struct err *e);
/* Times in ms from 0 to 10^9, sorted, decimals to the ns. *out is the caller's to free. */
int spec_list_ms(const char *flag, const char *text, int64_t **out, int64_t *n, struct err *e);

const char *spec_arrivals_name(enum arrivals a);
const char *spec_trace_format_name(enum trace_format f);

/* What workload.h says about the fields of a spec. workload_open calls it. 0, or -1 and *e naming
 * the flag; doesn't look at the trace. */
int spec_check(const struct workload_spec *s, struct err *e);

#endif
