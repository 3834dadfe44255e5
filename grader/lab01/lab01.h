/* lab01.h: the declarations that the files of lab 01's grader share. make_*.c make a case,
 * oracle_*.c compute its right answer, describe.c shows it as text, evidence.c examines the data
 * files, rubric.c lists the checks, checks.c joins them for the core. Only the case itself leaves
 * the grader's process. */
#ifndef SERVELAB_GRADER_LAB01_LAB01_H
#define SERVELAB_GRADER_LAB01_LAB01_H

#include "core/lab.h"
#include "lab01/cases.h"

#include "base/rng.h"

/* How the cases of one check are made. MAKE_ANY_* are for the safety checks: the cases of other
 * makers in turn. */
enum lab01_maker {
    MAKE_CLIENT_TTFT,
    MAKE_SERVER_TTFT,
    MAKE_QUEUE_DELAY,
    MAKE_E2E,
    MAKE_ABSENT,
    MAKE_CROSS_CLOCK,
    MAKE_CLOCK_OFFSET,
    MAKE_NEGATIVE,
    MAKE_ROUNDING,
    MAKE_TPOT,
    MAKE_TPOT_BOUNDARY,
    MAKE_TPOT_ABSENT,
    MAKE_ITL,
    MAKE_ITL_TOKENS,
    MAKE_ITL_CAPACITY,
    MAKE_GPU,
    MAKE_DELIVERED,
    MAKE_REJECTED,
    MAKE_CANCELLED,
    MAKE_TIMED_OUT,
    MAKE_INTERNAL_ERROR,
    MAKE_IN_BAND,
    MAKE_NOT_DELIVERED,
    MAKE_FINISH_REASON,
    MAKE_TRUNCATION,
    MAKE_PRECEDENCE,
    MAKE_VERDICTS,
    MAKE_USEFUL,
    MAKE_RETRIES,
    MAKE_GOOD,
    MAKE_GOOD_ABSENT,
    MAKE_RANK,
    MAKE_RANK_ORDER,
    MAKE_RANK_EMPTY,
    MAKE_INFINITE,
    MAKE_FEW,
    MAKE_LARGE,
    MAKE_STRICT,
    MAKE_LIMIT_ABSENT,
    MAKE_FAILURE_RATE,
    MAKE_PASS_RATE,
    MAKE_THROUGHPUT,
    MAKE_VALUE,
    MAKE_NO_VALUE,
    MAKE_VERDICT,
    MAKE_N,
    MAKE_ANY_INTERVALS = MAKE_N, /* a case of any maker of intervals.c */
    MAKE_ANY_CLASSIFY,
    MAKE_ANY_PERCENTILE,
    MAKE_ANY_SLO,
    MAKE_ANY
};

/* A case under construction. */
struct lab01_making {
    struct rng rng;
    int k; /* of case_shuffled: the first values are the edges, one kind each */
    struct lab01_case *c;
    char *kind; /* (CASE_KIND_BYTES) the kind of case, in words */
    const char
        *focus;  /* prefixes of the slots that the check compares, separated by '|'; NULL: all */
    bool strict; /* ns and uncertainty must be 0 where an interval isn't OK */
};

/* Each fills m->c and m->kind, and m->focus and m->strict where the check needs it. */
void lab01_make_intervals(struct lab01_making *m,
                          enum lab01_maker which); /* MAKE_CLIENT_TTFT .. MAKE_GPU */
void lab01_make_quality(struct lab01_making *m,
                        enum lab01_maker which); /* MAKE_DELIVERED .. MAKE_GOOD_ABSENT */
void lab01_make_slo(struct lab01_making *m, enum lab01_maker which); /* MAKE_RANK .. MAKE_VERDICT */

/* Shared by the makers (make_record.c). */
void lab01_make_kind(struct lab01_making *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int64_t lab01_make_between(struct lab01_making *m, int64_t lo,
                           int64_t hi); /* uniform, both ends included */
bool lab01_make_chance(struct lab01_making *m, int percent);
/* A delivered record of `tokens` output tokens, one token_sent event for each, on two clocks with
 * very different zeros. */
struct record *lab01_make_record(struct lab01_making *m, int slot, int tokens);
void lab01_make_event(struct record *r, enum event_kind kind, enum clock_id clock, int64_t t_ns,
                      int tokens, const char *range);
void lab01_make_drop(struct record *r, enum event_kind kind); /* removes every event of a kind */
struct event *lab01_make_find(struct record *r, enum event_kind kind);
void lab01_make_finish(struct record *r, const char *reason);
void lab01_make_error(struct record *r, const char *text);
/* An empty objective: no limits, NaN for absent numbers. */
void lab01_make_objective(struct lab01_case *c);

/* The right answer, from the text of the headers; written without looking at the reference. Fills
 * wants[0..lab01_case_slots(c)). */
void lab01_oracle(const struct lab01_case *c, bool strict, struct want *wants);
void lab01_oracle_intervals(const struct lab01_case *c, bool strict, struct want *wants);
void lab01_oracle_quality(const struct lab01_case *c, struct want *wants);
void lab01_oracle_slo(const struct lab01_case *c, struct want *wants);

/* The case in a few lines, for a practice seed. */
void lab01_describe(const struct lab01_case *c, char *out, size_t cap);

/* See lab.h. */
int lab01_make(const struct check_def *def, uint64_t seed, int k, struct hidden_case *out,
               struct err *e);
void lab01_examine(const struct check_def *def, const char *folder, struct evidence *out);

/* rubric.c */
enum { LAB01_CHECKS = 61 };
extern const struct check_def lab01_checks[LAB01_CHECKS];

#endif
