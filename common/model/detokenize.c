/* detokenize.c: streaming from tokens to text. See tokenizer.h. A token is bytes, not characters:
 * an emoji often takes two or three tokens, so bytes are held until their character is complete. */
#include "model/tokenizer.h"
#include "base/utf8.h"

#include <string.h>

size_t detokenize(const struct tokenizer *t, struct detokenizer *d, int32_t id, char *out) {
    size_t n, written = 0;
    const char *bytes = tokenizer_token_bytes(t, id, false, &n);
    for (size_t i = 0; i < n; i++)
        written += utf8_stream(d->held, &d->n_held, (unsigned char)bytes[i], out + written);
    return written;
}

size_t detokenize_end(struct detokenizer *d, char *out) {
    if (d->n_held == 0) return 0;
    d->n_held = 0;
    return utf8_encode(0xfffd, out);
}
