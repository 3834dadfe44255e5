/* recorder.h: turns a run's events into request records in lab 01's schema (record/record.h), with
 * clock "sim" and source "simulator".
 *
 * A recorder receives the callbacks of a run (run_spec.event, run_spec.ended). When a request ends
 * it makes the record, computes its intervals with lab 01's functions, pools its inter-token
 * latencies, and appends it to the log, if there is one. A simulated request crosses no network, so
 * that request_submitted is at request_accepted, first_byte_received at first_token and
 * final_byte_received at response_finished.
 *
 * The intervals of the record must equal those of lab 02 (point_intervals) to the nanosecond: two
 * computations from the same events. If they differ, recorder_finish returns RECORDER_OURS and the
 * results must be discarded.
 *
 * The log is written as FILE.partial and renamed to FILE when it is complete (recorder_finish):
 * FILE never holds part of a run. Two runs can't write the same FILE.partial. A device or a FIFO is
 * written directly and not replaced.
 */
#ifndef SERVELAB_SIM_RECORDER_H
#define SERVELAB_SIM_RECORDER_H

#include "objective/percentile.h"
#include "sim/sim.h"

struct recorder;

/* path NULL: no log, only the intervals. `model` is the model's name in the records. NULL and *e:
 * the log can't be opened. */
struct recorder *recorder_create(const char *path, const char *model, struct err *e);

/* For run_spec: ctx is the recorder. */
void recorder_event(void *ctx, int64_t id, enum event_kind kind, int64_t t_ns);
void recorder_outcome(void *ctx, const struct sim_outcome *o);

/* Renames the log to its final name. 0; RECORDER_BAD and *e: the log couldn't be written;
 * RECORDER_OURS and *e: the two computations differ. */
enum { RECORDER_BAD = -1, RECORDER_OURS = -2 };
int recorder_finish(struct recorder *r, struct err *e);

/* Removes the partial log unless recorder_finish has succeeded. */
void recorder_free(struct recorder *r);

/* The gaps between the tokens of requests that arrived at from_ns or later and were complete,
 * pooled per token (intervals_itl). A request that ended otherwise counts as one failed
 * observation. */
struct percentile recorder_itl(const struct recorder *r, int64_t from_ns, int32_t percentile_milli);

#endif
