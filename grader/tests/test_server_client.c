/* test_server_client.c: a part of an answer isn't an answer, and a server that ended is named as
 * the reason (lab04/server_client.h). */
#include "lab04/server_client.h"

#include "base/clock.h"
#include "testing/check_main.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *reply;
    bool ends, whole; /* the process ends; the reply is an answer */
    const char *problem;
} replies[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", false, true, ""},
    {"HTTP/1.1 200 OK\r\n\r\nuntil the close", false, true, ""},
    {"HTTP/1.1 200 OK\r\n\r\ncontent-length: 99\r\n", false, true, ""},
    {"HTTP/1.1 200 OK\r\ncontent-length:3\r\n\r\n{}", false, false, "in the middle"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{}", false, false, "in the middle"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", false, false, "in the middle"},
    {"HTTP/1.1 20", false, false, "in the middle"},
    {"", false, false, "without an answer"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", true, false, "process ended"},
    {"HTTP/1.1 20", true, false, "process ended"},
    {"", true, false, "process ended"},
};

/* Answers one connection with `reply`; with `ends` nothing of it is left afterwards. */
static void serve_one(int listener, const char *reply, bool ends) {
    char request[64];
    int fd = accept(listener, NULL, NULL);
    if (read(fd, request, sizeof request) < 0) _exit(1);
    if (write(fd, reply, strlen(reply)) < 0) _exit(1);
    close(fd);
    while (!ends) pause();
    _exit(0);
}

START_TEST(a_part_of_an_answer_is_none) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/servelab-client-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(at.sun_path, sizeof at.sun_path, "%s/s", folder);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(listener, 4), 0);
    pid_t server = fork();
    if (server == 0) serve_one(listener, replies[_i].reply, replies[_i].ends);
    close(listener);

    struct sandbox_run run = {
        .pid = server, .output_fd = -1, .deadline_ns = clock_monotonic_ns() + 60 * NS_PER_S};
    struct server_link link = {.path = at.sun_path, .run = &run};
    char *got = server_receive(&link, server_send(&link, "GET\r\n\r\n", 7), 0, 30000);
    if (replies[_i].whole)
        ck_assert_pstr_eq(got, replies[_i].reply);
    else
        ck_assert_msg(!got && strstr(link.problem, replies[_i].problem), "%s", link.problem);
    ck_assert_int_eq(link.ended, replies[_i].ends);
    free(got);
    if (!replies[_i].ends) kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    unlink(at.sun_path);
    rmdir(folder);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("server_client");
    TCase *tc = tcase_create("replies");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, a_part_of_an_answer_is_none, 0,
                        (int)(sizeof replies / sizeof *replies));
    suite_add_tcase(suite, tc);
    return check_main(suite);
}
