/* stall.c: see stall.h. States and times are those of /proc. Where /proc doesn't show a process,
 * nothing is said, and the limits of the sandbox end the run. */
#include "lab04/stall.h"

#include "base/clock.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LOOK_MS = 10,
    WINDOW_MS = 1200,
    FEWEST_LOOKS = 30,
    DEEPEST = 8,     /* bubblewrap has two processes of its own above the program */
    BUSY_PERCENT = 5 /* of looks and of the time: what a thread takes that wakes up now and then */
};

struct seen {
    int64_t cpu; /* ticks */
    bool busy, hidden;
};

static void see_process(pid_t pid, int depth, struct seen *s);

enum stall stall_look(struct stall_watch *w, pid_t pid) {
    int64_t now_ns = clock_monotonic_ns(), ticks = sysconf(_SC_CLK_TCK);
    struct seen s = {0};
    if (w->began_ns && now_ns - w->looked_ns < LOOK_MS * NS_PER_MS) return STALL_NONE;
    see_process(pid, 0, &s);
    w->looked_ns = now_ns;
    if (s.hidden) return STALL_NONE;
    if (!w->began_ns) *w = (struct stall_watch){now_ns, now_ns, s.cpu, s.cpu, 0, 0};
    if (s.cpu - w->first_cpu > STALL_CPU_S * ticks) return STALL_COMPUTES;
    w->looks++;
    w->busy += s.busy;
    if (now_ns - w->began_ns < WINDOW_MS * NS_PER_MS || w->looks < FEWEST_LOOKS) return STALL_NONE;
    bool still =
        w->busy * 100 <= w->looks * BUSY_PERCENT &&
        (s.cpu - w->began_cpu) * 100 * NS_PER_S <= (now_ns - w->began_ns) * ticks * BUSY_PERCENT;
    *w = (struct stall_watch){now_ns, now_ns, s.cpu, w->first_cpu, 0, 0};
    return still ? STALL_WAITS : STALL_NONE;
}

const char *stall_text(enum stall s) {
    return s == STALL_COMPUTES ? "2 s of computing brought no answer: an endless loop?"
                               : "every thread waits: for a lock that its own thread holds?";
}

/* ---- /proc ----------------------------------------------------------------------------------- */

static bool read_file(const char *path, char *text, size_t cap) {
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, cap - 1, f) : 0;
    if (f) fclose(f);
    text[n] = '\0';
    return f != NULL;
}

/* Of a process or a thread. False: it has just ended. A process's ticks are also those of its
 * threads that have ended, and of the children that it waited for. */
static bool read_stat(const char *folder, char *state, int64_t *ticks) {
    char path[120], text[2048];
    long long t[4] = {0};
    snprintf(path, sizeof path, "%.100s/stat", folder);
    if (!read_file(path, text, sizeof text)) return false;
    const char *at = strrchr(text, ')'); /* a name may have any byte */
    if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld",
                      state, &t[0], &t[1], &t[2], &t[3]) != 5)
        return false;
    *ticks = t[0] + t[1] + t[2] + t[3];
    return true;
}

/* One thread: its state, and the processes that it started. */
static void see_thread(const char *folder, int depth, struct seen *s) {
    char path[120], text[2048], state;
    int64_t ticks;
    if (!read_stat(folder, &state, &ticks)) return;
    s->busy |= state != 'S';
    snprintf(path, sizeof path, "%.100s/children", folder);
    s->hidden |= !read_file(path, text, sizeof text) && !access(folder, F_OK);
    for (char *end, *p = text; *p; p = end) {
        long child = strtol(p, &end, 10);
        if (end == p) break;
        see_process((pid_t)child, depth + 1, s);
    }
}

static void see_process(pid_t pid, int depth, struct seen *s) {
    char folder[64], thread[100], state;
    int64_t ticks = 0;
    snprintf(folder, sizeof folder, "/proc/%d", (int)pid);
    if (depth < DEEPEST && read_stat(folder, &state, &ticks)) s->cpu += ticks;
    snprintf(folder, sizeof folder, "/proc/%d/task", (int)pid);
    DIR *d = depth < DEEPEST ? opendir(folder) : NULL;
    s->hidden |= !d && depth == 0;
    for (struct dirent *de; d && (de = readdir(d));) {
        if (de->d_name[0] == '.') continue;
        snprintf(thread, sizeof thread, "%s/%.20s", folder, de->d_name);
        see_thread(thread, depth, s);
    }
    if (d) closedir(d);
}
