/* reference.h: answer-nll/1, a check that compares likelihoods with a stored float32 run.
 *
 * A model without its softmax scale, or with four-bit weights, may still answer rightly, which
 * exact match can't see; but its likelihoods change. This check asks the questions of the stored
 * run and compares, question by question, the negative log-likelihood of the prompt's last tokens
 * and of the right answer after them. It passes when the median absolute difference is at most
 * NLL_TOLERANCE_NATS. It takes the median because a few uncertain questions move by whole nats
 * under the smallest change.
 *
 * The stored run is a text file: a heading line, then one line a log with the NLL of each question
 * in units of 1e-5 nats. `servelab quality --weights f32 --write-reference FILE` makes it.
 */
#ifndef SERVELAB_QUALITY_REFERENCE_H
#define SERVELAB_QUALITY_REFERENCE_H

#include "quality/evaluate.h"
#include "record/record.h"

/* Above the shift of weights in int8 (0.67), below that of the smallest planted fault (3.52, the
 * missing softmax scale): the table in model/embedded/README.md. */
#define NLL_TOLERANCE_NATS 2.0

struct nll_reference {
    char model[96];
    uint64_t seed;
    int32_t n_logs, per_kind;
    int32_t *units; /* (n_logs, QUESTION_KINDS * per_kind), 1e-5 nats; owned; NULL when there is no
                       reference */
};

struct nll_verdict {
    enum verdict verdict;
    int32_t compared;    /* questions that both runs asked; 0: not evaluated */
    double median_shift; /* median |nll - reference|, nats a question */
};

/* 0, or -1 and *e, with the line where the file is malformed. nll_reference_release after success,
 * or on a zeroed one. */
int nll_reference_read(struct nll_reference *ref, const char *path, struct err *e);
void nll_reference_release(struct nll_reference *ref);

/* Can a reference be written there? 0, or -1 and *e. Call this before an evaluation of minutes. */
int nll_reference_writable(const char *path, struct err *e);

/* Writes to a temporary file beside `path` and renames it. 0, or -1 and *e. */
int nll_reference_write(const char *path, const char *model, const struct evaluation_plan *plan,
                        const struct evaluation *ev, struct err *e);

/* Compares the questions that a run shares with the reference: logs by seed, questions by number. A
 * run with another per_kind has other questions and shares none. recall_only: the run has recall
 * questions only. */
struct nll_verdict nll_compare(const struct nll_reference *ref, const struct evaluation_plan *plan,
                               bool recall_only, const struct evaluation *ev);

#endif
