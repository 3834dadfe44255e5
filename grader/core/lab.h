/* lab.h: the interface of one lab to the grader's core: its files, the functions that they must
 * define, its checks, and functions that make cases and judge answers. The core (grade.c) runs any
 * lab; only a lab's folder has the right answers.
 *
 * The trust boundary is in struct hidden_case: `bytes` go to the child, everything else stays in
 * the grader's process.
 */
#ifndef SERVELAB_GRADER_CORE_LAB_H
#define SERVELAB_GRADER_CORE_LAB_H

#include "core/verdict.h"

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slot_kind {
    SLOT_INT,  /* the integers are equal */
    SLOT_REAL, /* a double's bits: finite, and equal within 1e-9 of its magnitude */
    SLOT_MIN,  /* at least `value` */
    SLOT_NAN   /* a double's bits: NaN */
};

/* One number of an answer, and the expected value. */
struct want {
    const char *name; /* "client_ttft.ns" */
    enum slot_kind kind;
    int64_t value;
    bool care;  /* false: this check does not compare it */
    bool same;  /* CHECK_SURVIVES: the answer is that of the program without sanitizers */
    bool known; /* in a check that compares nothing: `value` is the right one */
    bool free; /* nobody knows the right one, and a right submission may choose it anew each time */
    bool is_ns;
    int index;                /* 1.. for an element of a list: "gap 3"; 0 otherwise */
    const char *const *names; /* for an enumeration: the names of its values; otherwise NULL */
    int n_names;
    /* values that a known mistake gives, each with the mistake in words after "this is what you get
     * if "; a text of NULL ends the list */
    struct as_if {
        int64_t value;
        const char *text;
    } as_if[3];
};

/* Adds one, unless the list is full or the value is the right one. */
void want_as_if(struct want *w, int64_t value, const char *text);

enum { CASE_KIND_BYTES = 160 };

struct hidden_case {
    unsigned char *bytes; /* the only part that the child gets */
    size_t n_bytes;
    struct want *wants; /* one for each slot (int64 number) of the answer */
    size_t n_wants;
    char kind[CASE_KIND_BYTES]; /* in words, without values; shown with any seed: "an answer of one
                                   token" */
    char input[1200];           /* the case's values; shown with a practice seed only */
    const char *function;       /* of the submission that is asked; NULL: the first word of input */
    const char *calls; /* what is called, if it isn't that function: "create() of "; or NULL */
};
void hidden_case_release(struct hidden_case *h);

enum check_kind {
    CHECK_CASES,    /* ask cases, compare answers */
    CHECK_SURVIVES, /* cases under the sanitizers: no finding, and the answers of the other build */
    CHECK_READ_ONLY, /* cases whose inputs are read-only memory */
    CHECK_HEAP,      /* the heap doesn't grow over many calls */
    CHECK_QUIET,     /* prints nothing */
    CHECK_DIALOGUE,  /* each question depends on the last answer; the lab judges (dialogue.h) */
    CHECK_OWN,       /* the lab builds and runs its own programs: prepare and run, below */
    CHECK_EVIDENCE   /* examines data files; no code of the submission runs */
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
    int maker;      /* the lab's enum labNN_maker: how cases are made */
    unsigned needs; /* bits (1 << enum dimension): half of each one's points must be earned first */
    const char *file; /* the learner's file that it is about; NULL: several */
    const char *hints[CHECK_HINTS];
};

struct lab_file {
    const char *name; /* "intervals.c"; "runs/0/run.json": a file in a folder may be missing */
    bool code;        /* compiled; otherwise data */
    const char *const *functions; /* that it must define, NULL at the end; code only */
};

struct evidence {
    enum outcome outcome;
    bool todo;
    char message[320];
    const char *note; /* shown for an earned check, too; NULL: none */
};

/* Sets outcome and message; the message is cleaned, because it may quote a submission. */
/* The number of different words of a text. Names of intervals (with '_', or "e2e") and numbers are
 * no words; a letter of a script that writes no blanks counts as one. */
