/* nearest.c: suggestions for mistyped names. See nearest.h. */
#include "base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 63 };

/* Edit distance by rows (Wagner and Fischer, 1974). Both at most LONGEST long. */
static int distance(const char *a, const char *b) {
    int row[LONGEST + 1];
    size_t n = strlen(a), m = strlen(b);
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best =
                diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

const char *nearest_name(const char *text, const char *const *names, size_t n) {
    if (n == 0 || strlen(text) > LONGEST) return n ? names[0] : NULL;
    size_t best_at = 0;
    int best = LONGEST + 1;
    for (size_t i = 0; i < n; i++) {
        int d = strlen(names[i]) > LONGEST ? LONGEST + 1 : distance(text, names[i]);
        if (d < best) best_at = i, best = d;
    }
    return names[best_at];
}

const char *list_names(const char *const *names, size_t n, char *buf, size_t cap) {
    size_t at = 0;
    if (cap) buf[0] = '\0';
    for (size_t i = 0; i < n && at < cap; i++)
        at += (size_t)snprintf(buf + at, cap - at, "%s%s", i ? ", " : "", names[i]);
    return buf;
}
