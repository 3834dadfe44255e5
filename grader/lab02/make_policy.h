/* make_policy.h: the workloads that a policy is judged by, and single views. Each is made from a
 * seed; none is known before. */
#ifndef SERVELAB_GRADER_LAB02_MAKE_POLICY_H
#define SERVELAB_GRADER_LAB02_MAKE_POLICY_H

#include "lab02/lab02.h"
#include "lab02/play.h"

enum play_kind {
    PLAY_ROOMY, /* the cache never fills up: ids, budget, positions, prompts in pieces */
    PLAY_TIGHT, /* the cache holds little more than the largest request */
    PLAY_CROWD, /* a long request among a stream of short ones */
    PLAY_LOAD,  /* a few minutes of ordinary traffic, for goodput */
    PLAY_LIGHT  /* the same for policies that serve one group at a time */
};

/* Small ones come first: case k of a check. *kind says in words what it became. */
void lab02_make_play(struct rng *rng, enum play_kind which, int k, struct play *out,
                     char kind[CASE_KIND_BYTES]);

/* A view as a server could show it: lanes, blocks and positions agree. The caller frees the lanes
 * (lab02_case_release). `impossible` waiting ones can never run. */
void lab02_make_view(struct rng *rng, int k, size_t impossible, struct policy_view *out);

#endif
