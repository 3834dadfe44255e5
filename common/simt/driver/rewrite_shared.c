/* rewrite_shared.c: rewrites __shared__ declarations. */
#include "rewrite_internal.h"

#include <stdlib.h>
#include <string.h>

static bool is_any(const struct tokens *t, int i, const char *const *words) {
    while (*words && !token_is(t, i, *words)) words++;
    return *words != NULL;
}

static const char *const dropped[] = {"__shared__", "extern", "static", "__device__", NULL};
static const char *const alignments[] = {"alignas", "__attribute__", NULL};

/* The declaration's first token: qualifiers and the type may come before __shared__. */
static int declaration_start(const struct tokens *t, int at) {
    for (;;) {
        int before = token_before(t, at);
        if (before >= 0 && (t->list[before].kind == TOKEN_NAME || token_is(t, before, "::"))) {
            at = before;
        } else if (token_is(t, before, ">") && token_angle_opener(t, before) > 0) {
            at = token_angle_opener(t, before);
        } else if (token_is(t, before, ")")) {
            int name = token_before(t, token_opener(t, before));
            if (!is_any(t, name, alignments)) return at;
            at = name;
        } else {
            return at;
        }
    }
}

static int statement_end(const struct tokens *t, int i) {
    for (; i < t->count && !token_is(t, i, ";"); i++)
        if (token_is(t, i, "(") || token_is(t, i, "[") || token_is(t, i, "{"))
            i = token_closer(t, i);
    return i;
}

/* A declarator ends at a comma outside of brackets and template arguments. */
static int declarator_end(const struct tokens *t, int i, int end) {
    for (; i < end && !token_is(t, i, ","); i = token_next(t, i)) {
        if (token_is(t, i, "(") || token_is(t, i, "[") || token_is(t, i, "{"))
            i = token_closer(t, i);
        else if (token_is(t, i, "<")) {
            int close = token_angle_closer(t, i);
            if (close > 0 && close < end) i = close;
        }
    }
    return i < end ? i : end;
}

/* Numbers for generated names. */
static int serial_number(void) {
    static int last;
    return ++last;
}

struct declarator {
    int name, dims, end; /* tokens; dims == end if it isn't an array */
};
static struct declarator declarator(const struct tokens *t, int from, int end) {
    struct declarator d = {.name = -1, .dims = end, .end = end};
    for (int i = from; i < end; i = token_next(t, i)) {
        if (token_is(t, i, "<")) {
            int close = token_angle_closer(t, i);
            if (close > 0 && close < end) i = close;
        } else if (token_is(t, i, "[") || token_is(t, i, "=")) {
            d.dims = i;
            break;
        } else if (token_is(t, i, "(") || token_is(t, i, "{")) {
            i = token_closer(t, i);
        } else if (t->list[i].kind == TOKEN_NAME) {
            d.name = i;
        }
    }
    return d;
}

/* Type tokens [from, to) without the words that rewriting replaces; *alignment: the first
 * alignment. */
static char *type_text(const struct rewriter *r, int from, int to, char **alignment) {
    const struct tokens *t = &r->t;
    char *out = calloc(1, 1);
    *alignment = NULL;
    for (int i = from; i < to; i = token_next(t, i)) {
        int last = i;
        if (is_any(t, i, dropped)) continue;
        bool align = is_any(t, i, alignments);
        if (align) last = token_closer(t, token_next(t, i));
        char *piece = rewrite_text(r, i, last + 1);
        if (align && !*alignment) {
            *alignment = piece;
        } else {
            char *longer = malloc(strlen(out) + strlen(piece) + 2);
            if (longer) strcat(strcat(strcpy(longer, out), " "), piece);
            free(out);
            free(piece);
            out = longer;
        }
        i = last;
    }
    return out;
}

/* What the declarators of one declaration share. */
struct declaration {
    int start, at, end; /* first token, __shared__, semicolon */
    int base;           /* the number in simt_base_N, the type without * and [] */
    bool dynamic, aligned, file_scope;
};

static int enclosing_end(const struct tokens *t, int token) {
    int depth = 0;
    for (int i = token - 1; i >= 0; i--) {
        if (token_is(t, i, "}")) depth++;
        if (token_is(t, i, "{") && depth-- == 0) return token_closer(t, i);
    }
    return t->count;
}

static bool mentions(const struct tokens *t, int from, int to, const char *name) {
    while (from < to && !(t->list[from].kind == TOKEN_NAME && token_is(t, from, name))) from++;
    return from < to;
}

/* Dynamic shared memory that is declared outside of functions: it is declared in each device
 * function that mentions the name, around the body, so that variables of the function may hide it.
 */
