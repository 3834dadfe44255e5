/* kernel_object.c: see kernel_object.h. */
#include "lab03/kernel_object.h"

#include "core/object.h"
#include "lab03/kernel_source.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- assembly -------------------------------------------------------------------------------- */

struct listing {
    const char *file; /* the learner's */
    char function[200];
    int own_number; /* the learner's file's number in the .file lines; -1: not seen yet */
    int line;       /* the learner's line, from the last .loc */
    struct err *e;
};

static bool starts(const char *p, const char *end, const char *with) {
    size_t n = strlen(with);
    return (size_t)(end - p) >= n && !memcmp(p, with, n);
}

/* .file 3 "rmsnorm.cu" */
static void note_file(struct listing *l, const char *p, const char *end) {
    char name[80];
    int number = atoi(p);
    const char *quote = memchr(p, '"', (size_t)(end - p));
    int n = snprintf(name, sizeof name, "%s\"", l->file);
    if (!quote || l->own_number >= 0 || end - quote < n) return;
    const char *at = memmem(quote, (size_t)(end - quote), name, (size_t)n);
    if (at && (at[-1] == '"' || at[-1] == '/')) l->own_number = number;
}

/* .loc 3 17 5 */
static void note_place(struct listing *l, const char *p) {
    char *rest;
    long file = strtol(p, &rest, 10), line = strtol(rest, NULL, 10);
    if (file == l->own_number) l->line = (int)line;
}

/* The only permitted indirect call: the runtime calling the kernel. */
static bool runtime_calls(const struct listing *l) {
    return !strncmp(l->function, "_ZN10simt_typed", 15);
}

static int refuse(const struct listing *l, const char *what) {
    if (l->line) return err_set(l->e, "%s:%d: %s", l->file, l->line, what);
    return err_set(l->e, "%s: %s", l->file, what);
}

/* Indirect calls and jumps: call *%rax, jmp *8(%rbx); blr x3, br x16 on ARM, where a plain return
 * is "ret". */
static bool through_pointer(const char *word, size_t n, const char *rest, const char *end) {
    static const char *const arm[] = {"blr", "br", "blraa", "braa", "blraaz", "braaz"};
    bool x86 = (n >= 4 && !memcmp(word, "call", 4)) || (word[0] == 'j' && n >= 3) ||
               (n == 7 && !memcmp(word, "notrack", 7));
    if (x86 && memchr(rest, '*', (size_t)(end - rest))) return true;
    for (size_t i = 0; i < sizeof arm / sizeof *arm; i++)
        if (strlen(arm[i]) == n && !memcmp(arm[i], word, n)) return true;
    return false;
}

static bool enters_system(const char *word, size_t n) {
    static const char *const traps[] = {"syscall", "sysenter", "int", "svc"};
    for (size_t i = 0; i < sizeof traps / sizeof *traps; i++)
        if (strlen(traps[i]) == n && !memcmp(traps[i], word, n)) return true;
    return false;
}

static int check_line(struct listing *l, const char *p, const char *end) {
    if (starts(p, end, "#APP"))
        return refuse(l, "inline assembly; CUDA C only, please, as the CPU can't run PTX");
    if (p < end && !isspace((unsigned char)*p)) { /* a label */
        const char *colon = memchr(p, ':', (size_t)(end - p));
        if (colon && *p != '.')
            snprintf(l->function, sizeof l->function, "%.*s",
                     (int)(colon - p < 190 ? colon - p : 190), p);
        return 0;
    }
    while (p < end && isspace((unsigned char)*p)) p++;
    const char *word = p;
    while (p < end && !isspace((unsigned char)*p)) p++;
    size_t n = (size_t)(p - word);
    if (n == 5 && !memcmp(word, ".file", 5)) note_file(l, p, end);
    if (n == 4 && !memcmp(word, ".loc", 4)) note_place(l, p);
    if (n == 0 || word[0] == '.') return 0;
    if (enters_system(word, n)) return refuse(l, "an instruction that no kernel is made of");
    if (through_pointer(word, n, p, end) && !runtime_calls(l))
        return refuse(l, "a call through a pointer, which neither the counts nor a GPU's compiler "
                         "can follow; call the function by its name, or make it a template's "
                         "argument");
    return 0;
}

