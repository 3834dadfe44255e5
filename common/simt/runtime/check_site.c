/* check_site.c: file and line of a code address, from addr2line of the binutils.
 *
 * The tool is started once, because that costs milliseconds, and asked through pipes. In an inlined
 * function of simt's own headers the caller's line is used.
 */
#include "check.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

struct known {
    uint32_t site;
    struct site_line where;
};
static struct known *known;
static int known_count;

static struct known *find(uint32_t site) {
    for (int i = 0; i < known_count; i++)
        if (known[i].site == site) return &known[i];
    return NULL;
}

extern const struct simt_site __start_simt_sites[] __attribute__((weak, visibility("hidden")));
extern const struct simt_site __stop_simt_sites[] __attribute__((weak, visibility("hidden")));

static const struct simt_site *record_of(uint32_t site) {
    uintptr_t a = (uintptr_t)__ehdr_start + site;
    bool is_one = a >= (uintptr_t)__start_simt_sites && a < (uintptr_t)__stop_simt_sites;
    return is_one ? (const struct simt_site *)a : NULL;
}

static const char *keep_name(const char *name) {
    static char **names;
    static int count;
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return names[i];
    char **grown = realloc(names, (size_t)(count + 1) * sizeof *names);
    if (!grown) return "?";
    names = grown;
    return names[count++] = strdup(name);
}

static void learn(uint32_t site, const char *file, int line) {
    struct known *grown = realloc(known, (size_t)(known_count + 1) * sizeof *known);
    if (!grown) return;
    known = grown;
    known[known_count++] = (struct known){site, {keep_name(file), line}};
}

static bool is_ours(const char *file) {
    return strstr(file, "simt/include/") || file[0] == '?' ||
           strncmp(file, "/usr/include/", 13) == 0 || strncmp(file, "/usr/lib/", 9) == 0;
}

/* Reads one frame, "./kernels/a.cu:12 (discriminator 3)"; the innermost comes first. */
static bool read_frame(char *text, const char **file, int *line) {
    char *more = strstr(text, " (discriminator ");
    text[more ? (size_t)(more - text) : strcspn(text, "\n")] = 0;
    char *colon = strrchr(text, ':');
    if (!colon) return false;
    *line = atoi(colon + 1);
    *colon = 0;
    while (text[0] == '.' && text[1] == '/') text += 2;
    *file = text;
    return *line > 0 && !is_ours(text);
}

/* With -a every answer starts with its address. The last one is that of END. */
#define END "0x0\n"
static void read_answers(FILE *f, const uint32_t *sites, int n) {
    char text[4096];
    int now = -1;
    bool found = true;
    while (fgets(text, sizeof text, f)) {
        const char *file;
        int line;
        if (strncmp(text, "0x", 2) == 0) {
            if (now >= 0 && !found) learn(sites[now], "?", 0);
            if (++now == n) break;
            found = false;
        } else if (!found && now >= 0 && read_frame(text, &file, &line)) {
            learn(sites[now], file, line);
            found = true;
        }
    }
    if (now == n && !fgets(text, sizeof text, f)) return; /* the line of END */
}

/* addr2line, which answers line by line as long as the program runs. */
static struct {
    FILE *to, *from;
    bool tried;
} tool;

void simt_check_prepare(void) {
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)__ehdr_start;
    Dl_info info;
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    pid_t pid;
    char self[] = "/proc/self/exe", path[4096];
    if (tool.tried) return;
    tool.tried = true;
    ssize_t length = readlink(self, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    bool plugin = header->e_type == ET_DYN && dladdr(__ehdr_start, &info) && info.dli_fname &&
                  access(info.dli_fname, R_OK) == 0;
    const char *argv[] = {"addr2line", "-a", "-i", "-e", plugin ? info.dli_fname : path, NULL};
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int failed =
        posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]), close(from[1]);
    if (failed) {
        close(to[1]), close(from[0]);
        return;
    }
    tool.to = fdopen(to[1], "w");
    tool.from = fdopen(from[0], "r");
}

static void ask(const uint32_t *sites, int n) {
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)__ehdr_start;
    uintptr_t base = header->e_type == ET_EXEC ? (uintptr_t)header : 0;
    simt_check_prepare();
    if (!tool.to || !tool.from) return;
    for (int i = 0; i < n; i++) /* the call itself */
        fprintf(tool.to, "%#lx\n", (unsigned long)(base + sites[i] - 1));
    fputs(END, tool.to);
    if (fflush(tool.to) == 0) read_answers(tool.from, sites, n);
}

void site_prepare(const uint32_t *sites, int n) {
    uint32_t missing[1000];
    int count = 0;
    for (int i = 0; i <= n; i++) {
        bool full = count == (int)(sizeof missing / sizeof *missing);
        if (count && (full || i == n)) {
            ask(missing, count);
            for (int k = 0; k < count; k++)
                if (!find(missing[k])) learn(missing[k], "?", 0);
            count = 0;
        }
        const struct simt_site *record = i < n ? record_of(sites[i]) : NULL;
        if (record && !find(sites[i]))
            learn(sites[i], record->file ? record->file : "?", (int)record->line);
        if (i < n && sites[i] && !find(sites[i])) {
            int k = 0;
            while (k < count && missing[k] != sites[i]) k++;
            if (k == count) missing[count++] = sites[i];
        }
    }
}

struct site_line site_line(uint32_t site) {
    site_prepare(&site, 1);
    const struct known *k = find(site);
    return k ? k->where : (struct site_line){"?", 0};
}
