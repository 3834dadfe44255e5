/* mapping.c: see mapping.h. */
#include "model/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map(struct mapping *m, int fd, const char *name_a, struct err *e) {
    struct stat st;
    if (fstat(fd, &st) != 0) return err_set(e, "can't be examined: %s", strerror(errno));
    if (!S_ISREG(st.st_mode)) return err_set(e, "is not a regular file; %s", name_a);
    if (st.st_size == 0) return err_set(e, "is empty; is the download complete?");
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) return err_set(e, "can't be mapped into memory: %s", strerror(errno));
    *m = (struct mapping){p, (uint64_t)st.st_size};
    return 0;
}

/* O_NONBLOCK: opening a FIFO must not wait for a writer. */
int mapping_open(struct mapping *m, const char *path, const char *name_a, struct err *e) {
    *m = (struct mapping){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return err_set(e, "can't be opened: %s", strerror(errno));
    int rc = map(m, fd, name_a, e);
    close(fd);
    return rc;
}

void mapping_close(struct mapping *m) {
    if (m->base) munmap((void *)(uintptr_t)m->base, m->size);
    *m = (struct mapping){0};
}

void mapping_give_back(const struct mapping *m) {
    if (m->base) madvise((void *)(uintptr_t)m->base, m->size, MADV_DONTNEED);
}
