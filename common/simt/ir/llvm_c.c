/* llvm_c.c: see llvm_c.h. Finds the library through the compiler's resource folder: clang 14 of
 * Debian names /usr/lib/llvm-14/lib/clang/14.0.6, and its library is two folders up. */
#include "llvm_c.h"

#include <dlfcn.h>
#include <link.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define LLVM_DEFINE(returned, name, parameters) returned(*name) parameters;
LLVM_FUNCTIONS(LLVM_DEFINE)

static void *library;

static void *open_for(const char *clang, char *message, size_t cap);
static int find_functions(char *message, size_t cap);

int llvm_load(const char *clang, char *message, size_t cap) {
    const char *named = getenv("SIMTCC_LIBLLVM");
    if (library) return 0;
    if (named && *named) {
        library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
        if (!library) snprintf(message, cap, "SIMTCC_LIBLLVM: %s", dlerror());
    } else {
        library = open_for(clang, message, cap);
    }
    return library ? find_functions(message, cap) : -1;
}

const char *llvm_path(void) {
    struct link_map *map;
    return library && !dlinfo(library, RTLD_DI_LINKMAP, &map) ? map->l_name : "";
}

static void *function(const char *name) {
    return dlsym(library, name);
}

static int find_functions(char *message, size_t cap) {
    static const struct {
        const char *name;
        void *place;
    } wanted[] = {
#define LLVM_ENTRY(returned, name, parameters) {#name, &name},
        LLVM_FUNCTIONS(LLVM_ENTRY)};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = function(wanted[i].name);
        if (!found) {
            snprintf(message, cap, "this libLLVM has no %s; versions 14 to 22 are known to work",
                     wanted[i].name);
            return -1;
        }
        memcpy(wanted[i].place, &found, sizeof found);
    }
    return 0;
}

int llvm_load_target(const char *triple, char *message, size_t cap) {
    static const char *const parts[] = {"TargetInfo", "Target", "TargetMC", "AsmPrinter"};
    const char *target = strncmp(triple, "x86_64", 6) == 0    ? "X86"
                         : strncmp(triple, "aarch64", 7) == 0 ? "AArch64"
                                                              : "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];
        snprintf(name, sizeof name, "LLVMInitialize%s%s", target, parts[i]);
        void *found = *target ? function(name) : NULL;
        void (*initialise)(void);
        if (!found) {
            snprintf(message, cap, "code for %s can't be made here", triple);
            return -1;
        }
        memcpy(&initialise, &found, sizeof found);
        initialise();
    }
    return 0;
}

/* The first line that a command prints; empty where it can't be run. */
static void first_line(const char *const *argv, char *out, size_t cap) {
    int ends[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    out[0] = 0;
    if (pipe(ends) != 0) return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    int failed =
        posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; !failed && n + 1 < cap; n += (size_t)got)
        if ((got = read(ends[0], out + n, cap - 1 - n)) <= 0) break;
    out[n] = 0;
    out[strcspn(out, "\n")] = 0;
    close(ends[0]);
    if (!failed) waitpid(pid, NULL, 0);
}

static void *open_for(const char *clang, char *message, size_t cap) {
    static const char *const names[] = {"libLLVM-%d.so.1", "libLLVM.so.%d.1", "libLLVM.so.%d.0",
                                        "libLLVM-%d.so", "libLLVM.so.%d"};
    const char *argv[] = {clang, "-print-resource-dir", NULL};
    char folder[2048];
    first_line(argv, folder, sizeof folder);
    char *slash = strrchr(folder, '/');
    int version = slash ? atoi(slash + 1) : 0;
    for (int up = 0; up < 2 && slash; up++) *slash = 0, slash = strrchr(folder, '/');
    for (size_t i = 0; version && i < sizeof names / sizeof *names; i++) {
        char name[64], path[2200];
        snprintf(name, sizeof name, names[i], version);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        void *found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!found) found = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (found) return found;
    }
    if (!version)
        snprintf(message, cap, "%s can't be run: install clang, or name it with --cxx=", clang);
    else
        snprintf(message, cap,
                 "the library of %s (libLLVM, version %d) isn't here: install libllvm%d, or name "
                 "the library with SIMTCC_LIBLLVM",
                 clang, version, version);
    return NULL;
}
