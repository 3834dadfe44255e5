/* make_policy.h: makes the workloads by which a policy is judged, and single views, from a seed. */
#ifndef SERVELAB_GRADER_LAB02_MAKE_POLICY_H
#define SERVELAB_GRADER_LAB02_MAKE_POLICY_H

#include "lab02/lab02.h"
#include "lab02/play.h"

enum play_kind {
    PLAY_ROOMY,  /* the cache never fills up; for ids, budget, positions, prompts in pieces */
    PLAY_TIGHT,  /* the cache holds little more than the largest request */
    PLAY_CROWD,  /* a long request among a stream of short ones */
    PLAY_LOAD,   /* a few minutes of ordinary traffic, for goodput */
    PLAY_LIGHT,  /* the same for policies that serve one group at a time */
    PLAY_SCARCE, /* a cache for a few of the requests; how many depends on their lengths */
    PLAY_LONG,   /* prompts of many iterations' worth, short answers, a cache with room for all */
    PLAY_BURSTS, /* groups of five to seven that arrive within 8 ms */
    PLAY_LONE    /* the same requests one by one, which never meet another one */
};

/* PLAY_SCARCE has one play for each mix of lengths; further plays are of the last mix. */
enum { PLAY_SCARCE_MIXES = 4 };

/* Makes play k of a check; small plays come first. `kind` gets the kind of play, in words. */
void lab02_make_play(struct rng *rng, enum play_kind which, int k, struct play *out,
                     char kind[CASE_KIND_BYTES]);

/* A view as a server could show it: requests, blocks and positions agree. lab02_case_release frees
 * its arrays. `impossible` waiting requests can never run. */
void lab02_make_view(struct rng *rng, int k, size_t impossible, struct policy_view *out);

#endif
