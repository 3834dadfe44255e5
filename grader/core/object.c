/* object.c: the symbols of an object. See object.h. The ELF reader accepts what gcc writes on a
 * 64-bit little-endian machine and checks every offset. object_text.c checks the text files. */
#include "core/object.h"

#include "base/text.h"

#include <ctype.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

/* A process has 512 MB for all of its files; a program with more can't be started at all. */
enum { MAX_STATIC_BYTES = 32 << 20 };

/* ---- which functions of the C library a submission may use ----------------------------------- */

/* Functions for computing, allocating and printing. Not on the list: files, processes, signals,
 * clocks, jumps. */
static const char *const libc_functions[] = {
    "abort", "abs", "aligned_alloc", "atof", "atoi", "atol", "atoll", "bsearch", "calloc", "exit",
    "free", "imaxabs", "imaxdiv", "labs", "llabs", "malloc", "memccpy", "memchr", "memcmp",
    "memcpy", "memmem", "memmove", "mempcpy", "memrchr", "memset", "posix_memalign", "qsort",
    "qsort_r", "rawmemchr", "realloc", "reallocarray", "strcasecmp", "strcasestr", "strcat",
    "strchr", "strchrnul", "strcmp", "strcoll", "strcpy", "strcspn", "strdup", "strlen",
    "strncasecmp", "strncat", "strncmp", "strncpy", "strndup", "strnlen", "strpbrk", "strrchr",
    "strsep", "strspn", "strstr", "strtod", "strtof", "strtoimax", "strtok", "strtok_r", "strtol",
    "strtold", "strtoll", "strtoul", "strtoull", "strtoumax", "strverscmp", "stpcpy", "stpncpy",
    "div", "ldiv", "lldiv",
    /* characters */
    "isalnum", "isalpha", "isblank", "iscntrl", "isdigit", "isgraph", "islower", "isprint",
    "ispunct", "isspace", "isupper", "isxdigit", "tolower", "toupper",
    /* printing: shown with a failed practice case, never graded */
    "asprintf", "fflush", "fprintf", "fputc", "fputs", "fwrite", "perror", "printf", "putc",
    "putchar", "puts", "snprintf", "sprintf", "stderr", "stdout", "vasprintf", "vfprintf",
    "vprintf", "vsnprintf", "strerror",
    /* calls that the compiler inserts */
    "__assert_fail", "__ctype_b_loc", "__ctype_tolower_loc", "__ctype_toupper_loc",
    "__errno_location", "__isoc99_sscanf", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_", "__isnan",
    "__isinf", "__finite", "__fpclassify", "__signbit", "sscanf", "__isoc23_sscanf",
    "__isoc23_strtol", "__isoc23_strtoll", "__isoc23_strtoul", "__isoc23_strtoull",
    "__isoc23_strtoimax", "__isoc23_strtoumax"};

/* Each for double, float (sinf) and long double (sinl). */
static const char *const math_functions[] = {
    "acos",   "acosh",  "asin",   "asinh",    "atan",   "atan2",     "atanh",     "cbrt",
    "ceil",   "cos",    "cosh",   "copysign", "drem",   "erf",       "erfc",      "exp",
    "exp10",  "exp2",   "expm1",  "fabs",     "fdim",   "finite",    "floor",     "fma",
    "fmax",   "fmin",   "fmod",   "frexp",    "hypot",  "ilogb",     "isinf",     "isnan",
    "ldexp",  "lgamma", "llrint", "llround",  "log",    "log10",     "log1p",     "log2",
    "logb",   "lrint",  "lround", "modf",     "nan",    "nearbyint", "pow",       "remainder",
    "remquo", "rint",   "round",  "scalbln",  "scalbn", "sin",       "sinh",      "sincos",
    "sqrt",   "tan",    "tanh",   "tgamma",   "trunc",  "nextafter", "nexttoward"};

/* Calls that the compiler inserts for numbers that the machine has no instructions for, as libgcc
 * names them: an operation, one or two modes, perhaps a digit (__divti3, __floatuntixf). */
