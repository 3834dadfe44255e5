/* cases.h: one case of lab 01 (a call of one of the learner's functions) and the shape of its
 * answer. Grader and child include it: the grader makes the case and knows the expected answer, the
 * child gets the case only.
 *
 * An answer is a list of int64 slots. Their number follows from the case alone (lab01_case_slots),
 * so the grader never relies on a length from the child. Booleans are sent as the byte that was
 * found (165 is poison: nothing was written), doubles as their bits.
 */
#ifndef SERVELAB_GRADER_LAB01_CASES_H
#define SERVELAB_GRADER_LAB01_CASES_H

#include "core/wire.h"

#include "objective/classify.h"
#include "objective/objective.h"
#include "objective/percentile.h"
#include "objective/slo.h"
#include "record/intervals.h"
#include "record/record.h"

enum lab01_fn {
    FN_BETWEEN,  /* interval_between(rec[0], event start, event end) */
    FN_DIVIDE,   /* interval_divide(n, d) */
    FN_COMPUTE,  /* intervals_compute(rec[0]) */
    FN_ITL,      /* intervals_itl(rec[0], out, cap) */
    FN_ATTEMPT,  /* classify_attempt(rec[0], truncation) */
    FN_REQUEST,  /* classify_request(rec[0..n_rec), truncation) */
    FN_GOOD,     /* classify_good(cls, iv, obj) */
    FN_RANK,     /* percentile_nearest_rank(obs, n_ok, n_failed, percentile_milli) */
    FN_LIMIT,    /* slo_limit(obj.latency[0], pct[0]) */
    FN_FAILURES, /* slo_failure_rate(obj, counts) */
    FN_PASSES,   /* slo_quality(obj, counts) */
    FN_RATE,     /* slo_throughput(obj, counts) */
    FN_VALUE,    /* slo_objective_value(obj, counts, &value, reason, cap) */
    FN_VERDICT,  /* slo_verdict(obj, pct, counts) */
    FN_N
};

enum {
    CASE_MAX_RECORDS = 4,
    CASE_MAX_EVENTS = 320, /* an answer of 256 tokens with its other events */
    CASE_MAX_OBS = 4096,
    CASE_MAX_ITL = 1024, /* room in the output of intervals_itl */
    CASE_REASON = 200,   /* room for a reason */
    CASE_SPARE = 8,      /* slots after an output's end, to detect writes beyond it */
    CASE_POISON = 0xa5,  /* each byte of an output before the call */
    CASE_MAX_SLOTS = CASE_MAX_ITL + CASE_SPARE + 8
};

/* The kind of memory that the child gives to the learner's function. */
enum lab01_memory {
    MEMORY_PLAIN,
    MEMORY_READ_ONLY, /* inputs can't be written */
    MEMORY_REPEAT     /* many calls; the growth of the heap is one more slot */
};

struct lab01_case {
    enum lab01_fn fn;
    enum lab01_memory memory;
    size_t n_rec;
    struct record rec[CASE_MAX_RECORDS];
    int32_t start, end; /* FN_BETWEEN: indices of events, -1 for NULL */
    int64_t n, d;
    size_t cap;
    enum truncation_rule truncation;
    struct classification cls;
    struct intervals iv;
    struct objective obj;
    int64_t *obs; /* (n_ok); freed by lab01_case_release */
    size_t n_ok, n_failed;
    int32_t percentile_milli;
    size_t n_pct; /* one for each limit of obj, or one for FN_LIMIT */
    struct percentile pct[OBJECTIVE_MAX_LIMITS];
    struct slo_counts counts;
};

/* lab01_case_init zeroes a case; lab01_case_release frees its events and obs. */
void lab01_case_init(struct lab01_case *c);
void lab01_case_release(struct lab01_case *c);

/* Writes or reads the parts that c->fn uses. Reading allocates events and obs with malloc, within
 * the bounds above; -1 when the bytes are not a case. */
int lab01_case_codec(struct wire *w, struct lab01_case *c);

/* The number of slots of the answer. */
size_t lab01_case_slots(const struct lab01_case *c);

#endif
