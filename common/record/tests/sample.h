/* sample.h: a delivered record with the six events, for tests. */
#ifndef SERVELAB_RECORD_TESTS_SAMPLE_H
#define SERVELAB_RECORD_TESTS_SAMPLE_H

#include "record/record.h"

#include <check.h>
#include <string.h>

static inline void sample_add(struct record *r, enum event_kind kind, enum clock_id clock,
                              int64_t t_ns, int32_t tokens) {
    static const char *const apis[] = {"performance.now", "CLOCK_MONOTONIC", "cudaEventElapsedTime",
                                       "simulated"};
    struct event ev = {.kind = kind, .clock = clock, .t_ns = t_ns, .tokens = tokens};
    ev.source = clock == CLOCK_BROWSER ? SRC_BROWSER : SRC_SERVER_LOG;
    strcpy(ev.clock_api, apis[clock]);
    if (kind == EV_GPU_START || kind == EV_GPU_END) strcpy(ev.range, "prefill");
    ck_assert_int_eq(record_add_event(r, &ev, NULL), 0);
}

/* events[0..6): submitted, accepted, admitted, first_token, first_byte, final_byte. */
static inline void sample_record(struct record *r, const char *request_id, int32_t attempt) {
    record_init(r);
    strcpy(r->request_id, request_id);
    r->attempt = attempt;
    strcpy(r->workload.model, "tiny");
    r->workload.prompt_tokens = 2048;
    r->workload.max_output_tokens = 256;
    r->workload.output_tokens = 181;
    sample_add(r, EV_REQUEST_SUBMITTED, CLOCK_BROWSER, 1000, 0);
    sample_add(r, EV_REQUEST_ACCEPTED, CLOCK_SERVER, 700000, 0);
    sample_add(r, EV_REQUEST_ADMITTED, CLOCK_SERVER, 750000, 0);
    sample_add(r, EV_FIRST_TOKEN, CLOCK_SERVER, 5700000, 0);
    sample_add(r, EV_FIRST_BYTE_RECEIVED, CLOCK_BROWSER, 5101000, 0);
    sample_add(r, EV_FINAL_BYTE_RECEIVED, CLOCK_BROWSER, 50001000, 0);
    r->outcome.delivered = true;
    r->outcome.http_status = 200;
    strcpy(r->outcome.finish_reason, "stop");
    strcpy(r->quality.check, "key-recall/1");
    r->quality.verdict = VERDICT_PASSED;
}

#endif
