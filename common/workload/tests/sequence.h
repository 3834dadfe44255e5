/* sequence.h: for tests: a digest of the requests of a workload, and a server simple enough to be
 * seen through: one worker, first come first served, SERVICE_NS each. */
#ifndef SERVELAB_WORKLOAD_TESTS_SEQUENCE_H
#define SERVELAB_WORKLOAD_TESTS_SEQUENCE_H

#include "base/clock.h"
#include "workload/workload.h"

enum { SERVICE_NS = 5 * 1000 * 1000 };

/* FNV-1a over the fields that a run depends on, as little-endian 64-bit numbers. */
static inline uint64_t digest_add(uint64_t h, int64_t v) {
    for (int i = 0; i < 8; i++) h = (h ^ ((uint64_t)v >> (8 * i) & 0xff)) * UINT64_C(0x100000001b3);
    return h;
}
#define DIGEST_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t digest_request(uint64_t h, const struct sim_request *r) {
    h = digest_add(digest_add(h, r->id), r->arrival_ns);
    h = digest_add(digest_add(h, r->prompt_tokens), r->output_tokens);
    h = digest_add(digest_add(h, r->max_output_tokens), r->wanted_tokens);
    h = digest_add(digest_add(h, r->fail_after), (int64_t)r->prefix_hash);
    for (int32_t i = 0; i < r->n_prefix; i++) h = digest_add(h, (int64_t)r->prefix[i]);
    return h;
}

/* Up to `cap` requests into out[]; how many. The ends of a closed loop come from the simple server.
 * -1 and *e on an error. */
static inline int64_t take_requests(struct workload *w, struct sim_request *out, int64_t cap,
                                    struct err *e) {
    int64_t n = 0, ended = 0, free_at = 0, end_ns = 0;
    while (n < cap) {
        /* the first end that isn't reported yet, if it comes before the next arrival */
        while (ended < n) {
            int64_t start = out[ended].arrival_ns > free_at ? out[ended].arrival_ns : free_at;
            end_ns = start + SERVICE_NS;
            if (end_ns > workload_peek_ns(w)) break;
            free_at = end_ns;
            ended++;
            workload_ended(w, end_ns);
        }
        int got = workload_next(w, &out[n], e);
        if (got < 0) return -1;
        if (got != 1) return n;
        n++;
    }
    return n;
}

#endif
