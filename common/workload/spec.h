/* spec.h: parses the texts of a workload_spec (names, lengths, lists) and checks a whole spec.
 *
 *   --arrivals poisson|gamma|on-off|closed      spec_arrivals
 *   --trace-format azure|mooncake|burstgpt|vidur   spec_trace_format
 *   --arrivals-ms 0,1,2.5                       spec_list_ms
 *   --prompt-tokens N or LO:HI                  spec_lengths
 * Not here: option parsing, defaults, printing.
 */
#ifndef SERVELAB_WORKLOAD_SPEC_H
#define SERVELAB_WORKLOAD_SPEC_H

#include "workload/workload.h"

/* Most prompt or output tokens of a request; the simulator takes up to 2^29. */
enum { SPEC_MAX_TOKENS = 100 * 1000 * 1000 };
enum { SPEC_MAX_LIST = 10 * 1000 * 1000 };
#define SPEC_MAX_REQUESTS INT64_C(1000000000000)

/* Each returns 0, or -1 and *e with e->field set to `flag` and the choices in the text. */
int spec_arrivals(const char *flag, const char *text, enum arrivals *out, struct err *e);
int spec_trace_format(const char *flag, const char *text, enum trace_format *out, struct err *e);
int spec_lengths(const char *flag, const char *text, struct lengths *out, struct err *e);
/* Sorted times in ms from 0 to 10^9, with decimals down to 1 ns. The caller frees *out. */
int spec_list_ms(const char *flag, const char *text, int64_t **out, int64_t *n, struct err *e);

const char *spec_arrivals_name(enum arrivals a);
const char *spec_trace_format_name(enum trace_format f);

/* Checks the rules of workload.h for the fields of a spec, but doesn't open the trace.
 * workload_open calls it. 0, or -1 and *e naming the flag. */
int spec_check(const struct workload_spec *s, struct err *e);

#endif
