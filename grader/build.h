/* build.h: a submission's C files become programs. The compiler runs in the sandbox too, with
 * bounds on time, memory and output; its files are examined (object.h) before anything is linked. A
 * file that is missing, refused or doesn't compile takes only its own functions with it: a stand-in
 * that says "not attempted" is linked instead, and the other files are graded.
 *
 * What a helper function is called is the learner's business: after the examination only the
 * interface's functions stay visible to the linker, so that nothing in a submission can stand in
 * for a function of the C library or of ours.
 */
#ifndef SERVELAB_GRADER_BUILD_H
#define SERVELAB_GRADER_BUILD_H

#include "collect.h"
#include "sandbox.h"

/* The folder that holds common/ and build/grader/: from SERVELAB_HOME, or the first one above the
 * running program that has build/grader. -1 with *e. */
int build_find_home(char *home, size_t cap, struct err *e);

struct built {
    char plain[320];             /* the program, "" when there is none */
    char sanitised[320];         /* the same under ASan and UBSan, "" when there is none */
    char sanitised_problem[300]; /* why, when that is our fault: no sanitizers here, say */
};

/* Compiles, examines, links. Files that fail become FILE_REFUSED in w->file, with the first errors
 * in their message. -1 with *e when we failed. */
int build_submission(const struct sandbox *sb, const struct lab *lab, struct workplace *w,
                     const char *home, bool sanitised, bool trust_objects, struct built *out,
                     struct err *e);

#endif