static bool is_arithmetic(const char *name) {
    static const char *const operations[] = {
        "add",  "sub",  "mul",   "div",   "mod",    "udiv",     "umod",    "neg",    "addv", "subv",
        "mulv", "negv", "absv",  "mulo",  "powi",   "cmp",      "ucmp",    "ashl",   "ashr", "lshr",
        "clz",  "ctz",  "ffs",   "clrsb", "parity", "popcount", "eq",      "ne",     "lt",   "le",
        "gt",   "ge",   "unord", "fix",   "fixuns", "float",    "floatun", "extend", "trunc"};
    static const char modes[] = " qi hi si di ti hf sf df xf tf sc dc xc tc ";
    if (strncmp(name, "__", 2) != 0) return false;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const char *p = name + 2;
        int n = 0;
        if (strncmp(p, operations[i], strlen(operations[i])) != 0) continue;
        for (p += strlen(operations[i]); n < 2 && p[0] && p[1]; p += 2, n++) {
            const char mode[] = {' ', p[0], p[1], ' ', '\0'};
            if (!strstr(modes, mode)) break;
        }
        p += *p >= '2' && *p <= '4';
        if (n > 0 && !*p) return true;
    }
    return false;
}

static bool listed(const char *const *list, const char *name) {
    for (; list && *list; list++)
        if (!strcmp(*list, name)) return true;
    return false;
}

bool object_libc_allowed(const char *name) {
    for (size_t i = 0; i < sizeof libc_functions / sizeof *libc_functions; i++)
        if (!strcmp(libc_functions[i], name)) return true;
    for (size_t i = 0; i < sizeof math_functions / sizeof *math_functions; i++) {
        size_t n = strlen(math_functions[i]);
        if (!strncmp(math_functions[i], name, n) &&
            (!name[n] || !strcmp(name + n, "f") || !strcmp(name + n, "l")))
            return true;
    }
    return is_arithmetic(name);
}

/* ---- ELF ------------------------------------------------------------------------------------- */

struct elf {
    const unsigned char *bytes;
    size_t n;
    Elf64_Ehdr eh;
};

/* Copies n bytes at an offset; false when the file ends before. */
static bool elf_read(const struct elf *f, uint64_t at, void *out, size_t n) {
    if (at > f->n || n > f->n - at) return false;
    memcpy(out, f->bytes + at, n);
    return true;
}

static bool elf_section(const struct elf *f, unsigned index, Elf64_Shdr *sh) {
    if (index >= f->eh.e_shnum) return false;
    return elf_read(f, f->eh.e_shoff + (uint64_t)index * sizeof *sh, sh, sizeof *sh);
}

/* A name in a string table; NULL when it does not end within the table. */
static const char *elf_name(const struct elf *f, const Elf64_Shdr *strings, uint64_t at) {
    if (strings->sh_type != SHT_STRTAB || at >= strings->sh_size) return NULL;
    if (strings->sh_offset > f->n || strings->sh_size > f->n - strings->sh_offset) return NULL;
    const char *name = (const char *)f->bytes + strings->sh_offset + at;
    return memchr(name, '\0', strings->sh_size - at) ? name : NULL;
}

static bool elf_open(struct elf *f, const unsigned char *bytes, size_t n) {
    *f = (struct elf){.bytes = bytes, .n = n};
    if (!elf_read(f, 0, &f->eh, sizeof f->eh)) return false;
    const unsigned char *id = f->eh.e_ident;
    return !memcmp(id, ELFMAG, SELFMAG) && id[EI_CLASS] == ELFCLASS64 &&
           id[EI_DATA] == ELFDATA2LSB && f->eh.e_type == ET_REL &&
           f->eh.e_shentsize == sizeof(Elf64_Shdr) && f->eh.e_shoff <= n;
}

typedef int symbol_fn(const struct elf *f, const Elf64_Sym *sym, const char *name, void *ctx);

/* Calls `each` for every symbol with a name. Stops at the first non-zero result and returns it. -2:
 * the file is broken. */
