/* test_fuzz_grader.c: fixed mutations of what the grader's core reads, for `make test`. */
#include "fuzz_grader.c"
#include "tests/fuzz_bytes.h"

#include <stdio.h>

static const char *const seeds[] = {
    "1x.o: intervals.c /usr/include/stdc-predef.h \\\n /w/given/record/record.h\n",
    "1\t.file\t\"a.c\"\n\t.text\n\t.globl\tf\nf:\n\t.cfi_startproc\n\tret\n\t.section .rodata\n",
    "1# 1 \"x.c\"\n#pragma GCC diagnostic push\nint f(void) asm(\"g\") "
    "__attribute__((nonnull(1)));\n[[nodiscard]] char *s = R\"x(\\)x\" \"a\\\"b\"; int c = 'c' + "
    "0x1p-4;\n",
    "3plain \xc3\xa4 \xe2\x82\xac \x1b[2J \xf0\x9f\x98\x80 and more, to be cut somewhere here",
};

START_TEST(texts) {
    fuzz_mutate(seeds, sizeof seeds / sizeof *seeds, 40000, 7);
}
END_TEST

START_TEST(objects) {
    static unsigned char elf[65536];
    static const char command[] =
        "printf 'int g(void); int v; int f(void) { return g() + v; }' | gcc -c "
        "-x c - -o build/fuzz-seed.o && cat build/fuzz-seed.o";
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(elf, 1, sizeof elf, f);
    ck_assert_int_eq(pclose(f), 0);
    ck_assert_uint_gt(n, 500);
    fuzz_bytes(elf, n, 0, 30000);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_grader");
    TCase *t = tcase_create("fuzz_grader");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, texts);
    tcase_add_test(t, objects);
    suite_add_tcase(s, t);
    return check_main(s);
}
