/* traces.c: reads a file of rows and sorts them by time. See traces.h. Not here: parsing a row
 * (traces_csv.c, traces_mooncake.c). */
#include "workload/traces.h"

#include "base/clock.h"
#include "workload/lines.h"
#include "workload/traces_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct reading {
    struct trace *t;
    enum trace_format format;
    bool skip_bad_rows;
    struct lines lines;
    bool has_columns;
    struct csv_columns columns;
};

static int take_lines(struct reading *r, struct err *e);
static int finish(struct trace *t, int64_t lines, struct err *e);

int trace_read(struct trace *t, const char *path, enum trace_format format, bool skip_bad_rows,
               struct err *e) {
    *t = (struct trace){0};
    if (!strcmp(path, "-")) {
        if (!trace_read_fd(t, STDIN_FILENO, format, skip_bad_rows, e)) return 0;
        if (e && !strcmp(e->text, "is empty"))
            err_set(e, "is empty, as standard input is when it has been read once; a sweep needs a "
                       "file");
        return -1;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a FIFO must not block */
    if (fd < 0) return err_set(e, "can't be opened: %s", strerror(errno));
    struct stat st;
    int rc;
    if (fstat(fd, &st))
        rc = err_set(e, "can't be examined: %s", strerror(errno));
    else if (S_ISDIR(st.st_mode))
        rc = err_set(e, "is a folder; name the file in it");
    else if (!S_ISREG(st.st_mode))
        rc = err_set(e, "is not a regular file; pipe it in and name -, standard input");
    else
        rc = trace_read_fd(t, fd, format, skip_bad_rows, e);
    close(fd);
    return rc;
}

int trace_read_fd(struct trace *t, int fd, enum trace_format format, bool skip_bad_rows,
                  struct err *e) {
    *t = (struct trace){0};
    struct reading r = {.t = t, .format = format, .skip_bad_rows = skip_bad_rows};
    lines_init(&r.lines, fd);
    int rc = take_lines(&r, e);
    if (!rc) rc = finish(t, r.lines.line, e);
    lines_clear(&r.lines);
    if (rc) trace_clear(t);
    return rc;
}

void trace_clear(struct trace *t) {
    free(t->rows);
    free(t->prefixes);
    *t = (struct trace){0};
}

/* ---- one row ---- */

static void add_row(struct trace *t, const struct trace_row *row) {
    if (t->n == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 1024;
        t->rows = realloc(t->rows, (size_t)t->cap * sizeof *t->rows);
        INVARIANT(t->rows);
    }
    struct workload_facts *f = &t->facts;
    if (t->n > 0 && row->at_ns < t->rows[t->n - 1].at_ns) f->unsorted = true;
    struct trace_row *kept = &t->rows[t->n++];
    *kept = *row;
    f->rows++;
    f->prompt_tokens += row->prompt_tokens;
    f->output_tokens += row->output_tokens;
    if (row->prompt_tokens == 0 || row->output_tokens == 0) f->zero_token_rows++;
    if (kept->prompt_tokens == 0) kept->prompt_tokens = 1;
    if (kept->output_tokens == 0) kept->output_tokens = 1;
    if (kept->output_tokens > t->longest_output) t->longest_output = kept->output_tokens;
}

/* Sets *e, with the line: -1. If bad rows are skipped it only counts the row: 0. */
static int bad_row(struct reading *r, struct err *bad, struct err *e) {
    struct workload_facts *f = &r->t->facts;
    if (r->skip_bad_rows) {
        if (f->skipped++ == 0) f->first_skipped_line = r->lines.line;
        return 0;
    }
    return err_at(e, (int)r->lines.line, bad->field,
                  "%.330s; correct the row, or leave such rows out with --skip-bad-rows",
                  bad->text);
}

static int take_line(struct reading *r, const char *text, size_t n, struct err *e) {
    struct err bad = {0};
    struct trace_row row = {.line = (int32_t)r->lines.line};
    int rc;
    if (r->format == TRACE_MOONCAKE) {
        int64_t before = r->t->n_prefixes;
        rc = mooncake_row(r->t, text, n, &row, &bad);
        if (rc) r->t->n_prefixes = before;
    } else {
        if (!r->has_columns) {
            if (csv_header(r->format, text, n, &r->columns, e)) {
                if (e) e->line = (int)r->lines.line;
                return -1;
            }
            r->has_columns = true;
            return 0;
        }
        rc = csv_row(r->format, &r->columns, text, n, &row, &bad);
    }
    if (rc) return bad_row(r, &bad, e);
    add_row(r->t, &row);
    return 0;
}

/* ---- the file ---- */

static int take_lines(struct reading *r, struct err *e) {
    for (;;) {
        const char *text;
        size_t n;
        struct err too_long;
        switch (lines_next(&r->lines, &text, &n, e)) {
        case LINES_ERROR:
            return -1;
        case LINES_END:
            return 0;
        case LINES_TOO_LONG:
            err_at(&too_long, 0, "row", "the line is longer than %d bytes", LINES_MAX_BYTES);
            if (bad_row(r, &too_long, e)) return -1;
            break;
        case LINES_OK:
            if (r->lines.line == INT32_MAX)
                return err_set(e, "has more than %d lines; cut it into pieces", INT32_MAX - 1);
            if (n > 0 && take_line(r, text, n, e)) return -1;
        }
    }
}

static int by_time(const void *a, const void *b) {
    const struct trace_row *x = a, *y = b;
    if (x->at_ns != y->at_ns) return x->at_ns < y->at_ns ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static int finish(struct trace *t, int64_t lines, struct err *e) {
    struct workload_facts *f = &t->facts;
    if (lines == 0) return err_set(e, "is empty");
    if (t->n == 0)
        return err_set(e, "holds no usable row%s", f->skipped ? "; all of them are bad" : "");
    if (f->unsorted) qsort(t->rows, (size_t)t->n, sizeof *t->rows, by_time);
    int64_t first_ns = t->rows[0].at_ns;
    for (int64_t i = 0; i < t->n; i++) t->rows[i].at_ns -= first_ns;
    int64_t span_ns = t->rows[t->n - 1].at_ns;
    if (span_ns > 0) f->recorded_rps = (double)(t->n - 1) * (double)NS_PER_S / (double)span_ns;
    return 0;
}
