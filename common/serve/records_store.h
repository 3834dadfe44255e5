/* records_store.h: the store behind records.h, shared by records.c and records_log.c. Private to
 * them.
 *
 * Locks: the store's lock guards the list, the buckets, the reference counts and the states; a
 * record's own lock guards its content. Code that needs both takes the record's lock first. Nothing
 * slow happens under the store's lock: a line is written with only its record locked, and nothing
 * stamps a record that has ended.
 */
#ifndef SERVELAB_SERVE_RECORDS_STORE_H
#define SERVELAB_SERVE_RECORDS_STORE_H

#include "serve/records.h"

enum { BUCKETS = 4096 };

/* Records in the order in which they came into the queue. */
struct record_queue {
    struct live_record *first, *last;
    int n;
};

struct records {
    pthread_mutex_t lock;
    struct live_record *bucket[BUCKETS];
    struct live_record *newest, *oldest;
    /* Each record that has ended is in one of these, so that nobody walks over the others to find
     * one: a busy server has thousands of each. waiting: for the client's half, the next one due
     * first. due: at once, because both halves are there. */
    struct record_queue waiting, due, logged;
    int32_t n;
    int64_t n_events; /* of the records that ended */
    int64_t grace_ns;
    struct clock clock;
    int log_fd;
    bool log_fails; /* the last write failed: a due record may be forgotten without a line */
    int64_t n_lost; /* records that will never be in the log */
    struct err why; /* why the last record was lost; until then, the last write error */
    uint32_t run;   /* random; part of the ids made in this run */
    uint64_t made;  /* ids made so far */
    pthread_t log_thread;
    pthread_cond_t log_stop;      /* ends the thread's wait */
    bool log_runs;                /* the thread was started and hasn't been asked to end */
    pthread_mutex_t metrics_lock; /* guards the next; taken last */
    struct metrics metrics;
};

/* Sets up what the log needs (records_create). */
void records_log_init(struct records *rs);
/* Moves it from its queue to the end of this one. Under the store's lock. */
void records_queue(struct live_record *l, struct record_queue *q);
/* It is logged now. Under the store's lock. */
void records_set_logged(struct records *rs, struct live_record *l);
/* One reader fewer; forgets old records beyond the bounds. */
void records_done_reading(struct records *rs, struct live_record *l);

#endif
