/* checks.h: the named quality checks. A verdict is always the verdict of one of these, by name and
 * version, so that a record says what "passed" meant. A check looks at the answer alone; it knows
 * nothing of time.
 *
 *   key-recall/1  the first run of digits in the answer is the stored value, as text ("0042" is not
 * "42"). sum/1         the first run of digits in the answer is the sum, without leading zeros.
 *   tool-call/1   quality: the answer is the expected call (same tool, same arguments in order);
 *                 structure: the answer is one JSON object {"tool": string, "args": array} with a
 * tool we know and the right number of arguments, whatever their values. answer-nll/1  how sure the
 * model is of the right answers, against a stored float32 run (evaluate.h): exact match alone
 * doesn't see a missing softmax scale.
 *
 * White space around an answer is of no account. The first two tolerate text around the digits: a
 * chatty model that says "4815, as asked" has recalled the key. Nothing else is tolerated.
 */
#ifndef SERVELAB_QUALITY_CHECKS_H
#define SERVELAB_QUALITY_CHECKS_H

#include "record/record.h"

struct quality_result {
    enum verdict quality;
    enum verdict structure; /* VERDICT_NOT_REQUIRED unless the check judges structure */
    char detail[160];       /* got and want in one sentence, printable ASCII */
};

/* Judges one answer. `check` is one of the first three names above. -1 and *e when the check is
 * unknown (the known ones are listed). answer[0..n) may be any bytes. */
int quality_judge(const char *check, const char *expected, const char *answer, size_t n,
                  struct quality_result *out, struct err *e);

/* Writes a result into a record's quality and structure. */
void quality_write(struct record *r, const char *check, const struct quality_result *result);

#endif
