/* build.h: compiles a submission's C files, examines the objects (object.h) and links them with the
 * child. The compiler runs in the sandbox, with bounds on time, memory and output. A file that is
 * missing, refused or does not compile loses only its own functions: stubs that answer "not written
 * yet" are linked in their place, and the other files are graded.
 *
 * Helper functions may have any name: after the examination only the interface's functions stay
 * visible to the linker, so that no function of a submission can replace one of the C library or of
 * the grader.
 */
#ifndef SERVELAB_GRADER_CORE_BUILD_H
#define SERVELAB_GRADER_CORE_BUILD_H

#include "core/collect.h"
#include "core/sandbox.h"

/* Finds the folder that holds common/ and build/grader/: SERVELAB_HOME, or the nearest one above
 * the running program that has build/grader. -1 with *e. */
int build_find_home(char *home, size_t cap, struct err *e);

struct built {
    char plain[320];             /* the program, "" when there is none */
    char sanitised[320];         /* the same under ASan and UBSan, "" when there is none */
    char sanitised_problem[300]; /* why it isn't there, although the plain one is */
    bool sanitised_ours;         /* stand-ins alone can't be linked either: the machine's fault */
    bool never_starts[2]; /* plain, sanitised: it didn't start, and stand-ins did (session.c) */
};

/* Compiles, examines, links. Files that fail become FILE_REFUSED in w->file, with the first error
 * as message. -1 with *e: the grader's fault. */
int build_submission(const struct sandbox *sb, const struct lab *lab, struct workplace *w,
                     const char *home, bool sanitised, bool trust_objects, struct built *out,
                     struct err *e);

/* Links the child with stand-ins only, without a line of the submission, to see whose fault a
 * failure is: -1 with *e: this fails, too. `sanitised`: with the sanitizers. */
int build_stand_ins(const struct sandbox *sb, const struct lab *lab, const struct workplace *w,
                    bool sanitised, char *program, size_t cap, struct err *e);

/* For labs with their own builds. Runs a shell script in the sandbox, in src/, with given/ readable
 * and out/ writable. The script must first make the file out/started: it shows whether the sandbox
 * started. -1 with *e: the grader's fault. */
int build_script(const struct sandbox *sb, const struct workplace *w, const char *script,
                 struct err *e);
/* Copies a file of the project into given/; `program`: executable. */
int build_give(const char *from_folder, const char *name, const char *to_folder, bool program,
               struct err *e);

#endif
