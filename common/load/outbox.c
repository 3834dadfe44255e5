/* outbox.c: see outbox.h. */
#include "load/outbox.h"

#include "base/clock.h"
#include "base/json.h"
#include "record/record_internal.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TRIES = 100 }; /* two seconds for the server's last event */

enum step { POSTING, FETCHING };

/* A flight's exchange with the server about its record. */
struct outbox_post {
    enum step step;
    CURL *curl;
    struct curl_slist *headers;
    struct buffer url, reply;
    char *half;
    int tries;
    int64_t not_before_ns;
};

void flight_free(struct flight *f) {
    if (!f) return;
    load_transfer_free(f->transfer);
    load_seen_release(&f->seen);
    free(f->ids);
    free(f->text);
    free(f);
}

void outbox_init(struct outbox *o, const struct load_client *client, struct wire *wire, FILE *log,
                 bool joins) {
    *o = (struct outbox){
        .client = client, .wire = wire, .log = log, .joins = joins, .silent_ns = -1};
    o->last = &o->first;
}

void outbox_release(struct outbox *o) {
    while (o->n_spare > 0) curl_easy_cleanup(o->spare[--o->n_spare]);
}

void outbox_add(struct outbox *o, struct flight *f) {
    f->next = NULL;
    *o->last = f;
    o->last = &f->next;
    o->waiting++;
}

static void free_post(struct flight *f) {
    struct outbox_post *p = f->post;
    if (!p) return;
    curl_slist_free_all(p->headers);
    buffer_release(&p->url);
    buffer_release(&p->reply);
    cJSON_free(p->half);
    free(p);
    f->post = NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void write_own(struct outbox *o, const struct flight *f) {
    cJSON *half = load_half(&f->request, &f->seen);
    cJSON *record = load_own_record(&f->request, &f->seen, half);
    char *text = json_print(record);
    if (text)
        fprintf(o->log, "%s\n", text);
    else
        o->out_of_memory = true;
    cJSON_free(text);
    cJSON_Delete(record);
    cJSON_Delete(half);
}

/* The server's text, with the scheduled time and the transfer's end put into the client's first
 * event: the server takes events with known members only. */
static void write_joined(struct outbox *o, const struct flight *f) {
    static const char begin[] = "{\"event\":\"request_submitted\"";
    struct buffer *reply = &f->post->reply;
    while (reply->n > 0 && reply->bytes[reply->n - 1] == '\n') reply->n--;
    const char *event = strstr(reply->bytes, begin);
    size_t head = event ? (size_t)(event - reply->bytes) + sizeof begin - 1 : 0;
    fwrite(reply->bytes, 1, head, o->log);
    if (event)
        fprintf(o->log, ",\"scheduled_t_ns\":%lld,\"ended_t_ns\":%lld",
                (long long)load_clock_ns(f->request.scheduled_ns),
                (long long)load_clock_ns(f->seen.ended_ns));
    fwrite(reply->bytes + head, 1, reply->n - head, o->log);
    fputc('\n', o->log);
    o->counts.joined++;
}

static void end_own(struct outbox *o, struct flight *f, int64_t *count) {
    if (count) ++*count;
    write_own(o, f);
    free_post(f);
    flight_free(f);
}

/* Has the server written its last event? A look at the text: reading it as JSON would cost the
 * thread that measures some hundred microseconds a record. */
static bool settled(const struct buffer *reply) {
    static const enum event_kind ends[] = {EV_RESPONSE_FINISHED, EV_REQUEST_REJECTED,
                                           EV_REQUEST_CANCELLED, EV_REQUEST_FAILED};
    char quoted[40];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(quoted, sizeof quoted, "\"event\":\"%s\"", event_name(ends[i]));
        if (strstr(reply->bytes, quoted)) return true;
    }
    return false;
}

/* Is the reply one line that may be a record? Anything else would spoil the file. */
static bool is_line(const struct buffer *reply) {
    static const char begin[] = "{\"schema\":";
    size_t n = reply->n;
    while (n > 0 && reply->bytes[n - 1] == '\n') n--;
    return n > sizeof begin && !memcmp(reply->bytes, begin, sizeof begin - 1) &&
           reply->bytes[n - 1] == '}' && !memchr(reply->bytes, '\n', n) &&
           !memchr(reply->bytes, '\0', n);
}

/* A record of another half isn't what this client measured, and one that can't be read would spoil
 * the file. */
