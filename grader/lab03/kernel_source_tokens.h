/* kernel_source_tokens.h: splits C++ text into tokens with their lines. Joins lines that end in a
 * backslash and drops comments, as the compiler does first. Does not expand macros or interpret
 * tokens. */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_SOURCE_TOKENS_H
#define SERVELAB_GRADER_LAB03_KERNEL_SOURCE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind { TOKEN_NAME, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_MARK, TOKEN_END };

struct source_token {
    enum token_kind kind;
    const char *at; /* into tokens.text */
    size_t n;
    int line;       /* of the learner's file */
    bool directive; /* belongs to a line that began with # */
    bool opens;     /* is the # itself */
};

/* Tokens of kind TOKEN_END behind the last one, so that a reader may look ahead by so many. */
enum { SOURCE_ENDS = 4 };

struct source_tokens {
    char *text;                /* the joined text */
    struct source_token *list; /* count of them, then SOURCE_ENDS of kind TOKEN_END */
    size_t count;
    int raw_line; /* line of a raw string literal, which is not supported; 0: none */
};

/* 0, or -1 when out of memory. Call lab03_source_tokens_release after success. */
int lab03_source_tokens_read(const char *text, size_t n, struct source_tokens *out);
void lab03_source_tokens_release(struct source_tokens *t);

bool lab03_source_is(const struct source_token *t, const char *text);

#endif
