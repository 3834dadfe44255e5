/* tokens.c: the lexer. Newlines and line markers are tokens, so that the rewritten text keeps its
 * line numbers. */
#include "tokens.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool name_char(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool starts(const char *p, const char *word) {
    return strncmp(p, word, strlen(word)) == 0;
}

/* A comment's length at p, or 0. */
static size_t comment(const char *p, const char *end) {
    const char *q = p;
    if (starts(p, "//")) {
        while (q < end && *q != '\n') q += q[0] == '\\' && q + 1 < end && q[1] == '\n' ? 2 : 1;
        return (size_t)(q - p);
    }
    if (!starts(p, "/*")) return 0;
    const char *close = strstr(p + 2, "*/");
    return (size_t)((close ? close + 2 : end) - p);
}

static size_t raw_string(const char *p, const char *end) {
    char close[24] = ")";
    size_t n = 1;
    const char *q = strchr(p, '"') + 1;
    while (q < end && *q != '(' && n < 18) close[n++] = *q++;
    close[n++] = '"';
    close[n] = 0;
    const char *found = strstr(q, close);
    return (size_t)((found ? found + n : end) - p);
}

/* A string's or character's length at p (prefix included), or 0. */
static size_t literal(const char *p, const char *end) {
    const char *q = p;
    while (q < p + 2 && strchr("uUL8", *q) && *q) q++;
    if (*q == 'R' && q[1] == '"') return raw_string(p, end);
    if (*q != '"' && *q != '\'') return 0;
    char quote = *q++;
    while (q < end && *q != quote && *q != '\n') q += *q == '\\' && q + 1 < end ? 2 : 1;
    return (size_t)((q < end && *q == quote ? q + 1 : q) - p);
}

static size_t number(const char *p, const char *end) {
    const char *q = p;
    if (!isdigit((unsigned char)*q) && !(*q == '.' && isdigit((unsigned char)q[1]))) return 0;
    while (q < end && (name_char(*q) || *q == '.' || (*q == '\'' && name_char(q[1])) ||
                       ((*q == '+' || *q == '-') && strchr("eEpP", q[-1]))))
        q++;
    return (size_t)(q - p);
}

static int file_index(struct tokens *t, const char *name, size_t n) {
    for (int i = t->file_count - 1; i >= 0; i--)
        if (strlen(t->files[i]) == n && strncmp(t->files[i], name, n) == 0) return i;
    char **grown = realloc(t->files, (size_t)(t->file_count + 1) * sizeof *grown);
    char *copy = strndup(name, n);
    if (!grown || !copy) {
        free(copy);
        return 0;
    }
    t->files = grown;
    t->files[t->file_count] = copy;
    return t->file_count++;
}

/* `# 12 "file" 1 3`: what follows is line 12 of file; flag 3 is a system header. */
static void read_marker(struct tokens *t, const char *p, size_t n, int *line, int *file,
                        bool *system) {
    char buf[4096];
    snprintf(buf, sizeof buf, "%.*s", (int)(n < sizeof buf ? n : sizeof buf - 1), p);
    char *quote = strchr(buf, '"'), *close = quote ? strrchr(buf, '"') : NULL;
    char *digits = buf + strcspn(buf, "0123456789");
    if (!quote || close == quote || digits > quote) return; /* a pragma */
    if (starts(buf, "#pragma")) return;
    *line = atoi(digits) - 1; /* the marker's own newline adds one */
    *file = file_index(t, quote + 1, (size_t)(close - quote - 1));
    *system = strchr(close, '3') != NULL;
}

static int add(struct tokens *t, struct token k) {
    if (t->count == t->capacity) {
        int more = t->capacity ? t->capacity * 2 : 4096;
        struct token *grown = realloc(t->list, (size_t)more * sizeof *grown);
        if (!grown) return -1;
        t->list = grown, t->capacity = more;
    }
    t->list[t->count++] = k;
    return 0;
}

