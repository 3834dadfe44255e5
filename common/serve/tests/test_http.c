/* test_http.c: the server over a fake backend. `test_http --serve` is that server for the Python
 * tests beside this file: it prints its port and takes commands on standard input, one a line:
 *
 *   say TEXT    every answer is TEXT (escapes \n and \xHH), then the end token
 *   echo        every answer is the prompt backwards
 *   allow N     let N more steps through        open   let all through
 *   fail N      the N-th step from now fails    nan N  its logits hold a NaN
 *   delay US    every step takes so long
 *   hold        long bodies wait before they are read        read   let them be read
 *   reading     answers "ok" once a long body waits
 *   started N, finished N   answers "ok" once the N-th step (from the start) was started, finished
 *   drain, quit
 */
/* servelab-test: waits */
#include "testing/check_main.h"

#include "record/log.h"
#include "serve/http.h"
#include "serve/tests/fake.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

struct server {
    struct fake *fake;
    struct tokenizer *tokenizer;
    struct records *records;
    struct engine *engine;
    struct http *http;
    struct gate {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool closed;
        int waiting;
    } gate; /* before a long body is read */
};

static void before_reading(void *ctx) {
    struct gate *g = ctx;
    pthread_mutex_lock(&g->lock);
    g->waiting++;
    pthread_cond_broadcast(&g->changed);
    while (g->closed) pthread_cond_wait(&g->changed, &g->lock);
    g->waiting--;
    pthread_mutex_unlock(&g->lock);
}

static void gate_set(struct gate *g, bool closed) {
    pthread_mutex_lock(&g->lock);
    g->closed = closed;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

/* Waits for a long body, at most a minute. */
static bool gate_wait(struct gate *g) {
    struct timespec until;
    int rc = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&g->lock);
    while (g->waiting == 0 && !rc) rc = pthread_cond_timedwait(&g->changed, &g->lock, &until);
    pthread_mutex_unlock(&g->lock);
    return !rc;
}

static void start(struct server *s, int32_t max_waiting, int log_fd, int header_s) {
    struct err e;
    s->gate = (struct gate){PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};
    const char *positions = getenv("FAKE_POSITIONS"); /* of the batch */
    const char *cors = getenv("FAKE_CORS"), *linger = getenv("FAKE_LINGER");
    s->fake = fake_create(positions ? atoi(positions) : 1, 32, 256, 32);
    s->tokenizer = fake_tokenizer();
    s->records = records_create(log_fd, 600 * NS_PER_S, clock_monotonic(), &e);
    INVARIANT(s->records && !records_keep_log(s->records, &e));
    struct engine_options eo = {.backend = &s->fake->b,
                                .tokenizer = s->tokenizer,
                                .records = s->records,
                                .policy = policy_learner(),
                                .policy_arg = "",
                                .clock = clock_monotonic(),
                                .max_waiting = max_waiting};
    s->engine = engine_create(&eo, &e);
    INVARIANT(s->engine && !engine_start(s->engine, &e));
    struct http_options ho = {.host = "127.0.0.1",
                              .model_name = "fake",
                              .engine = s->engine,
                              .records = s->records,
                              .tokenizer = s->tokenizer,
                              .clock = clock_monotonic(),
                              .header_s = header_s,
                              .body_s = header_s,
                              .linger_s = linger ? atoi(linger) : 0,
                              .cors = cors && cors[0] ? cors : NULL,
                              .before_reading = before_reading,
                              .before_reading_ctx = &s->gate};
    s->http = http_start(&ho, &e);
    if (!s->http) fprintf(stderr, "%s\n", e.text);
    INVARIANT(s->http);
}

static void stop(struct server *s) {
    engine_stop(s->engine); /* first: a step that waits at the gate must not be finished */
    fake_open(s->fake);
    gate_set(&s->gate, false);
    engine_join(s->engine);
    http_stop(s->http);
    engine_free(s->engine);
    records_free(s->records);
    tokenizer_free(s->tokenizer);
    backend_free(&s->fake->b);
}

static void unescape(const char *from, char *to, size_t cap) {
    size_t n = 0;
    for (; *from && n + 1 < cap; from++) {
        unsigned value;
        if (from[0] == '\\' && from[1] == 'n')
            to[n++] = '\n', from++;
        else if (sscanf(from, "\\x%2x", &value) == 1)
            to[n++] = (char)value, from += 3;
        else
            to[n++] = *from;
    }
    to[n] = '\0';
}

