/* test_fuzz_framing.c: some thousand fixed mutations of requests, for `make test`. */
#include "fuzz_framing.c"

#include "testing/check_main.h"

static const char *const seeds[] = {
    "GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
    "POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 14\r\nConnection: close\r\n\r\n"
    "{\"prompt\":\"x\"}HEAD / HTTP/1.0\r\n\r\n",
    "\r\nPOST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    "e;a=b\r\n{\"prompt\":\"x\"}\r\n00\r\nX: y\r\n\r\nGET / HTTP/1.1\r\nHost: y\r\n\r\n",
};

START_TEST(any_bytes_get_one_verdict) {
    fuzz_mutate(seeds, sizeof seeds / sizeof *seeds, 40000, 5);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fuzz_framing");
    TCase *t = tcase_create("fuzz_framing");
    tcase_add_test(t, any_bytes_get_one_verdict);
    suite_add_tcase(s, t);
    return check_main(s);
}
