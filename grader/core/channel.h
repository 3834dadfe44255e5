/* channel.h: the grader's end of the channel to a submission's process. Sends one question at a
 * time, each with a fresh nonce. An answer is accepted only if it repeats the nonce and has exactly
 * the length that the case needs; anything else is CHANNEL_GARBAGE. Never blocks beyond the run's
 * deadline. wire.h defines the frames. */
#ifndef SERVELAB_GRADER_CORE_CHANNEL_H
#define SERVELAB_GRADER_CORE_CHANNEL_H

#include "core/sandbox.h"

#include <stddef.h>
#include <stdint.h>

struct channel {
    int fd;        /* the grader's end */
    int child_fd;  /* the child's end, until the child is started */
    uint32_t heap; /* of the last answer: bytes in use on the child's heap */
};

int channel_open(struct channel *ch, struct err *e);
void channel_close_child(struct channel *ch); /* after the fork */
void channel_close(struct channel *ch);

enum channel_answer {
    CHANNEL_OK,
    CHANNEL_TODO,    /* the starter's LAB_TODO; `todo` names the function */
    CHANNEL_CLOSED,  /* the child ended or closed the channel before it answered */
    CHANNEL_GARBAGE, /* bytes that are not an answer to this question */
    CHANNEL_LATE     /* the run exceeded its time or its output */
};

/* Waits for the child's greeting, which it sends before it calls any function of the submission. */
enum channel_answer channel_greet(struct channel *ch, struct sandbox_run *run);

/* Answers a query of the child during a case. serve returns the reply's length, at most cap; -1
 * when bytes[0..n) is not a query: then the result is CHANNEL_GARBAGE. */
struct channel_server {
    int (*serve)(void *ctx, const void *bytes, size_t n, void *reply, size_t cap);
    void *ctx;
};

/* Sends bytes[0..n) as one case and waits for n_slots values. `server` is NULL if the child has no
 * queries. */
enum channel_answer channel_ask(struct channel *ch, struct sandbox_run *run, const void *bytes,
                                size_t n, int64_t *slots, size_t n_slots,
                                const struct channel_server *server, char todo[64]);

/* Closes the sending direction, by which the child sees that no case follows, and reads the rest of
 * its output until it ends. malloc'ed, NUL-terminated; NULL: more than cap bytes, or out of time.
 */
char *channel_last_words(struct channel *ch, struct sandbox_run *run, size_t cap, size_t *n);

#endif