static void command(struct server *s, char *line) {
    struct fake *f = s->fake;
    char text[FAKE_MAX_SCRIPT];
    long long n = 0;
    line[strcspn(line, "\n")] = '\0';
    if (!strncmp(line, "say ", 4)) {
        unescape(line + 4, text, sizeof text);
        fake_say(f, text);
    } else if (!strcmp(line, "echo"))
        fake_say(f, NULL);
    else if (!strcmp(line, "open"))
        fake_open(f);
    else if (!strcmp(line, "hold"))
        gate_set(&s->gate, true);
    else if (!strcmp(line, "read"))
        gate_set(&s->gate, false);
    else if (!strcmp(line, "reading")) {
        if (!gate_wait(&s->gate)) puts("timeout: no long body waits to be read");
    } else if (!strcmp(line, "drain"))
        http_drain(s->http);
    else if (sscanf(line, "allow %lld", &n) == 1)
        fake_allow(f, n);
    else if (sscanf(line, "started %lld", &n) == 1)
        fake_wait(f, n, false);
    else if (sscanf(line, "finished %lld", &n) == 1)
        fake_wait(f, n, true);
    else {
        pthread_mutex_lock(&f->lock);
        if (sscanf(line, "fail %lld", &n) == 1)
            f->fail_at = f->started + n - 1;
        else if (sscanf(line, "nan %lld", &n) == 1)
            f->nan_at = f->finished + n - 1;
        else if (sscanf(line, "delay %lld", &n) == 1)
            f->delay_ns = n * 1000;
        else
            fprintf(stderr, "test_http: unknown command '%s'\n", line);
        pthread_mutex_unlock(&f->lock);
    }
    struct engine_load load = engine_load_of(s->engine);
    pthread_mutex_lock(&f->lock);
    printf("ok started %lld finished %lld waiting %d running %d active %d\n", (long long)f->started,
           (long long)f->finished, load.waiting, load.running, http_active(s->http));
    pthread_mutex_unlock(&f->lock);
    fflush(stdout);
}

static int serve(int argc, char **argv) {
    struct server s;
    struct err e;
    static char line[4 * FAKE_MAX_SCRIPT];
    int max_waiting = argc > 2 ? atoi(argv[2]) : 256, header_s = argc > 3 ? atoi(argv[3]) : 0;
    int log_fd = argc > 4 ? record_log_open(argv[4], &e) : -1;
    signal(SIGPIPE, SIG_IGN);
    start(&s, max_waiting, log_fd, header_s);
    printf("port %d\n", http_port(s.http));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) && strncmp(line, "quit", 4)) command(&s, line);
    stop(&s);
    if (log_fd >= 0) close(log_fd);
    return 0;
}

/* ---- tests in this process: the gate and the threads (also under TSan) ------------------------
 */

static struct server server;

static void set_up(void) {
    signal(SIGPIPE, SIG_IGN);
    start(&server, 4, -1, 0);
}
static void tear_down(void) {
    stop(&server);
}

static int connect_to(const struct server *s) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)http_port(s->http)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

/* A completion of `prompt` on a new connection. */
static int ask(const struct server *s, const char *prompt, const char *more, const char *headers) {
    char body[400], request[800];
    snprintf(body, sizeof body, "{\"model\":\"fake\",\"prompt\":\"%s\",\"max_tokens\":32%s}",
             prompt, more);
    snprintf(request, sizeof request,
             "POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s"
             "Content-Length: %zu\r\n\r\n%s",
             headers, strlen(body), body);
    int fd = connect_to(s);
    ck_assert_int_eq(write(fd, request, strlen(request)), strlen(request));
    return fd;
}

/* Reads until `text` was seen `times` times, or the end. Returns how often it was. */
static int read_until(int fd, const char *text, int times, char *all, size_t cap) {
    size_t n = strlen(all);
    for (;;) {
        int seen = 0;
        for (const char *p = all; (p = strstr(p, text)); p++) seen++;
        if (seen >= times || n + 1 >= cap) return seen;
        ssize_t got = read(fd, all + n, cap - n - 1);
        if (got <= 0) return seen;
        n += (size_t)got;
        all[n] = '\0';
    }
}

static void expect_counts(const struct server *s, int waiting, int running) {
    struct engine_load load = engine_load_of(s->engine);
    ck_assert_int_eq(load.waiting, waiting);
    ck_assert_int_eq(load.running, running);
}

