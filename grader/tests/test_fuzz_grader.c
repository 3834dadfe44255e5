/* test_fuzz_grader.c: some thousand fixed mutations of what the grader's readers read, for `make
 * test`. Objects and cases hold NUL bytes, so they are mutated here and not by fuzz_mutate. */
#include "fuzz_grader.c"

#include "lab01/lab01.h"
#include "lab02/lab02.h"

#include "testing/check_main.h"

#include <stdio.h>

static const char *const seeds[] = {
    "1x.o: intervals.c /usr/include/stdc-predef.h \\\n /w/given/record/record.h\n",
    "1\t.file\t\"a.c\"\n\t.text\n\t.globl\tf\nf:\n\t.cfi_startproc\n\tret\n\t.section .rodata\n",
    "3plain \xc3\xa4 \xe2\x82\xac \x1b[2J \xf0\x9f\x98\x80 and more, to be cut somewhere here",
};

START_TEST(texts) {
    fuzz_mutate(seeds, sizeof seeds / sizeof *seeds, 40000, 7);
}
END_TEST

static void mutate_bytes(const unsigned char *seed, size_t n, char selector, int rounds) {
    struct rng rng;
    rng_seed(&rng, 11);
    for (int i = 0; i < rounds; i++) {
        size_t cap = n + 256, len = n + 1;
        uint8_t *buf = malloc(cap);
        ck_assert_ptr_nonnull(buf);
        memcpy(buf + 1, seed, n);
        for (uint64_t k = rng_below(&rng, 6); k > 0; k--) len = fuzz_change(buf, len, cap, &rng);
        /* small numbers in the header, where the offsets stand */
        if (i % 2) buf[1 + rng_below(&rng, 64)] = (uint8_t)rng_below(&rng, 4);
        buf[0] = (uint8_t)selector;
        LLVMFuzzerTestOneInput(buf, len);
        free(buf);
    }
}

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
    mutate_bytes(elf, n, 0, 30000);
}
END_TEST

static void mutate_cases(const struct lab *lab) {
    for (size_t i = 0; i < lab->n_checks; i++) {
        const struct check_def *def = &lab->checks[i];
        struct hidden_case h = {0};
        struct err e;
        if (def->kind == CHECK_EVIDENCE || def->kind == CHECK_DIALOGUE) continue;
        ck_assert_int_eq(lab->make(def, 1, 0, &h, &e), 0);
        mutate_bytes(h.bytes, h.n_bytes, 2, 300);
        hidden_case_release(&h);
    }
}

START_TEST(cases) {
    mutate_cases(&lab01);
    mutate_cases(&lab02);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_grader");
    TCase *t = tcase_create("fuzz_grader");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, texts);
    tcase_add_test(t, objects);
    tcase_add_test(t, cases);
    suite_add_tcase(s, t);
    return check_main(s);
}
