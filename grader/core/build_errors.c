/* build_errors.c: see build_errors.h. Only lines about the submission's own files are shown. */
#include "core/build_errors.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ERROR_BYTES = 1 << 20 };

/* Line `number` of the learner's file, cleaned, without its indentation. */
static void source_line(const struct workplace *w, const char *source, int number, char *out,
                        size_t cap) {
    size_t n = 0;
    char *text = collect_read(w->src, source, MAX_ERROR_BYTES, &n);
    const char *p = text;
    out[0] = '\0';
    for (int i = 1; p && i < number; i++) {
        p = strchr(p, '\n');
        if (p) p++;
    }
    if (p) p += strspn(p, " \t");
    if (p && *p && *p != '\n') text_first_line(out, cap, p, strlen(p));
    free(text);
}

/* "intervals.c:12:5: error: text" for this source: the line number, and where the text begins. */
static const char *text_after(const char *line, size_t n, const char *source,
                              const char *const marks[2], int *number) {
    size_t len = strlen(source);
    if (n <= len || memcmp(line, source, len) || line[len] != ':') return NULL;
    for (size_t i = 0; i < 2; i++) {
        const char *at = memmem(line, n, marks[i], strlen(marks[i]));
        if (!at) continue;
        *number = atoi(line + len + 1);
        return at + strlen(marks[i]);
    }
    return NULL;
}

/* An error in a given header that the submission's code leads to: the first error's text, and the
 * first line of the submission that the compiler names beside it. */
static int error_elsewhere(const char *text, size_t n, const char *source, int *number, char *first,
                           size_t cap) {
    static const char mark[] = ": error: ";
    size_t len = strlen(source);
    const char *end = text + n, *error = memmem(text, n, mark, sizeof mark - 1);
    for (const char *p = text; p && p < end && !*number;
         p = memchr(p, '\n', (size_t)(end - p)), p += !!p)
        if ((size_t)(end - p) > len && !memcmp(p, source, len) && p[len] == ':')
            *number = atoi(p + len + 1);
    if (!error || !*number) return 0;
    error += sizeof mark - 1;
    const char *stop = memchr(error, '\n', (size_t)(end - error));
    text_clean(first, cap, error, (size_t)((stop ? stop : end) - error));
    return 1;
}

static const char *error_text(const char *line, size_t n, const char *source, int *number) {
    static const char *const marks[] = {": error: ", ": fatal error: "};
    return text_after(line, n, source, marks, number);
}

/* Of the analyzer's findings only one kind counts, and only where it has a name for the variable:
 * the others are too often wrong. */
static bool is_believed(const char *text, size_t n) {
    static const char unwritten[] = "use of uninitialized value '";
    if (!memmem(text, n, "[-Wanalyzer-", 12)) return true;
    size_t k = strlen(unwritten);
    if (n <= k || memcmp(text, unwritten, k)) return false;
    const char *end = memchr(text + k, '\'', n - k);
    for (const char *p = text + k; end && p < end; p++)
        if (*p == '<' || *p == '(' || *p == ' ') return false;
    return end && text[k] != '*';
}

/* Adds one line a warning, without the option's name at its end. */
static void add_warning(const char *source, int number, const char *text, size_t n, char *out,
                        size_t cap) {
    char line[240], start[80];
    const char *option = memmem(text, n, " [-W", 4), *weakness = memmem(text, n, " [CWE", 5);
    if (option) n = (size_t)(option - text);
    if (weakness && (size_t)(weakness - text) < n) n = (size_t)(weakness - text);
    snprintf(start, sizeof start, "%s:%d: ", source, number);
    text_clean(line, sizeof line, text, n);
    const char *same = strstr(out, start);
    if (same && (strstr(same, "uninitialized") || !strcmp(same + strlen(start), line))) return;
    if (strlen(out) + strlen(start) + strlen(line) + 2 < cap)
        text_append(out, cap, "%s%s%s", out[0] ? "\n" : "", start, line);
}

