/* workplace.c: the work folder of a grading: made, removed, and swept when an earlier grader was
 * ended before it could remove its own. See collect.h.
 *
 * A grader holds the lock of the file `lock` in its folder for as long as it lives; the kernel
 * gives the lock back however the grader ends. A folder whose lock can be taken is stale. A folder
 * without that file was kept on purpose (--keep), or is just being made.
 */
#include "core/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, TRIES = 8, FREE_MB = 64 /* the reference leaves 2 MB */ };

static const char prefix[] = "servelab-grade-", lock_name[] = "lock";

static int create_below(struct workplace *w, const char *tmp, bool drop, struct err *e);
static void sweep(const char *tmp);
static void remove_below(int dir, int depth);
static void remove_all(int dir);

int workplace_create(struct workplace *w, bool drop, struct err *e) {
    const char *const places[] = {getenv("TMPDIR"), "/tmp", "/var/tmp"};
    /* the path is used in a shell script without quotes */
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    struct err why;
    bool made = false,
         failed = false; /* *e holds the error of the first place, which was asked for */
    memset(w, 0, sizeof *w);
    w->lock = -1;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *tmp = places[i];
        if (!tmp || tmp[0] != '/' || strlen(tmp) > 150 || tmp[strspn(tmp, plain)]) continue;
        sweep(tmp);
        if (made || !create_below(w, tmp, drop, &why)) {
            made = true;
            continue;
        }
        if (!failed) *e = why;
        failed = true;
    }
    return made ? 0 : -1;
}

void workplace_remove(struct workplace *w) {
    if (!w->root[0]) return;
    int dir = open(w->root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir >= 0) {
        remove_all(dir);
        close(dir);
    }
    rmdir(w->root);
    if (w->lock >= 0) close(w->lock);
    w->lock = -1;
}

void workplace_keep(struct workplace *w) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", w->root, lock_name);
    if (w->root[0]) unlink(path);
    if (w->lock >= 0) close(w->lock);
    w->lock = -1;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Takes the lock of the folder `dir`, with O_CREAT made here. -1 when another holds it, or when the
 * folder was removed meanwhile. */
static int take_lock(int dir, int create) {
    struct stat named, held;
    int fd = openat(dir, lock_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | create, 0600);
    if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &held) && S_ISREG(held.st_mode) &&
        !fstatat(dir, lock_name, &named, AT_SYMLINK_NOFOLLOW) && named.st_ino == held.st_ino)
        return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* Makes the folder and takes its lock. Another grader's sweep may remove the folder in between. */
static int make_root(struct workplace *w, const char *tmp, struct err *e) {
    for (int i = 0; i < TRIES; i++) {
        snprintf(w->root, sizeof w->root, "%s/%sXXXXXX", tmp, prefix);
        if (!mkdtemp(w->root)) break;
        int dir = open(w->root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        w->lock = dir >= 0 ? take_lock(dir, O_CREAT | O_EXCL) : -1;
        if (dir >= 0) close(dir);
        if (w->lock >= 0) return 0;
        int why = errno;
        rmdir(w->root);
        errno = why;
    }
    err_set(e, "%s: %s; set TMPDIR to a folder that can be written", w->root, strerror(errno));
    w->root[0] = '\0';
    return -1;
}

static int make_folder(const char *root, char *path, size_t cap, const char *name, struct err *e) {
    if (snprintf(path, cap, "%s/%s", root, name) >= (int)cap)
        return err_set(e, "the path of the temporary folder is too long; set TMPDIR to a shorter");
    /* independent of the umask: user nobody must be able to enter */
    if (mkdir(path, 0755) || chmod(path, 0755)) return err_set(e, "%s: %s", path, strerror(errno));
    return 0;
}

/* Whether the sandbox's user can write to this folder. Tried as that user: a folder above may be
 * closed, a link may lead through a closed one, and a network file system has its own rules. */
static bool writable_for(const char *folder, bool drop) {
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        bool is_user = !drop || (!setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
                                 !setresuid(NOBODY, NOBODY, NOBODY));
        _exit(is_user && access(folder, R_OK | W_OK | X_OK) == 0 ? 0 : 1);
    }
    if (pid < 0) return false;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0;
}

