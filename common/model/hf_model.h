/* hf_model.h: reads a Hugging Face folder as if it were a GGUF file: its keys (GGUF's names) are
 * made from config.json and the tokenizer's files, its tensors lie in the mapped safetensors files.
 *
 * The folder has config.json, tokenizer.json, and model.safetensors or the files that
 * model.safetensors.index.json names; tokenizer_config.json, generation_config.json and
 * chat_template.jinja are read where they are there. Families: Llama (2, 3, 3.1, SmolLM2), Mistral
 * and Qwen2. A field of config.json that would change the model's arithmetic and isn't computed is
 * refused, and so is an unknown one.
 */
#ifndef SERVELAB_MODEL_HF_MODEL_H
#define SERVELAB_MODEL_HF_MODEL_H

#include "base/err.h"

#include <stdint.h>

struct gguf;
struct hf_model;

/* NULL and *e, which names the file, and the field or tensor in it. Free with gguf_close. */
struct gguf *hf_model_open(const char *folder, struct err *e);

/* Used by gguf.c. */
void hf_model_close(struct hf_model *h);
void hf_model_give_back(const struct hf_model *h);
uint64_t hf_model_bytes(const struct hf_model *h); /* of the weights' files */

/* Gives an error about a GGUF key or tensor of an opened folder the name that it has there. */
void hf_model_explain(const struct gguf *g, struct err *e);

#endif