void build_warnings(const struct workplace *w, const char *source, const char *suffix, char *out,
                    size_t cap) {
    static const char *const marks[] = {": warning: ", ": warning: "};
    char name[64];
    size_t n = 0;
    snprintf(name, sizeof name, "%.*s%s", (int)(strrchr(source, '.') - source), source, suffix);
    char *text = collect_read(w->out, name, MAX_ERROR_BYTES, &n);
    for (const char *p = text; p && p < text + n;) {
        const char *end = memchr(p, '\n', (size_t)(text + n - p));
        size_t len = end ? (size_t)(end - p) : (size_t)(text + n - p);
        int at = 0;
        const char *said = text_after(p, len, source, marks, &at);
        size_t left = said ? (size_t)(p + len - said) : 0;
        if (said && is_believed(said, left)) add_warning(source, at, said, left, out, cap);
        p += len + 1;
    }
    free(text);
}

void build_errors(const struct workplace *w, const char *source, struct collected *c) {
    char name[64], first[200] = "", code[120];
    size_t n = 0;
    int number = 0, count = 0;
    snprintf(name, sizeof name, "%.*s.err", (int)(strrchr(source, '.') - source), source);
    char *text = collect_read(w->out, name, MAX_ERROR_BYTES, &n);
    for (const char *p = text; p && p < text + n;) {
        const char *end = memchr(p, '\n', (size_t)(text + n - p));
        size_t len = end ? (size_t)(end - p) : (size_t)(text + n - p);
        int at = 0;
        const char *error = error_text(p, len, source, &at);
        if (error && count++ == 0) {
            number = at;
            text_clean(first, sizeof first, error, (size_t)(p + len - error));
        }
        p += len + 1;
    }
    if (text && count == 0) count = error_elsewhere(text, n, source, &number, first, sizeof first);
    free(text);
    c->state = FILE_REFUSED;
    if (count == 0) {
        snprintf(c->message, sizeof c->message,
                 "%s: the compiler gave up on it (limits: 20 s, 2 GB, 32 MB of output)", source);
        return;
    }
    source_line(w, source, number, code, sizeof code);
    if (number) /* simtcc knows no line of what concerns the file as a whole */
        snprintf(c->message, sizeof c->message, "%s:%d: %s", source, number, first);
    else
        snprintf(c->message, sizeof c->message, "%s: %s", source, first);
    if (strstr(first, ": No such file or directory"))
        text_append(c->message, sizeof c->message,
                    "; only the system's headers and the given ones can be included");
    if (code[0]) text_append(c->message, sizeof c->message, ", at `%s`", code);
    if (count > 1)
        text_append(c->message, sizeof c->message, " (and %d more error%s)", count - 1,
                    count > 2 ? "s" : "");
}

/* Removes the work folder's path from a message: "/tmp/.../out/all.o" becomes "all.o". */
static void without_folder(char *text, const char *folder) {
    size_t n = strlen(folder) + 1;
    for (char *at; (at = strstr(text, folder)) && at[n - 1] == '/';)
        memmove(at, at + n, strlen(at + n) + 1);
}

int build_link_errors(const struct lab *lab, struct workplace *w, const struct sandbox_run *run,
                      struct err *e) {
    static const char twice[] = "multiple definition of `";
    char shown[200], symbol[80] = "";
    const char *dup = memmem(run->output, run->output_len, twice, strlen(twice));
    text_first_line(shown, sizeof shown, run->output, run->output_len);
    without_folder(shown, w->out);
    if (strstr(shown, "not found"))
        return err_set(e, "linking failed: %s", shown[0] ? shown : "no message");
    if (dup) {
        const char *name = dup + strlen(twice), *end = run->output + run->output_len;
        size_t len = 0;
        while (name + len < end && name[len] != '\'' && name[len] != '\n') len++;
        text_clean(symbol, sizeof symbol, name, len);
    }
    for (size_t i = 0; i < lab->n_files; i++) {
        struct collected *c = &w->file[i];
        if (!lab->files[i].code || c->state != FILE_OK) continue;
        c->state = FILE_REFUSED;
        if (dup)
            snprintf(c->message, sizeof c->message,
                     "%s is defined by two files; make it static in each", symbol);
        else
            snprintf(c->message, sizeof c->message, "the files don't link: %s", shown);
    }
    return 0;
}
