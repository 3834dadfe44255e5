/* object_tokens.c: reads the tokens of a preprocessed file. What a word means depends on where it
 * is: inside of a string it means nothing. See object.h.
 *
 * The reader follows gcc's rules for preprocessed text: strings, raw strings, lines of the
 * preprocessor. What gcc could read in another way (a comment, a backslash outside of a string, a
 * string without an end) the preprocessor doesn't write, and it is refused.
 */
#include "core/object.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *p, *end;
    const char *file; /* of the submission */
    bool own;         /* p is in that file, by the preprocessor's marks, and not in a header */
    int line;
    bool opening;  /* the token before was [, or __attribute__ */
    int attribute; /* brackets that are open inside of [[...]] or __attribute__(...) */
    struct err *e;
};

static int read_directive(struct reader *r);
static int read_token(struct reader *r);

int object_check_tokens(const char *file, const char *text, size_t n, struct err *e) {
    struct reader r = {.p = text, .end = text + n, .file = file, .line = 1, .own = true, .e = e};
    bool line_begins = true;
    while (r.p < r.end) {
        bool hash = *r.p == '#' || (r.end - r.p > 1 && r.p[0] == '%' && r.p[1] == ':');
        if (isspace((unsigned char)*r.p)) {
            line_begins |= *r.p == '\n';
            r.line += *r.p++ == '\n';
        } else if (line_begins && hash) {
            if (read_directive(&r)) return -1;
        } else {
            line_begins = false;
            if (read_token(&r)) return -1;
        }
    }
    return 0;
}

