/* records.c: live request records: their list, the join with the client's half, the bounds. See
 * records.h; the log is in records_log.c, the locks in records_store.h.
 */
#include "serve/records_store.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* ---- list and buckets, under the store's lock ------------------------------------------------ */

static uint32_t bucket_of(const char *id) { /* FNV-1a */
    uint32_t h = 2166136261u;
    for (; *id; id++) h = (h ^ (unsigned char)*id) * 16777619u;
    return h % BUCKETS;
}

static struct live_record *find(struct records *rs, const char *id, int32_t attempt) {
    struct live_record *best = NULL;
    for (struct live_record *l = rs->bucket[bucket_of(id)]; l; l = l->chain) {
        if (strcmp(l->id, id)) continue;
        if (attempt == l->attempt) return l;
        if (attempt == 0 && (!best || l->attempt > best->attempt)) best = l;
    }
    return best;
}

static void leave_queue(struct live_record *l) {
    struct record_queue *q = l->queue;
    if (!q) return;
    *(l->previous ? &l->previous->next : &q->first) = l->next;
    *(l->next ? &l->next->previous : &q->last) = l->previous;
    q->n--;
}

void records_queue(struct live_record *l, struct record_queue *q) {
    leave_queue(l);
    l->queue = q;
    l->next = NULL;
    l->previous = q->last;
    *(q->last ? &q->last->next : &q->first) = l;
    q->last = l;
    q->n++;
}

void records_set_logged(struct records *rs, struct live_record *l) {
    records_queue(l, &rs->logged);
    l->state = LIVE_LOGGED;
}

static void insert(struct records *rs, struct live_record *l) {
    l->older = rs->newest;
    if (rs->newest)
        rs->newest->newer = l;
    else
        rs->oldest = l;
    rs->newest = l;
    struct live_record **bucket = &rs->bucket[bucket_of(l->id)];
    l->chain = *bucket;
    *bucket = l;
    rs->n++;
}

static void unlink_record(struct records *rs, struct live_record *l) {
    leave_queue(l);
    *(l->newer ? &l->newer->older : &rs->newest) = l->older;
    *(l->older ? &l->older->newer : &rs->oldest) = l->newer;
    struct live_record **at = &rs->bucket[bucket_of(l->id)];
    while (*at != l) at = &(*at)->chain;
    *at = l->chain;
    rs->n--;
    rs->n_events -= l->n_counted;
}

