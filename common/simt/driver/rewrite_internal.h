/* rewrite_internal.h: the rewriter's state and the functions that its files share. */
#ifndef SIMT_REWRITE_INTERNAL_H
#define SIMT_REWRITE_INTERNAL_H

#include "rewrite.h"
#include "tokens.h"

/* Text that replaces tokens [from, to); their newlines are kept. from == to inserts. */
struct edit {
    int from, to;
    int order; /* in which it was made; edits at one place keep it */
    char *text;
};

struct kernel {
    int name;        /* token */
    int open, close; /* its body's braces */
    int bounds;      /* first token of __launch_bounds__'s first argument, 0: none */
    int bounds_end;
    bool is_template, has_default; /* some parameter has a default value */
};

struct rewriter {
    struct tokens t;
    struct edit *edits;
    int edit_count, edit_capacity;
    struct kernel *kernels;
    int kernel_count;
    int *device_open, *device_close; /* bodies of functions that run on the device */
    int device_count;
    char *message;
    size_t cap;
    bool failed;
};

/* The first failure is kept. Always returns -1. */
int rewrite_fail(struct rewriter *r, int token, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void rewrite_edit(struct rewriter *r, int from, int to, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Tokens [from, to) in one line, spaces only between two names. malloc'd. */
char *rewrite_text(const struct rewriter *r, int from, int to);
/* The same as a C string literal with quotes. */
char *rewrite_quoted(const char *text);
bool rewrite_on_device(const struct rewriter *r, int token);
bool rewrite_at_file_scope(const struct rewriter *r, int token);

void rewrite_refuse(struct rewriter *r);       /* rewrite_refuse.c */
void rewrite_declarations(struct rewriter *r); /* rewrite_declare.c: kernels, device variables */
void rewrite_shared(struct rewriter *r);       /* rewrite_shared.c */
void rewrite_launches(struct rewriter *r);     /* rewrite_launch.c */

#endif
