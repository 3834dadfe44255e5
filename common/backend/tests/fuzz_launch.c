/* fuzz_launch.c: any bytes as a launch.json, and as an expression. See testing/fuzz.h. */
#include "backend/launch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const name[] = {"rows", "d", "top_k"};
    static const int64_t value[] = {7, 576, 0};
    struct launch_names names = {name, value, 3};
    struct launch_rule rule;
    struct launch_shape shape;
    struct err e;
    int64_t v;
    if (!launch_rule_parse((const char *)data, size, "k", &rule, &e) &&
        !launch_shape_of(&rule, &names, &shape, &e)) {
        INVARIANT(shape.block[0] * shape.block[1] * shape.block[2] <= LAUNCH_MAX_THREADS);
        INVARIANT(shape.grid[0] >= 1 && shape.shared_bytes <= LAUNCH_MAX_SHARED);
    }
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (!launch_eval(text, &names, "x", &v, &e))
        INVARIANT(v <= INT64_C(1) << 53 && v >= -(INT64_C(1) << 53));
    free(text);
    return 0;
}