int evidence_words(const char *text);
/* A text with fewer is no sentence. */
enum { EVIDENCE_SENTENCE_WORDS = 3 };

void evidence_say(struct evidence *out, enum outcome outcome, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct dialogue;
struct grading;
struct sandbox;
struct workplace;

struct lab {
    const char *number;      /* "01" */
    const char *name;        /* "01_request_record" */
    const char *first_step;  /* shown for a starter that is unchanged */
    const char *first_check; /* the check that is earned by the first step alone */
    const struct lab_file *files;
    size_t n_files;
    const char *const *folders; /* NULL, or for each file the folder that it is in, as seen from the
                                   submission's ("../02_queue_sim"); NULL: the submission's own */
    const struct check_def *checks;
    size_t n_checks;
    const char *child; /* name of the prebuilt child: "lab01" */
    const char *const
        *given; /* functions of the project that a submission may call, NULL at the end */
    const char *const *headers; /* folders of common/ that it may include, NULL at the end */

    /* Makes case k of a check from a seed: the same seed gives the same case on every machine. For
     * the safety kinds it may return a case of any check of the same file. -1 with *e: the grader's
     * fault. */
    int (*make)(const struct check_def *def, uint64_t seed, int k, struct hidden_case *out,
                struct err *e);
    /* Judges a check of kind CHECK_DIALOGUE: asks through *d (dialogue.h), sets r->outcome and the
     * reason. NULL in a lab without dialogues. */
    void (*judge)(const struct check_def *def, struct dialogue *d, struct check_result *r);
    /* For checks of kind CHECK_OWN; all three are NULL in a lab without them. prepare builds the
     * programs before any check runs; wanted[i]: checks[i] will run. It may refuse files. The
     * checks find *own as g->own; release frees it. -1 with *e: the grader's fault. */
    int (*prepare)(const struct sandbox *sb, struct workplace *w, const char *home,
                   const bool *wanted, void **own, struct err *e);
    void (*run)(const struct check_def *def, const struct grading *g, struct check_result *r);
    /* After prepare: what the verdict says about how the lab's programs are counted. NULL: nothing.
     */
    const char *(*counting)(const void *own);
    void (*release)(void *own);
    /* `--device cuda`: runs what the chosen checks are about on a GPU and prints a table instead of
     * a verdict; *status is the exit status. NULL in a lab without it. -1 with *e; *usage: the
     * machine lacks something. */
    int (*on_card)(const struct grading *g, const char *home, const bool *chosen,
                   void (*progress)(const char *what, size_t done, size_t total), int *status,
                   bool *usage, struct err *e);
    /* Examines data files in `folder` (a collected copy). */
    void (*examine)(const struct check_def *def, const char *folder, struct evidence *out);
};

/* The seed that an instructor's text stands for: SHA-256 of it, cut to 64 bits. */
uint64_t case_seed(const void *text, size_t n);

/* For the makers of cases. The start of the random sequence for one check, seed and case:
 * HMAC-SHA256 of the check's id and k, with the seed as key, cut to 64 bits. It goes one way: who
 * knows some cases, and from them their sequences, knows neither the seed nor another case. */
uint64_t case_sequence(uint64_t seed, const char *id, int k);

/* Which case a lab makes as the k-th of a check: an order of 0..n_cases-1 that follows the seed, so
 * that the place of a case says nothing about its kind. */
int case_shuffled(uint64_t seed, const struct check_def *def, int k);

/* Sets care, same and known in wants[0..n). CHECK_CASES compares the slots that have care set
 * already and whose names begin with a prefix in focus ('|' between prefixes; NULL: all). The
 * safety kinds compare nothing with the right answer, except CHECK_HEAP: the last slot; what had
 * care is known. CHECK_SURVIVES compares those slots with the other build's. */
void case_set_care(const struct check_def *def, const char *focus, struct want *wants, size_t n);

#endif
