/* regular.h: regular_open, which opens a file for reading and nothing else: a FIFO would wait for a
 * writer, and a device may have no end. */
#ifndef SERVELAB_BASE_REGULAR_H
#define SERVELAB_BASE_REGULAR_H

#include "base/err.h"

#include <stdio.h>

/* NULL and *e: it can't be opened, or is a folder, a device, a FIFO or a socket. */
FILE *regular_open(const char *path, struct err *e);

#endif
