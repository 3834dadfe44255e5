/* test_records.c: the store of live records: ids and attempts, the join with the client's half, the
 * log, and the bounds.
 */
#include "testing/check_main.h"

#include "base/json.h"
#include "record/log.h"
#include "serve/records_store.h"
#include "serve/stamps.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static int64_t now_ns = 1000;
static int64_t fake_now(void *ctx) {
    (void)ctx;
    return now_ns;
}
static const struct clock hand = {fake_now, NULL, NULL, "CLOCK_MONOTONIC"};

static struct records *store(int log_fd) {
    struct err e;
    struct records *rs = records_create(log_fd, 1000, hand, &e);
    ck_assert_ptr_nonnull(rs);
    return rs;
}

static struct live_record *open_record(struct records *rs, const char *id, int32_t attempt) {
    struct err e = {0};
    struct live_record *l = records_open(rs, id, attempt, &e);
    ck_assert_msg(l != NULL, "%s: %s", e.field, e.text);
    stamp_accepted(&l->record, &hand);
    return l;
}

/* As the server leaves the record of an answer of two tokens. */
static void serve(struct records *rs, struct live_record *l) {
    stamp_tokenized(&l->record, &hand, 3);
    stamp_admitted(&l->record, &hand);
    stamp_first_token(&l->record, &hand);
    stamp_token_sent(&l->record, &hand, 2);
    stamp_finished(&l->record, &hand);
    l->record.outcome.http_status = 200;
    strcpy(l->record.outcome.finish_reason, "stop");
    l->record.workload.output_tokens = 2;
    live_end(rs, l);
}

#define EV(name, t)                                                                                \
    "{\"event\":\"" name "\",\"clock\":\"browser\",\"t_ns\":" #t                                   \
    ",\"source\":\"client\",\"clock_api\":\"CLOCK_MONOTONIC\"}"
#define THREE                                                                                      \
    "\"events\":[" EV("request_submitted", 10) "," EV("first_byte_received",                       \
                                                      20) "," EV("final_byte_received", 30) "]"

static enum records_post post(struct records *rs, const char *id, const char *body, struct err *e) {
    bool late;
    *e = (struct err){0};
    cJSON *half = json_parse(body, strlen(body), 1, e);
    ck_assert_msg(half != NULL, "%s", e->text);
    enum records_post rc = records_join(rs, id, 0, half, &late, e);
    cJSON_Delete(half);
    return rc;
}

static bool delivered(struct records *rs, const char *id) {
    struct record r;
    ck_assert(records_get(rs, id, 0, &r));
    bool yes = r.outcome.delivered;
    record_release(&r);
    return yes;
}

static bool known(struct records *rs, const char *id) {
    struct record r;
    bool found = records_get(rs, id, 0, &r);
    if (found) record_release(&r);
    return found;
}

static char *text_of(struct records *rs, const char *id) {
    struct record r;
    ck_assert(records_get(rs, id, 0, &r));
    cJSON *tree = record_to_json(&r);
    record_release(&r);
    char *text = json_print(tree);
    cJSON_Delete(tree);
    return text;
}

/* ---- ids ------------------------------------------------------------------------------------- */

START_TEST(ids_are_checked) {
    char longest[65];
    memset(longest, 'a', 64);
    longest[64] = '\0';
    ck_assert(!records_valid_id(longest));
    longest[63] = '\0';
    ck_assert(records_valid_id(longest));
    static const char *const bad[] = {"", ".", "..", "a b", "a/b", "a\n", "\xc3\xa9", "a\"", "<x>"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) ck_assert(!records_valid_id(bad[i]));
    ck_assert(records_valid_id("web-0a.B_9"));
}
END_TEST

START_TEST(attempts_are_counted_and_never_reused) {
    struct records *rs = store(-1);
    struct err e;
    struct live_record *a = open_record(rs, "x", 0), *b = open_record(rs, "x", 0);
    struct live_record *c = open_record(rs, "x", 7), *d = open_record(rs, "x", 0);
    ck_assert(a->attempt == 1 && b->attempt == 2 && c->attempt == 7 && d->attempt == 8);
    ck_assert_ptr_null(records_open(rs, "x", 7, &e));
    ck_assert_str_eq(e.field, "X-Attempt");
    struct live_record *m = open_record(rs, NULL, 0), *n = open_record(rs, NULL, 0);
    ck_assert_str_ne(m->id, n->id);
    ck_assert(records_valid_id(m->id));
    live_end(rs, a), live_end(rs, b), live_end(rs, c), live_end(rs, d);
    live_end(rs, m), live_end(rs, n);
    records_free(rs);
}
END_TEST

