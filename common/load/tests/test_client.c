/* test_client.c: what client.h promises of one request's socket and of its stamps. The server is a
 * thread of this process, so it can look at the client's end of the connection.
 */
#include "testing/check_main.h"

#include "base/buffer.h"
#include "load/client.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNKS = 50, DESCRIPTORS = 1024 };

struct answerer {
    int listener;
    in_port_t port; /* in network order */
    struct buffer reply;
    int clients_nodelay; /* TCP_NODELAY of the client's end; -1: it wasn't found */
};

static int nodelay_of_client(in_port_t port) {
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        struct sockaddr_in peer;
        socklen_t n = sizeof peer, size = sizeof(int);
        int on = 0;
        if (getpeername(fd, (struct sockaddr *)&peer, &n) || peer.sin_port != port) continue;
        return getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size) ? -1 : on != 0;
    }
    return -1;
}

/* Answers one request, all of it in one write. */
static void *answer(void *ctx) {
    struct answerer *a = ctx;
    static char asked[8192];
    size_t n = 0;
    int fd = accept(a->listener, NULL, NULL);
    while (!strstr(asked, "\"include_usage\":true}}")) {
        ssize_t got = read(fd, asked + n, sizeof asked - 1 - n);
        if (got <= 0) break;
        n += (size_t)got;
    }
    a->clients_nodelay = nodelay_of_client(a->port);
    if (write(fd, a->reply.bytes, a->reply.n) != (ssize_t)a->reply.n) a->clients_nodelay = -1;
    close(fd);
    return NULL;
}

static void listen_on_loopback(struct answerer *a) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    a->listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(a->listener, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(a->listener, 1), 0);
    ck_assert_int_eq(getsockname(a->listener, (struct sockaddr *)&at, &n), 0);
    a->port = at.sin_port;
}

START_TEST(each_send_leaves_at_once_and_each_read_has_one_stamp) {
    struct answerer a = {.clients_nodelay = -1};
    struct load_client c;
    struct load_seen seen;
    const struct load_request q = {
        .model = "m", .prompt = "p", .request_id = "r-1", .attempt = 1, .keep_chunks = true};
    struct err e;
    char url[64];
    pthread_t server;
    listen_on_loopback(&a);
    buffer_puts(&a.reply, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                          "Connection: close\r\n\r\n");
    for (int i = 0; i < CHUNKS; i++)
        buffer_puts(&a.reply, "data: {\"choices\":[{\"text\":\"x\"}]}\n\n");
    buffer_puts(&a.reply, "data: [DONE]\n\n");
    ck_assert_int_eq(pthread_create(&server, NULL, answer, &a), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(a.port));
    ck_assert_int_eq(load_client_init(&c, url, 60, &e), 0);
    ck_assert_int_eq(load_complete(&c, &q, &seen, &e), 0);
    pthread_join(server, NULL);
    ck_assert_str_eq(seen.problem, "");
    ck_assert_int_eq(a.clients_nodelay, 1);
    /* parsing 50 chunks takes time, but it is not in their stamps */
    ck_assert_uint_eq(seen.n_chunks, CHUNKS);
    for (int i = 0; i < CHUNKS; i++) ck_assert_int_eq(seen.chunk_ns[i], seen.first_ns);
    ck_assert_int_lt(seen.submitted_ns, seen.first_ns);
    ck_assert_int_lt(seen.first_ns, seen.final_ns);
    load_seen_release(&seen);
    load_client_release(&c);
    buffer_release(&a.reply);
    close(a.listener);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("client");
    TCase *c = tcase_create("one request");
    tcase_add_test(c, each_send_leaves_at_once_and_each_read_has_one_stamp);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return check_main(suite());
}
