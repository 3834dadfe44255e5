/* home.c: from /proc/self/exe upwards. See home.h. */
#include "base/home.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *home_path(const char *relative, char *out, unsigned long cap) {
    char dir[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
    dir[n > 0 ? n : 0] = '\0';
    char *slash;
    while ((slash = strrchr(dir, '/')) != NULL) {
        *slash = '\0';
        snprintf(out, cap, "%s/%s", dir, relative);
        if (access(out, R_OK) == 0) return out;
    }
    snprintf(out, cap, "%s", relative);
    return out;
}