int lab03_kernel_check_assembly(const char *file, const char *text, size_t n, struct err *e) {
    struct listing l = {.file = file, .own_number = -1, .e = e};
    const char *end = text + n;
    for (const char *p = text; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop) stop = end;
        if (check_line(&l, p, stop)) return -1;
        p = stop + 1;
    }
    return 0;
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* What CUDA C's device functions compile to here, and the runtime's functions. */
static const char *const callable[] = {
    "threadIdx", "blockIdx", "blockDim", "gridDim", "_GLOBAL_OFFSET_TABLE_", "printf", "vprintf",
    "__assert_fail", "memcpy", "memset", "memmove", "__sanitizer_cov_trace_pc",
    "__ubsan_handle_out_of_bounds_abort", "__stack_chk_fail", "__dso_handle",
    /* mathematics, in double and in float */
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos",
    "cosh", "cospi", "erf", "erfc", "exp", "exp10", "exp2", "expm1", "fabs", "fdim", "floor", "fma",
    "fmax", "fmin", "fmod", "frexp", "hypot", "ilogb", "j0", "j1", "ldexp", "lgamma", "llrint",
    "llround", "log", "log10", "log1p", "log2", "logb", "lrint", "lround", "modf", "nan",
    "nearbyint", "nextafter", "pow", "remainder", "remquo", "rint", "round", "scalbln", "scalbn",
    "sin", "sincos", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc", "y0", "y1",
    /* division and the like of wide integers */
    "__divti3", "__modti3", "__udivti3", "__umodti3", "__popcountdi2", "__multi3"};

static bool is_callable(const char *name) {
    char plain[64];
    size_t n = strlen(name);
    if (!strncmp(name, "simt_", 5) || !strncmp(name, "__tsan_", 7)) return true;
    for (size_t i = 0; i < sizeof callable / sizeof *callable; i++)
        if (!strcmp(callable[i], name)) return true;
    if (n < 2 || n >= sizeof plain || name[n - 1] != 'f') return false;
    snprintf(plain, sizeof plain, "%.*s", (int)n - 1, name);
    for (size_t i = 0; i < sizeof callable / sizeof *callable; i++)
        if (!strcmp(callable[i], plain)) return true;
    return false;
}

struct symbols {
    const char *kernel;
    bool defined;
    char foreign[80];
};

static void look_undefined(const char *name, void *ctx) {
    struct symbols *s = ctx;
    if (!s->foreign[0] && !is_callable(name)) snprintf(s->foreign, sizeof s->foreign, "%s", name);
}
static void look_global(const char *name, void *ctx) {
    struct symbols *s = ctx;
    s->defined |= !strcmp(name, s->kernel);
}

/* Functions that the compiler calls in place of other source text: what to write instead, and the
 * word to look for ("" when it is not certain). */
static const struct {
    const char *name, *word, *why;
} compilers_own[] = {
    {"__cxa_guard_", "",
     "a static variable of a function starts with a constant; or make it local"},
    {"__truncsfhf2", "_Float16", "a half is CUDA's __half, of cuda_fp16.h"},
    {"__extendhfsf2", "_Float16", "a half is CUDA's __half, of cuda_fp16.h"},
    {"__gnu_f2h_ieee", "_Float16", "a half is CUDA's __half, of cuda_fp16.h"},
    {"__gnu_h2f_ieee", "_Float16", "a half is CUDA's __half, of cuda_fp16.h"},
};

static int refuse_foreign(const char *file, const char *name, const char *source, size_t source_n,
                          struct err *e) {
    const char *word = name, *why = NULL;
    char shown[80], place[16] = " ";
    for (size_t i = 0; i < sizeof compilers_own / sizeof *compilers_own && !why; i++)
        if (!strncmp(name, compilers_own[i].name, strlen(compilers_own[i].name))) {
            word = compilers_own[i].word;
            why = compilers_own[i].why;
        }
    int line = word[0] ? lab03_source_line_of(source, source_n, word) : 0;
    if (line) snprintf(place, sizeof place, "%d: ", line);
    if (why) return err_set(e, "%s:%s%s", file, place, why);
    return err_set(e,
                   "%s:%s%s isn't a device function: a kernel computes, and can't open, print "
                   "to, end or ask anything else. printf and assert are there for looking",
                   file, place, text_clean(shown, sizeof shown, name, strlen(name)));
}

int lab03_kernel_check_symbols(const char *file, const char *kernel, const unsigned char *elf,
                               size_t n, const char *source, size_t source_n, struct err *e) {
    struct symbols s = {.kernel = kernel};
    if (object_each_undefined(elf, n, look_undefined, &s) ||
        object_each_global(elf, n, look_global, &s))
        return err_set(e, "%s: the compiler left no readable object", file);
    if (s.foreign[0]) return refuse_foreign(file, s.foreign, source, source_n, e);
    if (!s.defined)
        return err_set(e,
                       "%s doesn't define the kernel %s; its line in backend/kernels.h, with a "
                       "body, is what is asked for",
                       file, kernel);
    return 0;
}
