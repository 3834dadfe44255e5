/* recorder.c: see recorder.h. */
#include "sim/recorder.h"

#include "base/target.h"
#include "objective/point.h"
#include "record/intervals.h"
#include "record/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The events so far of one request in the system. */
struct stamp {
    int64_t t_ns;
    enum event_kind kind;
};
struct story {
    struct stamp *stamps;
    size_t n, cap;
};

/* One request's gaps in the pool; a request that isn't complete counts as one failed observation.
 */
struct share {
    int64_t arrival_ns;
    size_t first, n; /* in the pool */
    bool complete;
};

struct recorder {
    char model[96], path[4096], partial[4096 + 16];
    int fd;      /* -1: no log */
    bool stream; /* a device or a FIFO: written directly, not replaced */
    bool finished;
    struct story *stories; /* by id: (cap_stories) */
    size_t cap_stories;
    int64_t *pool; /* inter-token latencies */
    size_t n_pool, cap_pool;
    struct share *shares;
    size_t n_shares, cap_shares;
    int status; /* RECORDER_BAD or RECORDER_OURS after the first error, which is in `why` */
    struct err why;
};

/* Room for one more in a growing array. */
static void *grow(void *array, size_t *cap, size_t need, size_t size) {
    if (need <= *cap) return array;
    *cap = need * 2 > 64 ? need * 2 : 64;
    array = realloc(array, *cap * size);
    INVARIANT(array);
    return array;
}

/* Opens the partial log, emptied and locked until it is closed; -1 and *e. The lock is an OFD lock
 * because record_append takes and releases a flock. */
static int open_partial(const char *path, struct err *e) {
    for (;;) {
        int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0)
            return err_at(e, 0, "--records", "%s can't be written: %s", path, strerror(errno));
        struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        struct stat mine = {0}, there = {0};
        if (fcntl(fd, F_OFD_SETLK, &all) && (errno == EAGAIN || errno == EACCES)) {
            close(fd);
            return err_at(e, 0, "--records",
                          "%s is being written by another run; name another file, or wait", path);
        }
        /* another run may have renamed the file between open and lock: then try again */
        bool same = !fstat(fd, &mine) && !stat(path, &there) && mine.st_ino == there.st_ino &&
                    mine.st_dev == there.st_dev;
        if (same && S_ISREG(mine.st_mode) && !ftruncate(fd, 0)) return fd;
        close(fd);
        if (same) return err_at(e, 0, "--records", "%s is in the way; remove it", path);
    }
}

