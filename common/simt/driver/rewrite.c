/* rewrite.c: collects edits of a list of tokens and writes the resulting text. */
#include "rewrite_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void no_memory(void) {
    fputs("simtcc: out of memory\n", stderr);
    exit(4);
}

int rewrite_fail(struct rewriter *r, int token, const char *format, ...) {
    if (r->failed) return -1;
    const struct token *k = &r->t.list[token < r->t.count ? token : r->t.count - 1];
    int n = snprintf(r->message, r->cap, "%s:%d: error: ", r->t.files[k->file], k->line);
    va_list ap;
    va_start(ap, format);
    if (n >= 0 && (size_t)n < r->cap) vsnprintf(r->message + n, r->cap - (size_t)n, format, ap);
    va_end(ap);
    r->failed = true;
    return -1;
}

void rewrite_edit(struct rewriter *r, int from, int to, const char *format, ...) {
    if (r->edit_count == r->edit_capacity) {
        r->edit_capacity = r->edit_capacity ? r->edit_capacity * 2 : 64;
        r->edits = realloc(r->edits, (size_t)r->edit_capacity * sizeof *r->edits);
        if (!r->edits) no_memory();
    }
    if (to > r->t.count) to = r->t.count; /* a bracket that is never closed */
    if (from > to) from = to;
    struct edit *e = &r->edits[r->edit_count];
    *e = (struct edit){.from = from, .to = to, .order = r->edit_count++};
    va_list ap;
    va_start(ap, format);
    if (vasprintf(&e->text, format, ap) < 0) no_memory();
    va_end(ap);
}

char *rewrite_text(const struct rewriter *r, int from, int to) {
    if (to > r->t.count) to = r->t.count;
    size_t room = 1, n = 0;
    for (int i = from; i < to; i++) room += r->t.list[i].length + 1;
    char *out = malloc(room);
    if (!out) no_memory();
    bool was_name = false;
    for (int i = from; i < to; i++) {
        const struct token *k = &r->t.list[i];
        if (k->kind <= TOKEN_MARKER) continue;
        bool is_name = k->kind == TOKEN_NAME || k->kind == TOKEN_LITERAL;
        if (was_name && is_name) out[n++] = ' ';
        memcpy(out + n, r->t.text + k->at, k->length);
        n += k->length;
        was_name = is_name;
    }
    out[n] = 0;
    return out;
}

char *rewrite_quoted(const char *text) {
    char *out = malloc(2 * strlen(text) + 3), *p = out;
    if (!out) no_memory();
    *p++ = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') *p++ = '\\';
        *p++ = *text;
    }
    *p++ = '"';
    *p = 0;
    return out;
}

bool rewrite_on_device(const struct rewriter *r, int token) {
    for (int i = 0; i < r->device_count; i++)
        if (r->device_open[i] < token && token < r->device_close[i]) return true;
    return false;
}

/* No enclosing brace opens a function's body: one that follows a parameter list. */
bool rewrite_at_file_scope(const struct rewriter *r, int token) {
    int depth = 0;
    for (int i = token - 1; i >= 0; i--) {
        if (token_is(&r->t, i, "}")) depth++;
        if (!token_is(&r->t, i, "{") || depth-- > 0) continue;
        depth = 0;
        int before = token_before(&r->t, i);
        while (token_is(&r->t, before, "const") || token_is(&r->t, before, "noexcept") ||
               token_is(&r->t, before, "mutable"))
            before = token_before(&r->t, before);
        if (token_is(&r->t, before, ")") || token_is(&r->t, before, "else") ||
            token_is(&r->t, before, "do") || token_is(&r->t, before, ";"))
            return false;
    }
    return true;
}

static int by_place(const void *a, const void *b) {
    const struct edit *x = a, *y = b;
    if (x->from != y->from) return x->from - y->from;
    return x->order - y->order;
}

struct buffer {
    char *p;
    size_t n, room;
};
static void put(struct buffer *b, const char *p, size_t n) {
    if (b->n + n + 1 > b->room) {
        b->room = (b->n + n + 1) * 2;
        b->p = realloc(b->p, b->room);
        if (!b->p) no_memory();
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = 0;
}

static char *write_again(struct rewriter *r) {
    struct buffer b = {0};
    put(&b, "", 0);
    if (r->edit_count) qsort(r->edits, (size_t)r->edit_count, sizeof *r->edits, by_place);
    int e = 0;
    for (int i = 0; i <= r->t.count; i++) {
        int skip = i;
        for (; e < r->edit_count && r->edits[e].from <= i; e++) {
            put(&b, r->edits[e].text, strlen(r->edits[e].text));
            if (r->edits[e].to > skip) skip = r->edits[e].to;
        }
        for (int d = i; d < skip; d++) { /* dropped tokens leave their newlines */
            const struct token *k = &r->t.list[d];
            const char *p = r->t.text + k->at;
            if (k->kind == TOKEN_MARKER && b.n && b.p[b.n - 1] == '\n') put(&b, p, k->length);
            for (size_t c = 0; c < k->length; c++)
                if (p[c] == '\n') put(&b, "\n", 1);
        }
        if (skip > i) {
            i = skip - 1;
            continue;
        }
        if (i < r->t.count) put(&b, r->t.text + r->t.list[i].at, r->t.list[i].length);
    }
    return b.p;
}

char *rewrite(const char *text, size_t length, const char *name, char *message, size_t cap) {
    struct rewriter r = {.message = message, .cap = cap};
    char *out = NULL;
    if (tokens_read(&r.t, text, length, name) != 0) no_memory();
    rewrite_declarations(&r);
    rewrite_refuse(&r);
    rewrite_shared(&r);
    rewrite_launches(&r);
    if (!r.failed) out = write_again(&r);
    for (int i = 0; i < r.edit_count; i++) free(r.edits[i].text);
    free(r.edits);
    free(r.kernels);
    free(r.device_open);
    free(r.device_close);
    tokens_release(&r.t);
    return out;
}
