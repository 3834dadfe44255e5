/* fuzz_rewrite.c: any bytes as a preprocessed .cu file. See testing/fuzz.h. */
#include "simt/driver/rewrite.h"
#include "testing/fuzz.h"

#include <stdio.h>

static size_t lines(const char *p, size_t n) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) k += p[i] == '\n';
    return k;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char message[256] = "", *text = calloc(size + 8, 1);
    if (!text) return 0;
    memcpy(text, data, size);
    if (memchr(text, 0, size)) { /* a preprocessor's output has none */
        free(text);
        return 0;
    }
    char *out = rewrite(text, size, "fuzz.cu", message, sizeof message);
    if (out)
        INVARIANT(lines(out, strlen(out)) == lines(text, size)); /* errors keep their lines */
    else
        INVARIANT(strstr(message, ": error: ") != NULL);
    free(out);
    free(text);
    return 0;
}
