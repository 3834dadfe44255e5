/* test_log.c: the log on disk: one write a record, writers that die, disks that are full, and a
 * reader that passes nothing over.
 */
/* servelab-test: waits */
#include "base/json.h"
#include "base/rng.h"
#include "record/log.h"
#include "sample.h"
#include "testing/check_main.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];

static void make_path(void) {
    strcpy(path, "/tmp/servelab-log-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
}
static void remove_path(void) {
    unlink(path);
}

static int open_log(void) {
    struct err e;
    int fd = record_log_open(path, &e);
    ck_assert_msg(fd >= 0, "%s", e.text);
    return fd;
}

static void append(int fd, const char *id, int32_t attempt) {
    struct record r;
    struct err e;
    sample_record(&r, id, attempt);
    ck_assert_msg(!record_append(fd, &r, &e), "%s: %s", e.field, e.text);
    record_release(&r);
}

static void write_bytes(const char *bytes, size_t n) {
    int fd = open(path, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    close(fd);
}

/* Reads the whole log: how many records, torn lines, and whether an error ended it. */
struct seen {
    int records, torn, errors;
    int first_torn_line;
    struct err e;
};
static struct seen read_log(void (*each)(const struct record *, void *), void *ctx) {
    struct seen s = {0};
    const struct record *r;
    struct err e;
    int line;
    struct record_reader *rd = record_reader_open(path, &s.e);
    if (!rd) {
        s.errors = 1;
        return s;
    }
    for (;;) {
        enum record_read got = record_reader_next(rd, &r, &line, &e);
        if (got == RECORD_READ_END) break;
        if (got == RECORD_READ_OK) {
            s.records++;
            if (each) each(r, ctx);
        } else if (got == RECORD_READ_TORN) {
            if (!s.torn++) s.first_torn_line = e.line;
        } else {
            s.errors++;
            s.e = e;
        }
    }
    record_reader_close(rd);
    return s;
}

/* ---- appending ------------------------------------------------------------------------------- */

START_TEST(what_is_appended_is_read) {
    int fd = open_log();
    for (int i = 1; i <= 50; i++) append(fd, "r-1", i);
    close(fd);
    struct seen s = read_log(NULL, NULL);
    ck_assert_int_eq(s.records, 50);
    ck_assert_int_eq(s.torn + s.errors, 0);
}
END_TEST

START_TEST(what_could_not_be_read_is_not_written) {
    struct record r;
    struct err e;
    struct stat st;
    int fd = open_log();
    sample_record(&r, "r-1", 1);
    strcpy(r.statement, "\xff not UTF-8");
    ck_assert_int_eq(record_append(fd, &r, &e), RECORD_NEVER_A_LINE);
    ck_assert_str_eq(e.field, "statement");
    strcpy(r.statement, "");
    r.n_events = 3;
    ck_assert_int_eq(record_append(fd, &r, &e), RECORD_NEVER_A_LINE);
    ck_assert_str_eq(e.field, "events");
    ck_assert(fstat(fd, &st) == 0 && st.st_size == 0);
    close(fd);
    fd = open(path, O_WRONLY);
    r.n_events = 6;
    ck_assert_int_eq(record_append(fd, &r, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "O_APPEND"));
    close(fd);
    ck_assert_int_eq(record_append(fd, &r, &e), -1); /* a closed descriptor */
    record_release(&r);
}
END_TEST

START_TEST(a_log_must_be_a_file) {
    struct err e;
    ck_assert_int_eq(record_log_open("/tmp", &e), -1);
    ck_assert_int_eq(record_log_open("/dev/null", &e), -1);
    ck_assert_int_eq(record_log_open("/nonexistent/log", &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "can't be opened"));
}
END_TEST

START_TEST(a_pipe_takes_records_too) {
    struct record r;
    struct err e;
    int ends[2];
    char buf[8192];
    ck_assert_int_eq(pipe(ends), 0);
    sample_record(&r, "r-1", 1);
    ck_assert_msg(!record_append(ends[1], &r, &e), "%s", e.text);
    ssize_t n = read(ends[0], buf, sizeof buf);
    ck_assert(n > 2 && buf[0] == '{' && buf[n - 1] == '\n');
    record_release(&r);
}
END_TEST

/* Each writer, a process or a thread, appends records with its own id and growing attempt numbers;
 * the reader must see all of them, each writer's in order. */
enum { WRITERS = 4, EACH = 150 };

static void *write_many(void *ctx) {
    char id[24];
    snprintf(id, sizeof id, "writer-%d", *(int *)ctx);
    int fd = open_log();
    for (int i = 1; i <= EACH; i++) append(fd, id, i);
    close(fd);
    return NULL;
}

static void note_order(const struct record *r, void *ctx) {
    int *last = ctx, writer = r->request_id[7] - '0';
    ck_assert_int_eq(r->attempt, ++last[writer]);
}

START_TEST(processes_do_not_mix_lines) {
    int last[WRITERS] = {0};
    for (int i = 0; i < WRITERS; i++)
        if (fork() == 0) {
            write_many(&i);
            _exit(0);
        }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        wait(&status);
        ck_assert_int_eq(status, 0);
    }
    struct seen s = read_log(note_order, last);
    ck_assert_int_eq(s.records, WRITERS * EACH);
    ck_assert_int_eq(s.torn + s.errors, 0);
}
END_TEST

START_TEST(threads_do_not_mix_lines) {
    int last[WRITERS] = {0}, numbers[WRITERS];
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_many, &numbers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
    struct seen s = read_log(note_order, last);
    ck_assert_int_eq(s.records, WRITERS * EACH);
    ck_assert_int_eq(s.torn + s.errors, 0);
}
END_TEST

/* ---- writers that die ------------------------------------------------------------------------ */

/* Appends records with `sent` token_sent events until it is killed; reports each one that is
 * written. */
static void write_until_killed(int done, int round, int sent) {
    char id[24];
    struct record r;
    snprintf(id, sizeof id, "round-%d", round);
    sample_record(&r, id, 1);
    for (int i = 0; i < sent; i++) sample_add(&r, EV_TOKEN_SENT, CLOCK_SERVER, 6000000 + i, 1);
    int fd = open_log();
    for (;; r.attempt++) {
        if (record_append(fd, &r, NULL)) _exit(1);
        if (write(done, &r.attempt, sizeof r.attempt) != sizeof r.attempt) _exit(1);
    }
}

enum { ROUNDS = 60 };
static void note_attempt(const struct record *r, void *ctx) {
    int *highest = ctx, round = atoi(r->request_id + 6);
    ck_assert_int_eq(r->attempt, highest[round] + 1);
    highest[round]++;
}

/* Kills the writer at random moments. Every line is whole, or is the piece of the record that was
 * being appended; all records whose append returned are there; a piece damages no other record. */
static void kill_writers(int sent) {
    int returned[ROUNDS] = {0}, found[ROUNDS] = {0};
    struct rng rng;
    rng_seed(&rng, (uint64_t)sent);
    for (int round = 0; round < ROUNDS; round++) {
        int ends[2], status, attempt;
        ck_assert_int_eq(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) write_until_killed(ends[1], round, sent);
        close(ends[1]);
        ck_assert_int_eq(read(ends[0], &returned[round], sizeof(int)), sizeof(int)); /* it writes */
        usleep((useconds_t)rng_below(&rng, 8000));
        ck_assert_int_eq(kill(child, SIGKILL), 0);
        waitpid(child, &status, 0);
        ck_assert(WIFSIGNALED(status));
        while (read(ends[0], &attempt, sizeof attempt) == sizeof attempt) returned[round] = attempt;
        close(ends[0]);
    }
    struct seen s = read_log(note_attempt, found);
    ck_assert_msg(s.errors == 0, "line %d: %s: %s", s.e.line, s.e.field, s.e.text);
    for (int round = 0; round < ROUNDS; round++)
        ck_assert_msg(found[round] == returned[round] || found[round] == returned[round] + 1,
                      "round %d: %d records, %d appends returned", round, found[round],
                      returned[round]);
    fprintf(stderr, "%d token_sent: %d records, %d torn lines\n", sent, s.records, s.torn);
}

START_TEST(killed_writers_leave_whole_lines) {
    kill_writers(0);
}
END_TEST
START_TEST(killed_writers_of_long_lines) {
    kill_writers(3000); /* 300 kB a line, 75 pages */
}
END_TEST

START_TEST(a_torn_line_is_named_and_costs_no_other) {
    int fd = open_log();
    append(fd, "r-1", 1);
    write_bytes("{\"schema\":\"servelab.requ", 24); /* a writer died here */
    struct seen s = read_log(NULL, NULL);
    ck_assert_int_eq(s.records, 1);
    ck_assert_int_eq(s.torn, 1);
    ck_assert_int_eq(s.first_torn_line, 2);
    append(fd, "r-1", 2);
    append(fd, "r-1", 3);
    close(fd);
    s = read_log(NULL, NULL);
    ck_assert_int_eq(s.records, 3);
    ck_assert_int_eq(s.torn, 1);
    ck_assert_int_eq(s.first_torn_line, 2);
    ck_assert_int_eq(s.errors, 0);
}
END_TEST

static int count(const struct record *r, int line, void *ctx) {
    (void)r;
    (void)line;
    return ++*(int *)ctx == 3 ? 42 : 0;
}

START_TEST(record_each_stops_where_it_is_told_or_torn) {
    struct err e;
    int calls = 0, fd = open_log();
    append(fd, "r-1", 1);
    append(fd, "r-1", 2);
    ck_assert_int_eq(record_each(path, count, &calls, &e), 0);
    ck_assert_int_eq(calls, 2);
    write_bytes("{\"", 2);
    calls = 0;
    ck_assert_int_eq(record_each(path, count, &calls, &e), -1);
    ck_assert_int_eq(e.line, 3);
    ck_assert_int_eq(calls, 2);
    append(fd, "r-1", 3);
    calls = 0;
    ck_assert_int_eq(record_each(path, count, &calls, &e), -1);
    close(fd);
    ck_assert_int_eq(truncate(path, 0), 0);
    fd = open_log();
    for (int i = 1; i < 9; i++) append(fd, "r-1", i);
    close(fd);
    calls = 0;
    ck_assert_int_eq(record_each(path, count, &calls, &e), 42);
    ck_assert_int_eq(calls, 3);
}
END_TEST

/* A file size limit plays the full disk: the write is cut short. */
START_TEST(a_full_disk_leaves_no_piece) {
    struct record r;
    struct err e;
    struct stat before, after;
    struct rlimit limit;
    int fd = open_log();
    append(fd, "r-1", 1);
    ck_assert_int_eq(fstat(fd, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = (rlim_t)before.st_size + 100;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    sample_record(&r, "r-1", 2);
    ck_assert_int_eq(record_append(fd, &r, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "taken back"));
    ck_assert_int_eq(fstat(fd, &after), 0);
    ck_assert_int_eq(after.st_size, before.st_size);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(record_append(fd, &r, &e), 0);
    close(fd);
    record_release(&r);
    struct seen s = read_log(NULL, NULL);
    ck_assert_int_eq(s.records, 2);
    ck_assert_int_eq(s.torn + s.errors, 0);
}
END_TEST

/* ---- reading --------------------------------------------------------------------------------- */

/* Lines of very different lengths, so that every kind of line meets the buffer's end. */
START_TEST(lines_of_any_length) {
    struct rng rng;
    int fd = open_log(), records = 0;
    int64_t bytes = 0;
    struct stat st;
    struct record r;
    rng_seed(&rng, 3);
    for (; bytes < 12000000; records++) {
        sample_record(&r, "r-1", records + 1);
        uint64_t sent = rng_below(&rng, 20) ? rng_below(&rng, 300) : rng_below(&rng, 30000);
        for (uint64_t i = 0; i < sent; i++)
            sample_add(&r, EV_TOKEN_SENT, CLOCK_SERVER, 6000000 + (int64_t)i, 1);
        ck_assert_int_eq(record_append(fd, &r, NULL), 0);
        record_release(&r);
        ck_assert_int_eq(fstat(fd, &st), 0);
        bytes = st.st_size;
    }
    close(fd);
    struct seen s = read_log(NULL, NULL);
    ck_assert_int_eq(s.records, records);
    ck_assert_int_eq(s.torn + s.errors, 0);
}
END_TEST

/* Past JSON_MAX_BYTES a file can't be one object over many lines any more. */
START_TEST(a_torn_first_line_of_a_large_log) {
    enum { RECORDS = 62000 };
    struct record r;
    sample_record(&r, "r-1", 1);
    cJSON *tree = record_to_json(&r);
    char *text = json_print(tree);
    FILE *f = fopen(path, "w");
    fprintf(f, "%.300s\n", text);
    for (int i = 0; i < RECORDS; i++) fprintf(f, "%s\n", text);
    ck_assert_int_gt(ftell(f), JSON_MAX_BYTES);
    fclose(f);
    struct seen s = read_log(NULL, NULL);
    ck_assert_int_eq(s.records, RECORDS);
    ck_assert_int_eq(s.torn, 1);
    ck_assert_int_eq(s.first_torn_line, 1);
    f = fopen(path, "r+"); /* the second line isn't a record either */
    fprintf(f, "%.300s\n{]", text);
    fclose(f);
    s = read_log(NULL, NULL);
    ck_assert_int_eq(s.records + s.torn, 0);
    ck_assert_int_eq(s.e.line, 1);
    ck_assert_ptr_nonnull(strstr(s.e.text, "too large"));
    cJSON_free(text);
    cJSON_Delete(tree);
    record_release(&r);
}
END_TEST

START_TEST(an_endless_line_is_refused_in_bounded_memory) {
    struct rusage use;
    int fd = open(path, O_WRONLY);
    ck_assert_int_eq(ftruncate(fd, INT64_C(1) << 32), 0); /* 4 GiB of NUL, sparse */
    close(fd);
    struct seen s = read_log(NULL, NULL);
    ck_assert_int_eq(s.errors, 1);
    ck_assert_int_eq(s.e.line, 1);
    ck_assert_ptr_nonnull(strstr(s.e.text, "longer than"));
    getrusage(RUSAGE_SELF, &use);
    ck_assert_int_lt(use.ru_maxrss, 400 * 1024);
}
END_TEST

START_TEST(a_document_over_many_lines_is_one_record) {
    struct record r;
    struct err e;
    sample_record(&r, "r-1", 1);
    cJSON *tree = record_to_json(&r);
    char *text = cJSON_Print(tree);
    write_bytes(text, strlen(text));
    struct seen s = read_log(NULL, NULL);
    ck_assert_int_eq(s.records, 1);
    ck_assert_int_eq(s.torn + s.errors, 0);
    write_bytes("\n", 1);
    write_bytes(text, strlen(text)); /* two documents aren't a log */
    s = read_log(NULL, NULL);
    ck_assert_int_eq(s.records, 0);
    ck_assert_int_eq(s.errors, 1);
    ck_assert_ptr_nonnull(strstr(s.e.text, "after the end"));
    record_release(&r);
    ck_assert_int_eq(record_parse(&r, text, strlen(text) - 1, 1, &e), -1);
    cJSON_free(text);
    cJSON_Delete(tree);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("log");
    TCase *t = tcase_create("log");
    tcase_add_checked_fixture(t, make_path, remove_path);
    tcase_add_test(t, what_is_appended_is_read);
    tcase_add_test(t, what_could_not_be_read_is_not_written);
    tcase_add_test(t, a_log_must_be_a_file);
    tcase_add_test(t, a_pipe_takes_records_too);
    tcase_add_test(t, processes_do_not_mix_lines);
    tcase_add_test(t, threads_do_not_mix_lines);
    tcase_add_test(t, killed_writers_leave_whole_lines);
    tcase_add_test(t, killed_writers_of_long_lines);
    tcase_add_test(t, a_torn_line_is_named_and_costs_no_other);
    tcase_add_test(t, record_each_stops_where_it_is_told_or_torn);
    tcase_add_test(t, a_full_disk_leaves_no_piece);
    tcase_add_test(t, lines_of_any_length);
    tcase_add_test(t, a_torn_first_line_of_a_large_log);
    tcase_add_test(t, an_endless_line_is_refused_in_bounded_memory);
    tcase_add_test(t, a_document_over_many_lines_is_one_record);
    suite_add_tcase(suite, t);
    return check_main(suite);
}
