/* traces_internal.h: parses one row of a trace in each format; for traces.c, traces_csv.c,
 * traces_mooncake.c and their tests. */
#ifndef SERVELAB_WORKLOAD_TRACES_INTERNAL_H
#define SERVELAB_WORKLOAD_TRACES_INTERNAL_H

#include "workload/traces.h"

#define WHOLE_TOKENS "a whole number from 0 to 100000000" /* SPEC_MAX_TOKENS */

/* A piece of a line. */
struct slice {
    const char *text;
    size_t n;
};

/* The columns of a CSV that are used: the time, the prompt tokens, the output tokens. */
enum { CSV_NEEDED = 3, CSV_MAX_COLUMNS = 64 };
struct csv_columns {
    int at[CSV_NEEDED]; /* from 0 on */
    int n;              /* columns a row must have */
};

/* Parses the first line. 0, or -1 and *e, which names the format that the line matches, if any. */
int csv_header(enum trace_format format, const char *text, size_t n, struct csv_columns *out,
               struct err *e);

/* Parses text[0..n) into row->at_ns (absolute), prompt_tokens and output_tokens, unchanged. 0, or
 * -1 and *e with the column in e->field; the caller sets the line. */
int csv_row(enum trace_format format, const struct csv_columns *columns, const char *text, size_t n,
            struct trace_row *row, struct err *e);

/* The same of a JSON line. Its prefix hashes are appended to t->prefixes. */
int mooncake_row(struct trace *t, const char *text, size_t n, struct trace_row *row, struct err *e);

/* "2023-11-16 18:15:46.6805900" in ns since 1970. NULL, or the reason why it is bad. */
const char *azure_time_ns(const char *text, size_t n, int64_t *out);

/* The error of a bad field, the same for every format: returns -1 and sets *e to
 *   COLUMN: expected WHAT, found 'TEXT' (WRONG)
 * without "(WRONG)" where that is NULL. */
int bad_field(struct err *e, const char *column, const char *expected, const char *text, size_t n,
              const char *wrong);

#endif
