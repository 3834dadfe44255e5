/* build_errors.h: what the compiler or the linker said, for a person. Used by build.c alone. */
#ifndef SERVELAB_GRADER_CORE_BUILD_ERRORS_H
#define SERVELAB_GRADER_CORE_BUILD_ERRORS_H

#include "core/collect.h"
#include "core/sandbox.h"

/* Marks a file that didn't compile: its first error with the file's own line, and how many more. */
void build_errors(const struct workplace *w, const char *source, struct collected *c);

/* The linker failed. Marks the submission's files with the reason (two files define one name, most
 * likely), unless the reason is ours: then -1 with *e. */
int build_link_errors(const struct lab *lab, struct workplace *w, const struct sandbox_run *run,
                      struct err *e);

#endif
