/* evaluate.h: asks a model many checkable questions and judges its answers.
 *
 * Every prompt has exactly QUESTION_PROMPT_TOKENS tokens. The questions of one log share the log's
 * KV blocks through their block tables, as with prefix caching: a log is computed once for dozens
 * of questions. Each question has two results: the named check's verdict on the greedy answer, and
 * the negative log-likelihood (NLL) of the right answer.
 *
 * Not here: which runs are compared (cli/cmd_quality.c), the checks (checks.h).
 */
#ifndef SERVELAB_QUALITY_EVALUATE_H
#define SERVELAB_QUALITY_EVALUATE_H

#include "backend/backend.h"
#include "quality/questions.h"
#include "sched/policy.h"

#include <stdio.h>

enum {
    EVALUATION_MAX_SEQS = 8,        /* sequences in one step */
    EVALUATION_ANSWER_TOKENS = 256, /* the longest right answer, a count, has 201 under the embedded
                                       vocabulary, 251 where the space is a token of its own */
    /* blocks of one sequence beyond the shared ones: its tail, a template's closing, its answer */
    EVALUATION_OWN_BLOCKS =
        (QUESTION_PLAIN_TAIL_TOKENS + 32 + EVALUATION_ANSWER_TOKENS) / KV_BLOCK_TOKENS + 2,
    EVALUATION_PREFIX_BLOCKS = QUESTION_PROMPT_TOKENS / KV_BLOCK_TOKENS,
    /* one more block stays zero */
    EVALUATION_KV_BLOCKS =
        EVALUATION_PREFIX_BLOCKS + EVALUATION_MAX_SEQS * EVALUATION_OWN_BLOCKS + 1
};

struct evaluation_plan {
    int32_t n_logs;   /* at least 50 for a published figure, because prompts vary more from log to
                         log than within one */
    int32_t per_kind; /* questions of each kind about each log */
    enum question_wording wording;
    uint64_t seed;   /* logs seed .. seed + n_logs - 1 */
    bool lose_block; /* planted fault: the KV block that holds the end of the asked record reads as
                        zeros; only the wording's recall questions are asked */
    FILE *progress;  /* gets lines that count the logs; NULL: none */
    bool redraws;    /* the progress is one line, redrawn; else a line every few seconds */
};

/* One question's outcome. */
struct evaluation_item {
    enum question_kind kind;
    bool passed;           /* the named check's verdict on the greedy answer */
    bool structure_passed; /* tool calls: the answer has the shape of a call */
    double answer_nll; /* -log p(right answer and end of answer | prompt), nats. In plain wording
                          this is the bare number's, which a model that answers in a sentence
                          finds unlikely */
    double tail_nll; /* grammar only: -log p(the prompt's last tokens | the log before them), nats.
                        The model was not trained to predict a log, so its probabilities are spread
                        there, and every change of the computation changes this number. In its
                        answers one token has nearly all of the probability, so small changes hardly
                        change answer_nll */
};

struct evaluation {
    struct evaluation_item *items; /* (n_items), in the plan's order; owned */
    int32_t n_items;
};

/* Runs the plan. The backend needs room for 2,048 + 256 tokens in one sequence and
 * EVALUATION_KV_BLOCKS blocks; the model must name an end-of-sequence token. 0, or -1 and *e.
 * evaluation_release after success. */
int evaluate(struct backend *b, const struct tokenizer *t, const struct evaluation_plan *plan,
             struct evaluation *out, struct err *e);
void evaluation_release(struct evaluation *ev);

/* Totals of one kind. */
struct evaluation_total {
    int32_t n, passed, structure_passed;
    double mean_answer_nll;
};
struct evaluation_total evaluation_total(const struct evaluation *ev, enum question_kind kind);

#endif
