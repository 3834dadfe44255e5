/* play.h: runs one workload through the simulator under one policy, and reports the first
 * violation. The simulator runs in the grader. A submission's policy is asked plan by plan over the
 * channel, and every plan is checked before it takes effect. A policy of this program can play too,
 * for comparison.
 *
 * A violation is something that a policy must never do. A play ends at the first one.
 */
#ifndef SERVELAB_GRADER_LAB02_PLAY_H
#define SERVELAB_GRADER_LAB02_PLAY_H

#include "core/dialogue.h"

#include "objective/point.h"
#include "sched/policy.h"
#include "sim/cost.h"

enum {
    PLAY_MAX_REQUESTS = 300,
    /* most later arrivals that may overtake a waiting request; stated in the handout */
    PLAY_MAX_OVERTAKEN = 32
};

struct play_request {
    int64_t arrival_ns; /* in order */
    int32_t prompt_tokens, output_tokens, max_output_tokens;
};

struct play {
    size_t n;
    struct play_request request[PLAY_MAX_REQUESTS];
    int32_t kv_blocks, token_budget, max_running;
    bool batch; /* learner-batch:`group` plays, otherwise learner */
    int32_t group;
    bool ask_always;  /* before every iteration, also while the plan is valid */
    bool ask_twice;   /* each view twice: equal views must give equal plans */
    int64_t id_shift; /* added to each id: ids have no meaning */
};

/* The most important ones come first. */
enum violation {
    VIOLATION_NONE,
    VIOLATION_DIED,    /* the process ended: a crash, exit, ... */
    VIOLATION_LOOP,    /* plan() doesn't return */
    VIOLATION_STRANGE, /* the bytes on the channel are not a plan */
    VIOLATION_GAVE_UP, /* create() or plan() failed */
    VIOLATION_RULE, /* reported by policy_check: unknown id, twice, budget, blocks, positions, ...
                     */
    VIOLATION_REFUSED, /* refuses a request that could run */
    VIOLATION_DIFFERS, /* two plans for equal views */
    VIOLATION_STUCK,   /* runs nothing, although requests wait and no other event will come */
    VIOLATION_ROUND,   /* plan after plan without finishing the work */
    VIOLATION_GROUP,   /* learner-batch: a group is too large, or a request joins it late */
    VIOLATION_STARVED, /* overtaken by more than PLAY_MAX_OVERTAKEN */
    VIOLATION_TODO,    /* not written yet */
    VIOLATION_OURS     /* the grader's fault; struct dialogue has it */
};

struct play_result {
    enum violation violation;
    char text[320];     /* the violation as a sentence, clean */
    char plans[2][120]; /* VIOLATION_DIFFERS: both plans in words */
    int64_t at_ns;      /* time of the violation */
    int calls;          /* how often the policy was asked */
    size_t n;           /* number of outcomes */
    int64_t preemptions, admissions;
    int64_t lost_tokens;          /* computed for requests that were then preempted */
    int64_t pieces, piece_tokens; /* of prompts that ran, and their tokens together */
    int64_t blind;                /* admissions when fewer blocks were free than the prompt needs */
    struct point_request record[PLAY_MAX_REQUESTS]; /* by index of the request */
};

/* The duration of an iteration in every play: a model of 7 billion parameters on one accelerator of
 * 2020, in round figures. */
extern const struct cost_model lab02_play_cost;

/* Plays with the submission's policy, in a new state. */
void lab02_play_remote(const struct play *p, struct dialogue *d, struct play_result *out);

/* Plays with a policy of this program: "static:8", or "reference" for the course's learner policy,
 * or "reference-batch:8". -1 with *e. */
int lab02_play_local(const struct play *p, const char *policy, struct play_result *out,
                     struct err *e);

/* A request's id in a play whose ids are shifted. It is not the index: ids have no meaning. */
int64_t lab02_play_id(size_t index, int64_t shift);

/* Whether two sentences are equal except for numbers. `begins`: a may be longer than b. */
bool lab02_play_same_words(const char *a, const char *b, bool begins);

/* Makes the play smaller while it still shows the same violation: fewer requests, shorter ones,
 * earlier arrivals, a smaller cache. Deterministic, except for a time limit of about 2 s. *result:
 * the last play that showed the violation. Returns how many plays were tried. */
int lab02_play_shrink(struct play *p, struct dialogue *d, struct play_result *result);

/* The play as a table, with the command that repeats it in the simulator. */
void lab02_play_describe(const struct play *p, char *out, size_t cap);

/* The policies of the course's solution, under names that differ from a submission's
 * (play_reference.c). */
const struct policy_ops *lab02_reference_learner(void);
const struct policy_ops *lab02_reference_learner_batch(void);

#endif
