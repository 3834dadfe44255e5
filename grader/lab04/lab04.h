/* lab04.h: the declarations that the files of lab 04's grader share. make_*.c make a case and
 * compute its right answer, describe.c shows a case as text, judge_*.c judge a run of the engine
 * and of a KV pool, evidence*.c examine the data files and the runs, rubric.c lists the checks,
 * checks.c joins them for the core. Only cases leave the grader's process. */
#ifndef SERVELAB_GRADER_LAB04_LAB04_H
#define SERVELAB_GRADER_LAB04_LAB04_H

#include "core/dialogue.h"
#include "core/lab.h"
#include "lab04/cases.h"

#include "base/rng.h"
#include "objective/objective.h"

/* How the cases of one check are made, or which judge holds its dialogue. */
enum lab04_maker {
    /* single cases: make_stamps.c */
    MAKE_STAMP_KINDS,
    MAKE_STAMP_TIMES,
    MAKE_STAMP_ONCE,
    /* make_attempt.c */
    MAKE_ATTEMPT_INTERVALS,
    MAKE_ATTEMPT_LAG,
    MAKE_ATTEMPT_ENDED,
    MAKE_ATTEMPT_SERVER,
    MAKE_ATTEMPT_NEGATIVE,
    MAKE_ATTEMPT_REASON,
    MAKE_ATTEMPT_RESOURCE,
    /* make_group.c */
    MAKE_GROUP_ORDER,
    MAKE_GROUP_RETRY,
    MAKE_GROUP_TWICE,
    /* make_measure.c */
    MAKE_MEASURE_WINDOW,
    MAKE_MEASURE_COUNTS,
    MAKE_MEASURE_SUMS,
    MAKE_MEASURE_LOAD,
    MAKE_MEASURE_LIMITS,
    MAKE_MEASURE_UNMEASURED,
    MAKE_MEASURE_RECOVERY,
    MAKE_VERDICT,
    MAKE_REGIONS,
    /* only for the safety checks */
    MAKE_KV,
    MAKE_ENGINE,
    MAKE_N,
    MAKE_ANY_KV = MAKE_N, /* cases of any maker of one file */
    MAKE_ANY_ENGINE,
    MAKE_ANY_STAMPS,
    MAKE_ANY_REPORT,
    MAKE_ANY,
    MAKE_LONG, /* one engine, 10,000 requests */
    /* judge_kv.c */
    JUDGE_KV_COUNT,
    JUDGE_KV_ORDER,
    JUDGE_KV_SHARE,
    JUDGE_KV_EVICT,
    /* judge_engine.c */
    JUDGE_TOKENS,
    JUDGE_CHUNKS,
    JUDGE_PREEMPT,
    JUDGE_PREFIX,
    JUDGE_CANCEL,
    JUDGE_FAULT,
    JUDGE_ODD,
    JUDGE_SLOW,
    JUDGE_EVENTS,
    JUDGE_GOODPUT_ONE,
    JUDGE_GOODPUT_STATIC
};

/* One case while it is made. */
struct lab04_making {
    struct rng rng;
    int k;
    struct lab04_case *c;
    char *kind;        /* CASE_KIND_BYTES */
    const char *focus; /* what the check compares: prefixes of names, '|' between them; NULL: all */
    struct want *wants; /* (CASE_MAX_SLOTS), zeroed */
    size_t n_wants;
};

/* Makes m->c and its answer. */
void lab04_make_stamps(struct lab04_making *m, enum lab04_maker which);
void lab04_make_attempt(struct lab04_making *m, enum lab04_maker which);
void lab04_make_group(struct lab04_making *m, enum lab04_maker which);
void lab04_make_measure(struct lab04_making *m, enum lab04_maker which);
void lab04_make_verdict(struct lab04_making *m, enum lab04_maker which);
/* The scripts of the judges; `which` is a JUDGE_*. */
void lab04_make_kv(struct rng *rng, int which, struct lab04_case *c);
void lab04_make_workload(struct rng *rng, int which, struct machine_config *c);

/* Writes the case into text, for a practice seed: the call, and what the function gets. */
void lab04_describe(const struct lab04_case *c, char *text, size_t cap);

void lab04_judge_kv(const struct check_def *def, struct dialogue *d, struct check_result *r);
void lab04_judge_engine(const struct check_def *def, struct dialogue *d, struct check_result *r);

/* Pieces that the makers use. Both ends belong to it. */
int64_t lab04_between(struct rng *rng, int64_t lo, int64_t hi);
bool lab04_chance(struct rng *rng, int percent);
void lab04_kind(struct lab04_making *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends one wanted number. */
void lab04_want(struct lab04_making *m, const char *name, int64_t value);
void lab04_want_real(struct lab04_making *m, const char *name, double value); /* NaN, too */

/* Encodes c: bytes of malloc, or NULL and *e. */
unsigned char *lab04_encode(struct lab04_case *c, size_t *n, struct err *e);

void lab04_examine(const struct check_def *def, const char *folder, struct evidence *out);
/* The parts of it that read doc, a choice.json for objective o, and no run: 0, out[0] is what
 * follows from its points, and out[1] from its choice; -1 and *e: not its form. */
int lab04_examine_choice(const cJSON *doc, const struct objective *o, struct evidence out[2],
                         struct err *e);

enum {
    LAB04_CHECKS = 52,
    LAB04_RUNS = 8 /* run folders of a submission, at most */
};
extern const struct check_def lab04_checks[];

#endif
