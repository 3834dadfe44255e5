/* check_report.c: keeps findings (one a line and kind), prints them in order after each launch, and
 * writes them as JSON at the end.
 *
 * A finding's place is a return address; it is resolved to a line when the launch has ended.
 */
#include "check_count.h"
#include "memory.h"
#include "report.h"
#include "stream.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern simt_u3 threadIdx, blockIdx;

struct kept {
    struct finding f;
    char *kernel, *text;
    const char *launched_in; /* file: where the compiler left no line for a merged call */
    simt_u3 thread, block;
    int other_line;        /* of the earlier access of a race, 0: none, or in another file */
    bool resolved, hidden; /* hidden: another one of that kind has this line */
    uint64_t times;
};
enum { MOST = 1000 }; /* findings kept; more are dropped */
static struct kept list[MOST];
static int count, printed;
static int report_fd = -1;
static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;
static bool ended, unwritten;

/* Opened before main(): a program that changes its folder or closes files still reports. */
__attribute__((constructor)) static void open_report(void) {
    const char *path = getenv("SIMT_REPORT");
    if (!path || !*path) return;
    char *end;
    if (strncmp(path, "fd:", 3) == 0) {
        report_fd = (int)strtol(path + 3, &end, 10);
        if (end == path + 3 || *end || fcntl(report_fd, F_GETFD) < 0) report_fd = -1;
    } else
        report_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (report_fd >= 0) return;
    fprintf(stderr, "simt: can't write SIMT_REPORT=%s\n", path);
    _exit(2);
}

char *report_thread(int thread, char *buf, size_t cap) {
    simt_u3 t = check.worker->index_of[thread];
    snprintf(buf, cap, "thread (%u,%u,%u) of block (%u,%u,%u)", t.x, t.y, t.z, blockIdx.x,
             blockIdx.y, blockIdx.z);
    return buf;
}

static struct kept *find(const char *kind, uint32_t site, const char *file, int line) {
    const char *kernel = check.job ? check.job->l.name : "";
    for (int i = count - 1; i >= 0; i--) {
        const struct kept *k = &list[i];
        if (strcmp(k->f.kind, kind) == 0 && k->f.site == site && strcmp(k->kernel, kernel) == 0 &&
            (site ? !line || k->f.line == line : k->f.line == line && k->f.file == file))
            return &list[i];
    }
    return NULL;
}

bool report_is_new(const char *kind, uint32_t site) {
    struct kept *k = find(kind, site, NULL, 0);
    if (k) k->times++;
    return !k && count < MOST;
}

void report_add(const struct finding *f, const char *format, ...) {
    struct kept *k = find(f->kind, f->site, f->file, f->line);
    if (k) k->times++;
    if (k || count == MOST) return;
    k = &list[count];
    va_list ap;
    va_start(ap, format);
    if (vasprintf(&k->text, format, ap) < 0) k->text = NULL;
    va_end(ap);
    k->f = *f;
    k->kernel = strdup(check.job ? check.job->l.name : "");
    if (!k->text || !k->kernel) return;
    k->launched_in = check.job ? check.job->l.file : "?";
    k->times = 1;
    k->block = blockIdx;
    if (f->thread >= 0) k->thread = check.worker->index_of[f->thread];
    count++;
}

/* ---- lines ------------------------------------------------------------------------------------
 */
static void put_other_line(struct kept *k) {
    char *mark = strstr(k->text, "%s"), *with;
    if (!k->f.other || !mark) return;
    struct site_line o = site_line(k->f.other);
    if (strcmp(o.file, k->f.file) == 0) k->other_line = o.line;
    const char *base = strrchr(o.file, '/');
    *mark = 0;
    if (strcmp(o.file, k->f.file) == 0
            ? asprintf(&with, "%sline %d%s", k->text, o.line, mark + 2) < 0
            : asprintf(&with, "%s%s:%d%s", k->text, base ? base + 1 : o.file, o.line, mark + 2) < 0)
        return;
    free(k->text);
    k->text = with;
}

static bool same_line(const struct kept *a, const struct kept *b) {
    return a->f.line == b->f.line && strcmp(a->f.file, b->f.file) == 0 &&
           strcmp(a->kernel, b->kernel) == 0;
}

static void resolve(struct kept *k) {
    if (k->f.site) {
        struct site_line s = site_line(k->f.site);
        k->f.file = s.line ? s.file : k->launched_in;
        if (!k->f.line) k->f.line = s.line;
    }
    if (!k->f.file) k->f.file = "?";
    put_other_line(k);
    k->resolved = true;
    for (struct kept *o = list; o < k; o++) {
        if (o->hidden || strcmp(o->f.kind, k->f.kind) != 0 || !same_line(o, k)) continue;
        k->hidden = true;
        o->times += k->times;
        return;
    }
}

/* x[i]++ by two lanes shows twice: as a read of what a lane wrote, and as two writes. The second is
 * reported, because a barrier of the warp would not help. */
static void hide_lost_updates(void) {
    for (int i = printed; i < count; i++)
        for (int o = 0; o < count; o++)
            if (strcmp(list[i].f.kind, "warp-race") == 0 && same_line(&list[i], &list[o]) &&
                (strcmp(list[o].f.kind, "global-race") == 0 ||
                 strcmp(list[o].f.kind, "shared-race") == 0))
                list[i].hidden = true;
}

static bool is_race(const struct kept *k) {
    return k->f.other != 0;
}

/* One race shows from both ends: as a write after a read, and as a read after a write. The one
 * found first is reported, except that a race across warps or blocks goes before one between lanes.
 */
