/* bench_tokenizer.c: how fast a model file opens and a text becomes ids.
 *
 *   bench_tokenizer MODEL TEXT [ROUNDS]
 *
 * TEXT is encoded in pieces of about 4,096 bytes, cut at line feeds, as prompts come. Figures are
 * of this thread's CPU time, which a neighbour on the machine disturbs less than the clock on the
 * wall; the share says how much of the wall time that was. One JSON object; the median, fastest and
 * slowest of ROUNDS. compare_tokenizer.py runs this beside Hugging Face's tokenizers.
 */
#include "base/clock.h"
#include "model/gguf.h"
#include "model/model.h"
#include "model/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ROUNDS = 100, PIECE_BYTES = 4096 };

static double cpu_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct figures {
    double v[MAX_ROUNDS];
    int n;
};

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_figures(const char *key, struct figures *f, double scale) {
    qsort(f->v, (size_t)f->n, sizeof *f->v, ascending);
    printf("\"%s\": [%.4g, %.4g, %.4g]", key, f->v[f->n / 2] * scale, f->v[0] * scale,
           f->v[f->n - 1] * scale);
}

static char *read_text(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = size > 0 ? malloc((size_t)size) : NULL;
    *n = text ? fread(text, 1, (size_t)size, f) : 0;
    fclose(f);
    return text;
}

/* Bytes of the next piece: up to PIECE_BYTES, cut after the last line feed in it if there is one.
 */
static size_t piece_bytes(const char *text, size_t n) {
    if (n <= PIECE_BYTES) return n;
    const char *lf = memrchr(text, '\n', PIECE_BYTES);
    return lf ? (size_t)(lf - text) + 1 : PIECE_BYTES;
}

static int64_t encode_all(const struct tokenizer *t, const char *text, size_t n) {
    int64_t tokens = 0;
    for (size_t at = 0, len; at < n; at += len) {
        struct err e;
        int32_t *ids, n_ids;
        len = piece_bytes(text + at, n - at);
        n_ids = tokenizer_encode(t, text + at, len, false, &ids, &e);
        if (n_ids < 0) return -1;
        tokens += n_ids;
        free(ids);
    }
    return tokens;
}

static int open_once(const char *path, struct figures *open_s, struct figures *create_s) {
    struct err e = {0};
    double t0 = cpu_s();
    struct model *m = model_open(path, &e);
    struct gguf *g = m ? m->file : gguf_open(path, &e);
    double t1 = cpu_s();
    struct tokenizer *t = g ? tokenizer_create(g, &e) : NULL;
    open_s->v[open_s->n++] = t1 - t0;
    create_s->v[create_s->n++] = cpu_s() - t1;
    if (!t) fprintf(stderr, "%s: %s: %s\n", path, e.field, e.text);
    tokenizer_free(t);
    if (m)
        model_free(m);
    else
        gguf_close(g);
    return t ? 0 : -1;
}

int main(int argc, char **argv) {
    int rounds = argc > 3 ? atoi(argv[3]) : 9;
    if (argc < 3 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: bench_tokenizer MODEL TEXT [ROUNDS]\n");
        return 2;
    }
    size_t n = 0;
    char *text = read_text(argv[2], &n);
    struct figures open_s = {0}, create_s = {0}, mb_per_s = {0};
    struct err e = {0};
    for (int i = 0; i < rounds; i++)
        if (open_once(argv[1], &open_s, &create_s)) return 2;
    struct gguf *g = gguf_open(argv[1], &e);
    struct tokenizer *t = g ? tokenizer_create(g, &e) : NULL;
    if (!t || !text) {
        fprintf(stderr, "%s or %s can't be read\n", argv[1], argv[2]);
        return 2;
    }
    int64_t tokens = encode_all(t, text, n), wall0 = clock_monotonic_ns();
    double cpu0 = cpu_s();
    for (int i = 0; i < rounds; i++) {
        double t0 = cpu_s();
        if (encode_all(t, text, n) != tokens) return 4;
        mb_per_s.v[mb_per_s.n++] = (double)n / 1e6 / (cpu_s() - t0);
    }
    double share = (cpu_s() - cpu0) * 1e9 / (double)(clock_monotonic_ns() - wall0);
    printf("{\"bytes\": %zu, \"tokens\": %lld, ", n, (long long)tokens);
    print_figures("encode_mb_per_s", &mb_per_s, 1);
    printf(", ");
    print_figures("model_open_ms", &open_s, 1e3);
    printf(", ");
    print_figures("tokenizer_create_ms", &create_s, 1e3);
    printf(", \"cpu_share\": %.2f}\n", share);
    tokenizer_free(t);
    gguf_close(g);
    free(text);
    return 0;
}
