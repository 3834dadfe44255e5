/* collect.c: see collect.h; workplace.c has the work folder. Every file is opened relative to a
 * descriptor of the folder, with O_NOFOLLOW, so that no link leads out of the submission, and with
 * O_NONBLOCK, so that a FIFO can't block the grader. */
#include "core/collect.h"

#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_CODE_BYTES = 256 * 1024,     /* the longest lab file of the reference has 12 kB */
    MAX_LOG_BYTES = 16 * 1024 * 1024 /* a log of records: 2,000 of 8 kB */
};

/* ---- one file -------------------------------------------------------------------------------- */

/* Reads fd, a regular file of at most cap bytes. NULL with *why otherwise. */
static char *read_regular(int fd, size_t cap, size_t *n, const char **why) {
    struct stat st;
    *why = "can't be read";
    if (fstat(fd, &st)) return NULL;
    if (!S_ISREG(st.st_mode)) {
        *why = "is not a regular file";
        return NULL;
    }
    if ((uint64_t)st.st_size > cap) {
        *why = "is too large";
        return NULL;
    }
    char *text = malloc(cap + 2); /* one byte more than allowed, to notice a file that grows */
    if (!text) return NULL;
    size_t len = 0;
    for (ssize_t got; len <= cap && (got = read(fd, text + len, cap + 1 - len)) != 0;) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            free(text);
            return NULL;
        }
        len += (size_t)got;
    }
    if (len > cap) {
        *why = "is too large";
        free(text);
        return NULL;
    }
    text[len] = '\0';
    *n = len;
    return text;
}

char *collect_read(const char *folder, const char *name, size_t cap, size_t *n) {
    const char *why;
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return NULL;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    close(dir);
    if (fd < 0) return NULL;
    char *text = read_regular(fd, cap, n, &why);
    close(fd);
    return text;
}

/* Drops a byte order mark and the CR of every CRLF. */
static size_t normalise(char *text, size_t n) {
    size_t from = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0, to = 0;
    for (; from < n; from++)
        if (text[from] != '\r' || from + 1 == n || text[from + 1] != '\n') text[to++] = text[from];
    text[to] = '\0';
    return to;
}

