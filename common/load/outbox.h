/* outbox.h: completes the record of an ended answer: posts the client's half to the server, fetches
 * the joined record, and writes it as a line of the log.
 *
 * These exchanges use separate connections, at most OUTBOX_AT_ONCE at a time, and begin only after
 * the answer has ended; the generator calls it when no send is due. A record that the server
 * does not have (another maker's; forgotten meanwhile) is the client's half alone. So are those of
 * all answers that ended before OUTBOX_AT_ONCE exchanges in a row met silence: a server that hangs
 * must not cost LOAD_ASK_S for each record.
 */
#ifndef SERVELAB_LOAD_OUTBOX_H
#define SERVELAB_LOAD_OUTBOX_H

#include "load/client.h"
#include "load/wire.h"

#include <stdio.h>

enum {
    OUTBOX_AT_ONCE = 2,   /* one being answered while the next one is sent */
    OUTBOX_SETTLE_MS = 20 /* the server's last event follows the last byte by microseconds */
};

/* One request on its way, from its schedule to its record. */
struct flight {
    struct load_request request;
    struct load_seen seen;
    struct load_transfer *transfer;
    void *curl;
    int32_t *ids;
    char *text;
    int64_t row;           /* results.h */
    int32_t prompt_tokens; /* as drawn */
    bool check;
    struct flight *next, *before;
    struct outbox_post *post; /* outbox.c */
};
/* Frees it and all that it has but `curl`. */
void flight_free(struct flight *f);

struct outbox_counts {
    int64_t joined;    /* records of both halves */
    int64_t forgotten; /* the server has no such record (any more) */
    int64_t refused;   /* the server didn't take the client's half, or answered no record of it */
    int64_t unasked;   /* it had met silence, or the load was stopped: the server wasn't asked */
};

struct outbox {
    const struct load_client *client;
    struct wire *wire;
    FILE *log;
    bool joins; /* the server keeps records */
    struct flight *first, **last;
    int64_t waiting;                     /* flights in the list */
    struct flight *busy[OUTBOX_AT_ONCE]; /* asking the server just now: (active) */
    int active;
    void *spare[OUTBOX_AT_ONCE]; /* easy handles; NULL: in use, or not made */
    int n_spare;
    struct outbox_counts counts;
    int silent;         /* exchanges in a row that got no answer in time */
    int64_t silent_ns;  /* the server isn't asked about what ended until then */
    bool out_of_memory; /* a record was lost */
};

void outbox_init(struct outbox *o, const struct load_client *client, struct wire *wire, FILE *log,
                 bool joins);
void outbox_release(struct outbox *o);

/* Takes over a flight whose transfer is concluded. */
void outbox_add(struct outbox *o, struct flight *f);

/* Begins what can begin and finishes what is done; writes at most one record that needs no server.
 * Returns when to call it again: INT64_MAX, nothing is left to begin. */
int64_t outbox_step(struct outbox *o);

static inline bool outbox_empty(const struct outbox *o) {
    return o->waiting == 0 && o->active == 0;
}

/* Writes all records that are left with the client's half alone, without asking the server. */
void outbox_give_up(struct outbox *o);

#endif
