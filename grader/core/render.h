/* render.h: one verdict, many renderings. Each reads the totals from verdict.h, so that they agree;
 * none of them decides anything. Texts in a verdict are clean already. */
#ifndef SERVELAB_GRADER_CORE_RENDER_H
#define SERVELAB_GRADER_CORE_RENDER_H

#include "core/lab.h"
#include "core/verdict.h"

#include <stdio.h>

/* For a person. Short: a line a check, details for what was not earned. Colour when asked for. */
void render_text(const struct grade_verdict *v, const struct lab *lab, bool colour, FILE *out);

/* Schema "servelab.grade.v1"; keys are stable. -1: out of memory. */
int render_json(const struct grade_verdict *v, FILE *out);

#endif
