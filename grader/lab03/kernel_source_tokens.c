/* kernel_source_tokens.c: see kernel_source_tokens.h. */
#include "lab03/kernel_source_tokens.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool lab03_source_is(const struct source_token *t, const char *text) {
    return t->n == strlen(text) && !memcmp(t->at, text, t->n);
}

struct reader {
    const char *at, *end;
    struct source_tokens *out;
    const int *line; /* of every byte */
    size_t room;
    bool directive, fresh; /* in a directive; only blanks in this line so far */
};

/* Removes each backslash-newline; line[i] is the source line of byte i. */
static size_t join_lines(const char *text, size_t n, char *to, int *line) {
    size_t k = 0;
    int at = 1;
    for (size_t i = 0; i < n; i++) {
        size_t skip = i + 1;
        if (text[i] == '\\') /* gcc allows blanks between the two */
            while (skip < n && (text[skip] == ' ' || text[skip] == '\t' || text[skip] == '\r'))
                skip++;
        if (text[i] == '\\' && skip < n && text[skip] == '\n') {
            i = skip;
            at++;
            continue;
        }
        to[k] = text[i];
        line[k++] = at;
        at += text[i] == '\n';
    }
    to[k] = '\0';
    line[k] = at;
    return k;
}

static bool name_start(char c) {
    return isalpha((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}
static bool name_part(char c) {
    return name_start(c) || isdigit((unsigned char)c);
}

/* Skips blanks and comments. */
static void skip_space(struct reader *r) {
    while (r->at < r->end) {
        if (isspace((unsigned char)*r->at)) {
            if (*r->at == '\n') {
                r->directive = false;
                r->fresh = true;
            }
            r->at++;
        } else if (!strncmp(r->at, "//", 2)) {
            while (r->at < r->end && *r->at != '\n') r->at++;
        } else if (!strncmp(r->at, "/*", 2)) {
            const char *stop = strstr(r->at + 2, "*/");
            r->at = stop ? stop + 2 : r->end;
        } else {
            return;
        }
    }
}

static const char *end_of_text(const char *p, const char *end) {
    char quote = *p++;
    while (p < end && *p != quote && *p != '\n') p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p < end && *p == quote ? p + 1 : p;
}

static const char *end_of_number(const char *p, const char *end) {
    for (; p < end; p++) {
        bool exponent = strchr("eEpP", p[0]) && p + 1 < end && (p[1] == '+' || p[1] == '-');
        bool separator = *p == '\'' && p + 1 < end && isalnum((unsigned char)p[1]);
        if (exponent || separator)
            p++;
        else if (!name_part(*p) && *p != '.')
            break;
    }
    return p;
}

/* Length of the mark at p: the two-byte marks that kernel_source.c needs; all others are one byte.
 */
static size_t mark_length(const char *p) {
    static const char *const two[] = {"##", "%:", "<%", "%>", "<:", ":>", "[[",
                                      "::", "==", "<=", ">=", "!=", "->", "&&"};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (!strncmp(p, two[i], 2)) return 2;
    return 1;
}

static int push(struct reader *r, enum token_kind kind, const char *end) {
    struct source_tokens *t = r->out;
    if (t->count + 1 + SOURCE_ENDS > r->room) {
        r->room = r->room ? 2 * r->room : 1024;
        struct source_token *grown = realloc(t->list, r->room * sizeof *grown);
        if (!grown) return -1;
        t->list = grown;
    }
    bool opens = *r->at == '#' && kind == TOKEN_MARK && r->fresh;
    if (opens) r->directive = true;
    r->fresh = false;
    t->list[t->count++] = (struct source_token){
        kind, r->at, (size_t)(end - r->at), r->line[r->at - t->text], r->directive, opens};
    r->at = end;
    return 0;
}

static int read_one(struct reader *r) {
    const char *p = r->at;
    if (name_start(*p)) {
        while (p < r->end && name_part(*p)) p++;
        bool prefix = p < r->end && (*p == '"' || *p == '\'') && p - r->at <= 3;
        if (prefix && *p == '"' && p[-1] == 'R' && !r->out->raw_line)
            r->out->raw_line = r->line[r->at - r->out->text];
        return push(r, TOKEN_NAME, p);
    }
    if (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1])))
        return push(r, TOKEN_NUMBER, end_of_number(p, r->end));
    if (*p == '"' || *p == '\'') return push(r, TOKEN_TEXT, end_of_text(p, r->end));
    return push(r, TOKEN_MARK, p + mark_length(p));
}

int lab03_source_tokens_read(const char *text, size_t n, struct source_tokens *out) {
    int *line = malloc((n + 1) * sizeof *line), rc = 0;
    *out = (struct source_tokens){.text = malloc(n + 1)};
    if (!line || !out->text) rc = -1;
    size_t len = rc ? 0 : join_lines(text, n, out->text, line);
    struct reader r = {
        .at = out->text, .end = out->text + len, .out = out, .line = line, .fresh = true};
    while (!rc) {
        skip_space(&r);
        if (r.at >= r.end) break;
        rc = read_one(&r);
    }
    if (!rc && !out->list) out->list = malloc(SOURCE_ENDS * sizeof *out->list);
    if (!out->list) rc = -1;
    for (size_t i = 0; !rc && i < SOURCE_ENDS; i++)
        out->list[out->count + i] =
            (struct source_token){TOKEN_END, r.end, 0, line[len], false, false};
    free(line);
    if (rc) lab03_source_tokens_release(out);
    return rc;
}

void lab03_source_tokens_release(struct source_tokens *t) {
    free(t->text);
    free(t->list);
    *t = (struct source_tokens){0};
}
