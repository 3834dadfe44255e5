/* lines.h: reads a file line by line in bounded memory.
 *
 * A line ends with LF, CRLF or the end of the file; a byte order mark before the first line is
 * skipped. A line longer than LINES_MAX_BYTES is skipped and reported (LINES_TOO_LONG).
 */
#ifndef SERVELAB_WORKLOAD_LINES_H
#define SERVELAB_WORKLOAD_LINES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest line of the published traces has 2,699 bytes (Mooncake); a line of this size would
 * list the prefix blocks of a prompt of 60 million tokens. */
enum { LINES_MAX_BYTES = 1 << 20 };

struct lines {
    int fd;
    char *buf; /* unread bytes: buf[start..end) */
    size_t cap, start, end;
    bool eof;
    int64_t line; /* number of the last returned line, from 1 on */
};

enum lines_got { LINES_ERROR = -1, LINES_END = 0, LINES_OK = 1, LINES_TOO_LONG = 2 };

/* The caller keeps the descriptor and closes it. */
void lines_init(struct lines *l, int fd);
void lines_clear(struct lines *l);

/* The next line without its end: *text stays valid until the next call and isn't terminated. */
enum lines_got lines_next(struct lines *l, const char **text, size_t *n, struct err *e);

#endif