/* "percentile.c:12: TEXT" */
static int refuse(const struct reader *r, const char *text) {
    char place[24] = "";
    if (r->own) snprintf(place, sizeof place, ":%d", r->line);
    return err_set(r->e, "%s%s: %s", r->file, place, text);
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool same(const char *word, size_t n, const char *const *list) {
    for (; *list; list++)
        if (strlen(*list) == n && !memcmp(*list, word, n)) return true;
    return false;
}

/* ---- lines of the preprocessor --------------------------------------------------------------- */

/* The next word of a line, which may be empty. */
static const char *line_word(const char **p, const char *stop, size_t *n) {
    while (*p < stop && isspace((unsigned char)**p)) ++*p;
    const char *word = *p;
    while (*p < stop && is_word(**p)) ++*p;
    *n = (size_t)(*p - word);
    return word;
}

/* Pragmas that change no meaning: those for messages and macros, and hints for loops. Unknown ones
 * are refused, since another compiler may know them. */
static int read_pragma(struct reader *r, const char *p, const char *stop) {
    static const char *const harmless[] = {"once", "message", "push_macro", "pop_macro",
                                           "STDC", "omp",     "region",     "endregion",
                                           "mark", "warning", NULL};
    static const char *const of_gcc[] = {"diagnostic", "warning",    "error",
                                         "poison",     "dependency", "system_header",
                                         "unroll",     "ivdep",      NULL};
    static const char *const of_clang[] = {"diagnostic", NULL};
    const char *begin = p;
    size_t n = 0;
    const char *word = line_word(&p, stop, &n);
    bool gcc = n == 3 && !memcmp(word, "GCC", 3);
    bool clang = n == 5 && !memcmp(word, "clang", 5);
    if (gcc || clang) word = line_word(&p, stop, &n);
    bool raw = memmem(begin, (size_t)(stop - begin), "R\"", 2) != NULL;
    if (same(word, n, gcc ? of_gcc : clang ? of_clang : harmless) && !raw) return 0;
    char text[160], shown[64];
    while (begin < stop && isspace((unsigned char)*begin)) begin++;
    text_clean(shown, sizeof shown, begin, (size_t)(stop - begin));
    snprintf(text, sizeof text, "`#pragma %s` changes what the code means; take it out", shown);
    return refuse(r, text);
}

/* `# 12 "file.c"` says where the next line is from; a #pragma is judged; others mean nothing here.
 */
static int read_directive(struct reader *r) {
    const char *p = r->p + (*r->p == '#' ? 1 : 2);
    const char *stop = memchr(p, '\n', (size_t)(r->end - p));
    size_t n = 0, len = strlen(r->file);
    if (!stop) stop = r->end;
    r->p = stop;
    if (stop > p && stop[-1] == '\\') return refuse(r, "a line of the preprocessor that goes on");
    const char *word = line_word(&p, stop, &n);
    if (n == 6 && !memcmp(word, "pragma", 6)) return read_pragma(r, p, stop);
    if (n == 0 || !isdigit((unsigned char)*word)) return 0;
    r->line = atoi(word) - 1;
    while (p < stop && *p == ' ') p++;
    if (p == stop || *p != '"') return 0;
    p++;
    r->own = (size_t)(stop - p) > len && !memcmp(p, r->file, len) && p[len] == '"';
    return 0;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static int read_literal(struct reader *r);
static int read_raw_string(struct reader *r);
static int judge_word(struct reader *r, const char *word, size_t n);

/* The length of a letter beyond ASCII as the preprocessor writes it, \U000000f6 or \u00f6; 0: none.
 */
static size_t letter_bytes(const char *p, const char *end) {
    size_t n = end - p < 2 || p[0] != '\\' ? 0 : p[1] == 'U' ? 10 : p[1] == 'u' ? 6 : 0;
    if ((size_t)(end - p) < n) return 0;
    for (size_t i = 2; i < n; i++)
        if (!isxdigit((unsigned char)p[i])) return 0;
    return n;
}

static int read_word(struct reader *r) {
    static const char *const raw[] = {"R", "LR", "uR", "UR", "u8R", NULL};
    const char *word = r->p;
    for (size_t n = 0; r->p < r->end && (is_word(*r->p) || (n = letter_bytes(r->p, r->end)) > 0);
         n = 0)
        r->p += n > 0 ? n : 1;
    size_t n = (size_t)(r->p - word);
    if (r->p < r->end && *r->p == '"' && same(word, n, raw)) return read_raw_string(r);
    return judge_word(r, word, n);
}

static void read_number(struct reader *r) {
    for (; r->p < r->end && (is_word(*r->p) || *r->p == '.'); r->p++)
        if (strchr("eEpP", *r->p) && r->end - r->p > 1 && (r->p[1] == '+' || r->p[1] == '-'))
            r->p++;
}

/* One character of punctuation, or two for the other spellings of brackets. */
static void read_punctuation(struct reader *r) {
    char c = *r->p++, next = r->p < r->end ? *r->p : '\0';
    if ((c == '<' && next == ':') || (c == ':' && next == '>')) {
        c = c == '<' ? '[' : ']';
        r->p++;
    }
    bool opens = c == '(' || c == '[', closes = c == ')' || c == ']';
    if (r->attribute > 0)
        r->attribute += opens - closes;
    else if (r->opening && opens)
        r->attribute = c == '[' ? 2 : 1;
    r->opening = c == '[';
}

static int read_token(struct reader *r) {
    char c = *r->p, next = r->end - r->p > 1 ? r->p[1] : '\0';
    bool number = isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)next));
    if (number || c == '"' || c == '\'') r->opening = false;
    if (c == '"' || c == '\'') return read_literal(r);
    if (letter_bytes(r->p, r->end) > 0) return read_word(r);
    if (c == '\\') return refuse(r, "a backslash outside of a string; take it out");
    if (c == '/' && (next == '/' || next == '*'))
        return refuse(r, "a comment that the preprocessor left in; take it out");
    if (!number && is_word(c)) return read_word(r);
    if (number)
        read_number(r);
    else
        read_punctuation(r);
    return 0;
}

/* The compiler writes a string of an attribute into its assembly as it is, lines and all: the name
 * of a section, an alias. */
static int not_plain(const struct reader *r) {
    return refuse(r,
                  "a string of an attribute with a backslash or a control character, which could "
                  "hold assembly; take it out");
}

static int read_literal(struct reader *r) {
    char quote = *r->p++;
    for (; r->p < r->end && *r->p != '\n'; r->p++) {
        if (r->attribute > 0 && (*r->p == '\\' || iscntrl((unsigned char)*r->p)))
            return not_plain(r);
        if (*r->p == quote) {
            r->p++;
            return 0;
        }
        if (*r->p == '\\' && ++r->p == r->end) break;
        if (*r->p == '\n') break;
    }
    return refuse(r, "a string or character without an end");
}

