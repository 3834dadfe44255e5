/* log.c: reads logs of records line by line. See log.h. Not here: appending (append.c), what a
 * record is (record_read.c).
 */
#include "record/log.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "record/record_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_BUFFER_BYTES = 1 << 20 }; /* large reads; a record takes a few kB */

struct record_reader {
    int fd;
    bool close_fd;
    char *buf; /* unread bytes: buf[start..end) */
    size_t cap, start, end;
    bool eof;
    int line;       /* line number at buf[start] */
    int blank_line; /* line number of a skipped blank line; 0: none */
    int64_t records;
    int64_t bytes;
    bool log_mode; /* the file has one record per line */
    bool over;     /* the end or an error has been returned */
    struct record record;
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static int open_input(const char *path, struct record_reader *rd, struct err *e) {
    struct stat st;
    if (!strcmp(path, "-")) {
        rd->fd = STDIN_FILENO;
        return 0;
    }
    rd->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* so that a FIFO does not block */
    if (rd->fd < 0) return err_set(e, "can't be opened: %s", strerror(errno));
    rd->close_fd = true;
    if (fstat(rd->fd, &st)) return err_set(e, "can't be examined: %s", strerror(errno));
    if (S_ISDIR(st.st_mode)) return err_set(e, "is a folder; name the file in it");
    if (!S_ISREG(st.st_mode))
        return err_set(e, "is not a regular file; pipe it in and name -, standard input");
    return 0;
}

struct record_reader *record_reader_open(const char *path, struct err *e) {
    struct record_reader *rd = calloc(1, sizeof *rd);
    if (rd) {
        rd->fd = -1;
        rd->line = 1;
        record_init(&rd->record);
        rd->cap = FIRST_BUFFER_BYTES;
        rd->buf = malloc(rd->cap);
    }
    if (!rd || !rd->buf)
        err_set(e, "memory is out");
    else if (!open_input(path, rd, e))
        return rd;
    record_reader_close(rd);
    return NULL;
}

void record_reader_close(struct record_reader *rd) {
    if (!rd) return;
    if (rd->close_fd) close(rd->fd);
    record_release(&rd->record);
    free(rd->buf);
    free(rd);
}

int64_t record_reader_bytes(const struct record_reader *rd) {
    return rd->bytes;
}

/* Reads more bytes to buf[end]. 0, also at the end of the file (then rd->eof), or -1. */
static int fill(struct record_reader *rd, struct err *e) {
    if (rd->start > 0) {
        memmove(rd->buf, rd->buf + rd->start, rd->end - rd->start);
        rd->end -= rd->start;
        rd->start = 0;
    }
    if (rd->end == rd->cap) {
        size_t cap = rd->cap * 2;
        if (rd->cap > JSON_MAX_BYTES)
            return err_at(e, rd->line, NULL, "a line longer than %d bytes can't be a record",
                          JSON_MAX_BYTES);
        char *wider = realloc(rd->buf, cap);
        if (!wider) return err_at(e, rd->line, NULL, "memory is out for a line of %zu bytes", cap);
        rd->buf = wider;
        rd->cap = cap;
    }
    for (;;) {
        ssize_t got = read(rd->fd, rd->buf + rd->end, rd->cap - rd->end);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return err_at(e, rd->line, NULL, "can't be read: %s", strerror(errno));
        rd->eof = got == 0;
        rd->end += (size_t)got;
        rd->bytes += got;
        return 0;
    }
}

/* Finds the line at buf[start]: *length without its line end, *step with it; *step is 0 at the end
 * of the file. */
static int find_line(struct record_reader *rd, size_t *length, size_t *step, struct err *e) {
    size_t searched = 0;
    for (;;) {
        const char *from = rd->buf + rd->start;
        const char *nl = memchr(from + searched, '\n', rd->end - rd->start - searched);
        if (nl) {
            *length = (size_t)(nl - from);
            *step = *length + 1;
            return 0;
        }
        searched = rd->end - rd->start;
        if (rd->eof) {
            *length = *step = searched;
            return 0;
        }
        if (fill(rd, e)) return -1;
    }
}

static bool is_blank(const char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r' && p[i] != '\n') return false;
    return true;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Reads the record in p[0..n) into rd->record. *cut_off, on failure: the text ends inside it. */
static int read_record(struct record_reader *rd, const char *p, size_t n, bool *cut_off,
                       struct err *e) {
    struct json_scan_result scan;
    struct err ignored;
    *cut_off = false;
    record_reset(&rd->record);
    if (record_fill_fast(&rd->record, p, n)) return 0;
    record_reset(&rd->record);
    cJSON *tree = json_parse(p, n, rd->line, e);
    if (!tree) {
        if (!json_scan(p, n, rd->line, &scan, &ignored)) free(scan.literals);
        *cut_off = scan.cut_off;
        return -1;
    }
    int status = record_fill(&rd->record, tree, e);
    if (status) e->line = json_line_of(p, n, rd->line, e->field);
    cJSON_Delete(tree);
    return status;
}

/* The first line ends inside an object. If the whole file is one object over many lines, reads it.
 * Otherwise reports the error in that object, unless the second line is a record: then this is a
 * log whose first line is torn. */
static enum record_read read_document(struct record_reader *rd, size_t line_step, struct err *e) {
    struct err of_line = *e, ignored;
    bool cut_off;
    while (!rd->eof && rd->end - rd->start <= JSON_MAX_BYTES)
        if (fill(rd, e)) return RECORD_READ_ERROR;
    if (!rd->eof) {
        err_at(
            e, rd->line, NULL,
            "the first line is not a record, and the file is too large (over %d bytes) to be one",
            JSON_MAX_BYTES);
    } else if (!read_record(rd, rd->buf + rd->start, rd->end - rd->start, &cut_off, e)) {
        rd->start = rd->end;
        return RECORD_READ_OK;
    }
    const char *second = rd->buf + rd->start + line_step, *end = rd->buf + rd->end;
    const char *line_end = memchr(second, '\n', (size_t)(end - second));
    size_t length = (size_t)((line_end ? line_end : end) - second);
    if (read_record(rd, second, length, &cut_off, &ignored)) return RECORD_READ_ERROR;
    *e = of_line;
    rd->log_mode = true;
    rd->start += line_step;
    rd->line++;
    return RECORD_READ_TORN;
}

/* The record in the line of `length` bytes at buf[start]. */
static enum record_read read_line(struct record_reader *rd, size_t length, size_t step,
                                  struct err *e) {
    bool cut_off;
    int status = read_record(rd, rd->buf + rd->start, length, &cut_off, e);
    if (status && cut_off && !rd->log_mode && step > length) {
        /* If the file ends with this line, it was cut off; otherwise it may be one object. */
        while (!rd->eof && is_blank(rd->buf + rd->start + step, rd->end - rd->start - step) &&
               rd->end - rd->start <= JSON_MAX_BYTES)
            if (fill(rd, e)) return RECORD_READ_ERROR;
        if (!is_blank(rd->buf + rd->start + step, rd->end - rd->start - step))
            return read_document(rd, step, e);
    }
    if (status && !cut_off) return RECORD_READ_ERROR;
    rd->start += step;
    rd->line++;
    rd->log_mode = true;
    return status ? RECORD_READ_TORN : RECORD_READ_OK;
}

static enum record_read next_record(struct record_reader *rd, int *line, struct err *e) {
    size_t length, step;
    for (;;) {
        if (find_line(rd, &length, &step, e)) return RECORD_READ_ERROR;
        if (step == 0) {
            if (rd->records) return RECORD_READ_END;
            err_at(e, 1, NULL, rd->bytes ? "the file holds white space only" : "the file is empty");
            return RECORD_READ_ERROR;
        }
        if (!is_blank(rd->buf + rd->start, length)) break;
        if (!rd->blank_line) rd->blank_line = rd->line;
        rd->start += step;
        rd->line++;
    }
    if (rd->blank_line && rd->records) {
        err_at(e, rd->blank_line, NULL, "a blank line between records; remove it");
        return RECORD_READ_ERROR;
    }
    *line = rd->line;
    rd->records++;
    return read_line(rd, length, step, e);
}

enum record_read record_reader_next(struct record_reader *rd, const struct record **r, int *line,
                                    struct err *e) {
    struct err mine;
    if (!e) e = &mine;
    if (rd->over) return RECORD_READ_END;
    enum record_read got = next_record(rd, line, e);
    rd->over = got == RECORD_READ_END || got == RECORD_READ_ERROR;
    *r = got == RECORD_READ_OK ? &rd->record : NULL;
    return got;
}

int record_each(const char *path, record_fn *each, void *ctx, struct err *e) {
    struct record_reader *rd = record_reader_open(path, e);
    if (!rd) return -1;
    const struct record *r;
    int line, status = 0;
    for (;;) {
        enum record_read got = record_reader_next(rd, &r, &line, e);
        if (got == RECORD_READ_END) break;
        if (got != RECORD_READ_OK) status = -1; /* a torn line is an error here */
        if (!status) status = each(r, line, ctx);
        if (status) break;
    }
    record_reader_close(rd);
    return status;
}
