/* test_fp8.c: numbers of 8 bits with an exponent against ml_dtypes (fp8_golden.py): the value of
 * all 256 codes, and the code at and around every border; and rows. */
#include "backend/cpu/fp8.h"

#include "testing/check_main.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GOLDEN "common/backend/cpu/tests/golden/fp8_e4m3.txt"

static uint32_t bits_of(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static float float_of(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}

START_TEST(codes_of_ml_dtypes) {
    FILE *f = fopen(GOLDEN, "r");
    char line[100];
    int values = 0, codes = 0;
    ck_assert_msg(f != NULL, "%s can't be read", GOLDEN);
    while (fgets(line, sizeof line, f)) {
        unsigned code, bits;
        if (sscanf(line, "value %x %x", &code, &bits) == 2) {
            float got = fp8_to_f32((uint8_t)code), want = float_of(bits);
            ck_assert_msg(isnan(want) ? isnan(got) : bits_of(got) == bits, "code %02x: %g, not %g",
                          code, (double)got, (double)want);
            values++;
        } else if (sscanf(line, "code %x %x", &bits, &code) == 2) {
            unsigned got = fp8_from_f32(float_of(bits));
            ck_assert_msg(got == code, "%a: code %02x, not %02x", (double)float_of(bits), got,
                          code);
            codes++;
        }
    }
    fclose(f);
    ck_assert_int_eq(values, 256);
    ck_assert_int_gt(codes, 1000);
}
END_TEST

START_TEST(codes_keep_themselves) {
    for (unsigned c = 0; c < 256; c++) ck_assert_uint_eq(fp8_from_f32(fp8_to_f32((uint8_t)c)), c);
}
END_TEST

START_TEST(rows) {
    float x[] = {0, -3.5f, 1.75f, 1e-9f, 0.1f}, scale;
    uint8_t codes[5];
    fp8_from_row(x, 5, &scale, codes);
    ck_assert(scale == 3.5f / 448);                               /* a power of two: exact */
    static const float want[] = {0, -3.5f, 1.75f, 0, 0.1015625f}; /* 13 / 128 */
    for (int i = 0; i < 5; i++) ck_assert(scale * fp8_to_f32(codes[i]) == want[i]);
    x[1] = -3.6f; /* twice the scale: 3.6 has 4 bits of its own */
    fp8_from_row(x, 5, &scale, codes);
    ck_assert(scale == 2 * 3.5f / 448 && scale * fp8_to_f32(codes[1]) == -3.5f);
    memset(x, 0, sizeof x);
    fp8_from_row(x, 5, &scale, codes);
    ck_assert(scale == 0);
    for (int i = 0; i < 5; i++) ck_assert_uint_eq(codes[i], 0);
    x[2] = NAN;
    x[3] = 1;
    fp8_from_row(x, 5, &scale, codes);
    ck_assert_uint_eq(codes[2], 0x7f); /* is not hidden */
    ck_assert(scale * fp8_to_f32(codes[3]) == 1);
    x[2] = INFINITY;
    fp8_from_row(x, 5, &scale, codes);
    for (int i = 0; i < 5; i++) ck_assert(!isfinite(scale * fp8_to_f32(codes[i])));
}
END_TEST

int main(void) {
    Suite *s = suite_create("fp8");
    TCase *t = tcase_create("codes");
    suite_add_tcase(s, t);
    tcase_add_test(t, codes_of_ml_dtypes);
    tcase_add_test(t, codes_keep_themselves);
    tcase_add_test(t, rows);
    return check_main(s);
}
