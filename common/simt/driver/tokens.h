/* tokens.h: splits preprocessed C++ into tokens, each with its file and line.
 *
 * A lexer, not a parser: enough to find CUDA's own syntax outside of strings and comments.
 */
#ifndef SIMT_TOKENS_H
#define SIMT_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind { TOKEN_SPACE, TOKEN_MARKER, TOKEN_NAME, TOKEN_LITERAL, TOKEN_MARK };

struct token {
    enum token_kind kind;
    bool system; /* from a system header */
    int line;    /* in the file below */
    int file;    /* index into tokens.files */
    size_t at, length;
};

struct tokens {
    const char *text; /* the caller's; must outlive the tokens */
    struct token *list;
    int count, capacity;
    char **files;
    int file_count;
};

/* Splits text (NUL-terminated, `length` bytes). name: the file before the first line marker.
 * 0, or -1 if memory runs out. */
int tokens_read(struct tokens *t, const char *text, size_t length, const char *name);
void tokens_release(struct tokens *t);

bool token_is(const struct tokens *t, int i, const char *text);
/* The next (previous) token after i that isn't a space or a marker; count (or -1) at the end. */
int token_next(const struct tokens *t, int i);
int token_before(const struct tokens *t, int i);
/* i is an opener ( [ {: its closer, or count. i is a closer: its opener, or -1. */
int token_closer(const struct tokens *t, int i);
int token_opener(const struct tokens *t, int i);
/* i is '<': the '>' that closes a template argument list, or -1 where it can't be one. */
int token_angle_closer(const struct tokens *t, int i);
int token_angle_opener(const struct tokens *t, int i);

#endif
