/* test_fuzz_tokenizer.c: fuzz_tokenizer.c on the lines of text_lines.h and on changes of them, the
 * same on every machine. */
#include "fuzz_tokenizer.c"
#include "testing/check_main.h"

#include "text_lines.h"

static struct text_line line;
static uint8_t buffer[TEXT_LINE_MAX + 1];

static void run(uint8_t mode, int index, int changes) {
    struct rng r;
    rng_seed(&r, (uint64_t)index);
    text_line_make(&line, 4711, (uint64_t)index);
    size_t n = line.n;
    buffer[0] = mode;
    memcpy(buffer + 1, line.s, n);
    for (; changes > 0; changes--) n = fuzz_change(buffer + 1, n, TEXT_LINE_MAX, &r);
    uint8_t *exact = malloc(n + 1);
    INVARIANT(exact);
    memcpy(exact, buffer, n + 1);
    LLVMFuzzerTestOneInput(exact, n + 1);
    free(exact);
}

START_TEST(lines_as_they_are) {
    for (int i = 0; i < 4000; i++) run((uint8_t)i, i, 0);
}
END_TEST

START_TEST(changed_lines) {
    for (int i = 0; i < 12000; i++) run((uint8_t)(i / 3), i % 3000, 1 + i % 5);
}
END_TEST

START_TEST(every_pair_of_bytes) {
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++) {
            uint8_t text[3] = {(uint8_t)(a + b), (uint8_t)a, (uint8_t)b};
            LLVMFuzzerTestOneInput(text, 3);
        }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("fuzz_tokenizer");
    TCase *t = tcase_create("fuzz_tokenizer");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, lines_as_they_are);
    tcase_add_test(t, changed_lines);
    tcase_add_test(t, every_pair_of_bytes);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
