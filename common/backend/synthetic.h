/* synthetic.h: a model of a published shape with made-up weights, to measure how fast a machine
 * computes that shape where the model itself isn't there.
 *
 * Its answers mean nothing: their quality is not_evaluated, and no request is useful. The
 * vocabulary is another model's: ids above it decode to nothing.
 */
#ifndef SERVELAB_BACKEND_SYNTHETIC_H
#define SERVELAB_BACKEND_SYNTHETIC_H

#include "model/model.h"

#define SYNTHETIC_HELP                                                                             \
    "made-up bf16 weights, to measure time alone: llama-2-7b, mistral-7b, qwen2.5-7b, "            \
    "llama-3.1-8b, smollm2-135m, or a part of one (qwen2.5-7b/8); answers mean nothing and are "   \
    "not_evaluated. --model gives the tokenizer"

/* Makes the model in memory, the same at every call. `shape` is a dense model of sim/hardware.h, or
 * "NAME/N": its layers, heads, width and d_ffn divided by N, 1 to 64. `tokenizer`: the GGUF file or
 * folder whose tokenizer it takes; it must not have more tokens than the shape. NULL and *e: there
 * is no such shape, or less memory than the weights take. Free with model_free. */
struct model *synthetic_open(const char *shape, const char *tokenizer, struct err *e);

#endif
