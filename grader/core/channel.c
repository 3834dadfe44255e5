/* channel.c: asks a submission's process one case. See channel.h. */
#include "core/channel.h"

#include "core/wire.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { POLL_MS = 10 };

int channel_open(struct channel *ch, struct err *e) {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
        return err_set(e, "socketpair: %s", strerror(errno));
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    *ch = (struct channel){fds[0], fds[1], 0};
    return 0;
}

void channel_close_child(struct channel *ch) {
    if (ch->child_fd >= 0) close(ch->child_fd);
    ch->child_fd = -1;
}

void channel_close(struct channel *ch) {
    channel_close_child(ch);
    if (ch->fd >= 0) close(ch->fd);
    ch->fd = -1;
}

/* Waits until the channel is ready for `events` or the submission printed something; meanwhile
 * takes its output and checks the deadline. False when the run must end. */
static bool wait_ready(struct channel *ch, struct sandbox_run *run, short events) {
    struct pollfd p[2] = {{ch->fd, events, 0}, {run->output_fd, POLLIN, 0}};
    poll(p, run->output_fd >= 0 ? 2 : 1, POLL_MS);
    return sandbox_pump(run) == 0;
}

static enum channel_answer transfer(struct channel *ch, struct sandbox_run *run, void *buf,
                                    size_t n, bool sending) {
    for (unsigned char *at = buf; n > 0;) {
        ssize_t got = sending ? send(ch->fd, at, n, MSG_NOSIGNAL) : recv(ch->fd, at, n, 0);
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (!wait_ready(ch, run, sending ? POLLOUT : POLLIN)) return CHANNEL_LATE;
        } else {
            return CHANNEL_CLOSED; /* end, EPIPE or reset */
        }
    }
    return CHANNEL_OK;
}

static enum channel_answer receive_todo(struct channel *ch, struct sandbox_run *run, size_t n,
                                        char todo[64]) {
    char name[48];
    if (n == 0 || n > sizeof name) return CHANNEL_GARBAGE;
    enum channel_answer a = transfer(ch, run, name, n, false);
    if (a == CHANNEL_OK) text_clean(todo, 64, name, n);
    return a == CHANNEL_OK ? CHANNEL_TODO : a;
}

enum channel_answer channel_greet(struct channel *ch, struct sandbox_run *run) {
    struct wire_header h;
    enum channel_answer a = transfer(ch, run, &h, sizeof h, false);
    if (a != CHANNEL_OK) return a;
    return h.magic == WIRE_MAGIC && h.type == WIRE_HELLO && h.length == 0 ? CHANNEL_OK
                                                                          : CHANNEL_GARBAGE;
}

static enum channel_answer send_with_nonce(struct channel *ch, struct sandbox_run *run,
                                           enum wire_type type, const void *bytes, size_t n,
                                           uint64_t *nonce) {
    struct wire_header h = {WIRE_MAGIC, type, 0, (uint32_t)n, 0};
    if (getrandom(&h.nonce, sizeof h.nonce, 0) != sizeof h.nonce) return CHANNEL_LATE;
    *nonce = h.nonce;
    enum channel_answer a = transfer(ch, run, &h, sizeof h, true);
    return a == CHANNEL_OK ? transfer(ch, run, (void *)(uintptr_t)bytes, n, true) : a;
}

/* Reads a query of n bytes and sends the reply with a new nonce. */
static enum channel_answer serve_query(struct channel *ch, struct sandbox_run *run, size_t n,
                                       const struct channel_server *server, uint64_t *nonce) {
    unsigned char query[WIRE_MAX_QUERY], reply[WIRE_MAX_REPLY];
    if (n > sizeof query) return CHANNEL_GARBAGE;
    enum channel_answer a = transfer(ch, run, query, n, false);
    if (a != CHANNEL_OK) return a;
    int len = server->serve(server->ctx, query, n, reply, sizeof reply);
    if (len < 0) return CHANNEL_GARBAGE;
    return send_with_nonce(ch, run, WIRE_REPLY, reply, (size_t)len, nonce);
}

enum channel_answer channel_ask(struct channel *ch, struct sandbox_run *run, const void *bytes,
                                size_t n, int64_t *slots, size_t n_slots,
                                const struct channel_server *server, char todo[64]) {
    struct wire_header back;
    uint64_t nonce = 0;
    enum channel_answer a = send_with_nonce(ch, run, WIRE_CASE, bytes, n, &nonce);
    for (;;) {
        /* a child that has ended may have sent an answer or a TODO before */
        if (a == CHANNEL_OK || a == CHANNEL_CLOSED)
            a = transfer(ch, run, &back, sizeof back, false);
        if (a != CHANNEL_OK) return a;
        if (back.magic != WIRE_MAGIC || back.nonce != nonce ||
            (back.heap != 0 && back.type != WIRE_ANSWER))
            return CHANNEL_GARBAGE;
        ch->heap = back.heap;
        if (back.type != WIRE_QUERY || !server) break;
        a = serve_query(ch, run, back.length, server, &nonce);
        if (a == CHANNEL_GARBAGE) return a;
    }
    if (back.type == WIRE_TODO) return receive_todo(ch, run, back.length, todo);
    if (back.type != WIRE_ANSWER || back.length != n_slots * sizeof *slots) return CHANNEL_GARBAGE;
    a = transfer(ch, run, slots, n_slots * sizeof *slots, false);
    if (a == CHANNEL_OK) sandbox_progress(run);
    return a;
}

char *channel_last_words(struct channel *ch, struct sandbox_run *run, size_t cap, size_t *n) {
    char *text = malloc(cap + 1);
    *n = 0;
    if (!text || shutdown(ch->fd, SHUT_WR)) {
        free(text);
        return NULL;
    }
    for (;;) {
        ssize_t got = recv(ch->fd, text + *n, cap + 1 - *n, 0);
        if (got > 0 && (*n += (size_t)got) <= cap) continue;
        if (got == 0) break;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN && wait_ready(ch, run, POLLIN)) continue;
        free(text);
        return NULL;
    }
    text[*n] = '\0';
    return text;
}
