/* cli.c: error messages and colour for the sub-commands. See cli.h. */
#include "cli/cli.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int cli_usage(const char *command, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "servelab %s: %s\n  try: servelab %s --help\n", command, err_clean(text),
            command);
    return CLI_USAGE;
}

int cli_input_error(const char *command, const char *input, const struct err *e, bool json) {
    char place[1024];
    fprintf(stderr, "servelab %s: %s\n", command, err_format(e, input, place, sizeof place));
    if (!json) return CLI_USAGE;
    cJSON *root = cJSON_CreateObject();
    cJSON *err = cJSON_AddObjectToObject(root, "error");
    if (input) {
        snprintf(place, sizeof place, "%s", input);
        cJSON_AddStringToObject(err, "input", err_clean(place));
    }
    if (e->line > 0) cJSON_AddNumberToObject(err, "line", e->line);
    if (e->field[0]) cJSON_AddStringToObject(err, "field", e->field);
    cJSON_AddStringToObject(err, "message", e->text);
    char *text = cJSON_PrintUnformatted(root);
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(root);
    return CLI_USAGE;
}

bool cli_real(const char *text, const char **end, double *out) {
    const char *digits = text + (*text == '-' || *text == '+');
    char *after;
    if (!isdigit((unsigned char)*digits) && *digits != '.') return false; /* blanks, inf, nan */
    if (*digits == '0' && (digits[1] == 'x' || digits[1] == 'X')) return false;
    *out = strtod(text, &after);
    *end = after;
    return after != text && isfinite(*out);
}

static bool coloured(void) {
    return isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}
const char *cli_bold(void) {
    return coloured() ? "\033[1m" : "";
}
const char *cli_reset(void) {
    return coloured() ? "\033[0m" : "";
}
