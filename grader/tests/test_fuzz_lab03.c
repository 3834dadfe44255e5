/* test_fuzz_lab03.c: fixed mutations of kernel files, of a report and of lab 03's cases, for `make
 * test`. */
#include "fuzz_lab03.c"
#include "tests/fuzz_bytes.h"

#include <stdio.h>

static const char report[] =
    "{\"schema\": \"servelab.simt-report.v1\", \"errors\": [{\"kind\": \"global-race\", "
    "\"kernel\": "
    "\"copy\", \"file\": \"./copy.cu\", \"line\": 7, \"thread\": [1, 0, 0], \"block\": [0, 0, 0], "
    "\"times\": 3, \"message\": \"thread (1,0,0) of block (0,0,0) writes\"}], \"kernels\": "
    "[{\"name\": \"copy\", \"launches\": 1, \"global_load_sectors\": 4, \"global_store_sectors\": "
    "4, \"global_atomic_sectors\": 0, \"global_load_requests\": 1, \"global_store_requests\": 1, "
    "\"global_atomic_requests\": 0, \"shared_wavefronts\": 0, \"shared_wavefronts_ideal\": 0, "
    "\"barriers\": 0}]}";

static const char said[] = "simt: error: out-of-bounds: ./copy.cu:9: kernel copy: text\n"
                           "bounds: copy.cu:9: index 7\n";

static const char assembly[] = "\t.file 1 \"copy.cu\"\ncopy:\n\t.loc 1 7 5 view .LVU1\n\tcall\t"
                               "*%rax\n#APP\n\tsyscall\n\tjmp *8(%rbx)\n";

START_TEST(any_bytes_are_refused_or_within_bounds) {
    static const char *const names[] = {"solutions/03_kernels/copy.cu",
                                        "solutions/03_kernels/softmax.cu",
                                        "grader/tests/lab03/honest/softmax_structure.cu"};
    enum { FILES = sizeof names / sizeof *names };
    const char *seeds[FILES + 3];
    for (int i = 0; i < FILES; i++) {
        FILE *f = fopen(names[i], "r");
        ck_assert_msg(f != NULL, "%s: run this test from the project's folder", names[i]);
        char *text = calloc(1, 8192);
        ck_assert(text && fread(text, 1, 8191, f) > 0);
        fclose(f);
        seeds[i] = text;
    }
    seeds[FILES] = report;
    seeds[FILES + 1] = assembly;
    seeds[FILES + 2] = said;
    fuzz_mutate(seeds, FILES + 3, 20000, 53);
    for (int i = 0; i < FILES; i++) free((char *)seeds[i]);
}
END_TEST

START_TEST(cases) {
    fuzz_cases(&lab03);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_lab03");
    TCase *t = tcase_create("fuzz_lab03");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, any_bytes_are_refused_or_within_bounds);
    tcase_add_test(t, cases);
    suite_add_tcase(s, t);
    return check_main(s);
}
