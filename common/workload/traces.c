/* traces.c: first state. */
#include "workload/traces.h"

#include <stdlib.h>

int trace_read(struct trace *t, const char *path, enum trace_format format, bool skip_bad_rows,
               struct err *e) {
    (void)t, (void)path, (void)format, (void)skip_bad_rows;
    return err_at(e, 0, "--trace", "traces aren't read yet");
}

void trace_clear(struct trace *t) {
    free(t->rows);
    free(t->prefixes);
}
