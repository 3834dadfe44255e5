/* lab_todo.c: "not attempted" in one friendly line. See lab_todo.h. */
#include "base/lab_todo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lab_todo(const char *file, int line, const char *function) {
    const char *slash = strrchr(file, '/');
    int folder = slash ? (int)(slash - file) + 1 : 0;
    fprintf(stderr,
            "%s:%d: %s is not written yet, and it is yours to write: %.*sREADME.md explains it "
            "in the section \"%s\"\n",
            file, line, function, folder, file, function);
    exit(LAB_NOT_ATTEMPTED);
}

static bool find(const cJSON *at, char *path, unsigned long cap, unsigned long len) {
    if (cJSON_IsString(at)) return !strcmp(at->valuestring, "TODO");
    int index = 0;
    for (const cJSON *c = at ? at->child : NULL; c; c = c->next, index++) {
        int n = c->string ? snprintf(path + len, cap - len, "%s%s", len > 0 ? "." : "", c->string)
                          : snprintf(path + len, cap - len, "[%d]", index);
        unsigned long deeper = len + (unsigned long)(n > 0 ? n : 0);
        if (find(c, path, cap, deeper < cap ? deeper : cap - 1)) return true;
        path[len] = '\0';
    }
    return false;
}

bool lab_todo_find(const cJSON *doc, char *path, unsigned long cap) {
    path[0] = '\0';
    return find(doc, path, cap, 0);
}
