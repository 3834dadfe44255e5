/* env.h: reads a number from the environment. */
#ifndef SIMT_ENV_H
#define SIMT_ENV_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Returns `fallback` if the variable is unset or empty. Ends the program with status 2 if its value
 * is not a number of 0 or more: a mistyped limit must not mean "no limit". */
static inline double env_number(const char *name, double fallback) {
    const char *text = getenv(name);
    if (!text || !*text) return fallback;
    char *end;
    double v = strtod(text, &end);
    if (end != text && !*end && v >= 0 && v < 1e9) return v;
    fprintf(stderr, "simt: %s=%s is not a number of 0 or more\n", name, text);
    _exit(2);
}

#endif