/* ---- joining --------------------------------------------------------------------------------- */

START_TEST(delivered_needs_both_halves) {
    struct records *rs = store(-1);
    struct err e;
    struct live_record *l = open_record(rs, "x", 0);
    ck_assert_int_eq(post(rs, "x", "{" THREE "}", &e), POST_JOINED); /* before the server's end */
    ck_assert(!delivered(rs, "x"));
    serve(rs, l);
    ck_assert(delivered(rs, "x"));
    ck_assert_int_eq(post(rs, "x", "{" THREE "}", &e), POST_JOINED); /* again: no change */
    ck_assert_int_eq(post(rs, "y", "{" THREE "}", &e), POST_UNKNOWN);

    l = open_record(rs, "z", 0);
    serve(rs, l);
    ck_assert(!delivered(rs, "z"));
    ck_assert_int_eq(post(rs, "z", "{\"events\":[" EV("request_submitted", 10) "]}", &e),
                     POST_JOINED);
    ck_assert(!delivered(rs, "z"));
    records_free(rs);
}
END_TEST

START_TEST(an_error_within_the_answer_is_not_delivered) {
    struct records *rs = store(-1);
    struct err e;
    struct live_record *l = open_record(rs, "x", 0);
    strcpy(l->record.outcome.error, "the engine broke");
    serve(rs, l);
    ck_assert_int_eq(post(rs, "x", "{" THREE "}", &e), POST_JOINED);
    ck_assert(!delivered(rs, "x"));
    records_free(rs);
}
END_TEST

START_TEST(a_verdict_and_a_statement_are_joined) {
    struct records *rs = store(-1);
    struct err e;
    serve(rs, open_record(rs, "x", 0));
    const char *half = "{" THREE ",\"statement\":\"it began late\","
                       "\"quality\":{\"check\":\"sum/1\",\"verdict\":\"passed\"}}";
    ck_assert_msg(post(rs, "x", half, &e) == POST_JOINED, "%s: %s", e.field, e.text);
    const char *other = "{\"quality\":{\"check\":\"sum/1\",\"verdict\":\"failed\"}}";
    ck_assert_int_eq(post(rs, "x", other, &e), POST_CONFLICT);
    ck_assert_str_eq(e.field, "quality.verdict");
    struct record r;
    ck_assert(records_get(rs, "x", 1, &r));
    ck_assert_int_eq(r.quality.verdict, VERDICT_PASSED);
    ck_assert_str_eq(r.statement, "it began late");
    record_release(&r);
    records_free(rs);
}
END_TEST

static const struct {
    const char *body;
    enum records_post want;
    const char *field;
} bad_halves[] = {
    {"[]", POST_INVALID, ""},
    {"{\"event\":[]}", POST_INVALID, "event"},
    {"{\"events\":7}", POST_INVALID, "events"},
    {"{\"events\":[{\"event\":\"request_submitted\"}]}", POST_INVALID, "events[0].clock"},
    {"{\"events\":[" EV("request_sent", 1) "]}", POST_INVALID, "events[0].event"},
    {"{\"events\":[" EV("request_submitted", 1.5) "]}", POST_INVALID, "events[0].t_ns"},
    {"{\"events\":[" EV("request_submitted", 11) "]}", POST_CONFLICT, ""},
    {"{\"events\":[" EV("first_byte_received", 9) "]}", POST_CONFLICT, ""},
    {"{\"events\":[{\"event\":\"first_token\",\"clock\":\"server\",\"t_ns\":5,\"source\":"
     "\"server_log\",\"clock_api\":\"CLOCK_MONOTONIC\"}]}",
     POST_INVALID, "events[0].event"},
    {"{\"events\":[{\"event\":\"first_byte_received\",\"clock\":\"browser\",\"t_ns\":50,\"source\":"
     "\"server_log\",\"clock_api\":\"CLOCK_MONOTONIC\"}]}",
     POST_INVALID, "events[0].source"},
    {"{\"quality\":{\"check\":\"x/1\",\"verdict\":\"passed\",\"by\":\"me\"}}", POST_INVALID,
     "quality"},
    {"{\"quality\":{\"check\":\"x/1\",\"verdict\":\"great\"}}", POST_INVALID, "quality.verdict"},
    {"{\"events\":[" EV("request_submitted", 10) "," EV("request_submitted", 10) "]}", POST_INVALID,
     "events[1].event"},
};

