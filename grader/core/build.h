/* build.h: a submission's C files become programs. The compiler runs in the sandbox too, with
 * bounds on time, memory and output; its files are examined (object.h) before anything is linked. A
 * file that is missing, refused or doesn't compile takes only its own functions with it: a stand-in
 * that says "not attempted" is linked instead, and the other files are graded.
 *
 * What a helper function is called is the learner's business: after the examination only the
 * interface's functions stay visible to the linker, so that nothing in a submission can stand in
 * for a function of the C library or of ours.
 */
#ifndef SERVELAB_GRADER_CORE_BUILD_H
#define SERVELAB_GRADER_CORE_BUILD_H

#include "core/collect.h"
#include "core/sandbox.h"

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

/* For labs that build more than that. A shell's script, run where the compiler runs: in the
 * sandbox, in src/, with given/ readable and out/ writable. It must begin by making the file
 * out/started, so that a sandbox that could not start is told from a script that failed. -1 with
 * *e: our fault. */
int build_script(const struct sandbox *sb, const struct workplace *w, const char *script,
                 struct err *e);
/* Copies a file of ours to given/; `program`: it may be executed. */
int build_give(const char *from_folder, const char *name, const char *to_folder, bool program,
               struct err *e);

#endif
