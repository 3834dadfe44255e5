/* checks.h: judges an answer by a named quality check.
 *
 * Each verdict in a record names its check and the check's version, so that the record defines what
 * "passed" means. A check looks at the answer alone, not at any time.
 *
 *   key-recall/1  The first run of digits in the answer is the stored value, as text ("0042" is not
 *                 "42").
 *   sum/1         The first run of digits in the answer is the sum, without leading zeros.
 *   tool-call/1   Quality: the answer is the expected call (same tool, same arguments in order).
 *                 Structure: the answer is one JSON object {"tool": string, "args": array} with a
 *                 known tool and its number of arguments, whose values don't matter.
 *   key-count/1   The runs of digits in the answer are the right numbers, as text, in order, and no
 *                 others.
 *
 * Three more judge a sentence in plain English. A word is a run of ASCII letters and digits; a
 * number is a word of digits alone, so the key K7Q2 has none.
 *
 *   plain-recall/1  The answer's numbers of four digits are the stored value, once or more often,
 *                   and no other. Right: 4815; The line "key K7Q2 4815" is ... Wrong: 4816; 4,815;
 *                   48151; 4815 or 1234; the whole log.
 *   plain-pair/1    The same for two values, whose first mentions come in the order of the
 * question. Wrong: one of them; 0042 before 4815; a third record's value. plain-sum/1     The
 * answer's last number is the sum. Right: 42; 12 + 30 = 42. The answer is: 42. Wrong: 42.0; 42 is
 * 12 + 30, which is right, but ends in 30.
 *
 * They don't see what is said about a number ("it is not 4815" passes), which key a value was given
 * to, or whether the sentence is true, and they don't read numerals in words ("forty-two"). A guess
 * at a value is right once in 10,000, a value copied from a random record once in 8 to 16.
 *
 *   answer-nll/1  The likelihood of the right answers is that of a stored float32 run
 * (reference.h): exact match alone doesn't see a missing softmax scale. Not judged here.
 *
 * White space around an answer is ignored. All but tool-call/1 accept text around the digits:
 * "4815, as asked" recalls the value 4815. Nothing else is tolerated.
 */
#ifndef SERVELAB_QUALITY_CHECKS_H
#define SERVELAB_QUALITY_CHECKS_H

#include "record/record.h"

struct quality_result {
    enum verdict quality;
    enum verdict structure; /* VERDICT_NOT_REQUIRED unless the check judges structure */
    char detail[160];       /* got and want in one sentence, printable ASCII */
};

/* Judges one answer. `check` is one of the names above but the last; answer[0..n) may be any bytes.
 * 0, or -1 and *e, with the known names, when the check is unknown. */
int quality_judge(const char *check, const char *expected, const char *answer, size_t n,
                  struct quality_result *out, struct err *e);

/* Writes a result into a record's quality and structure. */
void quality_write(struct record *r, const char *check, const struct quality_result *result);

#endif
