/* test_kernel_spec.c: the table is complete, its closed forms have values, budgets decide versions,
 * sizes are checked and starters recognised. */
#include "backend/kernel_case.h"
#include "backend/kernel_spec.h"

#include "testing/check_main.h"

#include <string.h>

/* A shape of each kernel that satisfies every precondition. */
static const char *small_shape(const char *kernel) {
    static const char *const shape[][2] = {
        {"copy", "n=1000"},
        {"copy_strided", "rows=5 cols=64 stride=192"},
        {"rmsnorm", "rows=3 d=64"},
        {"softmax", "rows=3 d=64"},
        {"rope", "tokens=3 q_heads=4 kv_heads=2 head_dim=64"},
        {"swiglu", "rows=3 d=64"},
        {"embedding", "tokens=3 d=64"},
        {"gemm", "m=5 n=36 k=20"},
        {"gemv", "rows=7 cols=72"},
        {"gemv_int8", "rows=7 cols=80"},
        {"attention_prefill", "pos0=3 tokens=20 q_heads=4 kv_heads=2 head_dim=64"},
        {"attention_decode", "seqs=2 context=50 q_heads=4 kv_heads=2 head_dim=64 splits=3"},
        {"attention_merge", "seqs=2 q_heads=4 head_dim=64 splits=3"},
        {"argmax", "rows=3 vocab=200"},
        {"sample", "rows=3 vocab=200 top_k=40"},
    };
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        if (!strcmp(shape[i][0], kernel)) return shape[i][1];
    ck_abort_msg("%s has no shape in this test", kernel);
    return NULL;
}

START_TEST(every_kernel_is_described_in_full) {
    ck_assert_int_eq(kernel_spec_count, 15);
    for (int i = 0; i < kernel_spec_count; i++) {
        const struct kernel_spec *k = &kernel_specs[i];
        struct kernel_sizes s;
        struct err e = {0};
        ck_assert_ptr_eq(kernel_spec_find(k->name), k);
        ck_assert_msg(kernel_sizes_parse(k, small_shape(k->name), &s, &e) == 0, "%s: %s: %s",
                      k->name, e.field, e.text);
        ck_assert_int_gt(kernel_bytes_min(&s), 0);
        ck_assert_int_ge(kernel_operations(&s), 0);
        ck_assert_int_ge(kernel_version_count(k), 2);
        int budgeted = 1;
        for (int b = 0; b < kernel_budget_count(k); b++) {
            int64_t limit;
            ck_assert_int_eq(kernel_eval(&s, k->budget[b].limit, &limit, &e), 0);
            ck_assert_int_gt(limit, 0);
            ck_assert_msg(k->budget[b].version == budgeted || k->budget[b].version == budgeted + 1,
                          "%s: budgets must rise by one version", k->name);
            budgeted = k->budget[b].version;
            if (k->budget[b].counter == KERNEL_BYTES) /* no budget below what must be moved */
                ck_assert_msg(limit >= kernel_bytes_min(&s) - 64, "%s: %s", k->name,
                              k->budget[b].limit);
        }
        ck_assert_msg(budgeted == kernel_version_count(k), "%s: version %d has no budget", k->name,
                      budgeted + 1);
        int passed = 0, sizes = 0, outputs = 0;
        for (int z = 0; z < kernel_size_count(k); z++) passed += k->size[z].passed;
        for (int p = 0; p < kernel_param_count(k); p++) {
            sizes += k->param[p].role == KERNEL_SIZE;
            if (k->param[p].role == KERNEL_SIZE)
                ck_assert_int_ge(kernel_size_index(k, k->param[p].name), 0);
            outputs += k->param[p].role == KERNEL_OUT || k->param[p].role == KERNEL_INOUT;
        }
        ck_assert_int_eq(passed, sizes);
        ck_assert_int_ge(outputs, 1);
    }
    ck_assert_ptr_null(kernel_spec_find("nothing"));
}
END_TEST

/* The least bytes are those of the tensors, where every element of each is touched. */
START_TEST(least_bytes_are_the_tensors_bytes) {
    static const char *const whole[] = {
        "copy", "rmsnorm",   "softmax", "swiglu",          "gemm",
        "gemv", "gemv_int8", "argmax",  "attention_merge", "sample"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        const struct kernel_spec *k = kernel_spec_find(whole[i]);
        struct kernel_sizes s;
        ck_assert_int_eq(kernel_sizes_parse(k, small_shape(k->name), &s, NULL), 0);
        int64_t bytes = 0;
        for (int p = 0; p < kernel_param_count(k); p++)
            if (k->param[p].shape)
                bytes += kernel_elements(&s, p) * (int64_t)kernel_dtype_bytes(k->param[p].dtype) *
                         (k->param[p].role == KERNEL_INOUT ? 2 : 1);
        ck_assert_msg(bytes == kernel_bytes_min(&s), "%s: tensors have %lld bytes, least is %lld",
                      k->name, (long long)bytes, (long long)kernel_bytes_min(&s));
    }
}
END_TEST

