/* rewrite_launch.c: rewrites k<<<grid, block, bytes, stream>>>(arguments), also written << < and
 * >> >, as editors that don't know CUDA format it. */
#include "rewrite_internal.h"

#include <stdlib.h>

/* The first token of the kernel expression that ends at token `last`: a::b<T>, (*f), p->k. */
static int expression_start(const struct tokens *t, int last) {
    int i = last;
    for (;;) {
        if (token_is(t, i, ">")) i = token_before(t, token_angle_opener(t, i));
        if (token_is(t, i, ")") || token_is(t, i, "]")) {
            i = token_opener(t, i);
            if (t->list[i < 0 ? 0 : i].kind != TOKEN_MARK || token_is(t, i, "(")) {
                int before = token_before(t, i);
                if (before < 0 || t->list[before].kind != TOKEN_NAME) return i;
            }
            i = token_before(t, i);
        }
        if (i < 0 || t->list[i].kind != TOKEN_NAME) return -1;
        int before = token_before(t, i);
        if (!token_is(t, before, "::") && !token_is(t, before, ".") && !token_is(t, before, "->"))
            return i;
        int further = token_before(t, before);
        if (further < 0 || (t->list[further].kind != TOKEN_NAME && !token_is(t, further, ">")))
            return before; /* ::k */
        i = further;
    }
}

/* Whether a function of that name is declared that isn't a kernel, such as the kernel's launcher.
 * The token before the name distinguishes a declaration from a call. */
static bool is_declared_otherwise(const struct rewriter *r, const char *name) {
    const struct tokens *t = &r->t;
    for (int i = 0; i < t->count; i++) {
        if (t->list[i].kind != TOKEN_NAME || !token_is(t, i, name)) continue;
        int before = token_before(t, i);
        bool kernel = before < 0 || !token_is(t, token_next(t, i), "(");
        for (int k = 0; k < r->kernel_count && !kernel; k++) kernel = r->kernels[k].name == i;
        if (!kernel && (token_is(t, before, "void") || token_is(t, before, "cudaError_t") ||
                        token_is(t, before, "int") || token_is(t, before, "float")))
            return true;
    }
    return false;
}

/* A lambda is needed for a template whose arguments are deduced, for one of several overloads, and
 * to leave out an argument. */
static bool needs_lambda(const struct rewriter *r, int last) {
    const struct tokens *t = &r->t;
    bool given = token_is(t, last, ">"); /* template arguments */
    int name = given ? token_before(t, token_angle_opener(t, last)) : last;
    if (name < 0 || t->list[name].kind != TOKEN_NAME) return false;
    char *wanted = rewrite_text(r, name, name + 1);
    int bodies = 0;
    bool deduced = false;
    for (int i = 0; i < r->kernel_count; i++)
        if (token_is(t, r->kernels[i].name, wanted)) {
            deduced |= (r->kernels[i].is_template && !given) || r->kernels[i].has_default;
            bodies += r->kernels[i].open > 0 && !given;
        }
    deduced |= bodies == 1 && is_declared_otherwise(r, wanted);
    free(wanted);
    return deduced || bodies > 1;
}

/* The last token of <<< or << < that begins at i (`>`: of >>> or >> >); -1: there is none. */
static int launch_mark(const struct tokens *t, int i, char c) {
    const char whole[] = {c, c, c, 0}, one[] = {c, 0};
    if (token_is(t, i, whole)) return i;
    if (!token_is(t, i, one) || !token_is(t, i + 1, one)) return -1;
    int third = token_next(t, i + 1);
    return token_is(t, third, one) ? third : -1;
}

static int configuration_end(const struct tokens *t, int open) {
    for (int i = token_next(t, open); i < t->count; i = token_next(t, i)) {
        if (token_is(t, i, "(") || token_is(t, i, "[") || token_is(t, i, "{"))
            i = token_closer(t, i);
        else if (token_is(t, i, ";"))
            return -1;
        if (launch_mark(t, i, '>') >= 0) return i;
    }
    return -1;
}

/* open .. open_last: the tokens of <<<. */
static void rewrite_launch(struct rewriter *r, int open, int open_last) {
    const struct tokens *t = &r->t;
    int last = token_before(t, open), start = last < 0 ? -1 : expression_start(t, last);
    int close = configuration_end(t, open_last);
    int paren = close < 0 ? -1 : token_next(t, launch_mark(t, close, '>'));
    if (start < 0) {
        rewrite_fail(r, open, "there is no kernel before <<<");
        return;
    }
    if (close < 0 || !token_is(t, paren, "(")) {
        rewrite_fail(r, open, "a launch is kernel<<<grid, block>>>(arguments): %s is missing",
                     close < 0 ? ">>>" : "( after >>>");
        return;
    }
    if (rewrite_on_device(r, open)) {
        rewrite_fail(r, open,
                     "a kernel that launches a kernel (dynamic parallelism) can't run on the CPU. "
                     "Return to the host and launch from there");
        return;
    }
    bool lambda = needs_lambda(r, last), empty = token_is(t, token_next(t, paren), ")");
    char *kernel = rewrite_text(r, start, last + 1), *name = rewrite_quoted(kernel);
    char *file = rewrite_quoted(t->files[t->list[open].file]);
    if (lambda)
        rewrite_edit(r, start, open_last + 1, "simt_go_deduced(simt_config(");
    else
        rewrite_edit(r, start, open_last + 1, "decltype(simt_type_of(%s))::go(simt_config(",
                     kernel);
    rewrite_edit(r, close, paren + 1,
                 lambda ? "), simt_place{%s, %s, %d}, [=](auto... simt_a) { %s(simt_a...); }%s"
                        : "), simt_place{%s, %s, %d}, %s%s",
                 name, file, t->list[open].line, kernel, empty ? "" : ", ");
    free(kernel);
    free(name);
    free(file);
}

void rewrite_launches(struct rewriter *r) {
    for (int i = 0; i < r->t.count && !r->failed; i++) {
        if (r->t.list[i].kind != TOKEN_MARK || r->t.list[i].system) continue;
        int last = launch_mark(&r->t, i, '<');
        if (last >= 0) rewrite_launch(r, i, last);
    }
}
