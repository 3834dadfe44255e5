/* lab03.h: the parts of lab 03's hidden tests, for one another. kernel_build.h and trial.h build
 * and run the learner's kernels; judge.c says what a run is worth; make_questions.c and oracle.c
 * are the questions to the learner's C functions and their answers; evidence.c reads roofline.json;
 * checks.c ties them to the rubric.
 */
#ifndef SERVELAB_GRADER_LAB03_LAB03_H
#define SERVELAB_GRADER_LAB03_LAB03_H

#include "core/lab.h"

#include "base/rng.h"

enum { LAB03_CHECKS = 73 };
extern const struct check_def lab03_checks[LAB03_CHECKS];

/* def->maker of checks of kind CHECK_CASES and its kin */
enum lab03_maker {
    MAKE_RUN,       /* kernel_run_ns of one repetition */
    MAKE_RUN_EMPTY, /* one that says nothing */
    MAKE_TIME,
    MAKE_TIME_FEW, /* warm-ups and broken stamps among them */
    MAKE_SPREAD,
    MAKE_BANDWIDTH,
    MAKE_INTENSITY,
    MAKE_RIDGE,
    MAKE_LIMIT,
    MAKE_BOUND,
    MAKE_LEAST_TIME,
    MAKE_FRACTION,
    MAKE_VERDICT,
    MAKE_COMPARE,           /* right and wrong by the tolerance */
    MAKE_COMPARE_WORST,     /* which element */
    MAKE_COMPARE_FINITE,    /* NaN, infinities */
    MAKE_COMPARE_ZEROS,     /* zeros for small numbers */
    MAKE_COMPARE_NO_ANSWER, /* references that tell nothing */
    MAKE_N,
    MAKE_ANY = MAKE_N /* of any maker: for the safety checks */
};

/* def->maker of a check of kind CHECK_OWN: what is asked of a kernel's run. The kernel is the part
 * of the check's id after the first dot. */
enum {
    JUDGE_KERNEL_RIGHT = 100,
    JUDGE_KERNEL_CLEAN = 101,
    JUDGE_KERNEL_VERSION = 110 /* + version */
};

/* def->maker of evidence */
enum { EV_CARD, EV_BYTES, EV_OPERATIONS, EV_INTENSITY, EV_BOUND };

/* make_questions.c: question k of a maker; `kind` gets it in words that give nothing away */
struct lab03_case;
void lab03_make_case(struct rng *rng, enum lab03_maker which, int k, struct lab03_case *c,
                     char *kind, size_t cap);

/* describe.c */
void lab03_describe(const struct lab03_case *c, char *out, size_t cap);

/* evidence.c */
void lab03_examine(const struct check_def *def, const char *folder, struct evidence *out);

/* judge.c: prepare, run and release of struct lab */
int lab03_prepare(const struct sandbox *sb, struct workplace *w, const char *home,
                  const bool *wanted, void **own, struct err *e);
void lab03_run(const struct check_def *def, const struct grading *g, struct check_result *r);
void lab03_release(void *own);
/* Is a check of kind CHECK_OWN about this kernel? */
bool lab03_is_about(const struct check_def *def, const char *kernel);

/* card.c: on_card of struct lab */
int lab03_on_card(const struct grading *g, const char *home, const bool *chosen,
                  void (*progress)(const char *, size_t, size_t), int *status, bool *usage,
                  struct err *e);

#endif
