/* policies.h: the reference policies by name; they implement policy.h, for the simulator and the
 * server.
 *
 * When blocks run out, `continuous` and `chunked` preempt the request admitted last: it loses the
 * least work, and the first one is never preempted, so that every run makes progress.
 *
 * A request is overtaken if one that arrived later is admitted before it. No policy overtakes,
 * except shortest-first: there a request with a prompt of n tokens can only be overtaken by
 * requests that arrive less than n ms after it. (policy.c has the guarantees of the learner's
 * policies.)
 */
// clang-format off
/*   single              first come, first served, one at a time
 *   wait-for-n:N        groups of N; the last may be smaller and runs when no request will arrive
 *   wait-for-time:MS    or wait-for-time:MS,N: a group goes when its first request has waited MS,
 *                       or when N are there (8 unless stated)
 *   static:N            up to N of those waiting whenever the worker is free; no request joins
 *                       until all of them are done
 *   continuous          continuous batching, prefill first (Orca: Yu et al., OSDI 2022): a request
 *                       that fits joins at the next iteration; an iteration is all prefill or all
 *                       decode
 *   chunked             continuous batching with chunked prefill (Sarathi-Serve: Agrawal et al.,
 *                       OSDI 2024): every iteration decodes all running requests, and uses the
 *                       rest of the token budget for a piece of prefill
 *   shortest-first      one at a time, shortest prompt first; a request's priority grows by one
 *                       prompt token for each millisecond that it waits, so that no request
 *                       waits for ever
 *   learner             policy.c (lab 02), what the server runs
 *   learner-batch:N     likewise: groups of up to N
 */
// clang-format on
#ifndef SERVELAB_SCHED_POLICIES_H
#define SERVELAB_SCHED_POLICIES_H

#include "sched/policy.h"

/* Finds the policy of a text like "wait-for-n:4". *arg is the text after the colon, or "". NULL and
 * *e, which lists the names and suggests the nearest: there is no such policy. */
const struct policy_ops *policy_find(const char *text, const char **arg, struct err *e);

#endif