static int elf_each_symbol(const struct elf *f, symbol_fn *each, void *ctx) {
    for (unsigned i = 0; i < f->eh.e_shnum; i++) {
        Elf64_Shdr sh, strings;
        if (!elf_section(f, i, &sh)) return -2;
        if (sh.sh_type != SHT_SYMTAB) continue;
        if (sh.sh_entsize != sizeof(Elf64_Sym) || !elf_section(f, sh.sh_link, &strings)) return -2;
        for (uint64_t k = 0; k < sh.sh_size / sizeof(Elf64_Sym); k++) {
            Elf64_Sym sym;
            if (!elf_read(f, sh.sh_offset + k * sizeof sym, &sym, sizeof sym)) return -2;
            const char *name = elf_name(f, &strings, sym.st_name);
            if (!name) return -2;
            int rc = each(f, &sym, name, ctx);
            if (rc) return rc;
        }
    }
    return 0;
}

struct globals {
    void (*each)(const char *name, void *ctx);
    void *ctx;
};

static bool is_global_definition(const Elf64_Sym *sym, const char *name) {
    return name[0] && ELF64_ST_BIND(sym->st_info) != STB_LOCAL && sym->st_shndx != SHN_UNDEF;
}

static int report_global(const struct elf *f, const Elf64_Sym *sym, const char *name, void *ctx) {
    (void)f;
    struct globals *g = ctx;
    if (is_global_definition(sym, name)) g->each(name, g->ctx);
    return 0;
}

int object_each_global(const unsigned char *elf, size_t n,
                       void (*each)(const char *name, void *ctx), void *ctx) {
    struct elf f;
    struct globals g = {each, ctx};
    return elf_open(&f, elf, n) && elf_each_symbol(&f, report_global, &g) == 0 ? 0 : -1;
}

static int report_undefined(const struct elf *f, const Elf64_Sym *sym, const char *name,
                            void *ctx) {
    (void)f;
    struct globals *g = ctx;
    if (name[0] && sym->st_shndx == SHN_UNDEF) g->each(name, g->ctx);
    return 0;
}

int object_each_undefined(const unsigned char *elf, size_t n,
                          void (*each)(const char *name, void *ctx), void *ctx) {
    struct elf f;
    struct globals g = {each, ctx};
    return elf_open(&f, elf, n) && elf_each_symbol(&f, report_undefined, &g) == 0 ? 0 : -1;
}

/* ---- the object's rules ---------------------------------------------------------------------- */

/* The sections that plain C makes. A name alone says nothing, since an attribute can put any data
 * under it: what the linker takes for relocations, or for unwinding, is refused if it isn't that.
 */
static bool plain_section(const Elf64_Shdr *sh, const char *name) {
    enum { LOADED = SHF_ALLOC | SHF_EXECINSTR };
    static const struct {
        const char *begin;
        uint32_t type;
        uint64_t loaded;
    } plain[] = {{".text", SHT_PROGBITS, LOADED},
                 {".data", SHT_PROGBITS, SHF_ALLOC},
                 {".bss", SHT_NOBITS, SHF_ALLOC},
                 {".rodata", SHT_PROGBITS, SHF_ALLOC},
                 {".tdata", SHT_PROGBITS, SHF_ALLOC},
                 {".tbss", SHT_NOBITS, SHF_ALLOC},
                 {".comment", SHT_PROGBITS, 0},
                 {".note.GNU-stack", SHT_PROGBITS, 0},
                 {".note.", SHT_NOTE, SHF_ALLOC},
                 {".eh_frame", SHT_PROGBITS, SHF_ALLOC},
                 {".eh_frame", 0x70000001 /* SHT_X86_64_UNWIND */, SHF_ALLOC},
                 {".symtab", SHT_SYMTAB, 0},
                 {".strtab", SHT_STRTAB, 0},
                 {".shstrtab", SHT_STRTAB, 0},
                 {".group", SHT_GROUP, 0},
                 {".rela.text", SHT_RELA, 0},
                 {".rela.data", SHT_RELA, 0},
                 {".rela.rodata", SHT_RELA, 0},
                 {".rela.eh_frame", SHT_RELA, 0}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strncmp(name, plain[i].begin, strlen(plain[i].begin)) &&
            sh->sh_type == plain[i].type && (sh->sh_flags & LOADED) == plain[i].loaded)
            return true;
    return false;
}

