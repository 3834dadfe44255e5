/* err.h: how bad input is reported.
 *
 * Bad input is a value, not a crash: a function that can meet it takes a `struct err *`, returns -1
 * (or NULL) and leaves there what was wrong, where, and what to do next. A broken invariant of our
 * own is a bug and aborts with its name (err_bug). Nothing here prints, allocates or exits, except
 * err_bug.
 *
 * The caller owns the struct and may pass NULL when it doesn't care why.
 */
#ifndef SERVELAB_BASE_ERR_H
#define SERVELAB_BASE_ERR_H

struct err {
    int line;       /* 1-based line in the input, 0 when lines mean nothing */
    char field[96]; /* JSON path, flag or option: "events[2].t_ns", "--port"; "" when none */
    char
        text[400]; /* one sentence: what is wrong, then what to do next; never contains a newline */
};

/* Sets the text, clears line and field. Always returns -1, so that `return err_set(...)` reads
 * well. The formatted text is cleaned (err_clean). */
int err_set(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same with a place. `field` may be NULL. Returns -1. */
int err_at(struct err *e, int line, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Replaces each ill-formed byte, and each character that is not utf8_is_plain, with '?', in place:
 * input can't add a line of output, colour a terminal, reverse the text around it or break a JSON
 * or SVG file. Returns text. */
char *err_clean(char *text);

/* Writes "NAME:LINE: FIELD: TEXT" with the parts that are known, cleaned, into buf. Returns buf.
 * `name` may be NULL. */
const char *err_format(const struct err *e, const char *name, char *buf, unsigned long cap);

/* A bug of ours: prints file, line and the invariant to stderr and aborts. */
void err_bug(const char *file, int line, const char *invariant) __attribute__((noreturn));
#define INVARIANT(cond) ((cond) ? (void)0 : err_bug(__FILE__, __LINE__, #cond))

#endif
