/* render.h: renders a verdict as text or as JSON, and writes it. Each rendering reads its totals
 * from verdict.h, so that they agree. Texts in a verdict are clean already. */
#ifndef SERVELAB_GRADER_CORE_RENDER_H
#define SERVELAB_GRADER_CORE_RENDER_H

#include "core/lab.h"
#include "core/verdict.h"

#include <stdio.h>

/* For a person. Short: the totals, and details for what was not earned. `colour`: with escape
 * codes. */
void render_text(const struct grade_verdict *v, const struct lab *lab, bool colour, FILE *out);

/* Schema "servelab.grade.v1"; keys are stable. -1: out of memory. */
int render_json(const struct grade_verdict *v, FILE *out);

enum render_format { RENDER_TEXT, RENDER_JSON };

/* Renders the verdict and writes it to the file `path`, or to standard output if path is NULL. All
 * writers of a verdict use this, so that a write error is never lost. -1 with *e: it could not be
 * rendered or not be written as a whole; the exit status is then 4. */
int render_file(const struct grade_verdict *v, const struct lab *lab, enum render_format format,
                bool colour, const char *path, struct err *e);

/* Flushes what was printed to standard output. -1 with *e: it could not be written as a whole. What
 * is left in the buffer is then dropped, so that the same error is not reported twice. */
int render_flush(struct err *e);

#endif
