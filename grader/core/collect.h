/* collect.h: copies a submission's files into a fresh work folder. Takes exactly the files that the
 * lab names: tests or Makefiles beside them are ignored. Takes only regular files of a bounded
 * size, never through a symbolic link. Accepts what honest archives contain: one extra folder, CRLF
 * line ends, a byte order mark, unusual folder names.
 *
 * The work folder:
 *   src/    the copies; the submission's code can't change them
 *   given/  headers and the prebuilt child (build.h puts them there)
 *   out/    output of compiler and linker
 */
#ifndef SERVELAB_GRADER_CORE_COLLECT_H
#define SERVELAB_GRADER_CORE_COLLECT_H

#include "core/lab.h"

enum file_state {
    FILE_OK,
    FILE_MISSING,
    FILE_REFUSED /* exists but can't be used: a link, too large, binary, doesn't compile, ... */
};

struct collected {
    enum file_state state;
    bool optional;     /* missing, and nobody has to hand it in */
    char message[480]; /* when not OK: what is wrong and the next step, clean */
};

enum {
    COLLECT_MAX_FILES = 32,
    COLLECT_MAX_DATA_BYTES = 4 << 20 /* a data file that is no log; who reads one reads all of it */
};

struct workplace {
    char root[256]; /* the work folder */
    char src[272], given[272], out[272];
    int lock;                                 /* held while the grader lives (workplace.c) */
    struct collected file[COLLECT_MAX_FILES]; /* parallel to lab->files */
};

/* Makes the work folder, and removes those of this user's graders that were ended before they could
 * (by SIGKILL, or the power). `drop`: untrusted programs run as nobody, who must be able to write
 * to out/. -1 with *e: the grader's fault. */
int workplace_create(struct workplace *w, bool drop, struct err *e);

/* Removes the work folder with everything in it. */
void workplace_remove(struct workplace *w);

/* After something failed that may have needed room. -1 with *e: the disk is full, which is nobody's
 * mistake. */
int workplace_full(const struct workplace *w, struct err *e);

/* Leaves the work folder for a person; no later grading removes it. */
void workplace_keep(struct workplace *w);

/* Copies the lab's files from `folder`. -1 with *e: no such folder, or several folders in it hold
 * files of this lab (*usage: the caller's input is wrong), or a file can't be copied. */
int collect(struct workplace *w, const struct lab *lab, const char *folder, bool *usage,
            struct err *e);

/* Reads a regular file of at most cap bytes, not through a link, into malloc'ed memory with a NUL
 * after it. NULL when it can't. Also used for files that untrusted programs wrote. */
char *collect_read(const char *folder, const char *name, size_t cap, size_t *n);

#endif