static void sizes_refused(const char *kernel, const char *text, const char *field) {
    struct kernel_sizes s;
    struct err e = {0};
    ck_assert_msg(kernel_sizes_parse(kernel_spec_find(kernel), text, &s, &e) == -1, "%s: %s",
                  kernel, text);
    ck_assert_msg(!strcmp(e.field, field), "%s: %s: field \"%s\" %s", kernel, text, e.field,
                  e.text);
}

START_TEST(bad_sizes_are_named) {
    sizes_refused("rmsnorm", "rows=0 d=64", "rows");
    sizes_refused("rmsnorm", "rows=1 d=60", "d");
    sizes_refused("rmsnorm", "rows=1 d=8200", "d");
    sizes_refused("rmsnorm", "rows=1", "d");
    sizes_refused("rmsnorm", "rows=1 cols=64", "cols");
    sizes_refused("rmsnorm", "rows=1 d=abc", "");
    sizes_refused("copy_strided", "rows=1 cols=64 stride=56", "stride");
    sizes_refused("rope", "tokens=1 q_heads=3 kv_heads=2 head_dim=64", "q_heads");
    sizes_refused("attention_prefill", "tokens=1 q_heads=2 kv_heads=2 head_dim=144", "head_dim");
    sizes_refused("attention_decode",
                  "seqs=2 context=40 q_heads=2 kv_heads=2 head_dim=64 splits=1 max_blocks=2",
                  "max_blocks");
    sizes_refused("gemm", "m=100000 n=100000 k=4", "c");
}
END_TEST

START_TEST(budgets_tell_the_version) {
    struct kernel_sizes s;
    const struct kernel_budget *missed;
    ck_assert_int_eq(kernel_sizes_parse(kernel_spec_find("rmsnorm"), "rows=10 d=1024", &s, NULL),
                     0);
    struct kernel_counts c = {
        .value = {[KERNEL_BYTES] = 204800, [KERNEL_REQUESTS] = 400, [KERNEL_BARRIERS] = 20}};
    ck_assert_int_eq(kernel_version_reached(&s, &c, &missed), 4);
    ck_assert_ptr_null(missed);
    c.value[KERNEL_REQUESTS] = 440; /* within the tenth that is allowed */
    ck_assert_int_eq(kernel_version_reached(&s, &c, NULL), 4);
    c.value[KERNEL_REQUESTS] = 441;
    ck_assert_int_eq(kernel_version_reached(&s, &c, &missed), 3);
    ck_assert_int_eq(missed->counter, KERNEL_REQUESTS);
    c.value[KERNEL_BARRIERS] =
        100; /* a later version's budget doesn't make up for an earlier one */
    c.value[KERNEL_REQUESTS] = 400;
    ck_assert_int_eq(kernel_version_reached(&s, &c, &missed), 2);
    ck_assert_int_eq(missed->version, 3);
    c.value[KERNEL_BYTES] = 1 << 30;
    ck_assert_int_eq(kernel_version_reached(&s, &c, &missed), 1);
    ck_assert_int_eq(missed->version, 2);
}
END_TEST

static bool todo(const char *text) {
    return kernel_not_attempted(text, strlen(text));
}

START_TEST(a_starter_is_recognised) {
    ck_assert(todo("KERNEL copy(float *out) {\n    LAB_TODO_KERNEL(\"copy\");\n}\n"));
    ck_assert(todo("/**/LAB_TODO_KERNEL(\"copy\")"));
    ck_assert(todo("a /* b */ \"c\" 'd' LAB_TODO_KERNEL"));
    ck_assert(!todo(""));
    ck_assert(!todo("// LAB_TODO_KERNEL(\"copy\")\nint x;"));
    ck_assert(!todo("/* LAB_TODO_KERNEL */ int x;"));
    ck_assert(!todo("/*/ LAB_TODO_KERNEL */ int x;"));
    ck_assert(!todo("const char *s = \"a \\\" LAB_TODO_KERNEL\";"));
    ck_assert(!todo("/* LAB_TODO_KERNEL"));
    ck_assert(!todo("LAB_TODO_KERNE"));
}
END_TEST

int main(void) {
    Suite *s = suite_create("kernel_spec");
    TCase *t = tcase_create("kernel_spec");
    tcase_add_test(t, every_kernel_is_described_in_full);
    tcase_add_test(t, least_bytes_are_the_tensors_bytes);
    tcase_add_test(t, bad_sizes_are_named);
    tcase_add_test(t, budgets_tell_the_version);
    tcase_add_test(t, a_starter_is_recognised);
    suite_add_tcase(s, t);
    return check_main(s);
}
