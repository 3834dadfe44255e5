/* target.h: writes an output file as a whole or not at all, without replacing devices.
 *
 * An output is written aside, as PATH.partial, and renamed, so that PATH never holds a part of it.
 * A rename replaces what was there: as root it would turn /dev/null into a regular file for every
 * program of the machine. So devices, FIFOs and sockets are written into.
 */
#ifndef SERVELAB_BASE_TARGET_H
#define SERVELAB_BASE_TARGET_H

#include "base/err.h"

#include <stddef.h>

enum target {
    TARGET_REPLACE, /* nothing is there, or a regular file: write aside, then rename to `real` */
    TARGET_STREAM   /* a device, a FIFO, a socket: write into it */
};

/* How to write to `path`. `real` becomes the path, or what it points at if it is a symbolic link,
 * so that the link stays. A kind, or -1 and *e: a folder, or a path that is too long or can't be
 * followed. Opens nothing. */
int target_find(const char *path, char *real, size_t cap, struct err *e);

/* Writes text[0..n) to `path` as described above. 0, or -1 and *e with the reason; then a regular
 * file at `path` is as it was. */
int target_write(const char *path, const char *text, size_t n, struct err *e);

/* Can a file be opened there for writing? Call it before long work whose result goes there. 0, or
 * -1 and *e. Leaves nothing behind. */
int target_check(const char *path, struct err *e);

#endif
