/* child/lab04_engine.h: runs the learner's engine_step, kv_blocks and stamps over one workload of
 * lab 04, in virtual time. */
#ifndef SERVELAB_GRADER_CHILD_LAB04_ENGINE_H
#define SERVELAB_GRADER_CHILD_LAB04_ENGINE_H

#include "lab04/cases.h"

#include "sched/policy.h"

/* Token id i is the character text[i]. */
struct tokenizer {
    char text[MACHINE_VOCAB];
};

/* Writes ENGINE_HEAD + REQ_SLOTS * requests slots (cases.h), at most cap. */
void lab04_call_engine(const struct lab04_case *c, int64_t *slots, size_t cap);

/* One engine serves the workload again and again, on a machine of this process: the bytes by which
 * the heap grew from the 2,000th request to the 10,000th. */
int64_t lab04_call_engine_long(const struct lab04_case *c);

/* For workloads with group MACHINE_KEEN. */
const struct policy_ops *lab04_keen_policy(void);

#endif
