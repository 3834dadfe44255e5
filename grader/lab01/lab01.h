/* lab01.h: the parts of lab 01's hidden tests, for one another. Makers (make_*.c) build a case;
 * the oracle (oracle_*.c) says what is right; describe.c puts a case into words; checks.c is the
 * rubric; evidence.c reads the data files. Only the case itself leaves the grader's process.
 */
#ifndef SERVELAB_GRADER_LAB01_LAB01_H
#define SERVELAB_GRADER_LAB01_LAB01_H

#include "lab.h"
#include "lab01/cases.h"

#include "base/rng.h"

/* How the cases of one check are made. The first ones make a case by themselves; the last take the
 * cases of others, for the safety checks. */
enum maker {
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
struct making {
    struct rng rng;
    int k; /* which of the check's cases: the first ones are the edges, each kind in turn */
    struct case_in *c;
    char *kind;        /* KIND_BYTES; what kind of case it became */
    const char *focus; /* prefixes of the slots that the check asks about, with '|'; NULL for all */
    bool strict;       /* ns and uncertainty must be 0 where an interval isn't OK */
};
enum { KIND_BYTES = 160 };

/* Each fills m->c, m->kind and, where it wants, m->focus and m->strict. */
void make_intervals(struct making *m, enum maker which); /* MAKE_CLIENT_TTFT .. MAKE_GPU */
void make_quality(struct making *m, enum maker which);   /* MAKE_DELIVERED .. MAKE_GOOD_ABSENT */
void make_slo(struct making *m, enum maker which);       /* MAKE_RANK .. MAKE_VERDICT */

/* Pieces that several makers use (make_record.c). */
void make_kind(struct making *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int64_t make_between(struct making *m, int64_t lo, int64_t hi); /* uniform, both ends included */
bool make_chance(struct making *m, int percent);
/* A delivered record of `tokens` output tokens, one token_sent event for each, on two clocks whose
 * zeroes are far apart. */
struct record *make_record(struct making *m, int slot, int tokens);
void make_event(struct record *r, enum event_kind kind, enum clock_id clock, int64_t t_ns,
                int tokens, const char *range);
void make_drop(struct record *r, enum event_kind kind); /* removes every event of a kind */
struct event *make_find(struct record *r, enum event_kind kind);
void make_finish(struct record *r, const char *reason);
void make_error(struct record *r, const char *text);
/* An objective with nothing in it: no limit, NaN where something is absent. */
void make_objective(struct case_in *c);

/* What is right, from the text of the headers; written without looking at the reference.
 * Fills wants[0..case_slots(c)). */
void oracle(const struct case_in *c, bool strict, struct want *wants);
void oracle_intervals(const struct case_in *c, bool strict, struct want *wants);
void oracle_quality(const struct case_in *c, struct want *wants);
void oracle_slo(const struct case_in *c, struct want *wants);

/* The case in a few lines, for a practice seed. */
void describe_case(const struct case_in *c, char *out, size_t cap);

/* See lab.h. */
int lab01_make(const struct check_def *def, uint64_t seed, int k, struct hidden_case *out,
               struct err *e);
void lab01_examine(const struct check_def *def, const char *folder, struct evidence *out);

/* rubric.c */
enum { LAB01_CHECKS = 60 };
extern const struct check_def lab01_checks[LAB01_CHECKS];

extern const struct lab lab01;

#endif