START_TEST(a_bad_half_changes_nothing) {
    struct records *rs = store(-1);
    struct err e;
    struct live_record *l = open_record(rs, "x", 0);
    ck_assert_int_eq(post(rs, "x", "{\"events\":[" EV("request_submitted", 10) "]}", &e),
                     POST_JOINED);
    char *before = text_of(rs, "x");
    ck_assert_int_eq(post(rs, "x", bad_halves[_i].body, &e), bad_halves[_i].want);
    ck_assert_msg(e.text[0] != '\0', "no message");
    if (bad_halves[_i].field[0]) ck_assert_str_eq(e.field, bad_halves[_i].field);
    char *after = text_of(rs, "x");
    ck_assert_str_eq(before, after);
    cJSON_free(before);
    cJSON_free(after);
    serve(rs, l);
    records_free(rs);
}
END_TEST

START_TEST(null_in_a_half_is_as_if_left_out) {
    struct records *rs = store(-1);
    struct err e;
    const char *half =
        "{" THREE ",\"quality\":null,\"structure\":null,\"statement\":null,\"x\":null}";
    serve(rs, open_record(rs, "x", 0));
    ck_assert_msg(post(rs, "x", "{\"events\":null}", &e) == POST_JOINED, "%s", e.text);
    ck_assert_msg(post(rs, "x", half, &e) == POST_JOINED, "%s: %s", e.field, e.text);
    ck_assert(delivered(rs, "x"));
    records_free(rs);
}
END_TEST

START_TEST(too_many_events_at_once) {
    struct records *rs = store(-1);
    struct err e;
    struct live_record *l = open_record(rs, "x", 0);
    char body[8000] = "{\"events\":[";
    for (int i = 0; i <= RECORDS_POSTED_EVENTS; i++)
        strcat(strcat(body, i ? "," : ""), EV("request_submitted", 10));
    ck_assert_int_eq(post(rs, "x", strcat(body, "]}"), &e), POST_INVALID);
    ck_assert_str_eq(e.field, "events");
    live_end(rs, l);
    records_free(rs);
}
END_TEST

/* ---- log and bounds -------------------------------------------------------------------------- */

static int count_line(const struct record *r, int line, void *ctx) {
    (void)line;
    ++*(int *)ctx;
    ck_assert_int_eq(r->attempt, 1);
    return 0;
}

static int lines_of(const char *path) {
    int lines = 0;
    struct err e;
    ck_assert_msg(record_each(path, count_line, &lines, &e) == 0, "%s", e.text);
    return lines;
}

START_TEST(lines_wait_for_the_client_and_are_written_once) {
    char path[] = "/tmp/servelab-log-XXXXXX";
    struct err e;
    close(mkstemp(path));
    int fd = record_log_open(path, &e);
    ck_assert_int_ge(fd, 0);
    struct records *rs = store(fd);
    struct live_record *open = open_record(rs, "open", 0);
    serve(rs, open_record(rs, "a", 0));
    ck_assert_int_eq(records_flush(rs, false, &e), 1); /* within its grace period */
    now_ns += 600;
    serve(rs, open_record(rs, "b", 0));
    now_ns += 500;
    ck_assert_int_eq(records_flush(rs, false, &e), 1);
    ck_assert_int_eq(lines_of(path), 1);
    records_hurry(rs, 10);
    now_ns += 10;
    ck_assert_int_eq(records_flush(rs, false, &e), 0);
    ck_assert_int_eq(lines_of(path), 2);
    bool late = false;
    cJSON *half = json_parse("{" THREE "}", strlen("{" THREE "}"), 1, &e);
    ck_assert_int_eq(records_join(rs, "a", 1, half, &late, &e), POST_JOINED);
    ck_assert(late); /* it is in memory, and the reply states that the log lacks it */
    cJSON_Delete(half);
    live_end(rs, open);
    records_free(rs); /* writes what is left */
    close(fd);
    ck_assert_int_eq(lines_of(path), 3);
    unlink(path);
}
END_TEST

/* A new, empty log; its path in path[0..32). */
static int new_log(char *path) {
    struct err e;
    strcpy(path, "/tmp/servelab-log-XXXXXX");
    close(mkstemp(path));
    int fd = record_log_open(path, &e);
    ck_assert_int_ge(fd, 0);
    return fd;
}

