/* object_text.c: checks the list of includes and the assembly. See object.h. */
#include "core/object.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- includes -------------------------------------------------------------------------------- */

static bool under(const char *path, const char *folder) {
    size_t n = strlen(folder);
    return !strncmp(path, folder, n) && path[n] == '/';
}

static int check_include(const char *file, const char *path, const char *given, struct err *e) {
    char shown[200];
    bool plain = !strchr(path, '/'); /* the source itself, or another file of the submission */
    bool ours = under(path, given) || under(path, "/usr/include") || under(path, "/usr/lib/gcc") ||
                under(path, "/usr/lib/clang");
    if (!strstr(path, "..") && (plain || ours)) return 0;
    return err_set(e,
                   "%s includes %s; only the system's headers and the given ones can be included",
                   file, text_clean(shown, sizeof shown, path, strlen(path)));
}

int object_check_includes(const char *file, const char *deps, size_t n, const char *given_folder,
                          struct err *e) {
    char path[1024];
    const char *colon = memchr(deps, ':', n);
    if (!colon) return err_set(e, "%s: the compiler left no list of includes", file);
    const char *p = colon + 1, *end = deps + n;
    while (p < end) {
        size_t len = 0;
        while (p < end &&
               (isspace((unsigned char)*p) || (*p == '\\' && p + 1 < end && p[1] == '\n')))
            p++;
        for (; p < end && !isspace((unsigned char)*p); p++) {
            if (*p == '\\' && p + 1 < end) { /* "\ " is a blank in a name */
                if (p[1] == '\n') break;
                p++;
            }
            if (len + 1 < sizeof path) path[len++] = *p;
        }
        path[len] = '\0';
        if (len > 0 && check_include(file, path, given_folder, e)) return -1;
    }
    return 0;
}

/* ---- assembly -------------------------------------------------------------------------------- */

/* The directives that gcc writes for plain C. An attack by injected assembly needs others: those
 * that read files, define macros or repeat text. */
static const char *const directives[] = {".file",
                                         ".loc",
                                         ".text",
                                         ".data",
                                         ".bss",
                                         ".section",
                                         ".globl",
                                         ".global",
                                         ".local",
                                         ".weak",
                                         ".hidden",
                                         ".type",
                                         ".size",
                                         ".align",
                                         ".balign",
                                         ".p2align",
                                         ".string",
                                         ".ascii",
                                         ".zero",
                                         ".byte",
                                         ".value",
                                         ".2byte",
                                         ".long",
                                         ".4byte",
                                         ".quad",
                                         ".8byte",
                                         ".octa",
                                         ".comm",
                                         ".set",
                                         ".ident",
                                         ".uleb128",
                                         ".sleb128",
                                         ".hword",
                                         ".word",
                                         ".xword",
                                         ".dword",
                                         ".arch",
                                         ".tune",
                                         ".cfi_startproc",
                                         ".cfi_endproc",
                                         ".cfi_def_cfa",
                                         ".cfi_def_cfa_offset",
                                         ".cfi_def_cfa_register",
                                         ".cfi_offset",
                                         ".cfi_restore",
                                         ".cfi_remember_state",
                                         ".cfi_restore_state",
                                         ".cfi_personality",
                                         ".cfi_lsda",
                                         ".cfi_sections",
                                         ".cfi_escape",
                                         ".cfi_adjust_cfa_offset",
                                         ".cfi_undefined",
                                         ".cfi_negate_ra_state",
                                         ".cfi_window_save"};

/* Instructions that enter the kernel. The compiler writes none; a symbol's name could inject one.
 */
static bool enters_kernel(const char *word, size_t n) {
    static const char *const traps[] = {"syscall", "sysenter", "int", "svc"};
    for (size_t i = 0; i < sizeof traps / sizeof *traps; i++)
        if (strlen(traps[i]) == n && !memcmp(traps[i], word, n)) return true;
    return false;
}

/* Whether a line is one that the compiler writes for code: a label alone, or an instruction, which
 * may have prefixes (`rep stosq`) and doesn't enter the kernel. */
