/* questions.h: one question of lab 02's hidden tests and the shape of its answer; also what a
 * search asks back. Both sides include it: the grader makes the question and knows what is
 * expected, the child only ever sees the question. As in lab 01, the number of an answer's slots
 * follows from the question alone, and doubles travel as their bits.
 *
 * A policy is asked plan by plan: Q_PLAN carries a view, the answer is the plan. The child keeps
 * the policy's state between two such questions; `fresh` makes it create a new one.
 */
#ifndef SERVELAB_GRADER_LAB02_QUESTIONS_H
#define SERVELAB_GRADER_LAB02_QUESTIONS_H

#include "wire.h"

#include "objective/point.h"
#include "sched/policy.h"

enum question_kind {
    Q_CLASSIFY,   /* point_classify(list[0]) */
    Q_INTERVALS,  /* point_intervals(list[0]) */
    Q_MEASURE,    /* point_measure(list, n, from, to, limits) */
    Q_STABLE,     /* point_stable(list, n, from, to) */
    Q_VERDICT,    /* point_verdict(points[0], limits) */
    Q_KNEE,       /* curve_knee(points, n) */
    Q_SATURATION, /* curve_saturation(points, n) */
    Q_REGION,     /* curve_region(points, n, at) */
    Q_CAPACITY,   /* capacity_find(probe, lo, hi, resolution, limits); the probe asks back */
    Q_PLAN,       /* plan(view), of policy_learner or policy_learner_batch */
    Q_N
};

enum {
    QUESTION_MAX_REQUESTS = 600,
    QUESTION_MAX_POINTS = 24,
    QUESTION_MAX_LANE = 480,  /* requests that wait, or run, in one view */
    QUESTION_POISON = 0xa5,   /* what outputs hold before the call */
    QUESTION_SPARE = 4,       /* actions beyond a plan's room, to see that nobody wrote there */
    QUESTION_ACTION_SLOTS = 4 /* verb, id, tokens, whether there is a reason */
};

/* How the child keeps the question's memory while the learner's function runs. */
enum question_memory {
    QMEM_PLAIN,
    QMEM_READ_ONLY, /* inputs can't be written, and end at a page that can't be read */
    QMEM_REPEAT     /* the call is made many times; the growth of the heap is one more slot */
};

struct question {
    enum question_kind kind;
    enum question_memory memory;
    struct point_request *list; /* (n_list), owned: question_release */
    size_t n_list;
    int64_t from_ns, to_ns;
    struct point_limits limits;
    struct operating_point points[QUESTION_MAX_POINTS];
    size_t n_points, at;
    double lo_rps, hi_rps, resolution;
    /* Q_CAPACITY without a grader that answers, for the safety checks: the child's own probe meets
     * the limits below this load, and fails above a thousand times of it. 0: ask the grader. */
    double local_rps;
    /* Q_PLAN; waiting and running are the caller's on writing, owned on reading */
    struct policy_view view;
    bool batch; /* policy_learner_batch, with `group` as its argument */
    int32_t group;
    bool fresh;
};

void question_init(struct question *q);
void question_release(struct question *q); /* frees list, and the view's lanes */

/* Writes or reads the parts that q->kind uses. -1 when the bytes are no question. */
int question_codec(struct wire *w, struct question *q);

size_t question_slots(const struct question *q);

/* The reply to a probe: 0 and a point, or -1, "the probe failed". */
struct probe_reply {
    int32_t rc;
    struct operating_point point;
};
void probe_reply_codec(struct wire *w, struct probe_reply *r);

/* An operating point's numbers as slots, in this order: rc is not one of them. */
enum { POINT_SLOTS = 11 + 7 * 6 + 1 };

/* Slots of a plan before its actions: what plan() returned, whether create() gave a state, how many
 * actions, validity, valid_until_ns, and whether anything was written beyond its room. */
enum { PLAN_RC, PLAN_CREATED, PLAN_N, PLAN_VALIDITY, PLAN_UNTIL, PLAN_BEYOND, PLAN_HEAD };

/* Slots of a search. */
enum { FIND_RC, FIND_FOUND, FIND_AT_TOP, FIND_RPS, FIND_PROBES, FIND_POINT };

#endif
