/* to_read.h: collects the sentences of a submission's data files, for the instructor to read.
 *
 * A program can see that a reason is there and names the numbers that decide. It can't see whether
 * the sentence makes sense. So a verdict lists the sentences apart from the points, and no point
 * depends on the list.
 */
#ifndef SERVELAB_GRADER_CORE_TO_READ_H
#define SERVELAB_GRADER_CORE_TO_READ_H

#include "core/collect.h"
#include "core/lab.h"

/* Sets out->to_read, one sentence a line: "record.json: statement: TEXT". */
void to_read_collect(const struct lab *lab, const struct workplace *w, struct grade_verdict *out);

#endif