static int check_section(const char *file, const Elf64_Shdr *sh, const char *name, struct err *e) {
    static const uint32_t starters[] = {SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY};
    char shown[80];
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++)
        if (sh->sh_type == starters[i])
            return err_set(
                e,
                "%s: a constructor or destructor (section %s) runs outside the functions "
                "that are asked for; take it out",
                file, text_clean(shown, sizeof shown, name, strlen(name)));
    if (name[0] == '\0' || plain_section(sh, name)) return 0;
    return err_set(e, "%s: section %s isn't one that plain C makes; take the attribute out", file,
                   text_clean(shown, sizeof shown, name, strlen(name)));
}

/* Common symbols get their room from the linker; their value is the alignment. */
static int add_common(const struct elf *f, const Elf64_Sym *sym, const char *name, void *ctx) {
    (void)f, (void)name;
    uint64_t *bytes = ctx;
    if (sym->st_shndx != SHN_COMMON) return 0;
    const uint64_t room[] = {sym->st_size, sym->st_value};
    for (size_t i = 0; i < sizeof room / sizeof *room; i++)
        *bytes = room[i] < UINT64_MAX - *bytes ? *bytes + room[i] : UINT64_MAX;
    return 0;
}

static int check_sections(const char *file, const struct elf *f, struct err *e) {
    Elf64_Shdr names, sh;
    uint64_t bytes = 0;
    if (!elf_section(f, f->eh.e_shstrndx, &names)) return err_set(e, "%s: broken object", file);
    for (unsigned i = 0; i < f->eh.e_shnum; i++) {
        const char *name = elf_section(f, i, &sh) ? elf_name(f, &names, sh.sh_name) : NULL;
        if (!name) return err_set(e, "%s: broken object", file);
        if (check_section(file, &sh, name, e)) return -1;
        if (!(sh.sh_flags & SHF_ALLOC)) continue;
        uint64_t room = sh.sh_size < MAX_STATIC_BYTES ? sh.sh_size + sh.sh_addralign : sh.sh_size;
        bytes = room < UINT64_MAX - bytes ? bytes + room : UINT64_MAX;
    }
    if (elf_each_symbol(f, add_common, &bytes) < 0) return err_set(e, "%s: broken object", file);
    if (bytes <= MAX_STATIC_BYTES) return 0;
    return err_set(
        e,
        "%s has %llu MB of static and thread-local data, more than the %d MB that a file "
        "may have; allocate what a call needs",
        file, (unsigned long long)(bytes >> 20), MAX_STATIC_BYTES >> 20);
}

struct symbol_check {
    const char *file;
    const struct object_rules *rules;
    struct err *e;
};

/* By how many of the submission's files. */
static int times_defined(const struct object_rules *r, const char *name) {
    int n = 0;
    for (size_t i = 0; i < r->n_others; i++) n += !strcmp(r->others[i], name);
    return n;
}

static int check_definition(const struct symbol_check *c, const char *name, const char *shown) {
    bool ours = listed(c->rules->interface, name), own = listed(c->rules->own, name);
    if (!own && times_defined(c->rules, name) > 1)
        return err_set(c->e,
                       ours ? "%s defines %s, which is defined in its own file, too; take it out"
                            : "%s defines %s, and so does another file; make it static in each",
                       c->file, shown);
    if (ours) return 0;
    if (name[0] == '_' || !strcmp(name, "main") || listed(c->rules->callable, name) ||
        object_libc_allowed(name) || dlsym(RTLD_DEFAULT, name))
        return err_set(c->e,
                       "%s defines %s, which belongs to the C library or to the grader; rename it, "
                       "or make it static",
                       c->file, shown);
    return 0;
}

