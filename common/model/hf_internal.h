/* hf_internal.h: the parts of the reader of Hugging Face folders: hf_config.c (config.json),
 * hf_tokenizer.c (the tokenizer's files), hf_model.c (weights, and all of it together). */
#ifndef SERVELAB_MODEL_HF_INTERNAL_H
#define SERVELAB_MODEL_HF_INTERNAL_H

#include "model/gguf_keys.h"

#include <cjson/cJSON.h>

enum hf_family { HF_LLAMA, HF_MISTRAL, HF_QWEN2 };

/* What the other parts need of config.json. */
struct hf_config {
    enum hf_family family;
    int64_t n_layers, head_dim;
    bool tied;
    double theta;
    bool llama3; /* rope scaling of that type, with: */
    double factor, low, high, original;
};

/* Reads a file of the folder; NULL and *e naming the file, and the line in it. `found` NULL: a
 * missing file is an error; else it is told apart. */
cJSON *hf_read_json(const char *folder, const char *file, bool *found, struct err *e);
/* A link whose target is missing is there, and so is what this user can't look at: opening it says
 * what is wrong. */
bool hf_is_there(const char *path);
/* Puts the file's name before the field of an error that was found in it. Returns -1. */
int hf_in_file(const char *file, struct err *e);

/* Checks every field, fills *c, and writes the keys "<arch>.*". 0, or -1 and *e. `config` is
 * config.json's tree. */
int hf_config_keys(const cJSON *config, struct hf_config *c, struct gguf_keys *k, struct err *e);
/* The field of config.json that makes the key "<arch>.<rest>"; NULL: none does. */
const char *hf_config_field(const char *rest);

/* Writes the keys "tokenizer.*" from the folder's files; none when the folder has no
 * tokenizer.json. 0, or -1 and *e. */
int hf_tokenizer_keys(const char *folder, const cJSON *config, struct gguf_keys *k, struct err *e);

#endif
