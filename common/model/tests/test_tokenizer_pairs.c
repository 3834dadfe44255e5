/* test_tokenizer_pairs.c: token ids of the texts beside the ggml project's test vocabularies
 * (ggml-vocab-NAME.gguf.inp, and .out with the ids of the models' tokenizers). Skipped by name
 * where those files are absent. */
#include "model/gguf.h"
#include "model/tokenizer.h"

#include "tap.h"
#include "vocab_files.h"

#include <string.h>

#define SEPARATOR "\n__ggml_vocab_test__\n"

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (f && text) text[fread(text, 1, (1 << 20) - 1, f)] = '\0';
    if (f) fclose(f);
    return text;
}

/* Reads one line of ids; returns how many, -1 at the end of the text. */
static int32_t read_ids(char **at, int32_t *ids, int32_t cap) {
    char *end = strchr(*at, '\n');
    if (!end) return -1;
    *end = '\0';
    int32_t n = 0;
    for (char *p = *at, *q; n < cap; p = q, n++) {
        long v = strtol(p, &q, 10);
        if (q == p) break;
        ids[n] = (int32_t)v;
    }
    *at = end + 1;
    return n;
}

static void compare(const struct vocab_file *v, const struct tokenizer *t, char *inp, char *out) {
    enum { MOST = 4096 };
    static int32_t want[MOST];
    int pairs = 0;
    for (char *text = inp, *end; (end = strstr(text, SEPARATOR)); text = end + strlen(SEPARATOR)) {
        char name[96];
        struct err e = {0};
        int32_t *ids, n = tokenizer_encode(t, text, (size_t)(end - text), false, &ids, &e);
        int32_t n_want = read_ids(&out, want, MOST);
        snprintf(name, sizeof name, "%s: text %d", v->name, pairs++);
        tap(n == n_want && memcmp(ids, want, (size_t)n * sizeof *ids) == 0, name,
            "%d ids, want %d; %s", n, n_want, e.text);
        free(ids);
    }
    char name[96];
    snprintf(name, sizeof name, "%s: as many texts as lines of ids", v->name);
    tap(pairs > 40 && read_ids(&out, want, MOST) == -1, name, "%d texts", pairs);
}

static void check(const struct vocab_file *v) {
    char path[512], other[600], name[96];
    snprintf(name, sizeof name, "%s: pairs", v->name);
    if (!vocab_file_path(v, path, sizeof path)) {
        tap_skip(name, v->absent);
        return;
    }
    snprintf(other, sizeof other, "%s.inp", path);
    char *inp = read_text(other);
    snprintf(other, sizeof other, "%s.out", path);
    char *out = read_text(other);
    struct err e = {0};
    struct gguf *g = gguf_open(path, &e);
    struct tokenizer *t = g ? tokenizer_create(g, &e) : NULL;
    if (tap(t && inp && out, name, "%s: %s", e.field, e.text)) compare(v, t, inp, out);
    tokenizer_free(t);
    gguf_close(g);
    free(inp);
    free(out);
}

int main(void) {
    for (int i = 0; i < N_VOCAB_FILES; i++)
        if (strstr(vocab_files[i].path, "ggml-vocab")) check(&vocab_files[i]);
    return tap_end();
}
