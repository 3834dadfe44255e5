/* cases.h: one question of lab 02's hidden tests and the shape of its answer; also what a
 * search asks back. Both sides include it: the grader makes the question and knows what is
 * expected, the child only ever sees the question. As in lab 01, the number of an answer's slots
 * follows from the question alone, and doubles travel as their bits.
 *
 * A policy is asked plan by plan: FN_PLAN carries a view, the answer is the plan. The child keeps
 * the policy's state between two such questions; `fresh` makes it create a new one.
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
    FN_CAPACITY,   /* capacity_find(probe, lo, hi, resolution, limits); the probe asks back */
    FN_PLAN,       /* plan(view), of policy_learner or policy_learner_batch */
    FN_N
};

enum {
    CASE_MAX_REQUESTS = 600,
    CASE_MAX_POINTS = 24,
    CASE_MAX_LANE = 480,  /* requests that wait, or run, in one view */
    CASE_POISON = 0xa5,   /* what outputs hold before the call */
    CASE_SPARE = 4,       /* actions beyond a plan's room, to see that nobody wrote there */
    CASE_ACTION_SLOTS = 4 /* verb, id, tokens, whether there is a reason */
};

/* How the child keeps the question's memory while the learner's function runs. */
enum lab02_memory {
    MEMORY_PLAIN,
    MEMORY_READ_ONLY, /* inputs can't be written, and end at a page that can't be read */
    MEMORY_REPEAT     /* the call is made many times; the growth of the heap is one more slot */
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
    /* FN_CAPACITY without a grader that answers, for the safety checks: the child's own probe meets
     * the limits below this load, and fails above a thousand times of it. 0: ask the grader. */
    double local_rps;
    /* FN_PLAN; waiting and running are the caller's on writing, owned on reading */
    struct policy_view view;
    bool batch; /* policy_learner_batch, with `group` as its argument */
    int32_t group;
    bool fresh;
};

void lab02_case_init(struct lab02_case *c);
void lab02_case_release(struct lab02_case *c); /* frees list, and the view's lanes */

/* Writes or reads the parts that c->fn uses. -1 when the bytes are no question. */
int lab02_case_codec(struct wire *w, struct lab02_case *c);

size_t lab02_case_slots(const struct lab02_case *c);

/* The reply to a probe: 0 and a point, or -1, "the probe failed". */
struct probe_reply {
    int32_t rc;
    struct operating_point point;
};
void lab02_probe_reply_codec(struct wire *w, struct probe_reply *r);

/* An operating point's numbers as slots, in this order: rc is not one of them. */
enum { POINT_SLOTS = 11 + 7 * 6 + 1 };

/* Slots of a plan before its actions: what plan() returned, whether create() gave a state, how many
 * actions, validity, valid_until_ns, and whether anything was written beyond its room. */
enum { PLAN_RC, PLAN_CREATED, PLAN_N, PLAN_VALIDITY, PLAN_UNTIL, PLAN_BEYOND, PLAN_HEAD };

/* Slots of a search. */
enum { FIND_RC, FIND_FOUND, FIND_AT_TOP, FIND_RPS, FIND_PROBES, FIND_POINT };

#endif