/* By the record's own events: they were stamped although no client posted its half. */
static bool record_has(const struct server *s, const char *id, enum event_kind kind) {
    struct record r;
    ck_assert(records_get(s->records, id, 0, &r));
    bool has = record_event(&r, kind) != NULL;
    record_release(&r);
    return has;
}

START_TEST(half_of_the_tokens_arrive_before_the_last_is_computed) {
    static char all[20000] = "";
    fake_say(server.fake, "abcdefgh");
    fake_allow(server.fake, 4); /* the prompt gives the first token, three steps three more */
    int fd = ask(&server, "p", ",\"stream\":true", "");
    ck_assert_int_eq(read_until(fd, "data: ", 4, all, sizeof all), 4);
    ck_assert_ptr_nonnull(strstr(all, "\"text\":\"d\""));
    fake_wait(server.fake, 5, false); /* the fifth waits at the gate: no later piece exists */
    ck_assert_int_eq(server.fake->finished, 4);
    ck_assert_ptr_null(strstr(all, "\"text\":\"e\""));
    fake_open(server.fake);
    read_until(fd, "[DONE]", 1, all, sizeof all);
    ck_assert_ptr_nonnull(strstr(all, "\"text\":\"h\""));
    close(fd);
}
END_TEST

START_TEST(nothing_is_sent_before_the_first_content) {
    static char all[20000] = "";
    fake_say(server.fake, "\xc3\xa9!"); /* one character in two tokens */
    fake_allow(server.fake, 1);
    int fd = ask(&server, "p", ",\"stream\":true", "X-Request-Id: first-content\r\n");
    fake_wait(server.fake, 2, false); /* the first token is known, its text is not complete */
    ck_assert(record_has(&server, "first-content", EV_FIRST_TOKEN));
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ck_assert_int_eq(poll(&p, 1, 100), 0);
    fake_open(server.fake);
    read_until(fd, "[DONE]", 1, all, sizeof all);
    char *first = strstr(all, "data: "), *second = strstr(first + 1, "data: ");
    ck_assert(second && strstr(first, "\"text\":\"\xc3\xa9\"") < second);
    close(fd);
}
END_TEST

/* Waits until the server's kernel knows that the client of this request, waiting or running, closed
 * its connection, or the library has noticed it first, cancelled the request and let go of the
 * socket. */
static void wait_until_gone(const char *id) {
    for (bool gone = false; !gone; usleep(1000)) {
        pthread_mutex_lock(&server.engine->lock);
        struct seq *lists[] = {server.engine->waiting, server.engine->running};
        for (int i = 0; i < 2; i++)
            for (struct seq *s = lists[i]; s; s = s->next)
                if (!strcmp(s->live->id, id)) gone = s->cancelled || stream_client_gone(s->stream);
        pthread_mutex_unlock(&server.engine->lock);
    }
}

/* Where the client leaves: 0 queued, 1 during the prompt's chunks, 2 during decoding. */
static void client_leaves(int where, const char *stream) {
    static char all[20000];
    all[0] = '\0';
    const char *forty = "0123456789012345678901234567890123456789";
    int64_t began = server.fake->started;
    fake_say(server.fake, "abcdefgh");
    fake_allow(server.fake, 0);
    int blocker = where == 0 ? ask(&server, "x", ",\"stream\":true", "") : -1;
    if (where == 0) fake_wait(server.fake, began + 1, false);
    int fd = ask(&server, forty, stream, "X-Request-Id: leaver\r\nX-Attempt: 1\r\n");
    if (where == 1) fake_wait(server.fake, began + 1, false);
    if (where == 2) fake_allow(server.fake, 4);
    if (where == 2) fake_wait(server.fake, began + 5, false);
    if (where == 0)
        while (engine_load_of(server.engine).waiting < 1) usleep(1000);
    expect_counts(&server, where == 0 ? 1 : 0, 1);
    ck_assert_int_eq(record_has(&server, "leaver", EV_FIRST_TOKEN), where == 2);
    close(fd);
    wait_until_gone("leaver");
    int64_t steps = server.fake->started;
    fake_allow(server.fake, 1); /* the step that runs ends; the next one drops the leaver */
    if (where == 0) fake_wait(server.fake, steps + 1, false);
    while (!record_has(&server, "leaver", EV_REQUEST_CANCELLED)) usleep(1000);
    expect_counts(&server, 0, where == 0 ? 1 : 0);
    ck_assert_int_eq(server.fake->started, where == 0 ? steps + 1 : steps);
    ck_assert_int_eq(kv_pool_free_blocks(server.engine->kv), where == 0 ? 31 : 32);
    fake_open(server.fake);
    if (blocker >= 0) ck_assert_int_eq(read_until(blocker, "[DONE]", 1, all, sizeof all), 1);
    if (blocker >= 0) close(blocker);
    while (http_active(server.http) > 0) usleep(1000);
}