/* Whether programs can be compiled and run there. 0, or -1 with *e. */
static int check_disk(const char *folder, const char *tmp, uint64_t least_mb, struct err *e) {
    struct statvfs fs;
    if (statvfs(folder, &fs)) return 0;
    if (fs.f_flag & ST_NOEXEC)
        return err_set(e,
                       "no program can be run from %s (it is mounted noexec); set TMPDIR to "
                       "another folder",
                       tmp);
    uint64_t free_mb = (uint64_t)fs.f_bavail * fs.f_frsize >> 20;
    if (free_mb >= least_mb) return 0;
    return err_set(e, "%s: %llu MB are free, and %llu MB are needed; set TMPDIR to another folder",
                   tmp, (unsigned long long)free_mb, (unsigned long long)least_mb);
}

int workplace_full(const struct workplace *w, struct err *e) {
    return check_disk(w->out, w->root, 1, e);
}

/* Makes the work folder below tmp. -1 with *e; then nothing is left behind. */
static int create_below(struct workplace *w, const char *tmp, bool drop, struct err *e) {
    if (make_root(w, tmp, e)) return -1;
    int rc = chmod(w->root, 0755) ? err_set(e, "%s: %s", w->root, strerror(errno)) : 0;
    if (!rc && (make_folder(w->root, w->src, sizeof w->src, "src", e) ||
                make_folder(w->root, w->given, sizeof w->given, "given", e) ||
                make_folder(w->root, w->out, sizeof w->out, "out", e)))
        rc = -1;
    if (!rc && drop && chown(w->out, NOBODY, NOBODY))
        rc = err_set(e, "%s: %s", w->out, strerror(errno));
    if (!rc && !writable_for(w->out, drop))
        rc =
            err_set(e,
                    "the user that submissions run as (%s) can't get to %s; set TMPDIR to a folder "
                    "that is open to all, as /tmp is",
                    drop ? "nobody" : "you", tmp);
    if (!rc) rc = check_disk(w->root, tmp, FREE_MB, e);
    if (rc) {
        workplace_remove(w);
        w->root[0] = '\0';
    }
    return rc;
}

/* ---- removing -------------------------------------------------------------------------------- */

/* Removes everything in the work folder, its lock last: a sweep finds what is left if the grader is
 * ended in between. */
static void remove_all(int dir) {
    remove_below(dir, 0);
    unlinkat(dir, lock_name, 0);
}

/* Removes everything below `dir` but the lock. Folders without permissions get them back first. */
static void remove_below(int dir, int depth) {
    enum { MAX_DEPTH = 64 };
    fchmod(dir, 0700);
    DIR *d = fdopendir(dup(dir));
    if (!d) return;
    for (struct dirent *de; (de = readdir(d));) {
        if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, "..")) continue;
        if (depth == 0 && !strcmp(de->d_name, lock_name)) continue;
        if (unlinkat(dir, de->d_name, 0) == 0) continue;
        int sub = openat(dir, de->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub >= 0) {
            if (depth < MAX_DEPTH) remove_below(sub, depth + 1);
            close(sub);
        }
        unlinkat(dir, de->d_name, AT_REMOVEDIR);
    }
    closedir(d);
}

/* Removes one folder of an earlier grader if that has ended. Only a folder of this user, never
 * through a link. One without a lock goes only if it is empty. */
static void sweep_one(int tmp, const char *name) {
    struct stat st;
    int dir = openat(tmp, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0) return;
    bool own = !fstat(dir, &st) && st.st_uid == geteuid();
    int lock = own ? take_lock(dir, 0) : -1;
    if (lock >= 0) {
        remove_all(dir);
        close(lock);
    }
    close(dir);
    if (own) unlinkat(tmp, name, AT_REMOVEDIR);
}

static void sweep(const char *tmp) {
    DIR *d = opendir(tmp);
    if (!d) return;
    for (struct dirent *de; (de = readdir(d));)
        if (!strncmp(de->d_name, prefix, sizeof prefix - 1) &&
            strlen(de->d_name) == sizeof prefix - 1 + 6)
            sweep_one(dirfd(d), de->d_name);
    closedir(d);
}
