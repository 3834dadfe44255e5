/* lab02.h: the declarations that the files of lab 02's grader share. make_*.c make a case, oracle.h
 * computes its right answer, describe.c shows it as text, judge_*.c hold dialogues with a policy
 * and with a search, evidence*.c examine the data files, rubric.c lists the checks, checks.c joins
 * them for the core. Only cases leave the grader's process. */
#ifndef SERVELAB_GRADER_LAB02_LAB02_H
#define SERVELAB_GRADER_LAB02_LAB02_H

#include "core/dialogue.h"
#include "core/lab.h"
#include "lab02/cases.h"

#include "base/rng.h"

/* How the cases of one check are made, or which judge holds its dialogue. */
enum lab02_maker {
    /* single cases */
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
    MAKE_SEARCH, /* a search with the child's own probe */
    MAKE_VIEW,   /* one plan for one view */
    MAKE_CREATE, /* create() with a good or a bad argument */
    MAKE_N,
    /* for the safety checks: the cases of other makers in turn */
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
    JUDGE_ADMISSION,
    JUDGE_CHUNKING,
    JUDGE_BATCH_MARGIN,
    JUDGE_BATCH_WAITS,
    JUDGE_BATCH_STARTS,
    JUDGE_SEARCH_FINDS,
    JUDGE_SEARCH_TRACE,
    JUDGE_SEARCH_EDGES,
    JUDGE_SEARCH_FAILS
};

/* A case under construction. */
struct lab02_making {
    struct rng rng;
    int k; /* of case_shuffled: the first values are the edges, one kind each */
    struct lab02_case *c;
    char *kind; /* (CASE_KIND_BYTES) the kind of case, in words */
    const char
        *focus; /* prefixes of the slots that the check compares, separated by '|'; NULL: all */
};

void lab02_make_analysis(struct lab02_making *m,
                         enum lab02_maker which); /* MAKE_QUEUE_DELAY .. MAKE_GOOD */
void lab02_make_capacity(struct lab02_making *m,
                         enum lab02_maker which); /* MAKE_VERDICT_LIMITS .. MAKE_SEARCH */

void lab02_make_kind(struct lab02_making *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int64_t lab02_make_between(struct lab02_making *m, int64_t lo,
                           int64_t hi); /* uniform, both ends included */
bool lab02_make_chance(struct lab02_making *m, int percent);

/* The case in a few lines, for a practice seed. */
void lab02_describe(const struct lab02_case *c, char *out, size_t cap);

/* Set r->outcome and r->message; see lab.h. */
void lab02_judge_policy(const struct check_def *def, struct dialogue *d, struct check_result *r);
void lab02_judge_search(const struct check_def *def, struct dialogue *d, struct check_result *r);

/* evidence.c: findings.json and protocol.json; see lab.h. */
void lab02_examine(const struct check_def *def, const char *folder, struct evidence *out);

/* rubric.c */
enum { LAB02_CHECKS = 57 };
extern const struct check_def lab02_checks[LAB02_CHECKS];

#endif
