/* err.h: how functions report bad input, and how a bug aborts.
 *
 * A function that can meet bad input takes a `struct err *`, returns -1 (or NULL) and fills in what
 * is wrong, where, and what to do next. A broken invariant is a bug in servelab: err_bug prints it
 * and aborts. Nothing else here prints, allocates or exits.
 *
 * The caller owns the struct. NULL: the caller does not need the reason.
 */
#ifndef SERVELAB_BASE_ERR_H
#define SERVELAB_BASE_ERR_H

struct err {
    int line;       /* 1-based line of the input; 0: not known */
    char field[96]; /* JSON path, flag or option: "events[2].t_ns", "--port"; "" when none */
    char text[400]; /* one line: what is wrong, then what to do next */
};

/* Sets the text, cleaned (err_clean), and clears line and field. Always returns -1, for `return
 * err_set(...)`. */
int err_set(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same with a line and a field, which may be NULL. Returns -1. */
int err_at(struct err *e, int line, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Replaces each ill-formed byte, and each character that is not utf8_is_plain, with '?', in place:
 * input can't add a line of output, colour a terminal, reverse the text around it or break a JSON
 * or SVG file. Returns text. */
char *err_clean(char *text);

/* Writes "NAME:LINE: FIELD: TEXT" into buf, cleaned, without the parts that are not known. Returns
 * buf. `name` may be NULL. */
const char *err_format(const struct err *e, const char *name, char *buf, unsigned long cap);

/* Prints the file, the line and the broken invariant to stderr and aborts. */
void err_bug(const char *file, int line, const char *invariant) __attribute__((noreturn));
#define INVARIANT(cond) ((cond) ? (void)0 : err_bug(__FILE__, __LINE__, #cond))

#endif
