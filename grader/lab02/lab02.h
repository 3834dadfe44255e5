/* lab02.h: the parts of lab 02's hidden tests, for one another. Makers (make_*.c) build a question
 * that one answer settles; oracle.h says what is right; the judges (judge_*.c) hold dialogues with
 * a policy and with a search; checks.c ties them to the rubric. Only questions leave the grader's
 * process.
 */
#ifndef SERVELAB_GRADER_LAB02_LAB02_H
#define SERVELAB_GRADER_LAB02_LAB02_H

#include "dialogue.h"
#include "lab.h"
#include "lab02/questions.h"

#include "base/rng.h"

/* How the cases of one check are made, or which judge holds its dialogue. */
enum ask {
    /* one answer settles it */
    ASK_QUEUE_DELAY,
    ASK_TTFT,
    ASK_TPOT,
    ASK_E2E,
    ASK_ABSENT,
    ASK_WINDOW,
    ASK_THROUGHPUT,
    ASK_RATES,
    ASK_MEAN_LATENCY,
    ASK_IN_SYSTEM,
    ASK_PERCENTILES,
    ASK_INFINITE,
    ASK_TPOT_POPULATION,
    ASK_STABLE_SHARE,
    ASK_STABLE_TREND,
    ASK_SHED,
    ASK_TRUNCATED,
    ASK_BROKEN,
    ASK_COUNTS,
    ASK_GOOD,
    ASK_VERDICT_LIMITS,
    ASK_VERDICT_INFINITE,
    ASK_VERDICT_COMPUTABLE,
    ASK_KNEE,
    ASK_SATURATION,
    ASK_REGION,
    ASK_SEARCH, /* a search whose probe the child answers itself */
    ASK_VIEW,   /* one plan for one view */
    ASK_N,
    /* a case of any maker of one file, or of all: for the safety checks */
    ASK_ANY_ANALYSIS = ASK_N,
    ASK_ANY_CAPACITY,
    ASK_ANY_POLICY,
    ASK_ANY,
    /* dialogues */
    JUDGE_RULES,
    JUDGE_TIGHT,
    JUDGE_FAIRNESS,
    JUDGE_REFUSES,
    JUDGE_SAME_PLAN,
    JUDGE_BATCH,
    JUDGE_PAR,
    JUDGE_MARGIN,
    JUDGE_BATCH_MARGIN,
    JUDGE_SEARCH_FINDS,
    JUDGE_SEARCH_TRACE,
    JUDGE_SEARCH_EDGES,
    JUDGE_SEARCH_FAILS
};

/* A question under construction. */
struct asking {
    struct rng rng;
    int k; /* which of the check's cases: the first ones are the edges, each kind in turn */
    struct question *q;
    char *kind;        /* KIND_ROOM; what kind of case it became */
    const char *focus; /* prefixes of the slots that the check asks about, with '|'; NULL for all */
};
enum { KIND_ROOM = 160 };

void ask_records(struct asking *a, enum ask which); /* ASK_QUEUE_DELAY .. ASK_GOOD */
void ask_curves(struct asking *a, enum ask which);  /* ASK_VERDICT_LIMITS .. ASK_SEARCH */

void ask_kind(struct asking *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int64_t ask_between(struct asking *a, int64_t lo, int64_t hi); /* uniform, both ends included */
bool ask_chance(struct asking *a, int percent);

/* The question in a few lines, for a practice seed. */
void describe_question(const struct question *q, char *out, size_t cap);

/* Sets r->outcome and says why; see lab.h. */
void judge_policy(const struct check_def *def, struct dialogue *d, struct check_result *r);
void judge_search(const struct check_def *def, struct dialogue *d, struct check_result *r);

/* evidence.c: findings.json and protocol.json; see lab.h. */
void lab02_examine(const struct check_def *def, const char *folder, struct evidence *out);

/* rubric.c */
enum { LAB02_CHECKS = 51 };
extern const struct check_def lab02_checks[LAB02_CHECKS];

extern const struct lab lab02;

#endif
