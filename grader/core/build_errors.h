/* build_errors.h: turns output of the compiler and the linker into messages for a person. Used by
 * build.c and lab 03. */
#ifndef SERVELAB_GRADER_CORE_BUILD_ERRORS_H
#define SERVELAB_GRADER_CORE_BUILD_ERRORS_H

#include "core/collect.h"
#include "core/sandbox.h"

/* Marks a file that did not compile: its first error with the learner's line, and the number of
 * further errors. */
void build_errors(const struct workplace *w, const char *source, struct collected *c);

/* Appends a line "FILE:LINE: TEXT" for each warning about `source` in the compiler's output, which
 * is the file out/ + source's name without its end + suffix. What doesn't fit is left out. */
void build_warnings(const struct workplace *w, const char *source, const char *suffix, char *out,
                    size_t cap);

/* For a failed linker. Marks the submission's files with the reason (most likely two files define
 * one name). If the grader is at fault: -1 with *e. */
int build_link_errors(const struct lab *lab, struct workplace *w, const struct sandbox_run *run,
                      struct err *e);

#endif
