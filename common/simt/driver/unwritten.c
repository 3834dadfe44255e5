/* unwritten.c: picks the uninitialized locals out of a compiler's messages. The compiler's analyzer
 * also reports places in the runtime's headers, and values that it has no name for; those are left
 * out. */
#include "command.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A variable, or an element or member of one: no temporary of the compiler. */
static bool is_named(const char *name, size_t n) {
    if (n == 0 || (!isalpha((unsigned char)*name) && *name != '_')) return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_[].+-*", name[i])) return false;
    return true;
}

/* The quoted name of one message about `source`, its length, and its line. */
static const char *read_message(const char *line, size_t n, const char *source, size_t *length,
                                int *number) {
    size_t k = strlen(source);
    if (n <= k || strncmp(line, source, k) != 0 || line[k] != ':') return NULL;
    if (!memmem(line, n, "uninitialized", strlen("uninitialized"))) return NULL;
    const char *open = memchr(line, '\'', n);
    const char *close = open ? memchr(open + 1, '\'', n - (size_t)(open + 1 - line)) : NULL;
    if (!close || !is_named(open + 1, (size_t)(close - open - 1))) return NULL;
    *number = atoi(line + k + 1);
    *length = (size_t)(close - open - 1);
    return open + 1;
}

int unwritten_print(const char *source, const char *messages, FILE *out) {
    enum { MOST = 50 };
    struct {
        const char *name;
        size_t length;
    } seen[MOST];
    int count = 0;
    for (const char *p = messages; *p && count < MOST;) {
        size_t n = strcspn(p, "\n"), length = 0;
        int line = 0;
        const char *name = read_message(p, n, source, &length, &line);
        p += n + (p[n] == '\n');
        bool new = name != NULL;
        size_t base = name ? strcspn(name, "[.'") : 0; /* the variable of an element */
        for (int i = 0; i < count && new; i++)
            new = strncmp(seen[i].name, name, base) != 0 || !strchr("[.'", seen[i].name[base]);
        if (!new) continue;
        seen[count].name = name;
        seen[count++].length = length;
        fprintf(out, "%s:%d: '%.*s' is read before anything was written to it\n", source, line,
                (int)length, name);
    }
    return count;
}
