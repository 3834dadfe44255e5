/* env.h: a number from the environment. */
#ifndef SIMT_ENV_H
#define SIMT_ENV_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* `fallback` where the variable is unset or empty. Ends the program where it is no number of 0 or
 * more: a limit with a slip in it must not pass for none. */
static inline double env_number(const char *name, double fallback) {
    const char *text = getenv(name);
    if (!text || !*text) return fallback;
    char *end;
    double v = strtod(text, &end);
    if (end != text && !*end && v >= 0 && v < 1e9) return v;
    fprintf(stderr, "simt: %s=%s is no number of 0 or more\n", name, text);
    _exit(2);
}

#endif
