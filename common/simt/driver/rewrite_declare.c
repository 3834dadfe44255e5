/* rewrite_declare.c: removes __global__, __device__ and __constant__, and registers what they mark.
 */
#include "rewrite_internal.h"

#include <stdio.h>
#include <stdlib.h>

static void *grow(void *list, int count, size_t size) {
    if (count & (count - 1)) return list; /* room grows at powers of two */
    list = realloc(list, (count ? 2 * (size_t)count : 1) * size);
    if (!list) exit(4);
    return list;
}

static bool skips_group(const struct tokens *t, int i) {
    return token_is(t, i, "__attribute__") || token_is(t, i, "alignas") ||
           token_is(t, i, "__launch_bounds__") || token_is(t, i, "decltype");
}

/* Whether the declaration that holds token i starts with `template`, `extern`. */
static bool starts_with(const struct tokens *t, int i, const char *word) {
    for (i = token_before(t, i); i >= 0; i = token_before(t, i)) {
        if (token_is(t, i, ";") || token_is(t, i, "}") || token_is(t, i, "{")) return false;
        if (token_is(t, i, word)) return !token_is(t, token_next(t, i), "\"C\"");
    }
    return false;
}

/* The token that distinguishes a function from a variable: after a qualifier, the first ( ; = [ {
 * or comma that isn't nested. */
static int decisive(const struct tokens *t, int i) {
    for (i = token_next(t, i); i < t->count; i = token_next(t, i)) {
        if (skips_group(t, i)) {
            i = token_closer(t, token_next(t, i));
        } else if (token_is(t, i, "<")) {
            int close = token_angle_closer(t, i);
            if (close > 0) i = close;
        } else if (token_is(t, i, "operator")) {
            i = token_next(t, i); /* operator()(...) and operator<(...) */
            if (token_is(t, i, "(")) i = token_closer(t, i);
        } else if (token_is(t, i, "(") || token_is(t, i, ";") || token_is(t, i, "=") ||
                   token_is(t, i, "[") || token_is(t, i, "{") || token_is(t, i, ",")) {
            return i;
        }
    }
    return t->count;
}

/* After a parameter list: the body's opening brace, or 0 for a prototype. */
static int body_of(const struct tokens *t, int paren) {
    for (int i = token_next(t, token_closer(t, paren)); i < t->count; i = token_next(t, i)) {
        if (token_is(t, i, "{")) return i;
        if (token_is(t, i, ";") || token_is(t, i, "=")) return 0;
        if (token_is(t, i, "(")) i = token_closer(t, i);
    }
    return 0;
}

static void note_device_body(struct rewriter *r, int open) {
    if (!open) return;
    r->device_open = grow(r->device_open, r->device_count, sizeof(int));
    r->device_close = grow(r->device_close, r->device_count, sizeof(int));
    r->device_open[r->device_count] = open;
    r->device_close[r->device_count++] = token_closer(&r->t, open);
}

static int name_before(const struct tokens *t, int paren) {
    int i = token_before(t, paren);
    if (token_is(t, i, ">")) i = token_before(t, token_angle_opener(t, i));
    return i;
}

/* A `return;` in a kernel is marked: warp operations ignore lanes that left by it (check_warp.c).
 */
static void mark_returns(struct rewriter *r, const struct kernel *k) {
    for (int i = k->open; i < k->close; i = token_next(&r->t, i)) {
        int end = token_next(&r->t, i);
        if (token_is(&r->t, i, "return") && token_is(&r->t, end, ";"))
            rewrite_edit(r, i, end + 1, "{ simt_leave(); return; }");
    }
}

