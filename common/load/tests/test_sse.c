/* test_sse.c: the event stream parser, case by case, each with every cut into reads. */
#include "testing/check_main.h"

#include "load/sse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Events are written one after the other, "|" behind each. */
static int write_down(void *ctx, const char *data, size_t n) {
    char *out = ctx;
    sprintf(out + strlen(out), "%.*s|", (int)n, data);
    return 0;
}

static const struct {
    const char *stream, *events;
    bool cut;
} cases[] = {
    {"data: a\n\ndata: b\n\n", "a|b|", false},
    {"data:a\n\n", "a|", false},
    {"data:  a\n\n", " a|", false},
    {"data: a\r\n\r\ndata: b\r\rdata: c\n\r\n", "a|b|c|", false},
    {"data: a\r\ndata: b\r\n\r\ndata: c\rdata: d\r\r", "a\nb|c\nd|", false},
    {": comment\n\n:\ndata: a\n: between\ndata: b\n\n", "a\nb|", false},
    {"data: {\"x\":\ndata: 1}\n\n", "{\"x\":\n1}|", false},
    {"event: e\nid: 7\nretry: 10\ndata: a\n\n", "a|", false},
    {"event: e\nid: 7\n\n", "", false},
    {"event: ping\ndata: {}\n\ndata: a\n\n", "a|", false},
    {"data: x\nevent:ping\n\nevent: pings\ndata: a\n\n", "a|", false},
    {"data\n\n", "|", false},
    {"data:\n\n", "|", false},
    {"data\ndata\n\n", "\n|", false},
    {"database: x\n\nDATA: y\n\n data: z\n\n", "", false},
    {"\n\n\r\n\rdata: a\n\n\n\n", "a|", false},
    {"\xef\xbb\xbf"
     "data: a\n\n",
     "a|", false},
    {"\xef\xbb"
     "data: a\n\ndata: b\n\n",
     "b|", false},
    {"data: \xe2\x82\xac\n\n", "\xe2\x82\xac|", false},
    {"data: a\n\ndata: b\n", "a|", true},
    {"data: a\n\ndata: b", "a|", true},
    {"data: a\n\n: comment", "a|", true},
    {"data: a\r", "", true},
    {"", "", false},
};

START_TEST(events_at_every_cut) {
    const char *stream = cases[_i].stream;
    size_t n = strlen(stream);
    for (size_t a = 0; a <= n; a++)
        for (size_t b = a; b <= n; b++) {
            struct sse s = {0};
            struct err e;
            char out[200] = "";
            ck_assert(!sse_feed(&s, stream, a, write_down, out, &e));
            ck_assert(!sse_feed(&s, stream + a, b - a, write_down, out, &e));
            for (size_t i = b; i < n; i++)
                ck_assert(!sse_feed(&s, stream + i, 1, write_down, out, &e));
            ck_assert_msg(!strcmp(out, cases[_i].events), "cut at %zu and %zu: '%s', not '%s'", a,
                          b, out, cases[_i].events);
            ck_assert_int_eq(sse_end(&s), cases[_i].cut);
            sse_release(&s);
        }
}
END_TEST

START_TEST(an_event_is_bounded) {
    struct sse s = {0};
    struct err e = {0};
    char out[8] = "";
    static char kb[1024];
    memset(kb, 'x', sizeof kb);
    int rc = sse_feed(&s, "data: ", 6, write_down, out, &e);
    for (int i = 0; !rc && i < SSE_MAX_EVENT_BYTES / 1024 + 2; i++)
        rc = sse_feed(&s, kb, sizeof kb, write_down, out, &e);
    ck_assert_int_eq(rc, -1);
    ck_assert_ptr_nonnull(strstr(e.text, "larger than"));
    sse_release(&s);
}
END_TEST

static int stop_at_once(void *ctx, const char *data, size_t n) {
    (void)data, (void)n;
    ++*(int *)ctx;
    return 42;
}

START_TEST(the_reader_can_stop) {
    struct sse s = {0};
    struct err e;
    int calls = 0;
    ck_assert_int_eq(sse_feed(&s, "data: a\n\ndata: b\n\n", 18, stop_at_once, &calls, &e), 42);
    ck_assert_int_eq(calls, 1);
    sse_release(&s);
}
END_TEST

int main(void) {
    Suite *s = suite_create("sse");
    TCase *c = tcase_create("sse");
    tcase_add_loop_test(c, events_at_every_cut, 0, sizeof cases / sizeof *cases);
    tcase_add_test(c, an_event_is_bounded);
    tcase_add_test(c, the_reader_can_stop);
    suite_add_tcase(s, c);
    return check_main(s);
}
