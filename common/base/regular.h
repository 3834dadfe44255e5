/* regular.h: opens a file for reading and nothing else, and reads its lines: a FIFO would wait for
 * a writer, a device may have no end, and a line may be larger than the memory. */
#ifndef SERVELAB_BASE_REGULAR_H
#define SERVELAB_BASE_REGULAR_H

#include "base/err.h"

#include <stdio.h>
#include <sys/types.h>

/* NULL and *e: it can't be opened, or is a folder, a device, a FIFO or a socket. */
FILE *regular_open(const char *path, struct err *e);

/* Like getline: the line's bytes with its line end, 0 at the end of the file. -1 and *e, with the
 * line's number `number`: it is longer than JSON_MAX_BYTES, or can't be read. The caller frees
 * *line in every case. */
ssize_t regular_line(char **line, size_t *room, FILE *f, int number, struct err *e);

#endif
