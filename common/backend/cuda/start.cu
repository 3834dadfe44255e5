/* start.cu: launch shapes from launch.json, read once. See start.cuh. */
#include "backend/cuda/start.cuh"

extern "C" {
#include "backend/kernel_spec.h"
extern const char cuda_launch_json[], cuda_launch_mine[], cuda_kernels_mine[];
}

#include <string.h>

enum { USED = 10 };
static const char *const used[USED] = {
    "embedding",        "rmsnorm",         "rope",   "gemv",  "swiglu", "attention_prefill",
    "attention_decode", "attention_merge", "argmax", "sample"};

bool start_is_mine(const char *kernel) {
    char word[40];
    snprintf(word, sizeof word, " %s ", kernel);
    return strstr(cuda_kernels_mine, word);
}

/* The rule of a kernel; NULL and *e when launch.json has none that can be read. */
static const struct launch_rule *rule_of(const char *kernel, struct err *e) {
    static struct launch_rule rules[USED];
    static bool read[USED];
    int i = 0;
    while (strcmp(used[i], kernel)) INVARIANT(++i < USED);
    if (read[i]) return &rules[i];
    const char *text = start_is_mine(kernel) ? cuda_launch_mine : cuda_launch_json;
    if (launch_rule_parse(text, strlen(text), kernel, &rules[i], e)) return NULL;
    read[i] = true;
    return &rules[i];
}

int start_shape(const char *kernel, const int64_t *value, struct launch_shape *out, struct err *e) {
    const struct launch_rule *rule = rule_of(kernel, e);
    if (!rule) return -1;
    const struct kernel_spec *spec = kernel_spec_find(kernel);
    const char *name[KERNEL_MAX_PARAMS];
    int64_t of[KERNEL_MAX_PARAMS];
    struct launch_names names = {name, of, 0};
    for (int i = 0; i < kernel_param_count(spec); i++)
        if (spec->param[i].role == KERNEL_SIZE) {
            name[names.n] = spec->param[i].name;
            of[names.n++] = value[i];
        }
    if (!launch_shape_of(rule, &names, out, e)) return 0;
    return err_set(e, "launch.json, %s, %.60s: %.200s", kernel, e->field, e->text);
}

int start_failed(const char *kernel, cudaError_t status, struct err *e) {
    char call[80];
    snprintf(call, sizeof call, "the launch of %s", kernel);
    return cuda_failed(e, status, call);
}
