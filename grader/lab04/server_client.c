/* server_client.c: see server_client.h. */
#include "lab04/server_client.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, TURN_MS = 10 };

static bool alive(struct server_link *l) {
    if (!sandbox_pump(l->run) && !sandbox_ended(l->run)) return true;
    l->problem = "the server's process ended";
    l->ended = true;
    return false;
}

/* Whether an answer can still come. */
static bool hopeful(struct server_link *l) {
    if (!alive(l)) return false;
    l->stalled = stall_look(&l->watch, l->run->pid);
    return l->stalled == STALL_NONE;
}

static void begin_wait(struct server_link *l, const char *problem) {
    l->problem = problem;
    l->watch = (struct stall_watch){0};
}

/* A connection is often closed because the process ends: waits a moment for that reason. */
static void gone(struct server_link *l, const char *problem) {
    l->problem = problem;
    for (int turn = 0; turn < 100 && alive(l); turn++) usleep(TURN_MS * 1000);
}

/* Whether the reply that ended here, a NUL behind it, has as many bytes as its head says. */
static bool complete(const char *reply, size_t n) {
    static const char length[] = "\r\ncontent-length:";
    const char *body = strstr(reply, "\r\n\r\n"), *says = strcasestr(reply, length);
    if (!body) return false;
    if (!says || says > body) return true; /* the close ends it */
    size_t got = n - (size_t)(body + 4 - reply);
    return strtoull(says + sizeof length - 1, NULL, 10) == got;
}

static int dial(const struct server_link *l) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(l->path) >= sizeof at.sun_path) return -1;
    strcpy(at.sun_path, l->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

bool server_wait(struct server_link *l, int ms) {
    begin_wait(l, "the server does not listen on its socket");
    for (int64_t until = clock_monotonic_ns() + ms * NS_PER_MS; clock_monotonic_ns() < until;) {
        int fd = dial(l);
        if (fd >= 0) {
            close(fd);
            return true;
        }
        if (!hopeful(l)) break;
        usleep(TURN_MS * 1000);
    }
    return false;
}

int server_send(struct server_link *l, const char *bytes, size_t n) {
    int fd = dial(l);
    while (fd >= 0 && n > 0) { /* a request is far smaller than a socket's buffer */
        ssize_t put = send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put <= 0) {
            close(fd);
            return -1;
        }
        bytes += put;
        n -= (size_t)put;
    }
    return fd;
}

char *server_receive(struct server_link *l, int fd, size_t least, int ms) {
    char *got = fd >= 0 ? malloc(MOST_BYTES + 1) : NULL;
    size_t n = 0;
    bool whole = false;
    begin_wait(l, "no answer came in time");
    if (fd < 0) gone(l, "it could not be sent");
    for (int64_t until = clock_monotonic_ns() + ms * NS_PER_MS;
         got && !whole && n < MOST_BYTES && clock_monotonic_ns() < until && hopeful(l);) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, TURN_MS) <= 0) continue;
        ssize_t more = recv(fd, got + n, MOST_BYTES - n, MSG_DONTWAIT);
        if (more < 0 && errno == EAGAIN) continue;
        n += more > 0 ? (size_t)more : 0;
        got[n] = '\0';
        if (more < 0 || (more == 0 && !complete(got, n))) {
            gone(l, n ? "the connection was closed in the middle of an answer"
                      : "the connection was closed without an answer");
            break;
        }
        whole = more == 0 || (least > 0 && n >= least);
    }
    if (fd >= 0) close(fd);
    if (whole) return got;
    free(got);
    return NULL;
}