/* R"mark(...)mark" */
static int read_raw_string(struct reader *r) {
    char mark[20] = ")";
    const char *open = ++r->p;
    if (r->attribute > 0) return not_plain(r);
    while (r->p < r->end && r->p - open < 16 && !strchr("() \\\t\v\f\n", *r->p)) r->p++;
    size_t n = (size_t)(r->p - open);
    if (r->p == r->end || *r->p != '(') return refuse(r, "a raw string without a beginning");
    memcpy(mark + 1, open, n);
    mark[n + 1] = '"';
    const char *shut = memmem(r->p, (size_t)(r->end - r->p), mark, n + 2);
    if (!shut) return refuse(r, "a raw string without an end");
    for (; r->p < shut; r->p++) r->line += *r->p == '\n';
    r->p = shut + n + 2;
    return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Blanks, and the preprocessor's lines between them. */
static const char *skip_blank(const char *p, const char *end) {
    bool line = false; /* inside of such a line */
    for (; p < end && (line || isspace((unsigned char)*p) || *p == '#'); p++)
        line = *p != '\n' && (line || *p == '#');
    return p;
}

/* A function of the sanitizers' runtime: calls to it are the compiler's. */
static bool of_sanitizers(const char *word, size_t n) {
    static const char *const begins[] = {"__asan", "__ubsan", "__lsan", "__sanitizer", "__tsan"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (n >= strlen(begins[i]) && !memcmp(word, begins[i], strlen(begins[i]))) return true;
    return false;
}

/* Whether an assembler name, `asm("text" "text")`, is an identifier, and none of the sanitizers'; p
 * is behind the keyword. An empty one, or assembly with operands, is the assembly check's. */
static bool plain_label(const char *p, const char *end) {
    char name[16];
    size_t n = 0;
    p = skip_blank(p, end);
    if (p == end || *p++ != '(') return true;
    for (;; p++) {
        p = skip_blank(p, end);
        if (p == end || *p != '"') return p < end && *p == ')' && !of_sanitizers(name, n);
        for (p++; p < end && *p != '"'; p++) {
            if (!is_word(*p) || (n == 0 && isdigit((unsigned char)*p))) return false;
            if (n < sizeof name) name[n++] = *p;
        }
        if (p == end) return false;
    }
}

static int judge_word(struct reader *r, const char *word, size_t n) {
    static const char *const assembly[] = {"asm", "__asm", "__asm__", NULL};
    static const char *const attribute[] = {"__attribute__", "__attribute", NULL};
    static const char *const changing[] = {"optimize", "target", "target_clones",
                                           "scalar_storage_order", NULL};
    static const char *const unchecked[] = {"no_sanitize", "no_address_safety_analysis",
                                            "disable_sanitizer_instrumentation", NULL};
    char text[160];
    r->opening = same(word, n, attribute);
    if (same(word, n, assembly) && !plain_label(r->p, r->end)) {
        snprintf(text, sizeof text,
                 "inline assembly, or a symbol's name that is no identifier (%.*s); plain C only, "
                 "please",
                 (int)n, word);
        return refuse(r, text);
    }
    if (of_sanitizers(word, n)) {
        snprintf(text, sizeof text,
                 "%.*s belongs to the sanitizers; the memory checks call it, so take it out",
                 (int)(n < 60 ? n : 60), word);
        return refuse(r, text);
    }
    for (const char *const *u = unchecked; *u; u++)
        if (memmem(word, n, *u, strlen(*u))) {
            snprintf(text, sizeof text, "turns the memory checks off (%s); take that out", *u);
            return refuse(r, text);
        }
    if (n > 4 && !memcmp(word, "__", 2) && !memcmp(word + n - 2, "__", 2)) word += 2, n -= 4;
    if (r->attribute == 0 || !same(word, n, changing)) return 0;
    snprintf(text, sizeof text, "the attribute `%.*s` changes what the code means; take it out",
             (int)n, word);
    return refuse(r, text);
}
