/* collect.h: a submission's files, brought into a fresh work folder. Takes exactly the files that
 * the lab names and nothing else: tests or Makefiles that came along are never looked at. Takes
 * only regular files of a bounded size, never through a symbolic link. Tolerates what honest
 * archives do: one extra folder, CRLF line ends, a byte order mark, odd folder names.
 *
 * The work folder:
 *   src/    the copies, which the submission's code can't change
 *   given/  headers and the prebuilt child (build.h puts them there)
 *   out/    what compiler and linker write
 */
#ifndef SERVELAB_GRADER_CORE_COLLECT_H
#define SERVELAB_GRADER_CORE_COLLECT_H

#include "core/lab.h"

enum file_state {
    FILE_OK,
    FILE_MISSING,
    FILE_REFUSED /* there, but not acceptable: a link, too large, binary, doesn't compile, ... */
};

struct collected {
    enum file_state state;
    char message[480]; /* when not OK: what and what to do, clean */
};

enum { COLLECT_MAX_FILES = 24 };

struct workplace {
    char root[256]; /* the work folder */
    char src[272], given[272], out[272];
    struct collected file[COLLECT_MAX_FILES]; /* beside lab->files[i] */
};

/* Makes the work folder. `drop` says that untrusted programs run as nobody, who must be able to
 * write to out/. -1 with *e: our fault. */
int workplace_create(struct workplace *w, bool drop, struct err *e);

/* Removes the work folder with everything in it. */
void workplace_remove(const struct workplace *w);

/* Copies the lab's files from `folder`. -1 with *e when there is no such folder, or when it is
 * unclear where in it the files are: the caller's input. */
int collect(struct workplace *w, const struct lab *lab, const char *folder, struct err *e);

/* Reads a regular file of at most cap bytes, not through a link, into malloc'ed memory with a NUL
 * after it. NULL when there is none. Used for files that untrusted programs wrote, too. */
char *collect_read(const char *folder, const char *name, size_t cap, size_t *n);

#endif
