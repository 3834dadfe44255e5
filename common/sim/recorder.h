/* recorder.h: a run's events as request records, in lab 01's schema (record/record.h): clock "sim",
 * source "simulator".
 *
 * A recorder listens to a run (run_spec.event, run_spec.ended). When a request ends it makes the
 * record, lets lab 01's functions compute its intervals, pools its inter-token latencies, and
 * appends it to a log where one was asked for. Events that have no meaning of their own here are at
 * the instant that stands for them: a simulated request crosses no network, so that
 * request_submitted is at request_accepted, first_byte_received at first_token and
 * final_byte_received at response_finished.
 *
 * The intervals of the record must equal those of lab 02 (point_intervals) to the nanosecond: two
 * ways from the same events to the same figure. Where they differ, the recorder says so and the run
 * counts for nothing.
 *
 * The log is written beside its name, as FILE.partial, and gets the name when it is whole
 * (recorder_finish): FILE is never a part of a run. Two runs can't write one FILE.partial. A device
 * or a FIFO is written into as the run goes on, and stays what it is.
 */
#ifndef SERVELAB_SIM_RECORDER_H
#define SERVELAB_SIM_RECORDER_H

#include "objective/percentile.h"
#include "sim/sim.h"

struct recorder;

/* path NULL: no log, only the intervals. `model` goes into the records. NULL and *e when the log
 * can't be opened. */
struct recorder *recorder_create(const char *path, const char *model, struct err *e);

/* For run_spec: ctx is the recorder. */
void recorder_event(void *ctx, int64_t id, enum event_kind kind, int64_t t_ns);
void recorder_outcome(void *ctx, const struct sim_outcome *o);

/* Gives the log its name. 0, RECORDER_BAD when the log couldn't be written, RECORDER_OURS when the
 * two ways differed. */
enum { RECORDER_BAD = -1, RECORDER_OURS = -2 };
int recorder_finish(struct recorder *r, struct err *e);

/* Without recorder_finish before it: the partial log is removed. */
void recorder_free(struct recorder *r);

/* The gaps between the tokens of requests that arrived at from_ns or later and were complete,
 * pooled per token (intervals_itl). A request that ended otherwise counts as one failed
 * observation. */
struct percentile recorder_itl(const struct recorder *r, int64_t from_ns, int32_t percentile_milli);

#endif
