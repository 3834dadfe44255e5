/* test_fuzz_sse.c: some thousand fixed mutations of event streams, for `make test`. */
#include "fuzz_sse.c"

#include "testing/check_main.h"

static const char *const seeds[] = {
    "data: {\"a\":1}\n\ndata: [DONE]\n\n",
    "\xef\xbb\xbf: comment\r\n\r\ndata:x\r\rdata: y\n\nid: 4\nevent: e\ndata: 1\ndata:  2\n\n",
    "data\n\ndata\ndata\n\ndata:\xe2\x82\xac\r\n\r\ndatax: no\n\n:\n\ndata: cut",
};

START_TEST(events_do_not_depend_on_the_reads) {
    fuzz_mutate(seeds, sizeof seeds / sizeof *seeds, 40000, 11);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_sse");
    TCase *t = tcase_create("fuzz_sse");
    tcase_add_test(t, events_do_not_depend_on_the_reads);
    suite_add_tcase(s, t);
    return check_main(s);
}
