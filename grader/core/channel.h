/* channel.h: the grader's end of the channel to a submission's process. Questions go out one at a
 * time, each with a fresh nonce; an answer is taken only when it repeats it and has exactly the
 * length that the case calls for. Everything else that comes is "not an answer", named as such.
 * Never blocks past the run's deadline. The frames are wire.h's.
 */
#ifndef SERVELAB_GRADER_CORE_CHANNEL_H
#define SERVELAB_GRADER_CORE_CHANNEL_H

#include "core/sandbox.h"

#include <stddef.h>
#include <stdint.h>

struct channel {
    int fd;       /* ours */
    int child_fd; /* the child's, until it is started */
};

int channel_open(struct channel *ch, struct err *e);
void channel_close_child(struct channel *ch); /* after the fork */
void channel_close(struct channel *ch);

enum channel_answer {
    CHANNEL_OK,
    CHANNEL_TODO,    /* the starter's LAB_TODO; `todo` names the function */
    CHANNEL_CLOSED,  /* the child ended or closed the channel before it answered */
    CHANNEL_GARBAGE, /* bytes that are no answer to this question */
    CHANNEL_LATE     /* the run was over its time or its output */
};

/* Waits for the child's greeting, which it sends before any function of the submission runs. */
enum channel_answer channel_greet(struct channel *ch, struct sandbox_run *run);

/* Answers what the child asks back in the middle of a case. serve returns the reply's length, at
 * most cap; -1 when bytes[0..n) is no question, which makes it CHANNEL_GARBAGE. */
struct channel_server {
    int (*serve)(void *ctx, const void *bytes, size_t n, void *reply, size_t cap);
    void *ctx;
};

/* Sends bytes[0..n) as one case, and waits for n_slots values. `server` is NULL where the child has
 * nothing to ask back. */
enum channel_answer channel_ask(struct channel *ch, struct sandbox_run *run, const void *bytes,
                                size_t n, int64_t *slots, size_t n_slots,
                                const struct channel_server *server, char todo[64]);

/* Tells the child that no case will follow, and takes what it still sends until it closes its end,
 * which it does by ending. malloc'ed, NUL-terminated; NULL when that were more than cap bytes, or
 * time was up. */
char *channel_last_words(struct channel *ch, struct sandbox_run *run, size_t cap, size_t *n);

#endif