static bool plain_code(const char *p, const char *end) {
    for (bool first = true; p < end; first = false) {
        const char *word = p;
        while (p < end && !isspace((unsigned char)*p)) p++;
        size_t n = (size_t)(p - word);
        if (enters_kernel(word, n)) return false;
        while (p < end && isspace((unsigned char)*p)) p++;
        bool last = p == end || *p == '#' || *p == '/';
        const char *colon = first ? memchr(word, ':', n) : NULL;
        if (colon && (colon != word + n - 1 || !last)) return false;
    }
    return true;
}

static bool known_directive(const char *word, size_t n) {
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++)
        if (strlen(directives[i]) == n && !memcmp(directives[i], word, n)) return true;
    return false;
}

/* The name after ".section": letters, digits, '_', '.', '-', with quotes around it allowed. */
static bool plain_section(const char *p, const char *end) {
    while (p < end && isspace((unsigned char)*p)) p++;
    size_t n = 0;
    for (; p < end && *p != ','; p++, n++)
        if (!isalnum((unsigned char)*p) && !strchr("_.-\"", *p)) return false;
    return n > 0;
}

/* Directives that write bytes. In a section of code they would be instructions. */
static bool writes_data(const char *word, size_t n) {
    static const char *const data[] = {
        ".string", ".ascii", ".zero",  ".byte", ".value", ".2byte", ".long",    ".4byte",  ".quad",
        ".8byte",  ".octa",  ".hword", ".word", ".xword", ".dword", ".uleb128", ".sleb128"};
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        if (strlen(data[i]) == n && !memcmp(data[i], word, n)) return true;
    return false;
}

/* Follows which section the assembler is in: whether it holds code. */
static void follow_section(const char *word, size_t n, const char *end, bool *code) {
    if (n == 5 && (!memcmp(word, ".data", 5) || !memcmp(word, ".text", 5))) *code = word[1] == 't';
    if (n == 4 && !memcmp(word, ".bss", 4)) *code = false;
    if (n != 8 || memcmp(word, ".section", 8) != 0) return;
    const char *name = word + n, *flags = memchr(word, ',', (size_t)(end - word));
    while (name < end && isspace((unsigned char)*name)) name++;
    *code = end - name >= 5 && !memcmp(name, ".text", 5);
    const char *open = flags ? memchr(flags, '"', (size_t)(end - flags)) : NULL;
    const char *shut = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
    if (shut && memchr(open, 'x', (size_t)(shut - open))) *code = true;
}

static int check_line(const char *file, const char *p, const char *end, bool *code, struct err *e) {
    char shown[60];
    if (end - p >= 4 && !memcmp(p, "#APP", 4))
        return err_set(e, "%s holds inline assembly; plain C only, please", file);
    const char *start = p;
    while (p < end && isspace((unsigned char)*p)) p++;
    if (p == end || *p == '#') return 0;
    const char *word = p;
    while (p < end && !isspace((unsigned char)*p)) p++;
    size_t n = (size_t)(p - word);
    bool label = word[n - 1] == ':';
    bool text = n > 1 && (!memcmp(word, ".s", 2) || !memcmp(word, ".a", 2)) &&
                (!strncmp(word, ".string", n) || !strncmp(word, ".ascii", n));
    /* .ident and .file quote text from the compiler or from #line */
    bool quoted =
        text || (n == 5 && !memcmp(word, ".file", 5)) || (n == 6 && !memcmp(word, ".ident", 6));
    bool directive = word[0] == '.' && !label;
    bool fine = directive ? known_directive(word, n) : plain_code(word, end);
    if (fine && directive && n == 8 && !memcmp(word, ".section", 8)) fine = plain_section(p, end);
    if (directive) follow_section(word, n, end, code);
    if (fine && directive && *code && writes_data(word, n)) fine = false;
    if (fine && !quoted && memchr(start, ';', (size_t)(end - start))) fine = false;
    if (fine) return 0;
    text_clean(shown, sizeof shown, start, (size_t)(end - start));
    return err_set(
        e, "%s makes the compiler write '%s', which plain C doesn't; take the attribute out", file,
        shown);
}

int object_check_assembly(const char *file, const char *text, size_t n, struct err *e) {
    const char *end = text + n;
    bool code = true;
    for (const char *p = text; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop) stop = end;
        if (check_line(file, p, stop, &code, e)) return -1;
        p = stop + 1;
    }
    return 0;
}
