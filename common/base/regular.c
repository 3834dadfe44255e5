/* regular.c: see regular.h. */
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
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