START_TEST(both_halves_are_written_at_once) {
    struct err e;
    char path[32];
    int fd = new_log(path);
    struct records *rs = store(fd);
    serve(rs, open_record(rs, "after", 0));
    ck_assert_int_eq(records_flush(rs, false, &e), 1);
    ck_assert_int_eq(post(rs, "after", "{" THREE "}", &e), POST_JOINED);
    ck_assert_int_eq(records_flush(rs, false, &e), 0);
    ck_assert_int_eq(lines_of(path), 1);
    struct live_record *l = open_record(rs, "before", 0);
    ck_assert_int_eq(post(rs, "before", "{" THREE "}", &e), POST_JOINED);
    serve(rs, l);
    ck_assert_int_eq(records_flush(rs, false, &e), 0);
    ck_assert_int_eq(lines_of(path), 2);
    records_free(rs);
    close(fd);
    unlink(path);
}
END_TEST

START_TEST(what_cannot_be_a_line_holds_up_nobody) {
    struct err e;
    char path[32];
    int fd = new_log(path);
    struct records *rs = store(fd);
    struct live_record *bad = open_record(rs, "bad", 0);
    strcpy(bad->record.statement, "\xff");
    serve(rs, bad);
    serve(rs, open_record(rs, "good", 0));
    ck_assert_int_eq(records_lost(rs, &e), 0);
    now_ns += 2000;
    ck_assert_int_eq(records_flush(rs, false, &e), 0);
    ck_assert_int_eq(lines_of(path), 1);
    ck_assert_int_eq(records_lost(rs, &e), 1);
    ck_assert(strstr(e.text, "bad") && strstr(e.text, "statement"));
    ck_assert_int_eq(records_finish(rs, &e), 1);
    records_free(rs);
    close(fd);
    unlink(path);
}
END_TEST

START_TEST(a_full_disk_is_counted_and_the_memory_bounded) {
    struct err e;
    char id[32];
    int full = open("/dev/full", O_WRONLY | O_APPEND);
    struct records *rs = store(full);
    for (int i = 0; i < RECORDS_KEPT + 100; i++) {
        snprintf(id, sizeof id, "r-%d", i);
        serve(rs, open_record(rs, id, 0));
        now_ns += 2000;
        ck_assert_int_eq(records_flush(rs, false, &e), -1);
    }
    ck_assert_int_eq(records_lost(rs, &e), 100);
    cJSON *list = records_list(rs, 10 * RECORDS_KEPT);
    ck_assert_int_eq(cJSON_GetArraySize(list), RECORDS_KEPT);
    cJSON_Delete(list);
    ck_assert_int_eq(records_finish(rs, &e), RECORDS_KEPT + 100);
    ck_assert_ptr_nonnull(strstr(e.text, "No space left"));
    ck_assert_int_eq(records_finish(rs, &e), RECORDS_KEPT + 100); /* counted once */
    close(full);
    records_free(rs);
}
END_TEST

static void *flush_all(void *rs) {
    struct err e;
    while (records_flush(rs, false, &e) != 0) continue;
    return NULL;
}

/* The watching thread and the one that drains. */
START_TEST(two_threads_write_a_line_once) {
    enum { N = 500 };
    pthread_t other;
    char path[32], id[32];
    int fd = new_log(path);
    struct records *rs = store(fd);
    for (int i = 0; i < N; i++) {
        snprintf(id, sizeof id, "r-%d", i);
        serve(rs, open_record(rs, id, 0));
    }
    now_ns += 2000;
    ck_assert_int_eq(pthread_create(&other, NULL, flush_all, rs), 0);
    flush_all(rs);
    pthread_join(other, NULL);
    ck_assert_int_eq(records_finish(rs, NULL), 0);
    records_free(rs);
    close(fd);
    ck_assert_int_eq(lines_of(path), N);
    unlink(path);
}
END_TEST

START_TEST(a_log_that_cannot_be_written_loses_nothing) {
    struct err e = {0};
    int full = open("/dev/full", O_WRONLY | O_APPEND);
    struct records *rs = store(full);
    serve(rs, open_record(rs, "a", 0));
    now_ns += 5000;
    ck_assert_int_eq(records_flush(rs, false, &e), -1);
    ck_assert_str_ne(e.text, "");
    ck_assert(known(rs, "a"));
    close(full);
    records_free(rs);
}
END_TEST

