/* vocab_files.h: the vocabularies that tests compare ids on, and their paths. */
#ifndef SERVELAB_MODEL_TESTS_VOCAB_FILES_H
#define SERVELAB_MODEL_TESTS_VOCAB_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct vocab_file {
    const char *name;
    const char *path;   /* from the top of the tree; %s is the folder of shared test data */
    const char *absent; /* why it may be missing */
};

static const struct vocab_file vocab_files[] = {
    {"tiny", "common/model/embedded/servelab-tiny.gguf", "the embedded model isn't built"},
    {"smollm2", "build/models/smollm2.gguf", "make model has not brought it"},
    {"gpt-2", "%s/tokenizers/ggml-vocab-gpt-2.gguf", "no shared test data (SERVELAB_DATA)"},
    {"starcoder", "%s/tokenizers/ggml-vocab-starcoder.gguf", "no shared test data (SERVELAB_DATA)"},
    {"deepseek-llm", "%s/tokenizers/ggml-vocab-deepseek-llm.gguf",
     "no shared test data (SERVELAB_DATA)"},
    {"llama-spm", "%s/tokenizers/ggml-vocab-llama-spm.gguf", "no shared test data (SERVELAB_DATA)"},
};
enum { N_VOCAB_FILES = sizeof vocab_files / sizeof *vocab_files };

/* The path in buf, or NULL when there is no such file. */
static inline const char *vocab_file_path(const struct vocab_file *v, char *buf, size_t cap) {
    const char *data = getenv("SERVELAB_DATA");
    int n = snprintf(buf, cap, v->path, data ? data : "../shared/data");
    return n > 0 && (size_t)n < cap && access(buf, R_OK) == 0 ? buf : NULL;
}

#endif
