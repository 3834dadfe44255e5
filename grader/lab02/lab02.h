/* lab02.h: the parts of lab 02's hidden tests, for one another. Makers (make_*.c) build a question
 * that one answer settles; oracle.h says what is right; the judges (judge_*.c) hold dialogues with
 * a policy and with a search; checks.c ties them to the rubric. Only questions leave the grader's
 * process.
 */
#ifndef SERVELAB_GRADER_LAB02_LAB02_H
#define SERVELAB_GRADER_LAB02_LAB02_H

#include "core/dialogue.h"
#include "core/lab.h"
#include "lab02/cases.h"

#include "base/rng.h"

/* How the cases of one check are made, or which judge holds its dialogue. */
enum lab02_maker {
    /* one answer settles it */
    MAKE_QUEUE_DELAY,
    MAKE_TTFT,
    MAKE_TPOT,
    MAKE_E2E,
    MAKE_ABSENT,
    MAKE_WINDOW,
    MAKE_THROUGHPUT,
    MAKE_RATES,
    MAKE_MEAN_LATENCY,
    MAKE_IN_SYSTEM,
    MAKE_PERCENTILES,
    MAKE_INFINITE,
    MAKE_TPOT_POPULATION,
    MAKE_STABLE_SHARE,
    MAKE_STABLE_TREND,
    MAKE_SHED,
    MAKE_TRUNCATED,
    MAKE_BROKEN,
    MAKE_COUNTS,
    MAKE_GOOD,
    MAKE_VERDICT_LIMITS,
    MAKE_VERDICT_INFINITE,
    MAKE_VERDICT_COMPUTABLE,
    MAKE_KNEE,
    MAKE_SATURATION,
    MAKE_REGION,
    MAKE_SEARCH, /* a search whose probe the child answers itself */
    MAKE_VIEW,   /* one plan for one view */
    MAKE_N,
    /* a case of any maker of one file, or of all: for the safety checks */
    MAKE_ANY_ANALYSIS = MAKE_N,
    MAKE_ANY_CAPACITY,
    MAKE_ANY_POLICY,
    MAKE_ANY,
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
struct lab02_making {
    struct rng rng;
    int k; /* which of the check's cases: the first ones are the edges, each kind in turn */
    struct lab02_case *c;
    char *kind;        /* CASE_KIND_BYTES; what kind of case it became */
    const char *focus; /* prefixes of the slots that the check asks about, with '|'; NULL for all */
};

void lab02_make_analysis(struct lab02_making *a,
                         enum lab02_maker which); /* MAKE_QUEUE_DELAY .. MAKE_GOOD */
void lab02_make_capacity(struct lab02_making *a,
                         enum lab02_maker which); /* MAKE_VERDICT_LIMITS .. MAKE_SEARCH */

void lab02_make_kind(struct lab02_making *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int64_t lab02_make_between(struct lab02_making *a, int64_t lo,
                           int64_t hi); /* uniform, both ends included */
bool lab02_make_chance(struct lab02_making *a, int percent);

/* The question in a few lines, for a practice seed. */
void lab02_describe(const struct lab02_case *c, char *out, size_t cap);

/* Sets r->outcome and says why; see lab.h. */
void lab02_judge_policy(const struct check_def *def, struct dialogue *d, struct check_result *r);
void lab02_judge_search(const struct check_def *def, struct dialogue *d, struct check_result *r);

/* evidence.c: findings.json and protocol.json; see lab.h. */
void lab02_examine(const struct check_def *def, const char *folder, struct evidence *out);

/* rubric.c */
enum { LAB02_CHECKS = 51 };
extern const struct check_def lab02_checks[LAB02_CHECKS];

#endif
