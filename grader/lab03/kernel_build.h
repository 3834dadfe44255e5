/* kernel_build.h: a learner's .cu files become programs, one each, under the checking runtime.
 *
 * A file's text is examined, then it is compiled in the sandbox, what the compiler wrote is
 * examined, and the accepted object is linked with our half of the process. A file that is refused
 * or doesn't compile takes nothing with it but its own kernel.
 */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_BUILD_H
#define SERVELAB_GRADER_LAB03_KERNEL_BUILD_H

#include "core/collect.h"
#include "core/lab.h"
#include "core/sandbox.h"

#include "backend/kernel_spec.h"

enum kernel_state {
    KERNEL_UNWANTED,
    KERNEL_ABSENT,  /* no file, or LAB_TODO_KERNEL still stands in it */
    KERNEL_REFUSED, /* `why`: refused, or it doesn't compile */
    KERNEL_BUILT
};

struct kernel_program {
    const struct kernel_spec *spec;
    enum kernel_state state;
    char why[480];
    char path[320]; /* the program, when BUILT */
};

/* programs: one a kernel, in kernel_specs' order; those in the state KERNEL_ABSENT are built when
 * there is something to build. Refused files get FILE_REFUSED in w->file, too. -1 with *e: our
 * fault. */
int lab03_kernel_build(const struct sandbox *sb, const struct lab *lab, struct workplace *w,
                       const char *home, struct kernel_program *programs, struct err *e);

#endif
