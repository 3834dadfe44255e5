/* render_file.c: a verdict rendered in memory and written. See render.h. */
#include "core/render.h"

#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

static int write_file(const char *text, size_t n, const char *path, struct err *e) {
    errno = 0;
    FILE *out = fopen(path, "w");
    bool ok = out && fwrite(text, 1, n, out) == n && fflush(out) == 0;
    int why = errno;
    if (out && fclose(out) && ok) {
        ok = false;
        why = errno;
    }
    return ok ? 0 : err_set(e, "the verdict can't be written to %s: %s", path, strerror(why));
}

int render_flush(struct err *e) {
    if (!ferror(stdout)) errno = 0; /* otherwise it holds the reason of the failed write */
    if (!fflush(stdout) && !ferror(stdout)) return 0;
    int why = errno;
    __fpurge(stdout);
    clearerr(stdout);
    return err_set(e, "the verdict can't be written to standard output%s%s", why ? ": " : "",
                   why ? strerror(why) : "");
}

int render_file(const struct grade_verdict *v, const struct lab *lab, enum render_format format,
                bool colour, const char *path, struct err *e) {
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    int rc = memory ? 0 : -1;
    if (memory && format == RENDER_JSON)
        rc = render_json(v, memory);
    else if (memory)
        render_text(v, lab, colour, memory);
    if (memory && (ferror(memory) | fclose(memory))) rc = -1;
    if (rc) {
        err_set(e, "no memory to render the verdict");
    } else if (path) {
        rc = write_file(text, n, path, e);
    } else {
        errno = 0;
        fwrite(text, 1, n, stdout);
        rc = render_flush(e);
    }
    free(text);
    return rc;
}
