/* kernel_source.c: see kernel_source.h. Examines each token first, then directives, then
 * declarations at file level. */
#include "lab03/kernel_source.h"

#include "lab03/kernel_source_tokens.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
    const char *file;
    const struct source_token *list;
    size_t count;
    struct err *e;
};

static int check_tokens(const struct source *s);
static const struct source_token *next(const struct source_token *t);
static int check_scope(const struct source *s, const struct source_token **at, bool members);

int lab03_source_check(const char *file, const char *text, size_t n, struct err *e) {
    struct source_tokens t;
    if (lab03_source_tokens_read(text, n, &t)) return err_set(e, "%s: no memory to read it", file);
    struct source s = {file, t.list, t.count, e};
    const struct source_token *at = t.list;
    int rc = 0;
    if (t.raw_line) rc = err_set(e, "%s:%d: no raw string literals, please", file, t.raw_line);
    if (!rc) rc = check_tokens(&s);
    if (at->directive) at = next(at);
    while (!rc && at->kind != TOKEN_END) rc = check_scope(&s, &at, false);
    lab03_source_tokens_release(&t);
    return rc;
}

static int refuse(const struct source *s, const struct source_token *t, const char *why) {
    char shown[60];
    return err_set(s->e, "%s:%d: `%s`: %s", s->file, t->line,
                   text_clean(shown, sizeof shown, t->at, t->n), why);
}

/* ---- names ----------------------------------------------------------------------------------- */

#define ASSEMBLY                                                                                   \
    "inline assembly can't run on every machine that this file must run on; the CUDA C function "  \
    "does the same (nvcuda::wmma for mma, __ldg and __stcs for cache hints)"
#define MACHINERY                                                                                  \
    "belongs to what counts and checks your kernel; a kernel may not name it. Another name, "      \
    "please"
#define ATTRIBUTE                                                                                  \
    "attributes can turn the checks off or run code before a kernel; __launch_bounds__, "          \
    "__align__, __restrict__ and __forceinline__ are there without them"
#define BUILTIN   "a compiler's own function, which nvcc doesn't have; CUDA C has one for it"
#define UNCOUNTED "what it moves isn't counted; let the kernel's threads move it in a loop"
#define HOST_CALL "a function of the host; a kernel can't launch, allocate or copy"

static const struct {
    const char *name;
    bool prefix;
    const char *why;
} banned[] = {
    {"asm", false, ASSEMBLY},
    {"__asm", true, ASSEMBLY},
    {"__attribute", true, ATTRIBUTE},
    {"__declspec", false, ATTRIBUTE},
    {"no_sanitize", true, ATTRIBUTE},
    {"constructor", false, ATTRIBUTE},
    {"__builtin_", true, BUILTIN},
    {"__atomic_", true, "write atomicAdd and its kin, as nvcc wants"},
    {"__sync_", true, "write atomicAdd and its kin, as nvcc wants"},
    {"__tsan", true, MACHINERY},
    {"__asan", true, MACHINERY},
    {"__ubsan", true, MACHINERY},
    {"__sanitizer", true, MACHINERY},
    {"__start_", true, MACHINERY},
    {"__stop_", true, MACHINERY},
    {"__ehdr_start", false, MACHINERY},
    {"__cxa_", true, MACHINERY},
    {"__COUNTER__", false, MACHINERY},
    {"__has_include", true, "includes are the same for everyone; take it out"},
    {"simt", true, MACHINERY},
    {"SIMT", true, MACHINERY},
    {"__simt", true, MACHINERY},
    {"__SIMT", true, "the file must do the same on a GPU and here; take the condition out"},
    {"SERVELAB_", true, "the file must do the same on a GPU and here; take the condition out"},
    {"__CUDACC", true, "the file must do the same on a GPU and here; take the condition out"},
    {"__CUDA_ARCH__", false, "the file must do the same on a GPU and here; take the condition out"},
    {"memcpy", false, UNCOUNTED},
    {"memmove", false, UNCOUNTED},
    {"memset", false, UNCOUNTED},
    {"cudaMalloc", true, HOST_CALL},
    {"cudaMemcpy", true, HOST_CALL},
    {"cudaLaunch", true, HOST_CALL},
    {"_Pragma", false, "write #pragma unroll on a separate line"},
    {"__pragma", false, "write #pragma unroll on a separate line"},
    {"__host__", false, "a kernel file is device code only; take it out"},
    {"thread_local", false, "a kernel's thread has its local variables; take it out"},
    {"goto", false, "use a loop or a condition: the counts can't distinguish jumps"},
    {"try", false, "device code has no exceptions"},
    {"throw", false, "device code has no exceptions"},
    {"virtual", false, "calls through a table can't be followed; call the function by its name"},
    {"typeid", false, "device code has no type information"},
    {"dynamic_cast", false, "device code has no type information"},
    {"new", false, "a kernel can't allocate; __shared__ or a local array, please"},
    {"delete", false, "a kernel can't allocate"},
};

