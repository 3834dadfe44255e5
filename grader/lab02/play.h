/* play.h: one workload played through the simulator, with a policy that decides. The simulator runs
 * here; a submission's policy is asked plan by plan through the channel, and every plan is examined
 * before it takes effect. A policy of our own can play too, for comparison.
 *
 * What a policy must never do is a violation, told in a sentence. A play ends at the first one.
 */
#ifndef SERVELAB_GRADER_LAB02_PLAY_H
#define SERVELAB_GRADER_LAB02_PLAY_H

#include "core/dialogue.h"

#include "objective/point.h"
#include "sched/policy.h"
#include "sim/cost.h"

enum {
    PLAY_MAX_REQUESTS = 300,
    /* so many later arrivals may be let in before a request that waits; stated in the handout */
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
    bool ask_always; /* before every iteration, whatever a plan's validity says */
    bool ask_twice;  /* each view two times: equal views must give equal plans */
};

/* In the order in which a person should hear of them. */
enum violation {
    VIOLATION_NONE,
    VIOLATION_DIED,    /* the process ended: a crash, exit, ... */
    VIOLATION_LOOP,    /* plan() doesn't return */
    VIOLATION_STRANGE, /* something that is no plan came through the channel */
    VIOLATION_GAVE_UP, /* create() or plan() failed */
    VIOLATION_RULE,    /* policy_check's: unknown id, twice, budget, blocks, positions, ... */
    VIOLATION_REFUSED, /* refuses what could run */
    VIOLATION_DIFFERS, /* equal views, two plans */
    VIOLATION_STUCK,   /* runs nothing although requests wait and nothing else will happen */
    VIOLATION_ROUND,   /* plan after plan, and the work doesn't get done */
    VIOLATION_GROUP,   /* learner-batch: a group that is too large, or that somebody joins late */
    VIOLATION_STARVED, /* overtaken by more than PLAY_MAX_OVERTAKEN */
    VIOLATION_TODO,    /* not written yet */
    VIOLATION_OURS     /* the grader's fault; the dialogue knows it */
};

struct play_result {
    enum violation violation;
    char text[320]; /* the sentence, clean */
    int64_t at_ns;  /* when */
    int calls;      /* how often the policy was asked */
    size_t n;       /* outcomes */
    int64_t preemptions;
    struct point_request record[PLAY_MAX_REQUESTS]; /* by index of the request */
};

/* How long an iteration takes in every play: a model of 7 billion parameters on one accelerator of
 * 2020, in round figures. */
extern const struct cost_model lab02_play_cost;

/* The submission's policy plays, in a state of its own. */
void lab02_play_remote(const struct play *p, struct dialogue *d, struct play_result *out);

/* One of ours plays: "static:8", or "reference" for the course's own learner policy, or
 * "reference-batch:8". -1 with *e. */
int lab02_play_local(const struct play *p, const char *policy, struct play_result *out,
                     struct err *e);

/* A request's id in a play: ids carry no meaning, so they aren't the index. */
int64_t lab02_play_id(size_t index);

/* Do two sentences say the same but for figures? With `begins`, a may go on after b has ended. */
bool lab02_play_same_words(const char *a, const char *b, bool begins);

/* Makes the play smaller while it still shows the same violation: fewer requests, shorter ones,
 * earlier arrivals, a smaller cache. Deterministic but for a bound on the time, about 2 s. *result
 * is the last one that showed it. Returns how many plays it tried. */
int lab02_play_shrink(struct play *p, struct dialogue *d, struct play_result *result);

/* The play as a table, with the command that runs it again in the simulator. */
void lab02_play_describe(const struct play *p, char *out, size_t cap);

/* The policies of the course's solution, under names that no submission's can be taken for
 * (reference.c). */
const struct policy_ops *lab02_reference_learner(void);
const struct policy_ops *lab02_reference_learner_batch(void);

#endif
