/* records.h: the request records of a running server: made, joined with the client's half, kept,
 * and written to the log.
 *
 * Offers: one live_record per attempt, which HTTP and engine stamp while the request lives; the
 * join with the events that the client posts; a bounded memory of the last records; the log, one
 * line a record, written once and whole: when both halves are there, or when the grace period after
 * the server's half is over. While the log takes no lines, records wait within the same bounds;
 * those that fall out of them are counted as lost, as is a record that can't be a line. Refuses: to
 * compute an interval (record/intervals.h), and to change an event that is there.
 *
 * What the log guarantees: a line is written as soon as both halves are there, or when the grace
 * period after the later end (of the request, of a half's post) is over; both are looked for every
 * 50 ms (http_watch.c). A process that is killed (kill -9) therefore loses the records of requests
 * that live, those within their grace period that lack the client's half, and what became due in
 * the last 50 ms; what is in the log stays whole. A request to stop (records_hurry, records_finish)
 * loses nothing. Nothing is synced to the disk: a power failure can take more.
 *
 * `delivered` follows from the events: the server's response_finished without an error, and all six
 * events that make a delivered record (record.h). A client that never posts its half leaves a
 * valid record in which that is unknown, hence not true.
 */
#ifndef SERVELAB_SERVE_RECORDS_H
#define SERVELAB_SERVE_RECORDS_H

#include "base/clock.h"
#include "record/record.h"

#include <pthread.h>

enum {
    RECORDS_KEPT = 4096,               /* attempts a lecture may want to look back on */
    RECORDS_KEPT_EVENTS = 1000 * 1000, /* and 88 MB of their events at most */
    RECORDS_POSTED_EVENTS = 16,        /* a client has three events; some room for its next ones */
    RECORD_ID_BYTES = 63               /* of X-Request-Id: letters, digits, and ._- */
};

enum live_state {
    LIVE_OPEN,  /* the request lives */
    LIVE_ENDED, /* the server's half is complete; the client's may come */
    LIVE_LOGGED /* its line is in the log (or there is no log, or it can't be a line) */
};

struct live_record {
    char id[RECORD_ID_BYTES + 1]; /* these two never change: read them without a lock */
    int32_t attempt;
    pthread_mutex_t lock;
    struct record record; /* guarded by lock */
    /* guarded by the store's lock: */
    int workers; /* who may still stamp it: the connection, the engine */
    int readers; /* who looks at it just now */
    enum live_state state;
    int64_t log_at_ns;
    int64_t n_counted;                 /* its events in the store's sum */
    struct live_record *newer, *older; /* in the order of acceptance */
    struct live_record *chain;         /* in its hash bucket */
};

struct records;

/* log_fd: open for appending, or -1 for no log. The caller closes it after records_free. */
struct records *records_create(int log_fd, int64_t grace_ns, struct clock clock, struct err *e);
/* Frees everything, after records_finish where that wasn't called. No record may be in use. */
void records_free(struct records *rs);

/* Is `id` acceptable as a request id? */
bool records_valid_id(const char *id);

/* A new record for one attempt. id NULL: one is made. attempt 0: the first, or one more than the
 * highest that is known of this id. NULL and *e when (id, attempt) exists, or memory is out.
 * The caller works on it until it calls live_end. */
struct live_record *records_open(struct records *rs, const char *id, int32_t attempt,
                                 struct err *e);

/* One more works on it, and will call live_end, too. */
void live_share(struct records *rs, struct live_record *l);
/* The caller will add nothing any more. When the last one says so, the server's half is complete.
 */
void live_end(struct records *rs, struct live_record *l);

/* The client's half: {"events": [...], "attempt": N?, "quality": {...}?, "structure": {...}?,
 * "statement": "..."?}. Checked as a record is checked; nothing is taken unless all is good. */
enum records_post {
    POST_JOINED,   /* *logged_without tells whether the log line was written before it came */
    POST_INVALID,  /* 400: *e names the field */
    POST_CONFLICT, /* 409: the record has another value already */
    POST_UNKNOWN   /* 404 */
};
enum records_post records_join(struct records *rs, const char *id, int32_t attempt,
                               const cJSON *half, bool *logged_without, struct err *e);

/* Copies the joined record to *out, which the caller releases. False when it is unknown or memory
 * is out; then *out isn't set. attempt 0: the latest. */
bool records_get(struct records *rs, const char *id, int32_t attempt, struct record *out);
/* The last `limit` attempts, newest first: [{"request_id", "attempt", "state"}]. */
cJSON *records_list(struct records *rs, int32_t limit);

/* Starts the thread that writes due lines every 50 ms and reports a failing log on stderr;
 * records_finish ends it. Without it, the caller calls records_flush. -1 and *e when it can't
 * start.
 */
int records_keep_log(struct records *rs, struct err *e);

/* From now on the client has at most grace_ns (counted from now, or from the end of its request) to
 * post its half: the server wants to stop. */
void records_hurry(struct records *rs, int64_t grace_ns);

/* Writes the lines that are due (all: those still waiting for the client, too). Returns how many
 * records that ended are not in the log yet; -1 and *e when the log takes no lines (they stay due).
 * A record that can't be a line is passed over: see records_lost. */
int records_flush(struct records *rs, bool all, struct err *e);

/* How many records of this run will never be in the log, and in *e, if there are any, why the last
 * one won't. */
int64_t records_lost(struct records *rs, struct err *e);

/* Ends the thread, writes every record that ended, and counts those that the log doesn't take now
 * as lost. Returns records_lost. */
int64_t records_finish(struct records *rs, struct err *e);

#endif
