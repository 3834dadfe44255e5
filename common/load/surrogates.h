/* surrogates.h: joins a character that a server split over two events of its stream.
 *
 * JSON writes a character past U+FFFF as two escapes, "\ud83d\ude00" (a surrogate pair). Some
 * servers send the halves in two chunks. A half alone is not a character, and servelab's JSON
 * readers refuse it.
 */
#ifndef SERVELAB_LOAD_SURROGATES_H
#define SERVELAB_LOAD_SURROGATES_H

#include "base/buffer.h"

/* Zero-initialised is ready. */
struct surrogates {
    unsigned high; /* the first half that waits for its second; 0: none */
};

/* Appends the JSON text data[0..n) of one event to *out. A first half without its second is left
 * out and kept; a second half alone becomes the pair with the one kept, or U+FFFD when none is. A
 * half that is twice in one event (in the text and in its log-probabilities) counts once. */
void surrogates_join(struct surrogates *s, const char *data, size_t n, struct buffer *out);

#endif