static void note_kernel(struct rewriter *r, int qualifier) {
    const struct tokens *t = &r->t;
    int paren = decisive(t, qualifier);
    if (!token_is(t, paren, "(")) {
        rewrite_fail(r, qualifier,
                     "__global__ must be before a function: __global__ void "
                     "name(parameters)");
        return;
    }
    struct kernel k = {.name = name_before(t, paren), .open = body_of(t, paren)};
    k.close = k.open ? token_closer(t, k.open) : 0;
    k.is_template = starts_with(t, qualifier, "template");
    for (int i = paren; i < token_closer(t, paren) && i < t->count; i++)
        k.has_default |= token_is(t, i, "=");
    for (int i = qualifier; i < paren; i = token_next(t, i)) {
        if (!token_is(t, i, "__launch_bounds__")) continue;
        int open = token_next(t, i), close = token_closer(t, open);
        k.bounds = k.bounds_end = token_next(t, open);
        while (k.bounds_end < close && !token_is(t, k.bounds_end, ",")) {
            if (token_is(t, k.bounds_end, "(")) k.bounds_end = token_closer(t, k.bounds_end);
            k.bounds_end++;
        }
    }
    if (k.open) mark_returns(r, &k);
    note_device_body(r, k.open);
    r->kernels = grow(r->kernels, r->kernel_count, sizeof k);
    r->kernels[r->kernel_count++] = k;
}

static void announce_kernels(struct rewriter *r) {
    const struct tokens *t = &r->t;
    for (int i = 0; i < r->kernel_count; i++) {
        const struct kernel *k = &r->kernels[i];
        char *name = rewrite_text(r, k->name, k->name + 1);
        int bodies = 0;
        for (int o = 0; o < r->kernel_count; o++)
            bodies += r->kernels[o].open && token_is(t, r->kernels[o].name, name);
        if (k->open && !k->is_template && bodies == 1) {
            char *file = rewrite_quoted(t->files[t->list[k->name].file]);
            char *bounds = k->bounds ? rewrite_text(r, k->bounds, k->bounds_end) : NULL;
            if (bounds) /* for --hooks=ir, which drops the registration below */
                rewrite_edit(r, k->close + 1, k->close + 1,
                             " static const int simt_bounds_%s __asm__(\"simt_bounds_%s\") "
                             "__attribute__((used)) = (int)(%s);",
                             name, name, bounds);
            rewrite_edit(r, k->close + 1, k->close + 1,
                         " static simt_kernel_announced simt_kernel_%s(%s, \"%s\", %s, %d, "
                         "(int)(%s));",
                         name, name, name, file, t->list[k->name].line, bounds ? bounds : "0");
            free(file);
            free(bounds);
        }
        free(name);
    }
}

/* Whether it is const, which the compiler keeps among its own constants. */
static bool fixed_value(const struct tokens *t, int from, int to) {
    int before = token_before(t, from);
    for (int i = from; i < to && !token_is(t, i, "=") && !token_is(t, i, "["); i++)
        if (token_is(t, i, "const") || token_is(t, i, "constexpr")) return true;
    return token_is(t, before, "const") || token_is(t, before, "constexpr");
}

/* { opens a type's definition: struct { or struct name { */
static bool opens_type(const struct tokens *t, int open) {
    for (int i = token_before(t, open), n = 0; n < 2; i = token_before(t, i), n++)
        if (token_is(t, i, "struct") || token_is(t, i, "union") || token_is(t, i, "enum") ||
            token_is(t, i, "class"))
            return true;
    return false;
}

/* Device variables are in one section, in order and padded: an overrun of one hits its padding
 * instead of the next. */
#define IN_ORDER "__attribute__((section(\"simt_device\"), used, aligned(64)))"

