/* records.h: the store of a running server's request records: creates them, joins the client's
 * half, keeps the last ones, and writes them to the log.
 *
 * There is one live_record per attempt. The connection and the engine stamp it while the request is
 * running; the client posts its events later. Only the last records are kept (limits below). No
 * interval is computed here (record/intervals.h), and no event is ever changed.
 *
 * The log gets one line per record, written once and whole, as soon as both halves are there; or,
 * without the client's half, when the grace period is over. That begins at the end of the request,
 * and again at a post. A thread looks every 50 ms for lines that are due (records_keep_log). So
 * kill -9 loses the records of requests that are running, of requests within their grace period
 * that lack the client's half, and of those that became due in the last 50 ms; the lines in the log
 * stay whole. Stopping (records_hurry, records_finish) loses none. Nothing is synced to the disk: a
 * power failure can lose more.
 *
 * While the log takes no lines, records wait in memory, within the same limits. A record that is
 * forgotten before it is written counts as lost, and so does one that can't be a line.
 *
 * `delivered` follows from the events: the server's response_finished without an error, and all six
 * events of a delivered record (record.h). Without the client's half it is not known, so it is
 * false, and the record is valid.
 */
#ifndef SERVELAB_SERVE_RECORDS_H
#define SERVELAB_SERVE_RECORDS_H

#include "base/clock.h"
#include "record/record.h"
#include "serve/metrics.h"

#include <pthread.h>

enum {
    RECORDS_KEPT = 4096,               /* attempts that a lecture may want to look back on */
    RECORDS_KEPT_EVENTS = 1000 * 1000, /* 88 MB */
    RECORDS_POSTED_EVENTS = 16,        /* a client has three */
    RECORD_ID_BYTES = 63               /* of X-Request-Id: letters, digits, and ._- */
};

enum live_state {
    LIVE_OPEN,  /* the request is running */
    LIVE_ENDED, /* the server's half is complete; the client's may still come */
    LIVE_LOGGED /* its line is in the log (or there is no log, or it can't be a line) */
};

struct live_record {
    char id[RECORD_ID_BYTES + 1]; /* these two never change: no lock is needed to read them */
    int32_t attempt;
    pthread_mutex_t lock;
    struct record record; /* guarded by lock */
    /* guarded by the store's lock: */
    int workers; /* how many may still stamp it: the connection, the engine */
    int readers; /* how many are reading it */
    enum live_state state;
    int64_t log_at_ns;
    int64_t n_counted;                   /* its events in the store's sum */
    struct live_record *newer, *older;   /* in the order of acceptance */
    struct record_queue *queue;          /* (records_store.h); NULL while it is open */
    struct live_record *next, *previous; /* in that queue */
    struct live_record *chain;           /* in its hash bucket */
};

struct records;

/* log_fd: a descriptor opened for appending, or -1 for no log; the caller closes it after
 * records_free. NULL and *e when memory is out. */
struct records *records_create(int log_fd, int64_t grace_ns, struct clock clock, struct err *e);
/* Calls records_finish unless that was done, and frees everything. No record may be in use. */
void records_free(struct records *rs);

/* Is `id` acceptable as a request id? */
bool records_valid_id(const char *id);

/* A new record for one attempt, which the caller may stamp until it calls live_end. id NULL: an id
 * is made. attempt 0: 1, or one more than the highest known attempt of this id. NULL and *e when
 * (id, attempt) exists, which names X-Attempt, or memory is out. */
struct live_record *records_open(struct records *rs, const char *id, int32_t attempt,
                                 struct err *e);

/* Adds one caller that may stamp it and must call live_end, too. */
void live_share(struct records *rs, struct live_record *l);
/* The caller will not stamp it again. The last such call completes the server's half. */
void live_end(struct records *rs, struct live_record *l);

/* The client's half: {"events": [...], "attempt": N?, "quality": {...}?, "structure": {...}?,
 * "statement": "..."?}, where null counts as absent. It is checked like a record, and joined as a
 * whole or not at all. attempt 0: the latest. */
enum records_post {
    POST_JOINED,   /* *logged_without: the log's line was written before, so it lacks this half */
    POST_INVALID,  /* 400: *e names the field */
    POST_CONFLICT, /* 409: the record has another value already; *e names the field */
    POST_UNKNOWN   /* 404: there is no such record */
};
enum records_post records_join(struct records *rs, const char *id, int32_t attempt,
                               const cJSON *half, bool *logged_without, struct err *e);

/* Copies the joined record to *out, which the caller releases. False when it is unknown or memory
 * is out; then *out isn't set. attempt 0: the latest. */
bool records_get(struct records *rs, const char *id, int32_t attempt, struct record *out);
/* The last `limit` attempts, newest first: [{"request_id", "attempt", "state"}]. */
cJSON *records_list(struct records *rs, int32_t limit);

/* What the attempts did whose server's half is complete. Each is counted before it is in the log.
 */
void records_metrics(struct records *rs, struct metrics *out);

/* Starts the thread that writes due lines every 50 ms and reports a failing log on stderr;
 * records_finish ends it. Without it, the caller calls records_flush. -1 and *e when it can't
 * start.
 */
int records_keep_log(struct records *rs, struct err *e);

/* Shortens the grace period of a server that stops: from now on a client has at most grace_ns from
 * now, or from the end of its request, to post its half. */
void records_hurry(struct records *rs, int64_t grace_ns);

/* Writes the lines that are due; with `all` also those that wait for the client's half. Returns how
 * many ended records are not in the log yet; -1 and *e when a write failed, and the lines stay due.
 * A record that can't be a line counts as lost. */
int records_flush(struct records *rs, bool all, struct err *e);

/* How many records of this run will never be in the log. When there are any, *e says why the last
 * one was lost. */
int64_t records_lost(struct records *rs, struct err *e);

/* Ends the thread, writes every record that ended, and counts those that the log doesn't take now
 * as lost. Returns records_lost. */
int64_t records_finish(struct records *rs, struct err *e);

#endif