static int open_log(struct recorder *r, const char *path, struct err *e) {
    struct err why;
    int kind = target_find(path, r->path, sizeof r->path, &why);
    if (kind < 0) return err_at(e, 0, "--records", "%.300s %s", path, why.text);
    r->stream = kind == TARGET_STREAM;
    snprintf(r->partial, sizeof r->partial, "%s%s", r->path, r->stream ? "" : ".partial");
    if (!r->stream) return (r->fd = open_partial(r->partial, e));
    r->fd = open(r->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (r->fd >= 0) return 0;
    return err_at(e, 0, "--records", "%s can't be written: %s", r->path, strerror(errno));
}

struct recorder *recorder_create(const char *path, const char *model, struct err *e) {
    struct recorder *r = calloc(1, sizeof *r);
    INVARIANT(r);
    r->fd = -1;
    snprintf(r->model, sizeof r->model, "%s", model);
    if (!path || open_log(r, path, e) >= 0) return r;
    free(r);
    return NULL;
}

void recorder_event(void *ctx, int64_t id, enum event_kind kind, int64_t t_ns) {
    struct recorder *r = ctx;
    size_t at = (size_t)id, had = r->cap_stories;
    r->stories = grow(r->stories, &r->cap_stories, at + 1, sizeof *r->stories);
    if (r->cap_stories > had)
        memset(r->stories + had, 0, (r->cap_stories - had) * sizeof *r->stories);
    struct story *s = &r->stories[at];
    s->stamps = grow(s->stamps, &s->cap, s->n + 1, sizeof *s->stamps);
    s->stamps[s->n++] = (struct stamp){t_ns, kind};
}

/* ---- the record ---- */

static void add(struct record *rec, enum event_kind kind, int64_t t_ns) {
    struct event ev = {.kind = kind,
                       .clock = CLOCK_SIM,
                       .source = SRC_SIMULATOR,
                       .t_ns = t_ns,
                       .tokens = kind == EV_TOKEN_SENT,
                       .clock_api = "simulated"};
    struct err e;
    INVARIANT(!record_add_event(rec, &ev, &e));
}

/* Ends are skipped: the outcome has them. */
static bool is_end(enum event_kind kind) {
    return kind == EV_RESPONSE_FINISHED || kind == EV_REQUEST_REJECTED || kind == EV_REQUEST_FAILED;
}

static void add_events(struct record *rec, const struct story *s, const struct sim_outcome *o) {
    bool done = o->end == SIM_COMPLETED;
    add(rec, EV_REQUEST_SUBMITTED, o->request.arrival_ns);
    for (size_t i = 0; i < s->n; i++) {
        if (is_end(s->stamps[i].kind)) continue;
        add(rec, s->stamps[i].kind, s->stamps[i].t_ns);
        if (s->stamps[i].kind == EV_FIRST_TOKEN)
            add(rec, EV_FIRST_BYTE_RECEIVED, s->stamps[i].t_ns);
    }
    add(rec,
        done                   ? EV_RESPONSE_FINISHED
        : o->end == SIM_FAILED ? EV_REQUEST_FAILED
                               : EV_REQUEST_REJECTED,
        o->completion_ns);
    if (done) add(rec, EV_FINAL_BYTE_RECEIVED, o->completion_ns);
}

static void set_outcome(struct record *rec, const struct sim_outcome *o) {
    const struct sim_request *q = &o->request;
    bool done = o->end == SIM_COMPLETED, failed = o->end == SIM_FAILED;
    rec->outcome.delivered = done;
    rec->outcome.http_status = done ? 200 : failed ? 500 : 429;
    if (done)
        snprintf(rec->outcome.finish_reason, sizeof rec->outcome.finish_reason, "%s",
                 q->wanted_tokens > o->output_tokens ? "length" : "stop");
    else
        snprintf(rec->outcome.error, sizeof rec->outcome.error, "%s",
                 failed      ? "the server broke"
                 : o->reason ? o->reason
                             : "refused");
}

static void make_record(const struct recorder *r, const struct story *s,
                        const struct sim_outcome *o, struct record *rec) {
    record_init(rec);
    snprintf(rec->request_id, sizeof rec->request_id, "sim-%06lld", (long long)o->request.id);
    rec->attempt = 1;
    snprintf(rec->workload.model, sizeof rec->workload.model, "%s", r->model);
    snprintf(rec->workload.decoding, sizeof rec->workload.decoding, "simulated");
    rec->workload.prompt_tokens = o->request.prompt_tokens;
    rec->workload.max_output_tokens = o->request.max_output_tokens;
    rec->workload.output_tokens = o->output_tokens;
    rec->quality.verdict = VERDICT_NOT_EVALUATED; /* a simulated request has no answer text */
    rec->structure.verdict = VERDICT_NOT_REQUIRED;
    snprintf(rec->statement, sizeof rec->statement,
             "simulated: client_ttft is when the answer would begin, without any network");
    add_events(rec, s, o);
    set_outcome(rec, o);
}

/* ---- the intervals of labs 01 and 02 ---- */

static bool differs(const struct interval *by_record, int64_t by_point_ns) {
    if (by_record->status == INTERVAL_ABSENT) return by_point_ns >= 0;
    return by_record->status != INTERVAL_OK || by_record->ns != by_point_ns;
}

static void compare(struct recorder *r, const struct sim_outcome *o, const struct intervals *iv) {
    const struct point_request p = {
        .arrival_ns = o->request.arrival_ns,
        .admitted_ns = o->start_ns,
        .first_token_ns = o->first_token_ns,
        .end_ns = o->completion_ns,
        .output_tokens = o->output_tokens,
        .end = o->end == SIM_COMPLETED ? POINT_DONE
               : o->end == SIM_FAILED  ? POINT_FAILED
                                       : POINT_REJECTED,
    };
    struct point_intervals want;
    point_intervals(&p, &want);
    const char *name = differs(&iv->queue_delay, want.queue_delay_ns)                ? "queue_delay"
                       : differs(&iv->server_ttft, want.ttft_ns)                     ? "ttft"
                       : differs(&iv->e2e, want.e2e_ns)                              ? "e2e"
                       : o->end == SIM_COMPLETED && differs(&iv->tpot, want.tpot_ns) ? "tpot"
                                                                                     : NULL;
    if (!name || r->status) return;
    r->status = RECORDER_OURS;
    err_set(&r->why, "request %lld: %s computed from its record differs from that of its outcome",
            (long long)o->request.id, name);
}

static void pool(struct recorder *r, const struct record *rec, const struct sim_outcome *o) {
    size_t n = intervals_itl(rec, NULL, 0);
    bool truncated = o->request.wanted_tokens > o->output_tokens;
    struct share share = {.arrival_ns = o->request.arrival_ns,
                          .first = r->n_pool,
                          .complete = o->end == SIM_COMPLETED && !truncated};
    if (share.complete && n > 0) {
        r->pool = grow(r->pool, &r->cap_pool, r->n_pool + n, sizeof *r->pool);
        share.n = n;
        r->n_pool += n;
        intervals_itl(rec, r->pool + share.first, n);
    }
    r->shares = grow(r->shares, &r->cap_shares, r->n_shares + 1, sizeof *r->shares);
    r->shares[r->n_shares++] = share;
}

void recorder_outcome(void *ctx, const struct sim_outcome *o) {
    struct recorder *r = ctx;
    INVARIANT((size_t)o->request.id < r->cap_stories);
    struct story *s = &r->stories[o->request.id];
    struct record rec;
    struct intervals iv;
    make_record(r, s, o, &rec);
    intervals_compute(&rec, &iv);
    compare(r, o, &iv);
    pool(r, &rec, o);
    if (r->fd >= 0 && !r->status && record_append(r->fd, &rec, &r->why)) {
        struct err why = r->why;
        r->status = err_at(&r->why, 0, "--records", "%s: %s", r->partial, why.text);
    }
    record_release(&rec);
    free(s->stamps);
    *s = (struct story){0};
}

/* ---- after the run ---- */

int recorder_finish(struct recorder *r, struct err *e) {
    if (r->status) {
        *e = r->why;
        return r->status;
    }
    r->finished = true;
    if (r->fd < 0 || r->stream) return 0;
    if (rename(r->partial, r->path)) {
        r->finished = false;
        return err_at(e, 0, "--records", "%s can't be written: %s", r->path, strerror(errno));
    }
    return 0;
}

void recorder_free(struct recorder *r) {
    if (!r) return;
    if (r->fd >= 0) {
        if (!r->finished && !r->stream) unlink(r->partial); /* while it is locked */
        close(r->fd);
    }
    for (size_t i = 0; i < r->cap_stories; i++) free(r->stories[i].stamps);
    free(r->stories);
    free(r->pool);
    free(r->shares);
    free(r);
}

struct percentile recorder_itl(const struct recorder *r, int64_t from_ns,
                               int32_t percentile_milli) {
    int64_t *seen = malloc((r->n_pool + 1) * sizeof *seen);
    INVARIANT(seen);
    size_t n = 0, failed = 0;
    for (size_t i = 0; i < r->n_shares; i++) {
        const struct share *s = &r->shares[i];
        if (s->arrival_ns < from_ns) continue;
        failed += !s->complete;
        if (s->n) memcpy(seen + n, r->pool + s->first, s->n * sizeof *seen);
        n += s->n;
    }
    struct percentile p = percentile_nearest_rank(seen, n, failed, percentile_milli);
    free(seen);
    return p;
}
