/* append.c: appends a record to a log with one write(2). See log.h for what that guarantees. */
#include "base/json.h"
#include "base/json_scan.h"
#include "record/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int record_log_open(const char *path, struct err *e) {
    struct stat st;
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (fd < 0) return err_set(e, "the log can't be opened: %s", strerror(errno));
    if (!fstat(fd, &st) && S_ISREG(st.st_mode)) return fd;
    close(fd);
    return err_set(e, "a log must be a regular file");
}

/* The line of a record with a '\n' before it and one after it; the caller frees it; *n counts both.
 * A record that could not be read back is refused here, before it is in the log. NULL: *status says
 * whether a later try may succeed. */
static char *make_line(const struct record *r, size_t *n, int *status, struct err *e) {
    struct json_scan_result scan;
    *status = RECORD_NEVER_A_LINE;
    if (record_validate(r, e)) return NULL;
    cJSON *tree = record_to_json(r);
    char *text = tree ? json_print(tree) : NULL;
    size_t length = text ? strlen(text) : 0;
    char *line = text ? malloc(length + 2) : NULL;
    cJSON_Delete(tree);
    if (!line) {
        *status = err_set(e, "memory is out");
    } else if (json_scan(text, length, 1, &scan, e)) { /* for example, a text that is not UTF-8 */
        free(line);
        line = NULL;
    } else {
        free(scan.literals);
        line[0] = '\n';
        memcpy(line + 1, text, length);
        line[length + 1] = '\n';
        *n = length + 2;
    }
    cJSON_free(text);
    return line;
}

/* Does the file end inside a line? false if that can't be read. */
static bool ends_inside_line(int fd, off_t size) {
    char last;
    return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

/* Writes the line; the caller holds the log's lock. If the disk takes only a part, removes it
 * again. */
static int write_line(int fd, const char *line, size_t n, struct err *e) {
    struct stat st;
    if (fstat(fd, &st)) return err_set(e, "the log can't be examined: %s", strerror(errno));
    bool regular = S_ISREG(st.st_mode);
    if (regular && !(fcntl(fd, F_GETFL) & O_APPEND))
        return err_set(e, "the log is not open for appending (O_APPEND); use record_log_open");
    if (!regular || !ends_inside_line(fd, st.st_size)) {
        line++; /* the usual case: no line end is missing */
        n--;
    }
    ssize_t wrote;
    do wrote = write(fd, line, n);
    while (wrote < 0 && errno == EINTR);
    if (wrote == (ssize_t)n) return 0;
    if (wrote < 0) return err_set(e, "the log can't be written: %s", strerror(errno));
    struct stat now;
    bool back = regular && !fstat(fd, &now) && now.st_size == st.st_size + wrote &&
                !ftruncate(fd, st.st_size);
    return err_set(e, "the disk took %zd of %zu bytes of the record (is it full?)%s", wrote, n,
                   back ? "; they were taken back" : "; the log's last line is torn");
}

int record_append(int fd, const struct record *r, struct err *e) {
    /* flock excludes other processes; the mutex excludes threads of this one, which share its lock
     */
    static pthread_mutex_t threads = PTHREAD_MUTEX_INITIALIZER;
    size_t n = 0;
    int status;
    char *line = make_line(r, &n, &status, e);
    if (!line) return status;
    pthread_mutex_lock(&threads);
    bool locked;
    do locked = !flock(fd, LOCK_EX); /* a pipe can't be locked; O_APPEND is enough there */
    while (!locked && errno == EINTR);
    status = write_line(fd, line, n, e);
    if (locked) flock(fd, LOCK_UN);
    pthread_mutex_unlock(&threads);
    free(line);
    return status;
}
