/* test_kernel_golden.c: the references in C against PyTorch's results, committed in
 * golden/kernels.json (check_kernels_torch.py makes and rechecks them). Run from the repository's
 * root. */
#include "backend/kernel_case.h"
#include "backend/kernel_reference.h"
#include "base/json.h"

#include "testing/check_main.h"

#include <math.h>
#include <string.h>

#define GOLDEN "common/backend/tests/golden/kernels.json"
#define TOLERANCE                                                                                  \
    1e-6 /* of the greatest value: a scalar is a float in C and a double in PyTorch                \
          */

static const cJSON *golden_case(const char *kernel) {
    static cJSON *doc;
    struct err e = {0};
    if (!doc) doc = json_parse_file(GOLDEN, &e);
    ck_assert_msg(doc != NULL, "%s: %s; run from the repository's root", GOLDEN, e.text);
    const cJSON *c;
    cJSON_ArrayForEach(c, cJSON_GetObjectItem(doc, "cases")) {
        if (!strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(c, "kernel")), kernel)) return c;
    }
    ck_abort_msg("%s has no case in %s", kernel, GOLDEN);
    return NULL;
}

/* Puts the file's numbers into a tensor in the kernel's own type. */
static void put(struct kernel_case *c, int p, const cJSON *list) {
    struct kernel_tensor *t = &c->tensor[p];
    const char *name = c->spec->param[p].name;
    ck_assert_msg(cJSON_GetArraySize(list) == t->n, "%s: %s has %d numbers, not %lld",
                  c->spec->name, name, cJSON_GetArraySize(list), (long long)t->n);
    const cJSON *v;
    int64_t i = 0;
    cJSON_ArrayForEach(v, list) {
        double d = v->valuedouble;
        switch (c->spec->param[p].dtype) {
        case KERNEL_F32:
            ((float *)t->data)[i] = (float)d;
            break;
        case KERNEL_I32:
            ((int32_t *)t->data)[i] = (int32_t)d;
            break;
        case KERNEL_I8:
            ((int8_t *)t->data)[i] = (int8_t)d;
            break;
        case KERNEL_BF16:
            ((uint16_t *)t->data)[i] = reference_bf16_nearest(d);
            ck_assert_double_eq(reference_bf16(((uint16_t *)t->data)[i]), d);
            break;
        }
        i++;
    }
}

static void compare(const struct kernel_case *c, int p, const cJSON *list) {
    const struct kernel_tensor *t = &c->tensor[p];
    ck_assert_int_eq(cJSON_GetArraySize(list), t->n);
    double greatest = 0;
    const cJSON *v;
    cJSON_ArrayForEach(v, list) greatest = fmax(greatest, fabs(v->valuedouble));
    ck_assert_double_gt(greatest, 0);
    int64_t i = 0;
    cJSON_ArrayForEach(v, list) {
        ck_assert_msg(fabs(t->want[i] - v->valuedouble) <= TOLERANCE * greatest,
                      "%s: %s[%lld]: %.12g, PyTorch has %.12g", c->spec->name,
                      c->spec->param[p].name, (long long)i, t->want[i], v->valuedouble);
        i++;
    }
}

START_TEST(pytorch_agrees) {
    const struct kernel_spec *k = &kernel_specs[_i];
    const cJSON *g = golden_case(k->name);
    const cJSON *in = cJSON_GetObjectItem(g, "in"), *want = cJSON_GetObjectItem(g, "want");
    const cJSON *scalars = cJSON_GetObjectItem(g, "scalars");
    struct kernel_sizes sizes;
    struct kernel_case c;
    struct err e = {0};
    ck_assert_msg(
        !kernel_sizes_parse(k, cJSON_GetStringValue(cJSON_GetObjectItem(g, "sizes")), &sizes, &e),
        "%s: %s %s", k->name, e.field, e.text);
    ck_assert_int_eq(kernel_case_init(&c, &sizes, 1, &e), 0);
    int compared = 0;
    for (int p = 0; p < kernel_param_count(k); p++) {
        const struct kernel_param *param = &k->param[p];
        if (param->role == KERNEL_IN || param->role == KERNEL_INOUT)
            put(&c, p, cJSON_GetObjectItem(in, param->name));
        const cJSON *scalar = cJSON_GetObjectItem(scalars, param->name);
        if (param->role == KERNEL_SCALAR) {
            ck_assert_msg(scalar != NULL, "%s has no %s", k->name, param->name);
            c.scalar[p] = (float)scalar->valuedouble;
        }
    }
    kernel_case_compute(&c);
    for (int p = 0; p < kernel_param_count(k); p++) {
        if (!c.tensor[p].want) continue;
        compare(&c, p, cJSON_GetObjectItem(want, k->param[p].name));
        compared++;
    }
    ck_assert_int_eq(compared, cJSON_GetArraySize(want));
    kernel_case_release(&c);
}
END_TEST

int main(void) {
    Suite *s = suite_create("kernel_golden");
    TCase *t = tcase_create("pytorch");
    tcase_add_loop_test(t, pytorch_agrees, 0, kernel_spec_count);
    suite_add_tcase(s, t);
    return check_main(s);
}
