/* hf_folder.h: writes a model file's tokenizer as a Hugging Face folder, for programs that want
 * one: load generators and evaluation harnesses count tokens with it.
 *
 * The folder gets tokenizer.json, tokenizer_config.json (with the chat template) and
 * special_tokens_map.json. `transformers` then gives the ids of tokenizer.h: of text with
 * add_special_tokens=False those of tokenizer_encode with `special`, of messages those of
 * tokenizer_encode_chat. Where the model needs bos, the chat template writes it.
 *
 * Two differences stay. In a message, the text of a special token is that token for transformers,
 * and ordinary text here. An unused token, which no text encodes to, decodes to its name there and
 * to nothing here.
 */
#ifndef SERVELAB_MODEL_HF_FOLDER_H
#define SERVELAB_MODEL_HF_FOLDER_H

#include "base/err.h"

struct gguf;

/* Writes the three files to `folder`, which is made if it isn't there; files of these names are
 * replaced. 0, or -1 and *e: the tokenizer isn't read (tokenizer.h), its pre-tokenizer is not
 * gpt-2, smollm or starcoder, or a file can't be written. */
int hf_folder_write(const struct gguf *g, const char *folder, struct err *e);

#endif
