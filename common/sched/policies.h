/* policies.h: the reference policies by name. Each is a few lines over policy.h's interface and
 * runs in the simulator and in the server alike.
 *
 * When blocks run out, the two batching policies preempt the request admitted last: it has the
 * least to lose, and the first in can never be preempted, so that every run makes progress.
 *
 * Overtaking, that is being admitted after someone who arrived later: under all of them nobody is
 * overtaken, by 0 later arrivals, except under shortest-first: there a request with a prompt of n
 * tokens is overtaken only by some of those that arrive less than n ms after it. (What a policy of
 * the learner promises stands in policy.c.)
 */
// clang-format off
/*   single              first come, first served, one at a time
 *   wait-for-n:N        groups of N; the last, short group goes when no arrival is left
 *   wait-for-time:MS    or wait-for-time:MS,N: a group goes when its first request has waited MS,
 *                       or when N are there (8 unless stated)
 *   static:N            up to N of those waiting whenever the worker is free; nobody joins until
 *                       all are done
 *   continuous          continuous batching, prefill first (Orca: Yu et al., OSDI 2022): whoever
 *                       fits joins at the next iteration; an iteration is all prefill or all decode
 *   chunked             continuous batching with chunked prefill (Sarathi-Serve: Agrawal et al.,
 *                       OSDI 2024): every iteration decodes all that run, and fills the rest of
 *                       the token budget with a piece of prefill
 *   shortest-first      one at a time, shortest prompt first; a request's priority grows by one
 *                       prompt token for each millisecond that it waits, so that none waits for
 *                       ever
 *   learner             policy.c (lab 02), what the server runs
 *   learner-batch:N     likewise: groups of up to N
 */
// clang-format on
#ifndef SERVELAB_SCHED_POLICIES_H
#define SERVELAB_SCHED_POLICIES_H

#include "sched/policy.h"

/* Finds the policy of a text like "wait-for-n:4". *arg is set to what follows the colon ("" without
 * one). NULL and *e, which lists the names and suggests the nearest, when there is none. */
const struct policy_ops *policy_find(const char *text, const char **arg, struct err *e);

#endif