static void destroy(struct live_record *l) {
    record_release(&l->record);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static void forget_of(struct records *rs, const struct record_queue *q) {
    struct live_record *l = q->first;
    while (l && (rs->n > RECORDS_KEPT || rs->n_events > RECORDS_KEPT_EVENTS)) {
        struct live_record *next = l->next;
        if (l->readers == 0) {
            rs->n_lost += l->state == LIVE_ENDED;
            unlink_record(rs, l);
            destroy(l);
        }
        l = next;
    }
}

/* Forgets the oldest records beyond the bounds: those that nothing reads and that are in the log,
 * or that the log doesn't take. */
static void forget(struct records *rs) {
    forget_of(rs, &rs->logged);
    if (!rs->log_fails) return;
    forget_of(rs, &rs->due);
    forget_of(rs, &rs->waiting);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct records *records_create(int log_fd, int64_t grace_ns, struct clock clock, struct err *e) {
    struct records *rs = calloc(1, sizeof *rs);
    if (!rs) {
        err_set(e, "no memory for the request records");
        return NULL;
    }
    pthread_mutex_init(&rs->lock, NULL);
    pthread_mutex_init(&rs->metrics_lock, NULL);
    records_log_init(rs);
    rs->grace_ns = grace_ns;
    rs->clock = clock;
    rs->log_fd = log_fd;
    if (getrandom(&rs->run, sizeof rs->run, GRND_NONBLOCK) != sizeof rs->run)
        rs->run = (uint32_t)time(NULL); /* part of an id: it may be predictable */
    return rs;
}

void records_free(struct records *rs) {
    if (!rs) return;
    records_finish(rs, NULL);
    while (rs->oldest) {
        struct live_record *l = rs->oldest;
        INVARIANT(l->workers == 0 && l->readers == 0);
        unlink_record(rs, l);
        destroy(l);
    }
    pthread_cond_destroy(&rs->log_stop);
    pthread_mutex_destroy(&rs->metrics_lock);
    pthread_mutex_destroy(&rs->lock);
    free(rs);
}

bool records_valid_id(const char *id) {
    size_t n = strlen(id);
    if (n < 1 || n > RECORD_ID_BYTES || id[0] == '.') return false;
    return strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

static struct live_record *make(void) {
    struct live_record *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    pthread_mutex_init(&l->lock, NULL);
    record_init(&l->record);
    l->workers = 1;
    return l;
}

struct live_record *records_open(struct records *rs, const char *id, int32_t attempt,
                                 struct err *e) {
    struct live_record *l = make();
    if (!l) {
        err_set(e, "no memory for one more request record");
        return NULL;
    }
    pthread_mutex_lock(&rs->lock);
    char made[32];
    if (!id) snprintf(made, sizeof made, "r-%08x-%06llu", rs->run, (unsigned long long)++rs->made);
    snprintf(l->id, sizeof l->id, "%s", id ? id : made);
    const struct live_record *last = find(rs, l->id, attempt);
    bool taken = last && attempt != 0;
    l->attempt = attempt ? attempt : last ? last->attempt + 1 : 1;
    l->record.attempt = l->attempt;
    memcpy(l->record.request_id, l->id, sizeof l->id);
    if (!taken) {
        insert(rs, l);
        forget(rs);
    }
    pthread_mutex_unlock(&rs->lock);
    if (!taken) return l;
    err_at(e, 0, "X-Attempt",
           "request %s has an attempt %d already; count a retry up by one, or leave X-Attempt out",
           l->id, attempt);
    destroy(l);
    return NULL;
}

/* attempt 0: the latest. To be given back by records_done_reading. */
static struct live_record *find_to_read(struct records *rs, const char *id, int32_t attempt) {
    pthread_mutex_lock(&rs->lock);
    struct live_record *l = find(rs, id, attempt);
    if (l) l->readers++;
    pthread_mutex_unlock(&rs->lock);
    return l;
}

void records_done_reading(struct records *rs, struct live_record *l) {
    pthread_mutex_lock(&rs->lock);
    l->readers--;
    forget(rs);
    pthread_mutex_unlock(&rs->lock);
}

void live_share(struct records *rs, struct live_record *l) {
    pthread_mutex_lock(&rs->lock);
    INVARIANT(l->workers > 0);
    l->workers++;
    pthread_mutex_unlock(&rs->lock);
}

/* ---- ending and joining ---------------------------------------------------------------------- */

static bool has(const struct record *r, enum event_kind kind) {
    return record_event(r, kind) != NULL;
}

static bool has_clients_half(const struct record *r) {
    return has(r, EV_REQUEST_SUBMITTED) && has(r, EV_FIRST_BYTE_RECEIVED) &&
           has(r, EV_FINAL_BYTE_RECEIVED);
}

/* Sets outcome.delivered as records.h defines it. Under the record's lock. */
static void settle(struct live_record *l) {
    struct record *r = &l->record;
    r->outcome.delivered = has(r, EV_RESPONSE_FINISHED) && r->outcome.http_status == 200 &&
                           !r->outcome.error[0] && has(r, EV_REQUEST_ACCEPTED) &&
                           has(r, EV_REQUEST_ADMITTED) && has(r, EV_FIRST_TOKEN) &&
                           has_clients_half(r);
}

/* Sets when the line is due: at once when both halves are there. Under both locks. */
static void set_due(struct records *rs, struct live_record *l) {
    bool both = has_clients_half(&l->record);
    l->log_at_ns = clock_now_ns(&rs->clock) + (both ? 0 : rs->grace_ns);
    records_queue(l, both ? &rs->due : &rs->waiting);
}

/* Under both locks. */
static void count_events(struct records *rs, struct live_record *l) {
    rs->n_events += (int64_t)l->record.n_events - l->n_counted;
    l->n_counted = (int64_t)l->record.n_events;
}

/* Under the record's lock, so that no line is written before. */
static void count_metrics(struct records *rs, const struct record *r) {
    pthread_mutex_lock(&rs->metrics_lock);
    metrics_add(&rs->metrics, r);
    pthread_mutex_unlock(&rs->metrics_lock);
}

void live_end(struct records *rs, struct live_record *l) {
    pthread_mutex_lock(&l->lock);
    pthread_mutex_lock(&rs->lock);
    INVARIANT(l->workers > 0);
    bool last = --l->workers == 0;
    if (last) {
        settle(l);
        l->state = LIVE_ENDED;
        set_due(rs, l);
        count_events(rs, l);
        l->readers++; /* not forgotten before it is counted */
    }
    pthread_mutex_unlock(&rs->lock);
    if (last) count_metrics(rs, &l->record);
    pthread_mutex_unlock(&l->lock);
    if (last) records_done_reading(rs, l);
}

/* The posted half in the form of a record, so that record_from_json can check it. NULL when memory
 * is out. */
static cJSON *as_record(const struct live_record *l, const cJSON *half) {
    static const char *const passed_on[] = {"events", "quality", "structure", "statement"};
    struct record empty;
    record_init(&empty);
    memcpy(empty.request_id, l->id, sizeof l->id);
    empty.attempt = l->attempt;
    cJSON *obj = record_to_json(&empty);
    record_release(&empty);
    for (size_t i = 0; obj && i < sizeof passed_on / sizeof *passed_on; i++) {
        const cJSON *member = cJSON_GetObjectItemCaseSensitive(half, passed_on[i]);
        if (!member || cJSON_IsNull(member)) continue;
        cJSON_DeleteItemFromObjectCaseSensitive(obj, passed_on[i]);
        cJSON_AddItemToObject(obj, passed_on[i], cJSON_Duplicate(member, true));
    }
    return obj;
}

static int check_members(const cJSON *half, struct err *e) {
    if (!cJSON_IsObject(half)) return err_set(e, "the body must be an object {\"events\": [...]}");
    static const char *const known[] = {"events", "attempt", "quality", "structure", "statement"};
    for (const cJSON *m = half->child; m; m = m->next) {
        bool ok = cJSON_IsNull(m); /* null: absent */
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            ok |= !strcmp(m->string, known[i]);
        if (!ok)
            return err_at(e, 0, m->string,
                          "unknown member; a client posts events, attempt, quality, structure and "
                          "statement");
    }
    if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(half, "events")) >
        RECORDS_POSTED_EVENTS)
        return err_at(e, 0, "events", "at most %d events can be posted at once",
                      RECORDS_POSTED_EVENTS);
    return 0;
}

/* A client may post only events that it saw itself, on its own clock. */
static int check_events(const struct record *half, struct err *e) {
    for (size_t i = 0; i < half->n_events; i++) {
        const struct event *ev = &half->events[i];
        char field[40];
        if (ev->kind != EV_REQUEST_SUBMITTED && ev->kind != EV_FIRST_BYTE_RECEIVED &&
            ev->kind != EV_FINAL_BYTE_RECEIVED) {
            snprintf(field, sizeof field, "events[%zu].event", i);
            return err_at(e, 0, field, "\"%s\" is not the client's to observe",
                          event_name(ev->kind));
        }
        if (ev->clock != CLOCK_BROWSER || (ev->source != SRC_BROWSER && ev->source != SRC_CLIENT)) {
            bool clock = ev->clock != CLOCK_BROWSER;
            snprintf(field, sizeof field, "events[%zu].%s", i, clock ? "clock" : "source");
            return err_at(e, 0, field, "a client posts %s",
                          clock ? "clock \"browser\"" : "source \"browser\" or \"client\"");
        }
    }
    return 0;
}

/* Refuses unknown members: a record keeps them, so posts could make it grow without bound. */
static int check_known(const struct record *half, struct err *e) {
    if (half->extra) {
        const cJSON *m = half->extra->child;
        return err_at(e, 0, m && m->string ? m->string : NULL, "is an unknown member");
    }
    for (size_t i = 0; i < half->n_events; i++) {
        char field[40];
        snprintf(field, sizeof field, "events[%zu]", i);
        if (half->events[i].extra) return err_at(e, 0, field, "has an unknown member");
    }
    return 0;
}

/* Under the record's lock. */
static enum records_post join(struct records *rs, struct live_record *l, const struct record *half,
                              bool *logged_without, struct err *e) {
    if (record_join(&l->record, half, e)) return POST_CONFLICT;
    settle(l);
    pthread_mutex_lock(&rs->lock);
    *logged_without = l->state == LIVE_LOGGED;
    if (l->state == LIVE_ENDED) set_due(rs, l);
    if (l->state != LIVE_OPEN) count_events(rs, l);
    pthread_mutex_unlock(&rs->lock);
    return POST_JOINED;
}

enum records_post records_join(struct records *rs, const char *id, int32_t attempt,
                               const cJSON *half, bool *logged_without, struct err *e) {
    if (check_members(half, e)) return POST_INVALID;
    struct live_record *l = find_to_read(rs, id, attempt);
    if (!l) return POST_UNKNOWN;
    struct record posted;
    cJSON *obj = as_record(l, half);
    int bad = obj ? record_from_json(&posted, obj, 1, e) : err_set(e, "no memory for this post");
    cJSON_Delete(obj);
    enum records_post rc = POST_INVALID;
    if (!bad && !check_events(&posted, e) && !check_known(&posted, e)) {
        pthread_mutex_lock(&l->lock);
        rc = join(rs, l, &posted, logged_without, e);
        pthread_mutex_unlock(&l->lock);
    }
    if (!bad) record_release(&posted);
    records_done_reading(rs, l);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

bool records_get(struct records *rs, const char *id, int32_t attempt, struct record *out) {
    struct live_record *l = find_to_read(rs, id, attempt);
    if (!l) return false;
    pthread_mutex_lock(&l->lock);
    int rc = record_copy(out, &l->record, NULL);
    pthread_mutex_unlock(&l->lock);
    records_done_reading(rs, l);
    return rc == 0;
}

void records_metrics(struct records *rs, struct metrics *out) {
    pthread_mutex_lock(&rs->metrics_lock);
    *out = rs->metrics;
    pthread_mutex_unlock(&rs->metrics_lock);
}

cJSON *records_list(struct records *rs, int32_t limit) {
    static const char *const state_name[] = {"open", "ended", "logged"};
    cJSON *list = cJSON_CreateArray();
    pthread_mutex_lock(&rs->lock);
    for (struct live_record *l = rs->newest; l && limit-- > 0; l = l->older) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "request_id", l->id);
        cJSON_AddNumberToObject(item, "attempt", l->attempt);
        cJSON_AddStringToObject(item, "state", state_name[l->state]);
        cJSON_AddItemToArray(list, item);
    }
    pthread_mutex_unlock(&rs->lock);
    return list;
}
