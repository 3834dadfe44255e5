/* bench_serve.c: what serving itself costs: a streamed answer through policy, engine, stream, HTTP
 * and loopback to a reading client, over a backend that computes nothing. SPEED.md has the figures.
 *
 *   bench_serve [ANSWERS [STEP_US]]   one client, ANSWERS of 200 tokens each (200), each step
 * taking STEP_US (0: the model outruns the connection, and pieces are joined; 200: every token is a
 * separate chunk)
 *   bench_serve requests KIND N       N short requests on one connection: "get", GET /health;
 * "post", a POST with ten headers and 2 kB to no route, so that HTTP alone is measured; "chunked",
 * the same in chunks of 16 bytes
 *
 * Prints tokens a second, and processor time a token or request of server and client together.
 */
#include "serve/http.h"
#include "serve/tests/fake.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { TOKENS = 200 };

static int connect_to(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    INVARIANT(fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof a));
    return fd;
}

/* Sends one request and reads to the end of its reply, which is `end`. */
static void ask(int fd, const char *request, const char *end) {
    char part[65536];
    size_t kept = 0;
    INVARIANT(write(fd, request, strlen(request)) == (ssize_t)strlen(request));
    for (;;) {
        ssize_t n = read(fd, part + kept, sizeof part - 1 - kept);
        INVARIANT(n > 0);
        part[kept + (size_t)n] = '\0';
        if (strstr(part, end)) return;
        size_t all = kept + (size_t)n; /* the mark may be cut in two */
        kept = all < 32 ? all : 32;
        memmove(part, part + all - kept, kept);
    }
}

static double cpu_s(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

static const char stream_end[] = "[DONE]\n\n\r\n0\r\n\r\n";

/* As a client library writes it. */
static void post(struct buffer *b, bool chunked) {
    char body[2048];
    memset(body, 'x', sizeof body);
    memcpy(body, "{\"prompt\":\"", 11);
    memcpy(body + sizeof body - 2, "\"}", 2);
    buffer_puts(
        b, "POST /nope HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nAccept: application/json\r\n"
           "Accept-Encoding: gzip, deflate\r\nUser-Agent: OpenAI/Python 1.99.0\r\n"
           "Authorization: Bearer EMPTY\r\nContent-Type: application/json\r\n"
           "X-Stainless-Lang: python\r\nX-Stainless-OS: Linux\r\nX-Stainless-Async: false\r\n");
    if (chunked) {
        buffer_puts(b, "Transfer-Encoding: chunked\r\n\r\n");
        for (size_t at = 0; at < sizeof body; at += 16) {
            buffer_puts(b, "10\r\n");
            buffer_add(b, body + at, 16);
            buffer_puts(b, "\r\n");
        }
        buffer_puts(b, "0\r\n\r\n");
    } else {
        buffer_printf(b, "Content-Length: %zu\r\n\r\n", sizeof body);
        buffer_add(b, body, sizeof body);
    }
}

static void bench_requests(int fd, const char *kind, int n) {
    struct buffer b = {0};
    if (!strcmp(kind, "get"))
        buffer_puts(&b, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    else
        post(&b, !strcmp(kind, "chunked"));
    buffer_add(&b, "", 1);
    INVARIANT(!b.failed);
    ask(fd, b.bytes, "}\n");
    double cpu = cpu_s();
    for (int i = 0; i < n; i++) ask(fd, b.bytes, "}\n");
    printf("%d of %s: processor %.2f us a request\n", n, kind, (cpu_s() - cpu) / n * 1e6);
    buffer_release(&b);
}

static void bench_answers(int fd, const char *request, int answers) {
    ask(fd, request, stream_end); /* the first one makes what the others find */
    double cpu = cpu_s();
    int64_t began = clock_monotonic_ns();
    for (int i = 0; i < answers; i++) ask(fd, request, stream_end);
    double s = (double)(clock_monotonic_ns() - began) * 1e-9, n = (double)answers * TOKENS;
    printf("%d answers of %d tokens: %.0f tokens/s, %.1f us a token, of which processor %.1f us\n",
           answers, TOKENS, n / s, s / n * 1e6, (cpu_s() - cpu) / n * 1e6);
}

int main(int argc, char **argv) {
    bool requests = argc > 3 && !strcmp(argv[1], "requests");
    int answers = argc > 1 ? atoi(argv[1]) : 200,
        step_us = argc > 2 && !requests ? atoi(argv[2]) : 0;
    struct err e;
    struct fake *fake = fake_create(1, 32, 256, 256);
    struct tokenizer *t = fake_tokenizer();
    struct records *records = records_create(-1, 0, clock_monotonic(), &e);
    if (!records || records_keep_log(records, &e)) return 1;
    struct engine_options eo = {.backend = &fake->b,
                                .tokenizer = t,
                                .records = records,
                                .policy = policy_learner(),
                                .policy_arg = "",
                                .clock = clock_monotonic(),
                                .max_waiting = 4};
    struct engine *g = engine_create(&eo, &e);
    INVARIANT(g && !engine_start(g, &e));
    struct http_options ho = {.host = "127.0.0.1",
                              .model_name = "fake",
                              .engine = g,
                              .records = records,
                              .tokenizer = t,
                              .clock = clock_monotonic()};
    struct http *h = http_start(&ho, &e);
    INVARIANT(h);
    char body[200], request[400];
    snprintf(body, sizeof body,
             "{\"model\":\"fake\",\"prompt\":\"p\",\"max_tokens\":%d,\"ignore_eos\":true,"
             "\"stream\":true,\"temperature\":0}",
             TOKENS);
    snprintf(request, sizeof request,
             "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    char text[TOKENS + 1];
    memset(text, 'x', TOKENS);
    text[TOKENS] = '\0';
    fake_say(fake, text);
    fake->delay_ns = step_us * 1000;
    int fd = connect_to(http_port(h));
    if (requests)
        bench_requests(fd, argv[2], atoi(argv[3]));
    else
        bench_answers(fd, request, answers);
    close(fd);
    engine_stop(g);
    engine_join(g);
    http_stop(h);
    engine_free(g);
    records_free(records);
    tokenizer_free(t);
    backend_free(&fake->b);
    return 0;
}
