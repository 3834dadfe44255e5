/* regular.c: see regular.h. */
#include "base/regular.h"

#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *regular_open(const char *path, struct err *e) {
    struct stat st;
    FILE *f = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO doesn't block so */
    if (fd < 0 || fstat(fd, &st))
        err_set(e, "can't be read: %s", strerror(errno));
    else if (!S_ISREG(st.st_mode))
        err_set(e, "is %s", S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
    else if (!(f = fdopen(fd, "r")))
        err_set(e, "can't be read: %s", strerror(errno));
    if (!f && fd >= 0) close(fd);
    return f;
}

ssize_t regular_line(char **line, size_t *room, FILE *f, int number, struct err *e) {
    size_t n = 0;
    for (int c = 0; c != '\n' && (c = getc_unlocked(f)) != EOF; n++) {
        if (n >= JSON_MAX_BYTES)
            return err_at(e, number, NULL, "the line is longer than %d bytes", JSON_MAX_BYTES);
        if (n + 1 >= *room) {
            size_t cap = *room < 512 ? 1024 : *room * 2;
            char *wider = realloc(*line, cap);
            if (!wider) return err_at(e, number, NULL, "memory is out for its line");
            *line = wider;
            *room = cap;
        }
        (*line)[n] = (char)c;
    }
    if (ferror(f)) return err_at(e, number, NULL, "can't be read: %s", strerror(errno));
    if (n > 0) (*line)[n] = '\0';
    return (ssize_t)n;
}
