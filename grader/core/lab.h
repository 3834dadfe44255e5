/* lab.h: what the grader's core knows of one lab: its files, the functions they must define, and
 * its checks. The core (grade.c) runs any lab; a lab's folder makes the cases and knows the
 * answers.
 *
 * The trust boundary runs through struct hidden_case: `bytes` go to the child, everything else
 * stays here.
 */
#ifndef SERVELAB_GRADER_CORE_LAB_H
#define SERVELAB_GRADER_CORE_LAB_H

#include "core/verdict.h"

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slot_kind {
    SLOT_INT,  /* equal */
    SLOT_REAL, /* a double's bits: finite, and equal to 1e-9 of its magnitude */
    SLOT_MIN,  /* at least `value` */
    SLOT_NAN   /* a double that is no number */
};

/* One number of an answer and what it should be. */
struct want {
    const char *name; /* "client_ttft.ns" */
    enum slot_kind kind;
    int64_t value;
    bool care; /* false: this check doesn't ask about it */
    bool is_ns;
    int index;                /* 1.. for one of a row: "gap 3"; 0 otherwise */
    const char *const *names; /* names of an enumeration's values, or NULL */
    int n_names;
};

enum { CASE_KIND_BYTES = 160 };

struct hidden_case {
    unsigned char *bytes; /* all that the child gets */
    size_t n_bytes;
    struct want *wants; /* one for each slot of the answer */
    size_t n_wants;
    char kind[CASE_KIND_BYTES]; /* in words, safe to show with any seed: "an answer of one token" */
    char input[1200];           /* the case itself; shown with a practice seed only */
};
void hidden_case_release(struct hidden_case *h);

enum check_kind {
    CHECK_CASES,     /* ask cases, compare answers */
    CHECK_SURVIVES,  /* cases under the sanitizers: any answer, but no finding */
    CHECK_READ_ONLY, /* cases whose inputs can't be written */
    CHECK_HEAP,      /* the heap doesn't grow over many calls */
    CHECK_QUIET,     /* prints nothing */
    CHECK_DIALOGUE,  /* what is asked next depends on the answer: the lab judges (dialogue.h) */
    CHECK_OWN,       /* the lab has programs of its own and runs them: prepare and run, below */
    CHECK_EVIDENCE   /* looks at data files; no submission code runs */
};

enum { CHECK_HINTS = 3 };

struct check_def {
    const char *id;
    enum dimension dimension;
    int points;
    const char *title;
    const char *section; /* of the handout */
    enum check_kind kind;
    int n_cases;
    int maker;      /* the lab's own number for how cases are made */
    unsigned needs; /* bit (1 << enum dimension): half of that dimension's points must be earned */
    const char *file; /* where the learner would look */
    const char *hints[CHECK_HINTS];
};

struct lab_file {
    const char *name;             /* "intervals.c" */
    bool code;                    /* compiled; otherwise data */
    const char *const *functions; /* that it must define, NULL at the end; code only */
};

struct evidence {
    enum outcome outcome;
    bool todo;
    char message[320];
};

struct dialogue;
struct grading;
struct sandbox;
struct workplace;

struct lab {
    const char *number;      /* "01" */
    const char *name;        /* "01_request_record" */
    const char *first_step;  /* for someone who has not begun */
    const char *first_check; /* the check that the first step alone earns */
    const struct lab_file *files;
    size_t n_files;
    const struct check_def *checks;
    size_t n_checks;
    const char *child;          /* name of the prebuilt child: "lab01" */
    const char *const *given;   /* functions of ours that a submission may call, NULL at the end */
    const char *const *headers; /* folders of common/ that it may include, NULL at the end */

    /* Makes case k of a check for a seed; the same seed gives the same case everywhere. For the
     * safety kinds it may return a case of any check of the same file. -1 with *e: our fault. */
    int (*make)(const struct check_def *def, uint64_t seed, int k, struct hidden_case *out,
                struct err *e);
    /* Judges a check of kind CHECK_DIALOGUE: asks through *d (dialogue.h), sets r->outcome and says
     * why. NULL where a lab has none. */
    void (*judge)(const struct check_def *def, struct dialogue *d, struct check_result *r);
    /* For checks of kind CHECK_OWN; all three NULL where a lab has none. prepare builds what they
     * need, before any check: wanted[i] says whether checks[i] will run. It may refuse files. What
     * it leaves in *own reaches the checks as g->own, and release takes it back. -1 with *e:
     * our fault. */
    int (*prepare)(const struct sandbox *sb, struct workplace *w, const char *home,
                   const bool *wanted, void **own, struct err *e);
    void (*run)(const struct check_def *def, const struct grading *g, struct check_result *r);
    void (*release)(void *own);
    /* `--device cuda`: runs what the chosen checks are about on a GPU and prints a table instead of
     * a verdict; *status is the exit status. NULL where a lab has none. -1 with *e, and *usage when
     * something is missing here. */
    int (*on_card)(const struct grading *g, const char *home, const bool *chosen,
                   void (*progress)(const char *what, size_t done, size_t total), int *status,
                   bool *usage, struct err *e);
    /* Examines data files in `folder` (a collected copy). */
    void (*examine)(const struct check_def *def, const char *folder, struct evidence *out);
};

/* For the makers of cases. One sequence of random numbers for each check, seed and case: FNV-1a
 * over the check's name. */
uint64_t case_sequence(uint64_t seed, const char *id, int k);

/* Which of wants[0..n) a check cares about. CHECK_CASES: of those that are set, the slots whose
 * names begin with one of the prefixes in focus ('|' between them; NULL: all). The safety kinds ask
 * for survival, or (CHECK_HEAP) for the last slot, not for right answers. */
void case_set_care(const struct check_def *def, const char *focus, struct want *wants, size_t n);

#endif