/* A name as C writes it, with the compiler's dots ("f.part.0") and letters of any language. */
static bool plain_name(const char *name) {
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_.$", *name) &&
            !((unsigned char)*name & 0x80))
            return false;
    return true;
}

/* Whether code may be linked to this name, which the object doesn't define. */
static bool may_use(const struct object_rules *r, const char *name) {
    return !name[0] || listed(r->interface, name) || listed(r->callable, name) ||
           object_libc_allowed(name) || times_defined(r, name) > 0;
}

static int uses_forbidden(const struct symbol_check *c, const char *shown) {
    return err_set(
        c->e,
        "%s uses %s, which isn't among the functions that a submission may call: those that "
        "compute, print or allocate, and none of files, processes, threads and clocks",
        c->file, shown);
}

/* Whether a variable is in a section for variables. */
static bool among_data(const struct elf *f, const Elf64_Sym *sym) {
    static const char *const data[] = {".data", ".bss", ".rodata", ".tdata", ".tbss"};
    Elf64_Shdr names, sh;
    if (sym->st_shndx == SHN_COMMON) return true;
    if (!elf_section(f, f->eh.e_shstrndx, &names) || !elf_section(f, sym->st_shndx, &sh))
        return false;
    const char *name = elf_name(f, &names, sh.sh_name);
    for (size_t i = 0; name && i < sizeof data / sizeof *data; i++)
        if (!strncmp(name, data[i], strlen(data[i]))) return true;
    return false;
}

static int check_symbol(const struct elf *f, const Elf64_Sym *sym, const char *name, void *ctx) {
    const struct symbol_check *c = ctx;
    char shown[80];
    text_clean(shown, sizeof shown, name, strlen(name));
    if (ELF64_ST_TYPE(sym->st_info) != STT_FILE && !plain_name(name))
        return err_set(c->e, "%s: the symbol %s is no identifier; take the asm label out", c->file,
                       shown);
    if (ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC)
        return err_set(c->e, "%s: %s is chosen at load time (ifunc); write a plain function",
                       c->file, shown);
    if (sym->st_shndx == SHN_UNDEF) return may_use(c->rules, name) ? 0 : uses_forbidden(c, shown);
    if (ELF64_ST_TYPE(sym->st_info) == STT_OBJECT && !among_data(f, sym))
        return err_set(c->e,
                       "%s: %s is data among the code, or in a section of the compiler's; take the "
                       "section attribute out",
                       c->file, shown);
    return is_global_definition(sym, name) ? check_definition(c, name, shown) : 0;
}

int object_check_symbols(const char *file, const unsigned char *elf, size_t n,
                         const struct object_rules *rules, struct err *e) {
    struct elf f;
    struct symbol_check c = {file, rules, e};
    if (!elf_open(&f, elf, n)) return err_set(e, "%s: the compiler left no readable object", file);
    if (check_sections(file, &f, e)) return -1;
    int rc = elf_each_symbol(&f, check_symbol, &c);
    return rc == -2 ? err_set(e, "%s: broken object", file) : rc;
}

/* The calls that the compiler puts in for the sanitizers. */
static bool instrumentation(const char *name) {
    return !strncmp(name, "__asan_", 7) || !strncmp(name, "__ubsan_handle_", 15);
}

static int check_sanitised_symbol(const struct elf *f, const Elf64_Sym *sym, const char *name,
                                  void *ctx) {
    (void)f;
    const struct symbol_check *c = ctx;
    char shown[80];
    if (sym->st_shndx != SHN_UNDEF || may_use(c->rules, name) || instrumentation(name)) return 0;
    return uses_forbidden(c, text_clean(shown, sizeof shown, name, strlen(name)));
}

int object_check_sanitised(const char *file, const unsigned char *elf, size_t n,
                           const struct object_rules *rules, struct err *e) {
    struct elf f;
    struct symbol_check c = {file, rules, e};
    int rc = elf_open(&f, elf, n) ? elf_each_symbol(&f, check_sanitised_symbol, &c) : -2;
    return rc == -2 ? err_set(e, "%s: broken object", file) : rc;
}
