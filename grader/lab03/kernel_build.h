/* kernel_build.h: compiles and links a learner's .cu files, each into one program under the
 * checking runtime.
 *
 * A file's text is examined, it is compiled in the sandbox, the compiler's output is examined, and
 * the accepted object is linked with the child. A file that is refused or does not compile loses
 * only its own kernel.
 */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_BUILD_H
#define SERVELAB_GRADER_LAB03_KERNEL_BUILD_H

#include "core/collect.h"
#include "core/lab.h"
#include "core/sandbox.h"

#include "backend/kernel_spec.h"

enum kernel_state {
    KERNEL_UNWANTED,
    KERNEL_ABSENT,  /* no file, or LAB_TODO_KERNEL is still in it */
    KERNEL_REFUSED, /* `why`: refused, or it doesn't compile */
    KERNEL_BUILT
};

struct kernel_program {
    const struct kernel_spec *spec;
    enum kernel_state state;
    char why[480];
    bool official;  /* counted by simtcc's own calls, which nothing in the text can avoid */
    char path[320]; /* the program, when BUILT */
};

/* programs: one for each kernel, in kernel_specs' order. Those in the state KERNEL_ABSENT are built
 * if there is something to build. Refused files get FILE_REFUSED in w->file, too. -1 with *e: the
 * grader's fault. */
int lab03_kernel_build(const struct sandbox *sb, const struct lab *lab, struct workplace *w,
                       const char *home, struct kernel_program *programs, struct err *e);

/* Builds the same program with an empty kernel in the place of the learner's, to see whose fault a
 * failure is: when this one links and starts, it is the submission's. -1 with *e: it can't be
 * built.
 */
int lab03_kernel_stand_in(const struct sandbox *sb, const struct workplace *w,
                          const struct kernel_program *p, char *program, size_t cap, struct err *e);

/* For a built kernel with a wrong result: out becomes "FILE:LINE: 'NAME' is read before anything
 * was written to it" for the first such local variable that the compiler finds, or "". -1 with *e:
 * the grader's fault. */
int lab03_kernel_unwritten(const struct sandbox *sb, const struct workplace *w, const char *kernel,
                           char *out, size_t cap, struct err *e);

#endif
