/* cases.h: one case of lab 02 (a call of one of the learner's functions), the shape of its answer,
 * and the query of a search's probe. Grader and child include it: the grader makes the case and
 * knows the expected answer, the child gets the case only. As in lab 01, the number of an answer's
 * slots follows from the case alone, and doubles are sent as their bits.
 *
 * A policy is asked plan by plan: FN_PLAN sends a view, the answer is the plan. The child keeps the
 * policy's state between two such cases; `fresh` makes it create a new one.
 */
#ifndef SERVELAB_GRADER_LAB02_CASES_H
#define SERVELAB_GRADER_LAB02_CASES_H

#include "core/wire.h"

#include "objective/point.h"
#include "sched/policy.h"

enum lab02_fn {
    FN_CLASSIFY,   /* point_classify(list[0]) */
    FN_INTERVALS,  /* point_intervals(list[0]) */
    FN_MEASURE,    /* point_measure(list, n, from, to, limits) */
    FN_STABLE,     /* point_stable(list, n, from, to) */
    FN_VERDICT,    /* point_verdict(points[0], limits) */
    FN_KNEE,       /* curve_knee(points, n) */
    FN_SATURATION, /* curve_saturation(points, n) */
    FN_REGION,     /* curve_region(points, n, at) */
    FN_CAPACITY,   /* capacity_find(probe, lo, hi, resolution, limits); the probe sends a query */
    FN_PLAN,       /* plan(view), of policy_learner or policy_learner_batch */
    FN_CREATE,     /* create(arg), of policy_learner or policy_learner_batch */
    FN_N
};

enum {
    CASE_MAX_REQUESTS = 600,
    CASE_MAX_POINTS = 24,
    CASE_MAX_LANE = 480,  /* requests that wait, and as many that run, in one view */
    CASE_POISON = 0xa5,   /* each byte of an output before the call */
    CASE_SPARE = 4,       /* actions after a plan's room, to detect writes beyond it */
    CASE_ARG_BYTES = 16,  /* the text after a policy's name, with its end */
    CASE_ACTION_SLOTS = 4 /* verb, id, tokens, whether there is a reason */
};

/* The kind of memory that the child gives to the learner's function. */
enum lab02_memory {
    MEMORY_PLAIN,
    MEMORY_READ_ONLY, /* inputs can't be written */
    MEMORY_REPEAT     /* many calls; the growth of the heap is one more slot */
};

struct lab02_case {
    enum lab02_fn fn;
    enum lab02_memory memory;
    struct point_request *list; /* (n_list), owned: lab02_case_release */
    size_t n_list;
    int64_t from_ns, to_ns;
    struct point_limits limits;
    struct operating_point points[CASE_MAX_POINTS];
    size_t n_points, at;
    double lo_rps, hi_rps, resolution;
    /* FN_CAPACITY for the safety checks, without queries: the child's own probe meets the limits
     * below this load, and fails above a thousand times this load. 0: the probe asks the grader. */
    double local_rps;
    /* FN_PLAN; waiting and running belong to the caller when writing, to the case when reading */
    struct policy_view view;
    bool batch; /* policy_learner_batch, with `group` as its argument */
    int32_t group;
    bool fresh;
    int32_t more_plans; /* of the same state, for later moments, before the one that is answered */
    char arg[CASE_ARG_BYTES]; /* FN_CREATE */
    bool others; /* and whether policies that live at the same time keep their own arguments */
};

void lab02_case_init(struct lab02_case *c);
void lab02_case_release(struct lab02_case *c); /* frees list, and the view's arrays */

/* Writes or reads the parts that c->fn uses. -1 when the bytes are not a case. */
int lab02_case_codec(struct wire *w, struct lab02_case *c);

size_t lab02_case_slots(const struct lab02_case *c);

/* What an ordinary server measures at a load, in the safety checks as in the others: it is stable
 * below local_rps. */
void lab02_case_curve(const struct lab02_case *c, double rps, struct operating_point *out);

/* The reply to a probe: 0 and a point, or -1, "the probe failed". */
struct probe_reply {
    int32_t rc;
    struct operating_point point;
};
void lab02_probe_reply_codec(struct wire *w, struct probe_reply *r);

/* The number of slots of an operating point; rc is not one of them. */
enum { POINT_SLOTS = 11 + 7 * 6 + 1 };

/* Slots of a plan before its actions: plan()'s result, whether create() gave a state, the number of
 * actions, validity, valid_until_ns, and whether anything was written beyond the plan's room. */
enum { PLAN_RC, PLAN_CREATED, PLAN_N, PLAN_VALIDITY, PLAN_UNTIL, PLAN_BEYOND, PLAN_HEAD };

/* Slots of a creation: whether there is a state, whether the error has a text, and whether the
 * first group of a learner-batch:2 has at most two requests while other policies live. */
enum { CREATE_STATE, CREATE_ERROR, CREATE_OWN, CREATE_SLOTS };

/* Slots of a search. */
enum { FIND_RC, FIND_FOUND, FIND_AT_TOP, FIND_RPS, FIND_PROBES, FIND_POINT };

#endif
