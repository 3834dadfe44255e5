/* lab03.h: the declarations that the files of lab 03's grader share. For the learner's C functions:
 * make_cases.c makes a case, oracle.h computes its right answer, describe.c shows it as text. For
 * kernels: kernel_build.h builds them, kernel_trial.h runs them, judge_kernel.c judges, card.h
 * measures them on a GPU. evidence.c examines roofline.json, rubric.c lists the checks, checks.c
 * joins them for the core. */
#ifndef SERVELAB_GRADER_LAB03_LAB03_H
#define SERVELAB_GRADER_LAB03_LAB03_H

#include "core/lab.h"

#include "base/rng.h"

enum { LAB03_CHECKS = 74 };
extern const struct check_def lab03_checks[LAB03_CHECKS];

/* def->maker of CHECK_CASES and the safety kinds */
enum lab03_maker {
    MAKE_RUN,       /* kernel_run_ns of one repetition */
    MAKE_RUN_EMPTY, /* one without a valid time */
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
    MAKE_COMPARE_WORST,     /* which element is the worst */
    MAKE_COMPARE_FINITE,    /* NaN, infinities */
    MAKE_COMPARE_ZEROS,     /* zeros for small numbers */
    MAKE_COMPARE_NO_ANSWER, /* references without information */
    MAKE_N,
    MAKE_ANY = MAKE_N /* for the safety checks: the cases of all makers in turn */
};

/* def->maker of CHECK_OWN: what is judged of a kernel's run. The kernel is the part of the check's
 * id after the first dot. */
enum {
    JUDGE_KERNEL_RIGHT = 100,
    JUDGE_KERNEL_CLEAN = 101,
    JUDGE_KERNEL_VERSION = 110 /* + version */
};

/* def->maker of evidence */
enum { EV_CARD, EV_BYTES, EV_OPERATIONS, EV_BOUND, EV_PREDICTIONS, EV_CHOICE };

/* make_cases.c: case k of a maker; `kind` gets its kind in words, without values */
struct lab03_case;
void lab03_make_case(struct rng *rng, enum lab03_maker which, int k, struct lab03_case *c,
                     char *kind, size_t cap);

/* describe.c */
void lab03_describe(const struct lab03_case *c, char *out, size_t cap);

/* evidence.c */
void lab03_examine(const struct check_def *def, const char *folder, struct evidence *out);

/* judge_kernel.c: prepare, run and release of struct lab */
int lab03_prepare(const struct sandbox *sb, struct workplace *w, const char *home,
                  const bool *wanted, void **own, struct err *e);
void lab03_run(const struct check_def *def, const struct grading *g, struct check_result *r);
void lab03_release(void *own);
const char *lab03_counting(const void *own);
/* Whether a check of kind CHECK_OWN is about this kernel. */
bool lab03_is_about(const struct check_def *def, const char *kernel);

/* card.c: on_card of struct lab */
int lab03_on_card(const struct grading *g, const char *home, const bool *chosen,
                  void (*progress)(const char *, size_t, size_t), int *status, bool *usage,
                  struct err *e);

#endif
