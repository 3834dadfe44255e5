/* cmd_kernels.c: `servelab kernels [KERNEL [SIZES]]`: the bytes and operations of lab 03's kernels,
 * their versions, and each version's budgets. The table is backend/kernel_table.c; the handout is
 * printed from this command's output.
 */
#include "cli/options.h"

#include "backend/kernel_case.h"
#include "backend/kernel_spec.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

struct kernels_flags {
    bool json;
};

static const struct option_flag flags[] = {
    OPTION_SWITCH(struct kernels_flags, json, "json", "the same as JSON"), {0}};

static int run(int argc, char **argv);

const struct command kernels_command = {
    .name = "kernels",
    .summary = "what lab 03's kernels must move and compute, and their budgets",
    .run = run,
    .usage = "[KERNEL [SIZES]] [--json]",
    .about =
        "The kernels of lab 03: bytes that must move, operations, versions from naive to fast, "
        "and the counted budgets that a version is known by. With SIZES, the budgets' values, "
        "with the tenth that is allowed on top.",
    .flags = flags,
    .args = {"KERNEL", "SIZES"},
    .max_args = 2,
    .exits = "0 done; 2 bad usage",
    .examples = "servelab kernels rmsnorm \"rows=16 d=1024\""};

static void print_list(void) {
    printf("%-18s %-8s %s\n", "kernel", "versions", "what it is");
    for (int i = 0; i < kernel_spec_count; i++)
        printf("%-18s %-8d %s\n", kernel_specs[i].name, kernel_version_count(&kernel_specs[i]),
               kernel_specs[i].title);
    printf("\n`servelab kernels KERNEL` says more.\n");
}

static int64_t allowed(const struct kernel_sizes *s, const struct kernel_budget *b) {
    int64_t limit = 0;
    kernel_eval(s, b->limit, &limit, NULL); /* every limit of the table has a value */
    return limit * KERNEL_BUDGET_SLACK_NUM / KERNEL_BUDGET_SLACK_DEN;
}

static void print_kernel(const struct kernel_spec *k, const struct kernel_sizes *s) {
    printf("%s: %s\n\n  bytes that must move   %s", k->name, k->title, k->bytes_min);
    if (s) printf("  = %lld", (long long)kernel_bytes_min(s));
    printf("\n  operations             %s", k->operations);
    if (s) printf("  = %lld", (long long)kernel_operations(s));
    printf("\n");
    for (int v = 1; v <= kernel_version_count(k); v++) {
        printf("\n  version %d: %s\n", v, k->version[v - 1]);
        for (int b = 0; b < kernel_budget_count(k); b++) {
            if (k->budget[b].version != v) continue;
            printf("    %s at most %s", kernel_counter_words(k->budget[b].counter),
                   k->budget[b].limit);
            if (s) printf("  (with a tenth more: %lld)", (long long)allowed(s, &k->budget[b]));
            printf("\n");
        }
    }
}

static cJSON *sizes_json(const struct kernel_spec *k) {
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < kernel_size_count(k); i++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", k->size[i].name);
        cJSON_AddBoolToObject(o, "passed", k->size[i].passed);
        json_add_int(o, "multiple_of", k->size[i].multiple_of);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static cJSON *budgets_json(const struct kernel_spec *k, int version, const struct kernel_sizes *s) {
    cJSON *list = cJSON_CreateArray();
    for (int b = 0; b < kernel_budget_count(k); b++) {
        if (k->budget[b].version != version) continue;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "counter", kernel_counter_name(k->budget[b].counter));
        cJSON_AddStringToObject(o, "at_most", k->budget[b].limit);
        if (s) json_add_int(o, "allowed", allowed(s, &k->budget[b]));
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static cJSON *kernel_json(const struct kernel_spec *k, const struct kernel_sizes *s) {
    cJSON *o = cJSON_CreateObject(), *versions = cJSON_CreateArray();
    cJSON_AddStringToObject(o, "kernel", k->name);
    cJSON_AddStringToObject(o, "title", k->title);
    cJSON_AddItemToObject(o, "sizes", sizes_json(k));
    cJSON_AddStringToObject(o, "bytes_form", k->bytes_min);
    cJSON_AddStringToObject(o, "operations_form", k->operations);
    if (s) {
        json_add_int(o, "bytes", kernel_bytes_min(s));
        json_add_int(o, "operations", kernel_operations(s));
    }
    for (int v = 1; v <= kernel_version_count(k); v++) {
        cJSON *one = cJSON_CreateObject();
        json_add_int(one, "version", v);
        cJSON_AddStringToObject(one, "idea", k->version[v - 1]);
        cJSON_AddItemToObject(one, "budgets", budgets_json(k, v, s));
        cJSON_AddItemToArray(versions, one);
    }
    cJSON_AddItemToObject(o, "versions", versions);
    return o;
}

static int print_json(const struct kernel_spec *one, const struct kernel_sizes *s) {
    cJSON *doc = one ? kernel_json(one, s) : cJSON_CreateObject();
    if (!one) {
        cJSON *list = cJSON_CreateArray();
        for (int i = 0; i < kernel_spec_count; i++)
            cJSON_AddItemToArray(list, kernel_json(&kernel_specs[i], NULL));
        cJSON_AddItemToObject(doc, "kernels", list);
    }
    char *text = json_print(doc);
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(doc);
    return text ? CLI_DONE : CLI_FAULT;
}

static int run(int argc, char **argv) {
    struct kernels_flags o = {0};
    struct option_words words;
    struct kernel_sizes sizes, *s = NULL;
    struct err e;
    int status;
    if (!options_parse(&kernels_command, &o, argc, argv, &words, &status)) return status;
    const struct kernel_spec *k = words.n_args ? kernel_spec_find(words.args[0]) : NULL;
    if (words.n_args && !k)
        return cli_usage("kernels", "there is no kernel '%s'; `servelab kernels` lists them",
                         words.args[0]);
    if (words.n_args > 1) {
        if (kernel_sizes_parse(k, words.args[1], &sizes, &e))
            return cli_input_error("kernels", "SIZES", &e, o.json);
        s = &sizes;
    }
    if (o.json) return print_json(k, s);
    if (k)
        print_kernel(k, s);
    else
        print_list();
    return CLI_DONE;
}