static bool is_joined(const struct flight *f) {
    const struct buffer *reply = &f->post->reply;
    struct record record;
    record_init(&record);
    bool read = record_fill_fast(&record, reply->bytes, reply->n);
    if (!read) record_release(&record);
    if (!read && record_parse(&record, reply->bytes, reply->n, 1, NULL)) return false;
    bool joined = load_has_half(&record, &f->request, &f->seen);
    record_release(&record);
    return joined;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static size_t keep_bytes(char *bytes, size_t one, size_t n, void *ctx) {
    struct buffer *b = ctx;
    n *= one;
    if (b->n + n > LOAD_MAX_REPLY) return 0;
    buffer_add(b, bytes, n);
    return b->failed ? 0 : n;
}

static CURL *take_handle(struct outbox *o) {
    return o->n_spare > 0 ? o->spare[--o->n_spare] : curl_easy_init();
}

static void put_handle(struct outbox *o, CURL *curl) {
    if (o->n_spare < OUTBOX_AT_ONCE)
        o->spare[o->n_spare++] = curl;
    else
        curl_easy_cleanup(curl);
}

/* The flight asks no more; its handle is free again. */
static void end_busy(struct outbox *o, struct flight *f) {
    int i = 0;
    while (o->busy[i] != f) i++;
    o->busy[i] = o->busy[--o->active];
    put_handle(o, f->post->curl);
    f->post->curl = NULL;
}

static int begin(struct outbox *o, struct flight *f) {
    struct outbox_post *p = f->post;
    struct err e;
    p->curl = take_handle(o);
    if (!p->curl) return -1;
    buffer_clear(&p->url);
    buffer_clear(&p->reply);
    buffer_puts(&p->reply, "");
    buffer_printf(&p->url, "%s/v1/records/%s", o->client->url, f->request.request_id);
    if (p->step == POSTING)
        buffer_puts(&p->url, "/events");
    else
        buffer_printf(&p->url, "?attempt=%d", f->request.attempt);
    load_prepare_ask(o->client, p->curl, p->url.bytes, p->headers);
    if (p->step == POSTING) curl_easy_setopt(p->curl, CURLOPT_POSTFIELDS, p->half);
    curl_easy_setopt(p->curl, CURLOPT_WRITEFUNCTION, keep_bytes);
    curl_easy_setopt(p->curl, CURLOPT_WRITEDATA, &p->reply);
    curl_easy_setopt(p->curl, CURLOPT_PRIVATE, f);
    o->busy[o->active++] = f;
    if (!wire_add(o->wire, p->curl, &e)) return 0;
    end_busy(o, f);
    return -1;
}

static struct outbox_post *make_post(const struct flight *f) {
    struct outbox_post *p = calloc(1, sizeof *p);
    cJSON *half = load_half(&f->request, &f->seen);
    if (p) p->half = half ? json_print(half) : NULL;
    if (p) p->headers = curl_slist_append(NULL, "Content-Type: application/json");
    cJSON_Delete(half);
    return p;
}

/* Back to the head of the list: it comes again after a pause. */
static void again(struct outbox *o, struct flight *f) {
    f->post->not_before_ns = clock_monotonic_ns() + OUTBOX_SETTLE_MS * NS_PER_MS;
    f->next = o->first;
    if (!o->first) o->last = &f->next;
    o->first = f;
    o->waiting++;
}

static void finish(struct outbox *o, struct flight *f, CURLcode code) {
    struct outbox_post *p = f->post;
    long status = 0;
    curl_easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &status);
    end_busy(o, f);
    o->silent = code == CURLE_OPERATION_TIMEDOUT ? o->silent + 1 : 0;
    if (o->silent >= OUTBOX_AT_ONCE) o->silent_ns = clock_monotonic_ns();
    if (code != CURLE_OK || p->reply.failed || (status != 200 && status != 404)) {
        end_own(o, f, &o->counts.refused);
    } else if (status == 404) {
        end_own(o, f, &o->counts.forgotten);
    } else if (p->step == POSTING) {
        p->step = FETCHING;
        again(o, f);
        p->not_before_ns = 0;
    } else if (!settled(&p->reply) && p->tries++ < MAX_TRIES) {
        again(o, f);
    } else if (!is_line(&p->reply) || !is_joined(f)) {
        end_own(o, f, &o->counts.refused);
    } else {
        write_joined(o, f);
        free_post(f);
        flight_free(f);
    }
}

/* Only of a request that reached the server: elsewhere no record of it can be. */
static bool asks(const struct outbox *o, const struct flight *f) {
    return o->joins && (f->seen.keeps_records || f->seen.http_status == 0);
}

/* Of what a record counts as that is written without asking any more; NULL: nothing. */
static int64_t *count_of(struct outbox *o, const struct flight *f) {
    if (!asks(o, f)) return NULL;
    return f->post ? &o->counts.refused : &o->counts.unasked;
}

int64_t outbox_step(struct outbox *o) {
    int code;
    CURL *curl;
    bool wrote = false;
    while ((curl = wire_done(o->wire, &code)) != NULL) {
        char *f = NULL;
        curl_easy_getinfo(curl, CURLINFO_PRIVATE, &f);
        finish(o, (struct flight *)f, (CURLcode)code);
    }
    while (o->first && o->active < OUTBOX_AT_ONCE) {
        struct flight *f = o->first;
        int64_t ready_ns = f->post && f->post->not_before_ns
                               ? f->post->not_before_ns
                               : f->seen.ended_ns + OUTBOX_SETTLE_MS * NS_PER_MS;
        int64_t now_ns = clock_monotonic_ns();
        bool asked = asks(o, f), own = !asked || f->seen.ended_ns <= o->silent_ns;
        if (wrote) return now_ns;
        if (!own && now_ns < ready_ns) return ready_ns;
        o->first = f->next;
        if (!o->first) o->last = &o->first;
        o->waiting--;
        wrote = own;
        if (!own && !f->post) f->post = make_post(f);
        if (own)
            end_own(o, f, count_of(o, f));
        else if (!f->post || !f->post->half || !f->post->headers || begin(o, f))
            end_own(o, f, &o->counts.refused);
    }
    return INT64_MAX;
}

void outbox_give_up(struct outbox *o) {
    while (o->active > 0) {
        struct flight *f = o->busy[0];
        wire_remove(o->wire, f->post->curl);
        end_busy(o, f);
        end_own(o, f, &o->counts.refused);
    }
    while (o->first) {
        struct flight *f = o->first;
        o->first = f->next;
        end_own(o, f, count_of(o, f));
    }
    o->last = &o->first;
    o->waiting = 0;
}
