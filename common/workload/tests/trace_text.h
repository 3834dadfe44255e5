/* trace_text.h: for tests: a trace that is a text in memory. */
#ifndef SERVELAB_WORKLOAD_TESTS_TRACE_TEXT_H
#define SERVELAB_WORKLOAD_TESTS_TRACE_TEXT_H

#include "workload/traces.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* As trace_read_fd. */
static inline int trace_of_text(struct trace *t, const char *text, size_t n,
                                enum trace_format format, bool skip_bad_rows, struct err *e) {
    int fd = memfd_create("trace", 0);
    INVARIANT(fd >= 0 && write(fd, text, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0);
    int rc = trace_read_fd(t, fd, format, skip_bad_rows, e);
    close(fd);
    return rc;
}

#endif
