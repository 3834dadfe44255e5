/* target.c: output files. See target.h. */
#include "base/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int target_find(const char *path, char *real, size_t cap, struct err *e) {
    struct stat st;
    char *followed = NULL;
    if (!lstat(path, &st) && S_ISLNK(st.st_mode)) {
        followed = realpath(path, NULL); /* NULL: it points at nothing */
        if (!followed) return err_set(e, "can't be written: the link leads nowhere");
    }
    int n = snprintf(real, cap, "%s", followed ? followed : path);
    free(followed);
    if (n < 0 || (size_t)n >= cap) return err_set(e, "the path is longer than %zu bytes", cap - 1);
    if (stat(path, &st)) {
        if (errno == ENOENT) return TARGET_REPLACE;
        return err_set(e, "can't be written: %s", strerror(errno));
    }
    if (S_ISDIR(st.st_mode)) return err_set(e, "is a folder; name a file");
    return S_ISREG(st.st_mode) ? TARGET_REPLACE : TARGET_STREAM;
}

/* Finds `path` and where its bytes are written: `aside`, which is `real` for a stream. A kind. */
static int find_aside(const char *path, char real[PATH_MAX], char aside[PATH_MAX + 16],
                      struct err *e) {
    int kind = target_find(path, real, PATH_MAX, e);
    if (kind >= 0)
        snprintf(aside, PATH_MAX + 16, "%s%s", real, kind == TARGET_REPLACE ? ".partial" : "");
    return kind;
}

int target_write(const char *path, const char *text, size_t n, struct err *e) {
    char real[PATH_MAX], aside[PATH_MAX + 16];
    int kind = find_aside(path, real, aside, e);
    if (kind < 0) return -1;
    FILE *f = fopen(aside, "w");
    bool ok = f && fwrite(text, 1, n, f) == n && !fflush(f);
    int why = errno;
    if (f && fclose(f) && ok) ok = false, why = errno;
    if (ok && (kind == TARGET_STREAM || !rename(aside, real))) return 0;
    if (ok) why = errno;
    if (f && kind == TARGET_REPLACE) unlink(aside);
    return err_set(e, "can't be written: %s", strerror(why));
}

int target_check(const char *path, struct err *e) {
    char real[PATH_MAX], aside[PATH_MAX + 16];
    int kind = find_aside(path, real, aside, e);
    if (kind < 0) return -1;
    if (kind == TARGET_STREAM && !access(real, W_OK)) return 0;
    int fd =
        kind == TARGET_STREAM ? -1 : open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && kind == TARGET_REPLACE && errno == EEXIST && !access(aside, W_OK)) return 0;
    if (fd < 0) return err_set(e, "can't be written: %s", strerror(errno));
    close(fd);
    unlink(aside);
    return 0;
}
