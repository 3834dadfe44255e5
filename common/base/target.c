/* target.c: what stands where an output is to go. See target.h. */
#include "base/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
