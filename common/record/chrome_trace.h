/* chrome_trace.h: request records and engine steps as a Chrome trace, the JSON that
 * Chromium's Performance panel and Perfetto show (the format "Trace Event Format", JSON object
 * form).
 *
 * One process per clock, because two clocks share no zero: "server" with a lane per request and a
 * lane "engine" for the steps, "browser" with a lane per request. A request's slices on the server
 * are its phases:
 *   queued    request_accepted or request_preempted to request_admitted or request_resumed
 *   prefill   request_admitted or request_resumed to first_token
 *   decode    first_token or request_resumed to the next preemption or the end
 * and on the browser: waiting (request_submitted to first_byte_received) and receiving (to
 * final_byte_received). Each token_sent is an instant. Times are microseconds with three decimals
 * from the first event of that clock.
 *
 * Records are added one by one and written at once; memory does not grow with their number.
 */
#ifndef SERVELAB_RECORD_CHROME_TRACE_H
#define SERVELAB_RECORD_CHROME_TRACE_H

#include "record/record.h"

#include <stdbool.h>
#include <stdio.h>

struct chrome_trace {
    FILE *out;
    bool began;            /* an event was written: the next one needs a comma */
    int64_t zero[CLOCK_N]; /* the first time seen on each clock; -1 before */
    int64_t lanes, steps;  /* requests and steps so far */
};

/* Writes the beginning. `zero_ns`: the earliest time of each clock in what will be added, -1 where
 * a clock has none. */
void chrome_trace_begin(struct chrome_trace *t, FILE *out, const int64_t zero_ns[CLOCK_N]);
void chrome_trace_record(struct chrome_trace *t, const struct record *r);

/* One step of the engine. `args`: a JSON object with what it computed, printed as it is. */
void chrome_trace_step(struct chrome_trace *t, int64_t start_ns, int64_t end_ns, const char *name,
                       const char *args);
void chrome_trace_end(struct chrome_trace *t);

/* Makes zero_ns[] of all clocks the minimum with the record's events. */
void chrome_trace_zero(const struct record *r, int64_t zero_ns[CLOCK_N]);

#endif