START_TEST(the_memory_is_bounded) {
    struct records *rs = store(-1);
    struct err e;
    char id[32];
    struct live_record *open = open_record(rs, "open", 0);
    for (int i = 0; i < RECORDS_KEPT + 100; i++) {
        snprintf(id, sizeof id, "r-%d", i);
        serve(rs, open_record(rs, id, 0));
        now_ns += 2000;
        ck_assert_int_eq(records_flush(rs, false, &e), 0);
    }
    ck_assert(!known(rs, "r-0"));
    ck_assert(known(rs, id) && known(rs, "open")); /* a request that lives is never forgotten */
    cJSON *list = records_list(rs, 10 * RECORDS_KEPT);
    ck_assert_int_eq(cJSON_GetArraySize(list), RECORDS_KEPT);
    cJSON_Delete(list);
    live_end(rs, open);
    records_free(rs);
}
END_TEST

static int length(const struct record_queue *q, enum live_state state) {
    int n = 0;
    for (const struct live_record *l = q->first; l; l = l->next, n++)
        ck_assert_int_eq(l->state, state);
    ck_assert_int_eq(n, q->n);
    return n;
}

/* Whoever looks for a due record, or for one to forget, meets no others. */
START_TEST(records_are_queued_by_their_state) {
    struct records *rs = store(-1);
    struct err e;
    char id[32];
    struct live_record *open = open_record(rs, "open", 0);
    for (int i = 0; i < RECORDS_KEPT + 100; i++) {
        snprintf(id, sizeof id, "r-%d", i);
        serve(rs, open_record(rs, id, 0));
    }
    ck_assert_int_eq(length(&rs->waiting, LIVE_ENDED), RECORDS_KEPT + 100);
    ck_assert_int_eq(length(&rs->due, LIVE_ENDED), 0);
    ck_assert_int_eq(post(rs, "r-9", "{" THREE "}", &e), POST_JOINED); /* now it is the next */
    ck_assert_int_eq(length(&rs->waiting, LIVE_ENDED), RECORDS_KEPT + 99);
    ck_assert_str_eq(rs->due.first->id, "r-9");
    ck_assert_int_eq(records_flush(rs, false, &e), RECORDS_KEPT + 99);
    now_ns += 500;
    ck_assert_int_eq(post(rs, "r-3", "{}", &e), POST_JOINED); /* its grace period begins again */
    ck_assert_str_eq(rs->waiting.last->id, "r-3");
    now_ns += 500;
    ck_assert_int_eq(records_flush(rs, false, &e), 1);
    now_ns += 500;
    ck_assert_int_eq(records_flush(rs, false, &e), 0);
    ck_assert_int_eq(length(&rs->waiting, LIVE_ENDED) + length(&rs->due, LIVE_ENDED), 0);
    ck_assert_int_eq(length(&rs->logged, LIVE_LOGGED), RECORDS_KEPT - 1);
    ck_assert_ptr_null(open->queue);
    live_end(rs, open);
    records_free(rs);
}
END_TEST

static Suite *records_suite(void) {
    Suite *s = suite_create("records");
    TCase *c = tcase_create("records");
    tcase_add_test(c, ids_are_checked);
    tcase_add_test(c, attempts_are_counted_and_never_reused);
    tcase_add_test(c, delivered_needs_both_halves);
    tcase_add_test(c, an_error_within_the_answer_is_not_delivered);
    tcase_add_test(c, a_verdict_and_a_statement_are_joined);
    tcase_add_loop_test(c, a_bad_half_changes_nothing, 0, sizeof bad_halves / sizeof *bad_halves);
    tcase_add_test(c, null_in_a_half_is_as_if_left_out);
    tcase_add_test(c, too_many_events_at_once);
    tcase_add_test(c, lines_wait_for_the_client_and_are_written_once);
    tcase_add_test(c, both_halves_are_written_at_once);
    tcase_add_test(c, what_cannot_be_a_line_holds_up_nobody);
    tcase_add_test(c, a_full_disk_is_counted_and_the_memory_bounded);
    tcase_add_test(c, two_threads_write_a_line_once);
    tcase_add_test(c, a_log_that_cannot_be_written_loses_nothing);
    tcase_add_test(c, the_memory_is_bounded);
    tcase_add_test(c, records_are_queued_by_their_state);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return check_main(records_suite());
}
