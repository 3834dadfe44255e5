/* submission.h: makes folders that tests hand in: a lab's reference, with some files replaced.
 * Every failure ends the test. */
#ifndef SERVELAB_GRADER_TESTS_SUBMISSION_H
#define SERVELAB_GRADER_TESTS_SUBMISSION_H

#include "core/collect.h"
#include "labs.h"

#include "testing/check_main.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REFERENCE   "solutions/01_request_record"
#define REFERENCE02 "solutions/02_queue_sim"
#define REFERENCE04 "solutions/04_serving"

struct submission {
    char path[64];
    const char *reference; /* the folder it was copied from */
};

static inline void submission_write(const struct submission *s, const char *name, const char *text,
                                    size_t n) {
    char path[400];
    size_t start = (size_t)snprintf(path, sizeof path, "%s/%s", s->path, name) - strlen(name);
    for (char *p = path + start; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        mkdir(path, 0755);
    }
    unlink(path);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

/* A copy of the files that the lab names. */
static inline void submission_of(struct submission *s, const struct lab *lab,
                                 const char *reference) {
    s->reference = reference;
    snprintf(s->path, sizeof s->path, "/tmp/servelab-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(s->path));
    for (size_t i = 0; i < lab->n_files; i++) {
        size_t n = 0;
        char *text = collect_read(reference, lab->files[i].name, 1 << 20, &n);
        bool optional = strchr(lab->files[i].name, '/') != NULL;
        if (!text && optional) continue;
        ck_assert_msg(text, "%s: run this test from the project's folder", lab->files[i].name);
        submission_write(s, lab->files[i].name, text, n);
        free(text);
    }
}

static inline void submission_reference(struct submission *s) {
    submission_of(s, lab_find("01"), REFERENCE);
}

/* Replaces files by those of a folder. */
static inline void submission_overlay(const struct submission *s, const char *folder) {
    DIR *d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *de; (de = readdir(d));) {
        size_t n = 0;
        char *text = de->d_name[0] == '.' ? NULL : collect_read(folder, de->d_name, 1 << 20, &n);
        if (text) submission_write(s, de->d_name, text, n);
        free(text);
    }
    closedir(d);
}

/* Replaces a file by an attack's text, with its "//reference F G" line expanded. */
static inline void submission_attack(const struct submission *s, const char *file,
                                     const char *text) {
    const char *mark = strstr(text, "\n//reference ");
    char function[64], other[64];
    if (!mark) {
        submission_write(s, file, text, strlen(text));
        return;
    }
    ck_assert_int_eq(sscanf(mark, "\n//reference %63s %63s", function, other), 2);
    size_t n = 0, len = 0;
    char *reference = collect_read(s->reference, file, 1 << 20, &n), *all = NULL;
    ck_assert_ptr_nonnull(reference);
    FILE *f = open_memstream(&all, &len);
    fprintf(f, "%.*s\n#define %s %s\n%s\n#undef %s\n", (int)(mark - text), text, function, other,
            reference, function);
    /* the header declared the other name only */
    fprintf(f, "#include \"objective/percentile.h\"\n__typeof__(%s) %s;\n%s", other, function,
            strchr(mark + 1, '\n'));
    fclose(f);
    submission_write(s, file, all, len);
    free(all);
    free(reference);
}

static inline void submission_remove_below(const char *folder, int depth) {
    DIR *d = opendir(folder);
    for (struct dirent *de; d && (de = readdir(d));) {
        char path[400];
        if (de->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%.150s/%.200s", folder, de->d_name);
        if (unlink(path) && depth < 3) submission_remove_below(path, depth + 1);
    }
    if (d) closedir(d);
    rmdir(folder);
}

static inline void submission_remove(const struct submission *s) {
    submission_remove_below(s->path, 0);
}

/* Whether this process has a child that was not waited for. Every process that a run leaves behind
 * becomes one. */
static inline bool submission_processes_left(void) {
    bool found = false;
    DIR *d = opendir("/proc");
    char path[64], text[4096];
    for (struct dirent *de; d && (de = readdir(d));) {
        if (de->d_name[0] < '0' || de->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%.20s/stat", de->d_name);
        FILE *f = fopen(path, "r");
        if (!f) continue;
        size_t n = fread(text, 1, sizeof text - 1, f);
        fclose(f);
        text[n] = '\0';
        const char *end = strrchr(text, ')');
        char state;
        int parent = 0;
        if (end && sscanf(end + 1, " %c %d", &state, &parent) == 2 && parent == getpid())
            found = true;
    }
    if (d) closedir(d);
    return found;
}

#endif
