/* json_guide.h: follows a text byte by byte and says whether it can still become one JSON object.
 *
 * The text is that of RFC 8259, whose outermost value is an object, with at most JSON_GUIDE_DEPTH
 * containers inside each other and at most JSON_GUIDE_BLANKS blanks in a row, so that an answer
 * can't go on for ever without saying anything. Bytes that aren't UTF-8 are allowed in strings,
 * because a token may end inside a character. Keys may be there twice.
 */
#ifndef SERVELAB_MODEL_JSON_GUIDE_H
#define SERVELAB_MODEL_JSON_GUIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_GUIDE_DEPTH = 64, JSON_GUIDE_BLANKS = 32 };

/* Zero-initialised is the beginning. A copy is an independent state. */
struct json_guide {
    unsigned char state;  /* json_guide.c names them */
    unsigned char n_word; /* bytes of true, false or null; digits of \uXXXX */
    unsigned char word;   /* which word; in a string: whether it is a key */
    unsigned char blanks; /* in a row */
    unsigned char depth;  /* open containers */
    uint64_t objects;     /* bit d: container d is an object, otherwise an array */
};

/* Takes text[0..n). False when no JSON object begins so; then *g is of no use. */
bool json_guide_push(struct json_guide *g, const char *text, size_t n);
/* The object is closed: nothing may follow. */
bool json_guide_done(const struct json_guide *g);

#endif
