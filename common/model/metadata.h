/* metadata.h: refuses a model file with a metadata key that would change its answers and that
 * servelab would ignore.
 *
 * One table gives the meaning of every known key. A key that changes the model's arithmetic or its
 * encoding of text is used, or the file is refused, because ignoring it would give other answers
 * than the model's. For the same reason a key that the table doesn't have is refused.
 */
#ifndef SERVELAB_MODEL_METADATA_H
#define SERVELAB_MODEL_METADATA_H

#include "base/err.h"
#include "model/gguf.h"

/* Checks every key "<arch>.*", and general.quantization_version. 0, or -1 and *e with the key, its
 * value and the reason. */
int metadata_check_model(const struct gguf *g, const char *arch, struct err *e);
/* The same for "tokenizer.*". */
int metadata_check_tokenizer(const struct gguf *g, struct err *e);

#endif
