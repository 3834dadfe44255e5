/* records_log.c: the log of request records: which lines are due, writing them, and the thread that
 * does so. See records.h.
 */
#include "serve/records_store.h"

#include <stdio.h>
#include <time.h>

static const int64_t look_ns = 50 * NS_PER_MS;  /* stated in records.h */
static const int64_t report_ns = 10 * NS_PER_S; /* between two reports of how many were lost */

void records_hurry(struct records *rs, int64_t grace_ns) {
    pthread_mutex_lock(&rs->lock);
    int64_t latest = clock_now_ns(&rs->clock) + grace_ns;
    rs->grace_ns = grace_ns;
    for (struct live_record *l = rs->waiting.first; l; l = l->next)
        if (l->log_at_ns > latest) l->log_at_ns = latest;
    pthread_mutex_unlock(&rs->lock);
}

/* The next record whose line is due, to be given back by records_done_reading, or NULL. */
static struct live_record *next_due(struct records *rs, bool all) {
    pthread_mutex_lock(&rs->lock);
    struct live_record *l = rs->due.first ? rs->due.first : rs->waiting.first;
    if (l && !all && l->log_at_ns > clock_now_ns(&rs->clock)) l = NULL;
    if (l) l->readers++;
    pthread_mutex_unlock(&rs->lock);
    return l;
}

static int count_ended(struct records *rs) {
    pthread_mutex_lock(&rs->lock);
    int n = rs->waiting.n + rs->due.n;
    pthread_mutex_unlock(&rs->lock);
    return n;
}

/* A record that can't be a line counts as lost, so that later records don't wait for it. */
static void settle_line(struct records *rs, struct live_record *l, int rc, const struct err *why) {
    rs->log_fails = rc != 0 && rc != RECORD_NEVER_A_LINE;
    if (rc == RECORD_NEVER_A_LINE) {
        char text[sizeof why->text];
        rs->n_lost++;
        err_set(&rs->why, "request %s, attempt %d, isn't a valid record: %s", l->id, l->attempt,
                err_format(why, NULL, text, sizeof text));
    } else if (rc) {
        rs->why = *why;
    }
    if (!rs->log_fails) records_set_logged(rs, l); /* a half posted from here on comes too late */
}

/* Writes one line, unless another thread has just done it. -1 when the log didn't take it. */
static int write_line(struct records *rs, struct live_record *l, struct err *e) {
    struct err why;
    pthread_mutex_lock(&l->lock);
    pthread_mutex_lock(&rs->lock);
    bool mine = l->state == LIVE_ENDED; /* only changed under both locks from here on */
    pthread_mutex_unlock(&rs->lock);
    int rc = mine && rs->log_fd >= 0 ? record_append(rs->log_fd, &l->record, &why) : 0;
    pthread_mutex_lock(&rs->lock);
    if (mine) settle_line(rs, l, rc, &why);
    bool failed = mine && rs->log_fails;
    pthread_mutex_unlock(&rs->lock);
    pthread_mutex_unlock(&l->lock);
    if (failed && e) *e = why;
    return failed ? -1 : 0;
}

int records_flush(struct records *rs, bool all, struct err *e) {
    int rc = 0;
    for (struct live_record *l; !rc && (l = next_due(rs, all));) {
        rc = write_line(rs, l, e);
        records_done_reading(rs, l);
    }
    return rc ? -1 : count_ended(rs);
}

int64_t records_lost(struct records *rs, struct err *e) {
    pthread_mutex_lock(&rs->lock);
    int64_t n = rs->n_lost;
    if (n > 0 && e) *e = rs->why;
    pthread_mutex_unlock(&rs->lock);
    return n;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* What was reported on stderr, so that the same problem isn't reported twenty times a second. */
struct reported {
    bool failing;
    int64_t lost, lost_at_ns;
};

static void flush_and_report(struct records *rs, struct reported *r) {
    struct err e;
    bool failed = records_flush(rs, false, &e) < 0;
    if (failed && !r->failing)
        fprintf(stderr, "servelab serve: the log takes no lines: %s; I keep trying\n", e.text);
    r->failing = failed;
    int64_t lost = records_lost(rs, &e), now = clock_monotonic_ns();
    if (lost == r->lost || (r->lost > 0 && now < r->lost_at_ns + report_ns)) return;
    fprintf(stderr, "servelab serve: %lld record%s could not be logged so far: %s\n",
            (long long)lost, lost == 1 ? "" : "s", e.text);
    r->lost = lost;
    r->lost_at_ns = now;
}

static void *run(void *ctx) {
    struct records *rs = ctx;
    struct reported reported = {0};
    pthread_mutex_lock(&rs->lock);
    while (rs->log_runs) {
        pthread_mutex_unlock(&rs->lock);
        flush_and_report(rs, &reported);
        pthread_mutex_lock(&rs->lock);
        int64_t until = clock_monotonic_ns() + look_ns;
        struct timespec t = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
        if (rs->log_runs) pthread_cond_timedwait(&rs->log_stop, &rs->lock, &t);
    }
    pthread_mutex_unlock(&rs->lock);
    return NULL;
}

void records_log_init(struct records *rs) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&rs->log_stop, &attr);
    pthread_condattr_destroy(&attr);
}

int records_keep_log(struct records *rs, struct err *e) {
    rs->log_runs = true; /* no other thread yet */
    if (!pthread_create(&rs->log_thread, NULL, run, rs)) return 0;
    rs->log_runs = false;
    return err_set(e, "the thread that writes the log can't be started");
}

static void stop_thread(struct records *rs) {
    pthread_mutex_lock(&rs->lock);
    bool runs = rs->log_runs;
    rs->log_runs = false;
    pthread_cond_signal(&rs->log_stop);
    pthread_mutex_unlock(&rs->lock);
    if (runs) pthread_join(rs->log_thread, NULL);
}

int64_t records_finish(struct records *rs, struct err *e) {
    stop_thread(rs);
    records_flush(rs, true, NULL);
    pthread_mutex_lock(&rs->lock);
    for (struct live_record *l; (l = rs->due.first ? rs->due.first : rs->waiting.first);) {
        records_set_logged(rs, l);
        rs->n_lost++;
    }
    pthread_mutex_unlock(&rs->lock);
    return records_lost(rs, e);
}