static bool same_race(const struct kept *a, const struct kept *b) {
    return is_race(a) && is_race(b) && strcmp(a->kernel, b->kernel) == 0 &&
           strcmp(a->f.file, b->f.file) == 0 && a->f.line == b->other_line &&
           a->other_line == b->f.line && a->f.line != b->f.line;
}

static void hide_other_ends(void) {
    for (int i = printed; i < count; i++)
        for (int o = printed; o < i; o++) {
            struct kept *a = &list[o], *b = &list[i];
            if (a->hidden || b->hidden || !same_race(a, b)) continue;
            bool later = strcmp(a->f.kind, "warp-race") == 0 && strcmp(b->f.kind, "warp-race") != 0;
            (later ? a : b)->hidden = true;
        }
}

/* A thread that reads too early may find unwritten memory: the race is reported instead. */
static void hide_early_reads(void) {
    for (int i = printed; i < count; i++)
        for (int o = printed; o < count; o++)
            if (strcmp(list[i].f.kind, "uninitialised") == 0 && is_race(&list[o]) &&
                strcmp(list[i].kernel, list[o].kernel) == 0 &&
                strcmp(list[i].f.file, list[o].f.file) == 0 &&
                (list[o].f.line == list[i].f.line || list[o].other_line == list[i].f.line))
                list[i].hidden = true;
}

static void resolve_all(void) {
    static uint32_t sites[2 * MOST];
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (list[i].resolved) continue;
        sites[n++] = list[i].f.site;
        sites[n++] = list[i].f.other;
    }
    site_prepare(sites, n);
    for (int i = 0; i < count; i++)
        if (!list[i].resolved) resolve(&list[i]);
    hide_lost_updates();
    hide_other_ends();
    hide_early_reads();
}

void report_launch_end(void) {
    if (printed == count) return;
    resolve_all();
    for (; printed < count; printed++) {
        const struct kept *k = &list[printed];
        if (k->hidden) continue;
        fprintf(stderr, "simt: error: %s: %s:%d: %s%s: %s\n", k->f.kind, k->f.file, k->f.line,
                *k->kernel ? "kernel " : "outside of a launch", k->kernel, k->text);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------
 */
void report_put_string(void *file, const char *s) {
    FILE *f = file;
    fputc('"', f);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

static void put_errors(FILE *f) {
    fputs("  \"errors\": [", f);
    const char *comma = "\n";
    for (int i = 0; i < count; i++) {
        const struct kept *k = &list[i];
        if (k->hidden) continue;
        fprintf(f, "%s    {\"kind\": ", comma);
        report_put_string(f, k->f.kind);
        fputs(", \"kernel\": ", f);
        report_put_string(f, k->kernel);
        fputs(", \"file\": ", f);
        report_put_string(f, k->f.file);
        fprintf(f, ", \"line\": %d, ", k->f.line);
        if (k->f.thread >= 0)
            fprintf(f, "\"thread\": [%u, %u, %u], \"block\": [%u, %u, %u], ", k->thread.x,
                    k->thread.y, k->thread.z, k->block.x, k->block.y, k->block.z);
        else
            fputs("\"thread\": null, \"block\": null, ", f);
        fprintf(f, "\"times\": %llu, \"message\": ", (unsigned long long)k->times);
        report_put_string(f, k->text);
        fputc('}', f);
        comma = ",\n";
    }
    fputs(*comma == ',' ? "\n  ],\n" : "],\n", f);
}

/* Not a finding: a program may leave its memory to the system. */
static void put_memory(FILE *f) {
    uint32_t live;
    size_t bytes;
    memory_live(&live, &bytes);
    fprintf(f, "  \"device_memory\": {\"live_allocations\": %u, \"live_bytes\": %zu},\n", live,
            bytes);
}

static void write_json(void) {
    FILE *f = report_fd >= 0 ? fdopen(report_fd, "w") : NULL;
    if (!f) return;
    fputs("{\n  \"schema\": \"servelab.simt-report.v1\",\n", f);
    put_errors(f);
    put_memory(f);
    count_json(f);
    fputs("}\n", f);
    unwritten = fclose(f) != 0;
    if (unwritten) fprintf(stderr, "simt: can't write SIMT_REPORT=%s\n", getenv("SIMT_REPORT"));
    report_fd = -1;
}

/* Once: from the end of the program, or from the watchdog. */
static bool finish(void) {
    pthread_mutex_lock(&end_lock);
    bool first = !ended;
    ended = true;
    if (first) {
        report_launch_end();
        write_json();
        int shown = 0;
        for (int i = 0; i < count; i++) shown += !list[i].hidden;
        if (shown) fprintf(stderr, "simt: %d error%s\n", shown, shown == 1 ? "" : "s");
    }
    pthread_mutex_unlock(&end_lock);
    return count > 0;
}

__attribute__((destructor)) static void at_exit(void) {
    stream_wait_all(); /* what nothing waited for is checked, too */
    bool found = finish();
    if (!found && !unwritten) return;
    fflush(NULL);
    _exit(found ? EXIT_FOUND : 2);
}

static void end_with(const char *kind, const char *why) __attribute__((noreturn));
static void end_with(const char *kind, const char *why) {
    struct finding f = {.kind = kind, .thread = -1};
    if (check.job) f.file = check.job->l.file, f.line = check.job->l.line;
    report_add(&f, "%s", why);
    finish();
    fflush(NULL);
    _exit(EXIT_FOUND);
}

void report_time_limit(const char *why) {
    end_with("time-limit", why);
}

void report_crash(const char *what) {
    end_with("crash", what);
}