static void declare_in_bodies(struct rewriter *r, const struct declaration *x, const char *name,
                              int type) {
    const struct tokens *t = &r->t;
    int scope_end = enclosing_end(t, x->start);
    for (int i = 0; i < r->device_count; i++) {
        int open = r->device_open[i], close = r->device_close[i];
        if (open < x->end || close > scope_end || !mentions(t, open, close, name)) continue;
        int last =
            token_before(t, open); /* the parameters' closer; const or -> type may follow it */
        while (last > x->end && !token_is(t, last, ")")) last = token_before(t, last);
        if (mentions(t, token_opener(t, last), open, name)) continue;
        rewrite_edit(r, open + 1, open + 1,
                     " __attribute__((unused)) simt_type_%d &%s = *(simt_type_%d *)"
                     "simt_shared_dynamic(); {",
                     type, name, type);
        rewrite_edit(r, close, close, "} ");
    }
}

static void rewrite_declarator(struct rewriter *r, const struct declaration *x, int first,
                               const struct declarator *d) {
    const struct tokens *t = &r->t;
    int pointer = first, n = serial_number();
    if (d->name < 0) {
        rewrite_fail(r, x->at, "this __shared__ declaration names no variable");
        return;
    }
    while (pointer < d->name && !token_is(t, pointer, "*")) pointer++;
    char *stars = rewrite_text(r, pointer, d->name), *name = rewrite_text(r, d->name, d->name + 1);
    char *dims = rewrite_text(r, d->dims, d->end);
    const char *more = d->end < x->end ? "; " : "";
    if (strchr(dims, '=') || strchr(dims, '{'))
        rewrite_fail(r, d->name,
                     "a __shared__ variable can't be initialised where it is declared: let one "
                     "thread write it, then __syncthreads()");
    rewrite_edit(r, x->start, x->start, "typedef simt_base_%d %s simt_type_%d%s%s", x->base, stars,
                 n, dims, x->file_scope ? more : "; ");
    if (x->file_scope)
        declare_in_bodies(r, x, name, n);
    else if (x->dynamic)
        rewrite_edit(r, x->start, x->start, "simt_type_%d &%s = *(simt_type_%d *)%s%s", n, name, n,
                     "simt_shared_dynamic()", more);
    else
        rewrite_edit(r, x->start, x->start,
                     "static simt_shared_var simt_var_%d = {0, \"%s\"}; "
                     "simt_type_%d &%s = *(simt_type_%d *)simt_shared(&simt_var_%d, "
                     "sizeof(simt_type_%d), alignof(%s_%d))%s",
                     n, name, n, name, n, n, n, x->aligned ? "simt_align" : "simt_type",
                     x->aligned ? x->base : n, more);
    free(stars);
    free(name);
    free(dims);
}

/* Writes typedefs of the shared type and of the alignment in the declaration. */
static void rewrite_base(struct rewriter *r, struct declaration *x, int type_end) {
    char *alignment, *type = type_text(r, x->start, type_end, &alignment);
    x->base = serial_number();
    x->aligned = alignment != NULL;
    rewrite_edit(r, x->start, x->start, "typedef %s simt_base_%d; ", type, x->base);
    if (alignment)
        rewrite_edit(r, x->start, x->start, "struct simt_align_%d { %s char c; }; ", x->base,
                     alignment);
    free(type);
    free(alignment);
}

static void rewrite_one(struct rewriter *r, int at) {
    const struct tokens *t = &r->t;
    struct declaration x = {.start = declaration_start(t, at), .at = at};
    x.end = statement_end(t, at);
    x.file_scope = rewrite_at_file_scope(r, at);
    int comma = declarator_end(t, x.start, x.end);
    struct declarator d = declarator(t, x.start, comma);
    if (d.name <= at || x.end >= t->count) {
        rewrite_fail(r, at, "this __shared__ declaration names no variable");
        return;
    }
    for (int i = x.start; i < d.name; i = token_next(t, i)) x.dynamic |= token_is(t, i, "extern");
    if (x.file_scope && !x.dynamic) {
        rewrite_fail(r, at,
                     "declare __shared__ memory inside the kernel that uses it: outside of a "
                     "function simtcc takes only `extern __shared__`");
        return;
    }
    int first = d.name; /* of the declarator: its stars */
    while (first > x.start && token_is(t, token_before(t, first), "*"))
        first = token_before(t, first);
    rewrite_base(r, &x, first);
    rewrite_declarator(r, &x, first, &d);
    while (comma < x.end && !r->failed) {
        first = comma + 1;
        comma = declarator_end(t, first, x.end);
        d = declarator(t, first, comma);
        rewrite_declarator(r, &x, first, &d);
    }
    rewrite_edit(r, x.start, x.end, "%s", "");
}

void rewrite_shared(struct rewriter *r) {
    for (int i = 0; i < r->t.count && !r->failed; i++)
        if (r->t.list[i].kind == TOKEN_NAME && token_is(&r->t, i, "__shared__")) rewrite_one(r, i);
}
