/* mapping.h: maps a regular file into memory, read-only. */
#ifndef SERVELAB_MODEL_MAPPING_H
#define SERVELAB_MODEL_MAPPING_H

#include "base/err.h"

#include <stdint.h>

struct mapping {
    const uint8_t *base; /* NULL: nothing is mapped */
    uint64_t size;
};

/* Maps a regular file of at least one byte. `name_a` ends the message for another kind of file:
 * "name a .gguf file". 0, or -1 and *e. */
int mapping_open(struct mapping *m, const char *path, const char *name_a, struct err *e);
void mapping_close(struct mapping *m);
/* Gives the resident pages back to the system. They come back from the file when they are read
 * again. */
void mapping_give_back(const struct mapping *m);

#endif