START_TEST(a_client_leaves) {
    client_leaves(_i % 3, _i < 3 ? ",\"stream\":true" : "");
}
END_TEST

START_TEST(stop_with_suspended_connections) {
    fake_say(server.fake, "abc");
    fake_allow(server.fake, 0);
    int a = ask(&server, "p", "", "X-Request-Id: a\r\n"), b = ask(&server, "p", "", "");
    fake_wait(server.fake, 1, false);
    while (engine_load_of(server.engine).waiting < 1) usleep(1000);
    tear_down(); /* neither hangs nor aborts */
    char byte;
    ck_assert_int_le(read(a, &byte, 1), 0);
    ck_assert_int_le(read(b, &byte, 1), 0);
    close(a);
    close(b);
    set_up();
}
END_TEST

static int open_descriptors(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(d);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

/* The gate reads a descriptor only while it is a connection of the server. What the program opens
 * next has the same number, and receives bytes that are no HTTP. */
START_TEST(a_closed_connection_leaves_the_gate) {
    enum { PAIRS = 8 };
    static char all[2000] = "", byte;
    int quiet = open_descriptors(), pairs[PAIRS][2];
    int fd = connect_to(&server);
    static const char request[] = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
    ck_assert_int_eq(write(fd, request, strlen(request)), strlen(request));
    ck_assert_int_eq(read_until(fd, "}\n", 1, all, sizeof all), 1);
    close(fd);
    while (open_descriptors() > quiet) usleep(1000);
    for (int i = 0; i < PAIRS;
         i++) { /* the lowest free numbers, both of the connection's among them */
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
        for (int end = 0; end < 2; end++) {
            ck_assert_int_eq(write(pairs[i][1 - end], "\n", 1), 1);
            byte = 0;
            ck_assert_int_eq(recv(pairs[i][end], &byte, 1, MSG_DONTWAIT), 1);
            ck_assert_int_eq(byte, '\n');
        }
    }
    for (int i = 0; i < 2 * PAIRS; i++) close(pairs[i / 2][i % 2]);
}
END_TEST

/* Otherwise a token would wait up to 40 ms for the acknowledgement of the one before it. */
START_TEST(no_token_waits_for_an_acknowledgement) {
    static char all[2000] = "";
    int fd = connect_to(&server), found = 0;
    static const char request[] = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
    ck_assert_int_eq(write(fd, request, strlen(request)), strlen(request));
    ck_assert_int_eq(read_until(fd, "}\n", 1, all, sizeof all), 1); /* it is accepted, then */
    for (int own = 0; own < 1024; own++) {
        struct sockaddr_in here, peer;
        socklen_t n = sizeof here, m = sizeof peer, size = sizeof(int);
        int on = 0;
        if (getsockname(own, (struct sockaddr *)&here, &n) || here.sin_family != AF_INET ||
            ntohs(here.sin_port) != http_port(server.http) ||
            getpeername(own, (struct sockaddr *)&peer, &m))
            continue;
        found++;
        ck_assert_int_eq(getsockopt(own, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
        ck_assert_int_ne(on, 0);
    }
    ck_assert_int_eq(found, 1);
    close(fd);
}
END_TEST

static Suite *http_suite(void) {
    Suite *s = suite_create("http");
    TCase *c = tcase_create("gate");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, half_of_the_tokens_arrive_before_the_last_is_computed);
    tcase_add_test(c, nothing_is_sent_before_the_first_content);
    tcase_add_loop_test(c, a_client_leaves, 0, 6);
    tcase_add_test(c, stop_with_suspended_connections);
    tcase_add_test(c, a_closed_connection_leaves_the_gate);
    tcase_add_test(c, no_token_waits_for_an_acknowledgement);
    suite_add_tcase(s, c);
    return s;
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "--serve")) return serve(argc, argv);
    return check_main(http_suite());
}