static bool begins_with(const struct source_token *t, const char *name) {
    size_t n = strlen(name);
    return t->n >= n && !memcmp(t->at, name, n);
}

static int check_name(const struct source *s, const struct source_token *t) {
    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++)
        if (banned[i].prefix ? begins_with(t, banned[i].name) : lab03_source_is(t, banned[i].name))
            return refuse(s, t, banned[i].why);
    if (memchr(t->at, '$', t->n)) return refuse(s, t, "plain letters in names, please");
    return 0;
}

static int check_extern(const struct source *s, const struct source_token *t) {
    bool c_kernel = lab03_source_is(&t[1], "\"C\"") && lab03_source_is(&t[2], "__global__");
    if (c_kernel || lab03_source_is(&t[1], "__shared__")) return 0;
    return refuse(s, t,
                  "only `extern __shared__` is a kernel's: variables and functions of others are "
                  "out of reach");
}

static int check_bracket(const struct source *s, const struct source_token *t) {
    static const char *const fine[] = {"maybe_unused", "fallthrough", "likely", "unlikely",
                                       "nodiscard"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        if (lab03_source_is(&t[1], fine[i])) return 0;
    return refuse(s, t, ATTRIBUTE);
}

static int check_mark(const struct source *s, const struct source_token *t) {
    if (lab03_source_is(t, "##") || lab03_source_is(t, "%:"))
        return refuse(s, t, "no names put together by the preprocessor; write the name");
    if (lab03_source_is(t, "<%") || lab03_source_is(t, "%>") || lab03_source_is(t, "<:") ||
        lab03_source_is(t, ":>"))
        return refuse(s, t, "braces and brackets, please, or a blank between the two");
    if (lab03_source_is(t, "[[")) return check_bracket(s, t);
    if (*t->at == '\\' || *t->at == '`' || *t->at == '@') return refuse(s, t, "this isn't CUDA C");
    if (*t->at == '?' && t[1].at == t->at + 1 && *t[1].at == '?')
        return refuse(s, t, "no trigraphs, please");
    return 0;
}

/* The useful device code of the C++ library; the rest could move memory without the hooks. */
static const char *const library[] = {"numeric_limits",
                                      "min",
                                      "max",
                                      "abs",
                                      "fabs",
                                      "sqrt",
                                      "exp",
                                      "log",
                                      "floor",
                                      "ceil",
                                      "fma",
                                      "isnan",
                                      "isinf",
                                      "isfinite",
                                      "is_same",
                                      "is_same_v",
                                      "conditional",
                                      "conditional_t",
                                      "enable_if",
                                      "size_t",
                                      "int32_t",
                                      "enable_if_t",
                                      "integral_constant"};

static int check_std(const struct source *s, const struct source_token *t) {
    if (lab03_source_is(&t[1], "::") && !(t > s->list && lab03_source_is(&t[-1], "struct")))
        for (size_t i = 0; i < sizeof library / sizeof *library; i++)
            if (lab03_source_is(&t[2], library[i])) return 0;
    return refuse(s, t,
                  "of the C++ library a kernel may use numeric_limits, min, max and the "
                  "mathematics");
}

/* The runtime's vector types hold the compiler's vector in a member of this name. */
static bool is_inner_vector(const struct source *s, const struct source_token *t) {
    return lab03_source_is(t, "all") && t > s->list &&
           (lab03_source_is(&t[-1], ".") || lab03_source_is(&t[-1], "->"));
}

static int check_token(const struct source *s, const struct source_token *t) {
    if (t->kind == TOKEN_MARK) return check_mark(s, t);
    if (t->kind != TOKEN_NAME) return 0;
    if (lab03_source_is(t, "extern")) return check_extern(s, t);
    if (lab03_source_is(t, "std")) return check_std(s, t);
    if (is_inner_vector(s, t)) return refuse(s, t, MACHINERY);
    bool opens = t - 1 > s->list && lab03_source_is(&t[-1], "namespace") &&
                 !lab03_source_is(&t[-2], "using");
    if (opens && (lab03_source_is(t, "nvcuda") || lab03_source_is(t, "cooperative_groups")))
        return refuse(s, t, "the library's own names stay as they are");
    return check_name(s, t);
}

/* ---- directives ------------------------------------------------------------------------------ */

static const char *const headers[] = {"backend/kernels.h",
                                      "cuda_runtime.h",
                                      "cuda_fp16.h",
                                      "cuda_bf16.h",
                                      "cooperative_groups.h",
                                      "cooperative_groups/reduce.h",
                                      "mma.h",
                                      "math_constants.h",
                                      "cuda_pipeline.h",
                                      "assert.h",
                                      "cassert",
                                      "stdio.h",
                                      "cstdio",
                                      "float.h",
                                      "cfloat",
                                      "limits.h",
                                      "climits",
                                      "math.h",
                                      "cmath",
                                      "stdint.h",
                                      "cstdint",
                                      "stddef.h",
                                      "cstddef",
                                      "limits",
                                      "type_traits"};

/* #include "x" or <x>; joins the tokens of <x>. */
static int check_include(const struct source *s, const struct source_token *t) {
    char name[80] = "";
    const struct source_token *p = &t[2];
    if (p->kind == TOKEN_TEXT && p->n >= 2 && p->n < sizeof name)
        snprintf(name, sizeof name, "%.*s", (int)p->n - 2, p->at + 1);
    else if (lab03_source_is(p, "<"))
        for (const struct source_token *c = p + 1;
             c->directive && c->line == t->line && !lab03_source_is(c, ">"); c++)
            text_append(name, sizeof name, "%.*s", (int)(c->n < 60 ? c->n : 60), c->at);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (!strcmp(headers[i], name)) return 0;
    return refuse(s, p->kind == TOKEN_END ? t : p,
                  "a kernel includes backend/kernels.h, CUDA's headers and a few of C's (the "
                  "handout lists them), and needs nothing else");
}

static const char *const plain_types[] = {
    "void",      "bool",    "char",     "signed",  "unsigned",      "short",          "int",
    "long",      "float",   "double",   "size_t",  "int8_t",        "uint8_t",        "int16_t",
    "uint16_t",  "int32_t", "uint32_t", "int64_t", "uint64_t",      "uintptr_t",      "intptr_t",
    "ptrdiff_t", "int2",    "int3",     "int4",    "uint2",         "uint3",          "uint4",
    "float2",    "float3",  "float4",   "double2", "char2",         "char4",          "uchar2",
    "uchar4",    "short2",  "short4",   "ushort2", "ushort4",       "longlong2",      "bf16",
    "half",      "__half",  "__half2",  "half2",   "__nv_bfloat16", "__nv_bfloat162", "dim3"};

static bool is_plain_type(const struct source_token *t) {
    for (size_t i = 0; i < sizeof plain_types / sizeof *plain_types; i++)
        if (lab03_source_is(t, plain_types[i])) return true;
    return false;
}

static bool is_keyword(const struct source_token *t) {
    static const char *const words[] = {"static", "const", "constexpr", "struct", "template",
                                        "if",     "for",   "while",     "return", "inline",
                                        "KERNEL", "class", "namespace", "using",  "typedef",
                                        "enum",   "union", "operator"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (lab03_source_is(t, words[i])) return true;
    return is_plain_type(t) || (t->n > 1 && t->at[0] == '_' && t->at[1] == '_');
}

/* A macro must be a value or an expression: declarations in a macro would escape the checks. */
static int check_define(const struct source *s, const struct source_token *t) {
    const struct source_token *name = &t[2];
    if (is_keyword(name)) return refuse(s, name, "this name has a meaning already; another one");
    int depth = 0;
    for (const struct source_token *p = name + 1; p->directive && !p->opens; p++) {
        if (lab03_source_is(p, ";") || lab03_source_is(p, "{") || lab03_source_is(p, "}") ||
            lab03_source_is(p, "static") || lab03_source_is(p, "struct") ||
            lab03_source_is(p, "__device__") || lab03_source_is(p, "__global__"))
            return refuse(s, name,
                          "a macro here is a value or an expression; for statements write a "
                          "__device__ function");
        depth += (lab03_source_is(p, "(") || lab03_source_is(p, "[")) -
                 (lab03_source_is(p, ")") || lab03_source_is(p, "]"));
        if (depth < 0) break;
    }
    if (depth != 0) return refuse(s, name, "a macro's brackets close within it");
    return 0;
}

static int check_directive(const struct source *s, const struct source_token *t) {
    const struct source_token *word = &t[1];
    if (!word->directive || word->opens) return 0; /* a lone # does nothing */
    if (lab03_source_is(word, "include")) return check_include(s, t);
    if (lab03_source_is(word, "define") || lab03_source_is(word, "undef"))
        return check_define(s, t);
    if (lab03_source_is(word, "pragma")) {
        if (lab03_source_is(&t[2], "unroll") || lab03_source_is(&t[2], "once")) return 0;
        return refuse(s, &t[2], "of the pragmas only unroll; others can turn the checks off");
    }
    if (lab03_source_is(word, "if") || lab03_source_is(word, "ifdef") ||
        lab03_source_is(word, "ifndef"))
        return refuse(
            s, word,
            "the file must say the same everywhere: without conditions, and without parts "
            "that are switched off");
    return refuse(s, word, "this directive isn't needed in a kernel, and can hide where code is");
}

static int check_tokens(const struct source *s) {
    for (size_t i = 0; i < s->count; i++) {
        const struct source_token *t = &s->list[i];
        if (t->opens && check_directive(s, t)) return -1;
        bool include = t->directive && i >= 2 && lab03_source_is(&t[-1], "include");
        if (!include && check_token(s, t)) return -1;
    }
    return 0;
}

/* ---- declarations at file level -------------------------------------------------------------- */

/* One declaration: its tokens up to the ; or { that ends its head. */
struct head {
    const struct source_token *first, *end; /* end: the ; or { itself */
    const struct source_token *bracket;     /* the first ( that isn't an attribute's */
    const struct source_token *equals;
};

/* Stays at the end. */
static const struct source_token *next(const struct source_token *t) {
    if (t->kind == TOKEN_END) return t;
    do t++;
    while (t->kind != TOKEN_END && t->directive);
    return t;
}

/* The token after the bracket that closes *t; the end token when none does. */
static const struct source_token *skip_group(const struct source_token *t) {
    int depth = 0;
    for (; t->kind != TOKEN_END; t = next(t)) {
        if (lab03_source_is(t, "(") || lab03_source_is(t, "{") || lab03_source_is(t, "[")) depth++;
        if (lab03_source_is(t, "[[")) depth += 2;
        if (lab03_source_is(t, ")") || lab03_source_is(t, "}") || lab03_source_is(t, "]")) depth--;
        if (depth == 0) return next(t);
    }
    return t;
}

static bool has(const struct head *h, const char *word) {
    for (const struct source_token *t = h->first; t != h->end; t = next(t))
        if (lab03_source_is(t, word)) return true;
    return false;
}

/* The token after template <...>; t when there is none. */
static const struct source_token *skip_template(const struct source_token *t) {
    int depth = 0;
    while (lab03_source_is(t, "template")) {
        do {
            t = next(t);
            depth += lab03_source_is(t, "<") - lab03_source_is(t, ">");
        } while (depth > 0 && t->kind != TOKEN_END);
        t = next(t);
    }
    return t;
}

static struct head read_head(const struct source_token *t) {
    struct head h = {.first = t};
    t = skip_template(t);
    while (t->kind != TOKEN_END && !lab03_source_is(t, ";") && !lab03_source_is(t, "}")) {
        bool sized = lab03_source_is(t, "__launch_bounds__") || lab03_source_is(t, "__align__") ||
                     lab03_source_is(t, "alignas") || lab03_source_is(t, "decltype");
        if (sized && lab03_source_is(next(t), "(")) {
            t = skip_group(next(t));
            continue;
        }
        if (lab03_source_is(t, "=") && !h.equals) h.equals = t;
        if (lab03_source_is(t, "{") && !h.equals) break;
        if (lab03_source_is(t, "(") && !h.bracket && !h.equals) h.bracket = t;
        t = lab03_source_is(t, "(") || lab03_source_is(t, "[") || lab03_source_is(t, "{")
                ? skip_group(t)
                : next(t);
    }
    h.end = t;
    return h;
}

static const struct source_token *first_word(const struct head *h) {
    const struct source_token *t = h->first;
    while (t != h->end && (lab03_source_is(t, "static") || lab03_source_is(t, "inline")))
        t = next(t);
    return t;
}

/* Allows numbers, operators and casts to plain types: the value is known before the program starts,
 * since no name in it can have another meaning. */
static int check_initialiser(const struct source *s, const struct head *h) {
    for (const struct source_token *t = h->equals ? next(h->equals) : h->end; t != h->end;
         t = next(t)) {
        bool joins = t->kind == TOKEN_MARK && t->n == 1 && strchr("+-*/%{}(),|&^<>~", *t->at);
        bool fine = t->kind == TOKEN_NUMBER || t->kind == TOKEN_TEXT || joins || is_plain_type(t) ||
                    lab03_source_is(t, "true") || lab03_source_is(t, "false");
        if (!fine)
            return refuse(s, t,
                          "an initialiser that has to be computed would run before the kernel; "
                          "numbers only, or make the variable constexpr");
    }
    return 0;
}

static int check_variable(const struct source *s, const struct head *h) {
    const struct source_token *t = first_word(h);
    bool type_seen = false;
    if (lab03_source_is(t, "__device__") || lab03_source_is(t, "const")) t = next(t);
    if (lab03_source_is(t, "constexpr")) return 0;
    t = first_word(h);
    if (lab03_source_is(t, "template") || h->bracket)
        return refuse(s, t, "a declaration that I can't follow; write a plain one");
    for (; t != h->end && t->kind == TOKEN_NAME; t = next(t)) {
        bool word = lab03_source_is(t, "const") || lab03_source_is(t, "volatile") ||
                    lab03_source_is(t, "__device__") || lab03_source_is(t, "__constant__") ||
                    lab03_source_is(t, "__shared__") || lab03_source_is(t, "extern") ||
                    lab03_source_is(t, "static") || lab03_source_is(t, "inline");
        if (word) continue;
        if (!is_plain_type(t)) break;
        type_seen = true;
    }
    if (!type_seen)
        return refuse(s, t,
                      "a variable at file level has a plain type (float, int32_t, float4 ...), so "
                      "that nothing runs before the kernel; or make it constexpr");
    if (lab03_source_is(h->end, "{")) return refuse(s, h->end, "write the initialiser with =");
    return check_initialiser(s, h);
}

static int check_scope(const struct source *s, const struct source_token **at, bool members);

/* Without a body it is refused: `int x(f());` and a prototype can't be distinguished without
 * knowing every name. */
static int check_function(const struct source *s, const struct head *h, bool members) {
    const struct source_token *name = h->bracket > h->first ? h->bracket - 1 : h->first;
    bool body = lab03_source_is(h->end, "{");
    if (!body && !members)
        return refuse(s, name,
                      "a function is written out where it is declared, before its first use; the "
                      "kernel's own prototype is in backend/kernels.h");
    if (has(h, "__device__") || has(h, "__global__") || has(h, "KERNEL") || !body) return 0;
    return refuse(s, name,
                  "a function of the host (no __device__, no __global__); a kernel file is device "
                  "code only");
}

/* X of struct X {...}, using X = ..., typedef ... X; */
static const struct source_token *type_name(const struct head *h) {
    const struct source_token *word = first_word(h);
    return lab03_source_is(word, "typedef") && !lab03_source_is(h->end, "{") ? h->end - 1
                                                                             : next(word);
}

/* struct X {...}, and the rest up to the semicolon. */
static int check_type(const struct source *s, const struct head *h,
                      const struct source_token **at) {
    const struct source_token *name = type_name(h);
    if (name->kind == TOKEN_NAME && is_plain_type(name))
        return refuse(s, name, "this type's name is taken; another one");
    if (!lab03_source_is(h->end, "{")) {
        *at = next(h->end);
        return 0;
    }
    *at = next(h->end);
    bool values = lab03_source_is(h->first, "enum");
    if (values)
        *at = skip_group(h->end);
    else if (check_scope(s, at, true))
        return -1;
    if (!lab03_source_is(*at, ";"))
        return refuse(s, *at,
                      "a type's definition ends in a semicolon; variables in a line of "
                      "their own");
    *at = next(*at);
    return 0;
}

static bool is_type(const struct head *h) {
    static const char *const words[] = {"struct", "class", "union", "enum", "using", "typedef"};
    const struct source_token *t = first_word(h);
    t = skip_template(t);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (lab03_source_is(t, words[i])) /* struct X f() { is a function, struct X y; a variable */
            return !h->bracket || lab03_source_is(t, "using") || lab03_source_is(t, "typedef");
    return false;
}

static int check_declaration(const struct source *s, const struct source_token **at, bool members) {
    struct head h = read_head(*at);
    if (h.end->kind == TOKEN_END) { /* the compiler will report what is missing */
        *at = h.end;
        return 0;
    }
    if (lab03_source_is(h.first, "namespace") || has(&h, "\"C\"")) {
        bool opens = lab03_source_is(h.end, "{") && !h.bracket;
        *at = next(h.end);
        if (opens) {
            if (check_scope(s, at, false)) return -1;
            return 0;
        }
        if (lab03_source_is(h.first, "namespace")) return 0;
        if (h.bracket && check_function(s, &h, false)) return -1;
        if (lab03_source_is(h.end, "{")) *at = skip_group(h.end);
        return 0;
    }
    if (is_type(&h)) return check_type(s, &h, at);
    if (h.bracket && !h.equals) {
        if (check_function(s, &h, members)) return -1;
        *at = lab03_source_is(h.end, "{") ? skip_group(h.end) : next(h.end);
        return 0;
    }
    bool member = members && !has(&h, "static");
    if (!member && h.first != h.end && !lab03_source_is(h.first, "static_assert") &&
        check_variable(s, &h))
        return -1;
    *at = lab03_source_is(h.end, "{") ? skip_group(h.end) : next(h.end);
    return 0;
}

/* Checks declarations up to the brace that closes the scope, or to the end. */
static int check_scope(const struct source *s, const struct source_token **at, bool members) {
    while ((*at)->kind != TOKEN_END) {
        if (lab03_source_is(*at, "}")) {
            *at = next(*at);
            return 0;
        }
        bool label = members && (lab03_source_is(*at, "public") || lab03_source_is(*at, "private"));
        if (label)
            *at = next(next(*at));
        else if (check_declaration(s, at, members))
            return -1;
    }
    return 0;
}

int lab03_source_line_of(const char *text, size_t n, const char *name) {
    struct source_tokens t;
    int line = 0;
    if (lab03_source_tokens_read(text, n, &t)) return 0;
    for (size_t i = 0; i < t.count && !line; i++)
        if (t.list[i].kind == TOKEN_NAME && lab03_source_is(&t.list[i], name))
            line = t.list[i].line;
    lab03_source_tokens_release(&t);
    return line;
}
