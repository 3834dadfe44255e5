/* target.h: where an output file that is written aside and renamed really goes.
 *
 * A rename puts a new file in the place of the old one, whatever that was: as root it would turn
 * /dev/null into a regular file for every program of the machine. So who writes aside asks first.
 * Refuses: to open or write anything.
 */
#ifndef SERVELAB_BASE_TARGET_H
#define SERVELAB_BASE_TARGET_H

#include "base/err.h"

#include <stddef.h>

enum target {
    TARGET_REPLACE, /* nothing is there, or a regular file: write aside, then rename to `real` */
    TARGET_STREAM   /* a device, a FIFO, a socket: write into it, it must stay what it is */
};

/* `real` becomes `path`, or what it points at where it is a symbolic link, so that the link stays.
 * A kind, or -1 and *e: a folder, or a path that is too long or can't be followed. */
int target_find(const char *path, char *real, size_t cap, struct err *e);

#endif
