/* test_greedy.c: greedy answers of the real small model, token for token against Hugging Face
 * transformers on the same file dequantised to float32 (golden/smollm2_greedy.json, made and
 * rechecked by check_greedy.py).
 *
 * Needs build/models/smollm2.gguf (`make model`); without it the test is skipped by name, so it
 * prints its TAP itself. At a step where the golden margin between the two best logits is below
 * TIE, either token is right: the rest of that answer can't be compared, which the test reports.
 */
#include "backend/cpu/cpu.h"
#include "sched/policy.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MODEL  "build/models/smollm2.gguf"
#define GOLDEN "common/backend/tests/golden/smollm2_greedy.json"
#define TIE    1e-3 /* logits; between two float32 engines here the differences stay below 2e-4 */

enum { MAX_TOKENS = 512 };

static cJSON *read_golden(void) {
    FILE *f = fopen(GOLDEN, "rb");
    if (!f) return NULL;
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    cJSON *doc = n ? cJSON_Parse(text) : NULL;
    free(text);
    return doc;
}

static int32_t argmax(const float *logits, int32_t n) {
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

/* The number of ids that agree, and *total; -1 on a failed step. */
static int agree(struct backend *b, const cJSON *c, float *logits, int *total, double *margin) {
    int32_t tokens[MAX_TOKENS], table[MAX_TOKENS / KV_BLOCK_TOKENS], n = 0, at = 0;
    const cJSON *v, *ids = cJSON_GetObjectItem(c, "ids");
    cJSON_ArrayForEach(v, cJSON_GetObjectItem(c, "prompt")) if (n < MAX_TOKENS) tokens[n++] =
        v->valueint;
    for (int32_t i = 0; i < MAX_TOKENS / KV_BLOCK_TOKENS; i++)
        table[i] = MAX_TOKENS / KV_BLOCK_TOKENS - 1 - i;
    *total = cJSON_GetArraySize(ids);
    for (int i = 0; i < *total && n < MAX_TOKENS; i++) {
        struct err e;
        struct backend_seq s = {tokens + at, n - at, at, table, MAX_TOKENS / KV_BLOCK_TOKENS, true};
        if (backend_step(b, &(struct backend_batch){&s, 1}, logits, &e)) return -1;
        at = n;
        tokens[n++] = argmax(logits, b->info.vocab_size);
        *margin = cJSON_GetNumberValue(cJSON_GetArrayItem(cJSON_GetObjectItem(c, "margins"), i));
        if (tokens[n - 1] != cJSON_GetArrayItem(ids, i)->valueint) return i;
    }
    return *total;
}

int main(void) {
    if (access(MODEL, R_OK) != 0) {
        printf("ok 1 - greedy answers of SmolLM2 # SKIP " MODEL " is not there; run: make model\n"
               "1..1\n");
        return 0;
    }
    struct err e = {0};
    cJSON *doc = read_golden();
    struct model *m = model_open(MODEL, &e);
    struct backend_config config = {.model = m, .max_seq_tokens = MAX_TOKENS};
    struct backend *b = m ? backend_cpu_create(&config, &e) : NULL;
    const cJSON *c, *cases = cJSON_GetObjectItem(doc, "cases");
    int n = 0, failed = 0;
    float *logits = b ? malloc((size_t)b->info.vocab_size * sizeof *logits) : NULL;
    cJSON_ArrayForEach(c, cases) {
        int total = 0;
        double margin = 0;
        int same = logits ? agree(b, c, logits, &total, &margin) : -1;
        bool tie = same >= 0 && same < total && margin < TIE;
        bool ok = total > 0 && (same == total || tie);
        failed += !ok;
        printf("%s %d - prompt %d: %d of %d tokens agree%s", ok ? "ok" : "not ok", n + 1, n + 1,
               same, total, tie ? ", then a tie:" : "");
        if (same < total) printf(" golden margin %.5f logits", margin);
        printf("%s\n", e.text);
        n++;
    }
    if (n == 0) printf("not ok %d - no cases: %s %s\n", ++n, GOLDEN, e.text);
    printf("1..%d\n", n);
    cJSON_Delete(doc);
    free(logits);
    backend_free(b);
    model_free(m);
    return failed || !cases;
}
