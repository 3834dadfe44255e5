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
 *   answer-nll/1  The likelihood of the right answers is that of a stored float32 run
 * (reference.h): exact match alone doesn't see a missing softmax scale. Not judged here.
 *
 * White space around an answer is ignored. All but tool-call/1 accept text around the digits:
 * "4815, as asked" recalls the key 4815. Nothing else is tolerated.
 */
#ifndef SERVELAB_QUALITY_CHECKS_H
#define SERVELAB_QUALITY_CHECKS_H

#include "record/record.h"

struct quality_result {
    enum verdict quality;
    enum verdict structure; /* VERDICT_NOT_REQUIRED unless the check judges structure */
    char detail[160];       /* got and want in one sentence, printable ASCII */
};

/* Judges one answer. `check` is one of the first four names above; answer[0..n) may be any bytes.
 * 0, or -1 and *e, with the known names, when the check is unknown. */
int quality_judge(const char *check, const char *expected, const char *answer, size_t n,
                  struct quality_result *out, struct err *e);

/* Writes a result into a record's quality and structure. */
void quality_write(struct record *r, const char *check, const struct quality_result *result);

#endif
