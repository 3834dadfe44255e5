/* questions.h: makes prompts of an exact length whose answers a program can check.
 *
 * A prompt is a service log that ends in a question. The log holds 8 to 16 records "key K7Q2 4815";
 * any two keys differ in at least three of four symbols.
 *
 * The grammar wording has four kinds of question:
 *
 *     key-recall/1   ? K7Q2                 " 4815"
 *     sum/1          12+30=                 "42"
 *     tool-call/1    subtract 3 from 10>    {"tool":"sub","args":[10,3]}
 *     key-count/1    get K7Q2 full>         " 4868 4869 ... 4900"   (the record says 4868)
 *
 * The last one has a long answer: 30 to 50 numbers, 120 to 200 tokens of the embedded model. It
 * counts on from the record's value to the next number that ends in 00; 0000 follows 9999.
 *
 * The plain wording asks about the same records in English, for a model that was trained to chat:
 *
 *     plain-recall/1  Find the line that begins with "key K7Q2" and repeat it.   "4815"
 *     plain-sum/1     What is 12 + 30?                                           "42"
 *     plain-pair/1    Find the lines that begin with "key K7Q2" and "key B3F9"   "4815 0042"
 *                     and repeat them.
 *
 * Such an answer is a sentence of the model's own, and the check finds the numbers in it.
 *
 * The embedded model (model/embedded) was trained on the grammar, but not on the operand pairs and
 * filler lines that this generator draws: an integer hash, the same in training and here, decides
 * which are held out. model/embedded/README.md defines the grammar; this is an independent
 * implementation of it.
 *
 * Equal seeds give equal prompts on every machine. Not here: whether an answer is right (checks.h),
 * and asking a model (evaluate.h).
 */
#ifndef SERVELAB_QUALITY_QUESTIONS_H
#define SERVELAB_QUALITY_QUESTIONS_H

#include "model/tokenizer.h"

#include <stdint.h>

enum {
    QUESTION_PROMPT_TOKENS = 2048, /* the recurring case of the course */
    QUESTION_TAIL_TOKENS =
        32, /* the question and a little filler: the log before it is 2,016 tokens, which is
               126 whole KV blocks, so that many questions can share one log's blocks */
    QUESTION_PLAIN_TAIL_TOKENS = 96, /* likewise: an English question has up to 80 tokens where
                                        letters are tokens of their own */
    QUESTION_MIN_KEYS = 8,
    QUESTION_MAX_KEYS = 16,
    QUESTION_MIN_COUNT = 30, /* numbers in the answer of a count question */
    QUESTION_MAX_COUNT = 50
};

enum question_kind {
    QUESTION_RECALL,
    QUESTION_SUM,
    QUESTION_TOOL,
    QUESTION_COUNT,
    QUESTION_KINDS, /* in the grammar */
    QUESTION_PLAIN_RECALL = QUESTION_KINDS,
    QUESTION_PLAIN_SUM,
    QUESTION_PLAIN_PAIR,
    QUESTION_ALL_KINDS
};

enum question_wording { WORDING_GRAMMAR, WORDING_PLAIN, WORDINGS };

/* What belongs to a wording. */
struct question_set {
    int first; /* its kinds are first .. first + n - 1 */
    int n;
    int32_t tail_tokens;   /* the question with its filler */
    int32_t answer_tokens; /* an answer is cut there */
};
struct question_set question_set(enum question_wording wording);
enum question_wording question_wording(enum question_kind kind);
const char *question_wording_name(enum question_wording wording); /* "grammar", "plain" */

/* The wording for this tokenizer's model: plain when it has a chat template with turns, and grammar
 * when its template is the bare content of the messages, as the embedded model's is. */
enum question_wording question_wording_for(const struct tokenizer *t);

struct question_log {
    char *text; /* NUL-terminated, ends with a newline; owned */
    int32_t n_keys;
    struct {
        char key[5], value[5];
        size_t end; /* bytes of text up to the end of this record's line */
    } records[QUESTION_MAX_KEYS];
};

struct question {
    enum question_kind kind;
    char tail[512];   /* filler lines, then the question */
    char answer[256]; /* the right answer; in plain wording its numbers alone */
    int32_t record;   /* recall and count: index of the record asked for; otherwise -1 */
};

/* The name of the check that judges a kind ("key-recall/1"), and the kind that a check judges, or
 * -1.
 */
const char *question_check(enum question_kind kind);
int question_from_check(const char *check);

/* Makes a question about *log. `index` numbers the questions of one kind and log; recall takes the
 * records in order, so that every record is asked about; count takes every second one, whose values
 * question_log_make draws for it. The tail has exactly the tail_tokens of the kind's wording under
 * *t. 0, or -1 and *e when there is no such tail under this tokenizer. */
int question_make(struct question *q, const struct question_log *log, const struct tokenizer *t,
                  enum question_kind kind, uint64_t seed, int32_t index, struct err *e);

/* Makes a log that, with a tail of this wording, gives a user message whose whole prompt (chat
 * template and bos included) has exactly prompt_tokens tokens. A seed's records are the same in
 * both wordings. 0, or -1 and *e. question_log_release after success. */
int question_log_make(struct question_log *log, const struct tokenizer *t,
                      enum question_wording wording, uint64_t seed, int32_t prompt_tokens,
                      struct err *e);
void question_log_release(struct question_log *log);

/* Makes one whole prompt: the log of `seed` and its question number `index`. *text is malloc'ed;
 * the caller frees it. tokenizer_encode_chat gives exactly prompt_tokens tokens for it, which is
 * verified. 0, or -1 and *e. */
int question_prompt(const struct tokenizer *t, enum question_kind kind, uint64_t seed,
                    int32_t index, int32_t prompt_tokens, char **text, struct question *q,
                    struct err *e);

#endif
