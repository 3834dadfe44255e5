/* golden.h: the small models whose logits transformers computed, and the files that hold them, for
 * the tests of both backends. */
#ifndef SERVELAB_BACKEND_CPU_TESTS_GOLDEN_H
#define SERVELAB_BACKEND_CPU_TESTS_GOLDEN_H

#include "model/model.h"

#include <check.h>
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const models[] = {"mha",       "gqa",        "tied",        "bias",
                                     "bias_tied", "wide_heads", "rope_factors"};
enum { N_MODELS = sizeof models / sizeof *models };

static inline cJSON *read_json(const char *path) {
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s can't be opened; run from the repository's root", path);
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    ck_assert_msg(n > 0, "%s is empty", path);
    cJSON *doc = cJSON_Parse(text);
    ck_assert_msg(doc != NULL, "%s is not JSON", path);
    free(text);
    return doc;
}

static inline struct model *open_model(const char *path) {
    struct err e;
    struct model *m = model_open(path, &e);
    ck_assert_msg(m != NULL, "%s: %s %s", path, m ? "" : e.field, m ? "" : e.text);
    return m;
}

#endif