/* Kind and length of the token at p; never of length 0. */
static size_t measure(const char *p, const char *text, const char *end, enum token_kind *kind) {
    size_t n;
    *kind = TOKEN_SPACE;
    if (isspace((unsigned char)*p)) {
        for (n = 0; p + n < end && isspace((unsigned char)p[n]); n++)
            if (p[n] == '\n') return n + 1; /* so that a marker starts a token */
        return n;
    }
    if ((n = comment(p, end)) > 0) return n;
    if (*p == '#' && (p == text || p[-1] == '\n')) {
        *kind = TOKEN_MARKER;
        return strcspn(p, "\n");
    }
    *kind = TOKEN_LITERAL;
    if ((n = literal(p, end)) > 0 || (n = number(p, end)) > 0) return n;
    *kind = TOKEN_NAME;
    for (n = 0; p + n < end && name_char(p[n]); n++) continue;
    if (n) return n;
    *kind = TOKEN_MARK;
    return starts(p, "<<<") || starts(p, ">>>") ? 3 : starts(p, "::") || starts(p, "->") ? 2 : 1;
}

int tokens_read(struct tokens *t, const char *text, size_t length, const char *name) {
    *t = (struct tokens){.text = text};
    int line = 1, file = file_index(t, name, strlen(name));
    bool system = false;
    const char *end = text + length;
    for (const char *p = text; p < end;) {
        struct token k = {.at = (size_t)(p - text), .line = line, .file = file, .system = system};
        k.length = measure(p, text, end, &k.kind);
        if (k.length > (size_t)(end - p)) k.length = (size_t)(end - p);
        if (k.kind == TOKEN_MARKER) read_marker(t, p, k.length, &line, &file, &system);
        if (add(t, k) != 0) return -1;
        for (size_t i = 0; i < k.length; i++) line += p[i] == '\n';
        p += k.length;
    }
    return t->files ? 0 : -1;
}

void tokens_release(struct tokens *t) {
    for (int i = 0; i < t->file_count; i++) free(t->files[i]);
    free(t->files);
    free(t->list);
    *t = (struct tokens){0};
}

bool token_is(const struct tokens *t, int i, const char *text) {
    if (i < 0 || i >= t->count) return false;
    const struct token *k = &t->list[i];
    return strlen(text) == k->length && memcmp(t->text + k->at, text, k->length) == 0;
}

int token_next(const struct tokens *t, int i) {
    do i++;
    while (i < t->count && t->list[i].kind <= TOKEN_MARKER);
    return i;
}

int token_before(const struct tokens *t, int i) {
    do i--;
    while (i >= 0 && t->list[i].kind <= TOKEN_MARKER);
    return i;
}

static int bracket(const struct tokens *t, int i) { /* +1 opener, -1 closer */
    const struct token *k = &t->list[i];
    if (k->kind != TOKEN_MARK || k->length != 1) return 0;
    char c = t->text[k->at];
    return strchr("([{", c) ? 1 : strchr(")]}", c) ? -1 : 0;
}

int token_closer(const struct tokens *t, int i) {
    for (int depth = 0; i < t->count; i++)
        if ((depth += bracket(t, i)) == 0) return i;
    return t->count;
}

int token_opener(const struct tokens *t, int i) {
    for (int depth = 0; i >= 0; i--)
        if ((depth += bracket(t, i)) == 0) return i;
    return -1;
}

static int angles(const struct tokens *t, int i) {
    if (token_is(t, i, "<")) return 1;
    if (token_is(t, i, ">")) return -1;
    return token_is(t, i, ">>>") ? -3 : 0;
}

int token_angle_closer(const struct tokens *t, int i) {
    int depth = 0;
    for (; i < t->count; i = token_next(t, i)) {
        if (token_is(t, i, ";") || token_is(t, i, "{")) return -1;
        if (bracket(t, i) > 0) i = token_closer(t, i);
        if (i >= t->count || bracket(t, i) < 0) continue;
        if ((depth += angles(t, i)) <= 0) return i;
    }
    return -1;
}

int token_angle_opener(const struct tokens *t, int i) {
    int depth = 0;
    for (; i >= 0; i = token_before(t, i)) {
        if (token_is(t, i, ";") || token_is(t, i, "}")) return -1;
        if (bracket(t, i) < 0) i = token_opener(t, i);
        if (i < 0 || bracket(t, i) > 0) continue;
        if ((depth += angles(t, i)) >= 0) return i;
    }
    return -1;
}
