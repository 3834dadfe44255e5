/* request.h: one simulated request as it arrives, from a workload (workload.h) to a simulated
 * server (sim/sim.h). */
#ifndef SERVELAB_WORKLOAD_REQUEST_H
#define SERVELAB_WORKLOAD_REQUEST_H

#include <stdint.h>

struct sim_request {
    int64_t id;
    int64_t arrival_ns;
    int32_t prompt_tokens;
    int32_t output_tokens;     /* number of tokens it generates; the policy doesn't see it */
    int32_t max_output_tokens; /* what the policy sees; >= output_tokens */
    int32_t wanted_tokens;  /* number of tokens without max_output_tokens; if > output_tokens, the
                               request ends truncated; 0 means output_tokens */
    int32_t fail_after;     /* the request fails after this many tokens; 0 or > output_tokens: it
                               doesn't */
    int64_t service_ns;     /* COST_SERVICE (sim/cost.h) only */
    uint64_t prefix_hash;   /* of the first prefix block; 0: nothing is shared */
    const uint64_t *prefix; /* (n_prefix) hashes of the prompt's blocks of prefix_unit tokens, for
                               prefix reuse; owned by the workload; NULL: not known */
    int32_t n_prefix, prefix_unit;
};

#endif