static int write_file(const char *folder, const char *name, const char *text, size_t n,
                      struct err *e) {
    char path[512];
    size_t start = (size_t)snprintf(path, sizeof path, "%s/%s", folder, name) - strlen(name);
    for (char *p = path + start; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        if (mkdir(path, 0755) && errno != EEXIST)
            return err_set(e, "%s: %s", path, strerror(errno));
        chmod(path, 0755); /* whatever the umask is */
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return err_set(e, "%s: %s", path, strerror(errno));
    fchmod(fd, 0644);
    while (n > 0) {
        ssize_t put = write(fd, text, n);
        if (put <= 0) {
            close(fd);
            return err_set(e, "%s: %s", path, strerror(errno));
        }
        text += put;
        n -= (size_t)put;
    }
    close(fd);
    return 0;
}

static int refuse(struct collected *c, const char *name, const char *why, const char *advice) {
    c->state = FILE_REFUSED;
    snprintf(c->message, sizeof c->message, "%s %s; %s", name, why, advice);
    return 0;
}

/* Opens dir/name, where name may be in folders ("runs/0/run.json"). No part of it may be a link. */
static int open_below(int dir, const char *name) {
    int at = dir < 0 ? -1 : dup(dir);
    if (dir < 0) errno = ENOENT;
    for (const char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        char part[64];
        snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
        int below = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int error = errno;
        close(at);
        errno = error;
        at = below;
    }
    int fd = at < 0 ? -1 : openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int error = errno;
    if (at >= 0) close(at);
    errno = error;
    return fd;
}

static int copy_file(struct workplace *w, const struct lab_file *f, int dir, struct collected *c,
                     struct err *e) {
    bool log = strstr(f->name, ".jsonl") != NULL;
    size_t cap = f->code ? MAX_CODE_BYTES : log ? MAX_LOG_BYTES : COLLECT_MAX_DATA_BYTES, n = 0;
    const char *why;
    int fd = open_below(dir, f->name);
    if (fd < 0 && errno == ENOENT) {
        c->state = FILE_MISSING;
        c->optional = strchr(f->name, '/') != NULL;
        snprintf(c->message, sizeof c->message, "%s is missing", f->name);
        return 0;
    }
    if (fd < 0) {
        char how[120];
        snprintf(how, sizeof how, "can't be opened: %s", strerror(errno));
        return refuse(c, f->name,
                      errno == ELOOP     ? "is a symbolic link"
                      : errno == ENOTDIR ? "is below a link or a file, where a folder is expected"
                                         : how,
                      "hand in the file itself");
    }
    char *text = read_regular(fd, cap, &n, &why);
    close(fd);
    if (!text)
        return refuse(c, f->name, why,
                      f->code                    ? "hand in a C file of at most 256 kB"
                      : log                      ? "hand in a shorter run: a log of at most 16 MB"
                      : strstr(f->name, ".json") ? "hand in a JSON file of at most 4 MB"
                                                 : "hand in a text file of at most 4 MB");
    int rc = 0;
    if (memchr(text, '\0', n))
        refuse(c, f->name, "is not text: it holds a NUL byte", "was it saved as UTF-16?");
    else if ((n = normalise(text, n)) == 0)
        refuse(c, f->name, "is empty", "the starter shows where to begin");
    else
        rc = write_file(w->src, f->name, text, n, e);
    free(text);
    return rc;
}

/* ---- which folder ---------------------------------------------------------------------------- */

static int count_files(int dir, const struct lab *lab) {
    int n = 0;
    struct stat st;
    for (size_t i = 0; i < lab->n_files; i++)
        n += fstatat(dir, lab->files[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    return n;
}

static bool is_debris(const char *name) {
    return name[0] == '.' || !strcmp(name, "__MACOSX");
}

/* Archives often contain one extra folder. Looks one level down for exactly one folder with files
 * of this lab; `dir` itself when there is none. -1 when there are several. */
static int find_level(int dir, const struct lab *lab, struct err *e) {
    int found = -1;
    char first[200] = "", second[200];
    DIR *d = count_files(dir, lab) > 0 ? NULL : fdopendir(dup(dir));
    if (!d) return dup(dir);
    for (struct dirent *de; (de = readdir(d));) {
        if (is_debris(de->d_name)) continue;
        int sub = openat(dir, de->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0) continue;
        if (count_files(sub, lab) == 0) {
            close(sub);
        } else if (found < 0) {
            found = sub;
            text_clean(first, sizeof first, de->d_name, strlen(de->d_name));
        } else {
            text_clean(second, sizeof second, de->d_name, strlen(de->d_name));
            err_set(e, "both %s and %s hold files of this lab; name the one to grade", first,
                    second);
            close(sub);
            close(found);
            closedir(d);
            return -1;
        }
    }
    closedir(d);
    return found >= 0 ? found : dup(dir);
}

int collect(struct workplace *w, const struct lab *lab, const char *folder, bool *usage,
            struct err *e) {
    INVARIANT(lab->n_files <= COLLECT_MAX_FILES);
    int top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *usage = true;
    if (top < 0)
        return err_set(e, "%s; name the folder that holds the lab's files",
                       errno == ENOTDIR ? "this is a file, not a folder" : strerror(errno));
    int dir = find_level(top, lab, e);
    close(top);
    if (dir < 0) return -1;
    int rc = 0;
    *usage = false; /* what fails from here on is the copy */
    for (size_t i = 0; i < lab->n_files && !rc; i++) {
        const char *beside = lab->folders ? lab->folders[i] : NULL;
        int from = beside ? openat(dir, beside, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : dup(dir);
        rc = copy_file(w, &lab->files[i], from, &w->file[i], e);
        if (from >= 0) close(from);
        if (beside && w->file[i].state == FILE_MISSING)
            snprintf(w->file[i].message, sizeof w->file[i].message, "%s/%s is missing", beside,
                     lab->files[i].name);
    }
    close(dir);
    return rc;
}