/* The names between a qualifier and the semicolon: each before [ = { , or ; */
static void announce_variables(struct rewriter *r, int qualifier, const char *kind) {
    const struct tokens *t = &r->t;
    int end = qualifier;
    while (end < t->count && !token_is(t, end, ";"))
        end = token_is(t, end, "{") || token_is(t, end, "(") ? token_closer(t, end) + 1 : end + 1;
    if (end >= t->count) return;
    int last = -1;
    bool done = false; /* this declarator's name is known */
    bool padded = !fixed_value(t, qualifier, end);
    if (padded) rewrite_edit(r, qualifier, qualifier, "%s", IN_ORDER);
    for (int i = token_next(t, qualifier); i <= end; i = token_next(t, i)) {
        bool stop = token_is(t, i, ";") || token_is(t, i, ","), value = token_is(t, i, "=");
        if (token_is(t, i, "{") && opens_type(t, i)) {
            i = token_closer(t, i), last = -1;
            continue;
        }
        if (!done && last >= 0 && (stop || value || token_is(t, i, "[") || token_is(t, i, "{"))) {
            char *name = rewrite_text(r, last, last + 1);
            rewrite_edit(r, end + 1, end + 1,
                         " static simt_symbol_announced simt_symbol_%s(&%s, \"%s\", %s);", name,
                         name, name, kind);
            /* for --hooks=ir, which drops the registration above */
            rewrite_edit(r, end + 1, end + 1,
                         " static void *const simt_is_%s_%s __attribute__((used)) = (void *)&%s;",
                         kind, name, name);
            if (padded)
                rewrite_edit(r, end + 1, end + 1, " static char simt_pad_%s[64] %s;", name,
                             IN_ORDER);
            free(name);
            done = true;
        }
        if (stop) done = false, last = -1;
        if (token_is(t, i, "(") || token_is(t, i, "{") || token_is(t, i, "[")) {
            i = token_closer(t, i);
        } else if (!done && token_is(t, i, "<")) {
            int close = token_angle_closer(t, i);
            if (close > 0) i = close;
        } else if (!done && !skips_group(t, i) && t->list[i].kind == TOKEN_NAME) {
            last = i;
        }
    }
}

static bool in_class(const struct rewriter *r, int token) {
    int depth = 0;
    for (int i = token - 1; i >= 0; i--) {
        if (token_is(&r->t, i, "}")) depth++;
        if (!token_is(&r->t, i, "{") || depth-- > 0) continue;
        depth = 0;
        for (int b = token_before(&r->t, i); b >= 0; b = token_before(&r->t, b)) {
            if (token_is(&r->t, b, ";") || token_is(&r->t, b, "}") || token_is(&r->t, b, "{"))
                break;
            if (token_is(&r->t, b, "struct") || token_is(&r->t, b, "class") ||
                token_is(&r->t, b, "union"))
                return true;
        }
    }
    return false;
}

static void declare_device(struct rewriter *r, int i) {
    const struct tokens *t = &r->t;
    bool constant = token_is(t, i, "__constant__");
    int before = token_before(t, i), mark = decisive(t, i);
    if (token_is(t, before, "__constant__") || token_is(t, before, "__device__")) return;
    if (token_is(t, token_next(t, i), "__constant__")) constant = true;
    if (token_is(t, mark, "(")) {
        note_device_body(r, body_of(t, mark));
        return;
    }
    if (mark >= t->count || starts_with(t, i, "template") || starts_with(t, i, "extern") ||
        token_is(t, token_next(t, i), "extern") || !rewrite_at_file_scope(r, i) || in_class(r, i))
        return;
    for (int k = i; k < mark; k = token_next(t, k))
        if (token_is(t, k, "__shared__")) return;
    announce_variables(r, i, constant ? "SIMT_SYMBOL_CONSTANT" : "SIMT_SYMBOL_DEVICE");
}

/* A kernel isn't inlined into its launcher, which isn't watched. */
#define APART "__attribute__((noinline))"

void rewrite_declarations(struct rewriter *r) {
    const struct tokens *t = &r->t;
    for (int i = 0; i < t->count && !r->failed; i++) {
        if (t->list[i].kind != TOKEN_NAME || t->list[i].length < 8) continue;
        bool global = token_is(t, i, "__global__");
        bool device = token_is(t, i, "__device__") || token_is(t, i, "__constant__") ||
                      token_is(t, i, "__managed__");
        if (global) note_kernel(r, i);
        if (device) declare_device(r, i);
        if (global || device || token_is(t, i, "__host__"))
            rewrite_edit(r, i, i + 1, "%s", global ? APART : "");
        if (token_is(t, i, "__launch_bounds__"))
            rewrite_edit(r, i, token_closer(t, token_next(t, i)) + 1, "%s", "");
        if (token_is(t, i, "__noinline__") && !t->list[i].system &&
            !token_is(t, token_before(t, i), "("))
            rewrite_edit(r, i, i + 1, "__attribute__((noinline))");
    }
    announce_kernels(r);
}
