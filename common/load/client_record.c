/* client_record.c: makes the client's half of a record and joins it with the server's. See
 * client.h. */
#include "load/client.h"

#include "base/clock.h"
#include "base/json.h"
#include "record/record.h"

#include <curl/curl.h>
#include <string.h>
#include <time.h>

enum { SETTLE_TRIES = 100, SETTLE_PAUSE_MS = 20 }; /* two seconds for the server's last event */

/* The meaning of the client's intervals for this answer; fits into a record's statement. */
static void write_statement(char *to, size_t cap, const struct load_seen *seen) {
    const char *end = seen->final_ns < 0 ? "; its end never came"
                      : seen->output_tokens > 1 && seen->last_ns == seen->first_ns
                          ? ", e2e for all of it; its text came in one piece, so it has no tpot"
                          : ", e2e for all of it";
    double answer_ms = (double)(seen->answer_ns - seen->submitted_ns) / 1e6;
    if (seen->first_ns < 0)
        snprintf(to, cap, "the answer never began for the client; the failure is what counts");
    else if (seen->reasoning_chunks == 0)
        snprintf(to, cap, "client_ttft is what the client waited for the answer to begin%s", end);
    else if (seen->answer_ns < 0)
        snprintf(to, cap,
                 "client_ttft is what the client waited for the model's reasoning to begin%s; no "
                 "text of an answer came",
                 end);
    else
        snprintf(to, cap,
                 "client_ttft is what the client waited for the model's reasoning to begin%s; the "
                 "answer itself began after %.3f ms",
                 end, answer_ms);
}

cJSON *load_half(const struct load_request *r, const struct load_seen *seen) {
    const struct {
        enum event_kind kind;
        int64_t t_ns;
    } stamps[] = {{EV_REQUEST_SUBMITTED, seen->submitted_ns},
                  {EV_FIRST_BYTE_RECEIVED, seen->first_ns},
                  {EV_FINAL_BYTE_RECEIVED, seen->final_ns}};
    cJSON *half = cJSON_CreateObject();
    cJSON_AddNumberToObject(half, "attempt", r->attempt);
    cJSON *events = cJSON_AddArrayToObject(half, "events");
    for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++) {
        if (stamps[i].t_ns < 0) continue;
        cJSON *ev = cJSON_CreateObject();
        cJSON_AddStringToObject(ev, "event", event_name(stamps[i].kind));
        cJSON_AddStringToObject(ev, "clock", clock_name(CLOCK_BROWSER));
        json_add_int(ev, "t_ns", load_clock_ns(stamps[i].t_ns));
        cJSON_AddStringToObject(ev, "source", source_name(SRC_CLIENT));
        cJSON_AddStringToObject(ev, "clock_api", "CLOCK_MONOTONIC");
        cJSON_AddItemToArray(events, ev);
    }
    return half;
}

static size_t keep_bytes(char *bytes, size_t one, size_t n, void *ctx) {
    struct buffer *b = ctx;
    n *= one;
    if (b->n + n > LOAD_MAX_REPLY) return 0;
    buffer_add(b, bytes, n);
    return b->failed ? 0 : n;
}

int load_json(struct load_client *c, const char *path, const cJSON *body, cJSON **reply,
              struct err *e) {
    struct buffer url = {0}, got = {0};
    char *text = body ? json_print(body) : NULL;
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    int rc = -1;
    if (reply) *reply = NULL;
    buffer_printf(&url, "%s%s", c->url, path);
    if (url.failed || !headers || (body && !text)) {
        err_set(e, "no memory for a request");
        goto out;
    }
    load_prepare_ask(c, c->curl, url.bytes, headers);
    if (text) curl_easy_setopt(c->curl, CURLOPT_COPYPOSTFIELDS, text);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, keep_bytes);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &got);
    CURLcode code = curl_easy_perform(c->curl);
    curl_off_t ready_us = 0;
    curl_easy_getinfo(c->curl, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
    c->connected = ready_us > 0;
    c->late = code == CURLE_OPERATION_TIMEDOUT;
    if (code == CURLE_WRITE_ERROR)
        err_at(e, 0, "--url", "%s answers %s with more than %d MiB; is it a completion server?",
               c->url, path, LOAD_MAX_REPLY >> 20);
    else if (c->late && !c->connected)
        err_at(e, 0, "--url",
               "%s takes no connection within %d s%s; is `servelab serve` running there?", c->url,
               load_ask_s(c), strncmp(c->url, "https:", 6) ? "" : ", with TLS");
    else if (c->late)
        err_at(e, 0, "--url",
               "%s doesn't answer %s within %d s; is `servelab serve` running there?", c->url, path,
               load_ask_s(c));
    else if (code != CURLE_OK)
        err_at(e, 0, "--url", "%s doesn't answer: %s; is `servelab serve` running there?", c->url,
               curl_easy_strerror(code));
    if (code != CURLE_OK) goto out;
    long status = 0;
    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
    rc = (int)status;
    load_redirect(c, c->curl, path, c->advice, sizeof c->advice);
    if (reply && got.n > 0) *reply = json_parse(got.bytes, got.n, 1, NULL);
out:
    curl_slist_free_all(headers);
    cJSON_free(text);
    buffer_release(&url);
    buffer_release(&got);
    return rc;
}

int load_no_model(const struct load_client *c, int status, struct err *e) {
    if (status == 200)
        return err_at(e, 0, "--model", "%.200s doesn't say which model it has; name it", c->url);
    return err_at(e, 0, "--url", "%.100s answers GET /v1/models with HTTP %d%.280s", c->url, status,
                  c->advice[0] ? c->advice
                               : "; if it is the right address, name the model with --model");
}

/* ---- the record ------------------------------------------------------------------------------ */

cJSON *load_own_record(const struct load_request *r, const struct load_seen *seen,
                       const cJSON *half) {
    struct record rec;
    record_init(&rec);
    text_cut(rec.request_id, sizeof rec.request_id, r->request_id);
    rec.attempt = r->attempt;
    text_cut(rec.workload.model, sizeof rec.workload.model, r->model);
    rec.workload.prompt_tokens = seen->prompt_tokens;
    rec.workload.output_tokens = seen->output_tokens;
    rec.workload.max_output_tokens = r->max_tokens > 0 ? r->max_tokens : -1;
    rec.outcome.http_status = seen->http_status;
    text_cut(rec.outcome.finish_reason, sizeof rec.outcome.finish_reason, seen->finish_reason);
    bool stated = !seen->broken || seen->http_status != 200; /* with 200 it would be in-band */
    if (stated)
        text_cut(rec.outcome.error, sizeof rec.outcome.error,
                 seen->no_connection ? "timed_out" : seen->problem); /* classify.h has the word */
    rec.outcome.delivered =
        seen->http_status == 200 && !seen->problem[0] && seen->first_ns >= 0 && seen->final_ns >= 0;
    write_statement(rec.statement, sizeof rec.statement, seen);
    cJSON *tree = record_to_json(&rec);
    record_release(&rec);
    const cJSON *events = cJSON_GetObjectItemCaseSensitive(half, "events");
    cJSON *own = cJSON_Duplicate(events, true);
    if (own && own->child && r->scheduled_ns > 0)
        json_add_int(own->child, "scheduled_t_ns", load_clock_ns(r->scheduled_ns));
    if (own && own->child && seen->ended_ns >= 0)
        json_add_int(own->child, "ended_t_ns", load_clock_ns(seen->ended_ns));
    cJSON_ReplaceItemInObjectCaseSensitive(tree, "events", own);
    cJSON *client = cJSON_AddObjectToObject(tree, "client");
    if (seen->answer_ns >= 0)
        json_add_int(client, "answer_ttft_ns", seen->answer_ns - seen->submitted_ns);
    else
        cJSON_AddNullToObject(client, "answer_ttft_ns");
    cJSON_AddNumberToObject(client, "answer_chunks", seen->content_chunks);
    cJSON_AddNumberToObject(client, "reasoning_chunks", seen->reasoning_chunks);
    if (seen->problem[0])
        cJSON_AddStringToObject(client, "problem", seen->problem);
    else
        cJSON_AddNullToObject(client, "problem");
    cJSON *gaps = r->keep_chunks ? cJSON_AddArrayToObject(client, "chunk_gaps_ns") : NULL;
    for (size_t i = 1; gaps && i < seen->n_chunks; i++)
        cJSON_AddItemToArray(
            gaps, cJSON_CreateNumber((double)(seen->chunk_ns[i] - seen->chunk_ns[i - 1])));
    return tree;
}

static void set_blank(cJSON *o, const char *key) {
    cJSON_DeleteItemFromObjectCaseSensitive(o, key);
    cJSON_AddStringToObject(o, key, "TODO");
}

void load_blank(cJSON *record) {
    static const enum event_kind six[] = {EV_REQUEST_SUBMITTED,   EV_REQUEST_ACCEPTED,
                                          EV_REQUEST_ADMITTED,    EV_FIRST_TOKEN,
                                          EV_FIRST_BYTE_RECEIVED, EV_FINAL_BYTE_RECEIVED};
    cJSON *ev;
    cJSON_ArrayForEach(ev, cJSON_GetObjectItemCaseSensitive(record, "events")) {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(ev, "event");
        int kind = cJSON_IsString(name) ? event_from_name(name->valuestring) : -1;
        for (size_t i = 0; i < sizeof six / sizeof *six; i++)
            if (kind == (int)six[i]) set_blank(ev, "source");
    }
    set_blank(record, "provenance");
    set_blank(record, "statement");
}

static bool settled(const cJSON *record) {
    const cJSON *events = cJSON_GetObjectItemCaseSensitive(record, "events"), *ev;
    cJSON_ArrayForEach(ev, events) {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(ev, "event");
        int kind = cJSON_IsString(name) ? event_from_name(name->valuestring) : -1;
        if (kind == EV_RESPONSE_FINISHED || kind == EV_REQUEST_REJECTED ||
            kind == EV_REQUEST_CANCELLED || kind == EV_REQUEST_FAILED)
            return true;
    }
    return false;
}

/* Waits for the server's last event, which follows the last byte by microseconds: the first try
 * usually finds it. */
static int wait_for_record(struct load_client *c, const char *path, cJSON **record, struct err *e) {
    for (int i = 0;; i++) {
        int status = load_json(c, path, NULL, record, e);
        if (status != 200 || settled(*record) || i == SETTLE_TRIES) return status;
        cJSON_Delete(*record);
        struct timespec t = {.tv_nsec = SETTLE_PAUSE_MS * NS_PER_MS};
        nanosleep(&t, NULL);
    }
}

bool load_has_half(const struct record *record, const struct load_request *r,
                   const struct load_seen *seen) {
    const struct {
        enum event_kind kind;
        int64_t t_ns;
    } posted[] = {{EV_REQUEST_SUBMITTED, seen->submitted_ns},
                  {EV_FIRST_BYTE_RECEIVED, seen->first_ns},
                  {EV_FINAL_BYTE_RECEIVED, seen->final_ns}};
    if (strcmp(record->request_id, r->request_id) != 0 || record->attempt != r->attempt)
        return false;
    for (size_t i = 0; i < sizeof posted / sizeof *posted; i++) {
        const struct event *ev = record_event(record, posted[i].kind);
        if ((posted[i].t_ns < 0) != !ev) return false;
        if (ev && (ev->t_ns != load_clock_ns(posted[i].t_ns) || ev->extra)) return false;
    }
    return true;
}

static bool is_joined(const cJSON *tree, const struct load_request *r,
                      const struct load_seen *seen) {
    struct record record;
    if (!tree || record_from_json(&record, tree, 1, NULL)) return false;
    bool joined = load_has_half(&record, r, seen);
    record_release(&record);
    return joined;
}

/* Posts the client's half and fetches the joined record. NULL, and *e says why there is none. */
static cJSON *join_halves(struct load_client *c, const struct load_request *r,
                          const struct load_seen *seen, const cJSON *half, struct err *e) {
    char path[160];
    cJSON *reply = NULL, *record = NULL;
    snprintf(path, sizeof path, "/v1/records/%s/events", r->request_id);
    int status = load_json(c, path, half, &reply, e);
    if (status == 200) {
        snprintf(path, sizeof path, "/v1/records/%s?attempt=%d", r->request_id, r->attempt);
        status = wait_for_record(c, path, &record, e);
        if (status == 200 && is_joined(record, r, seen)) goto out;
        if (status >= 0)
            err_set(e, "GET %s gives HTTP %d and no record with the half that was posted", path,
                    status);
    } else if (status >= 0) {
        const cJSON *error = cJSON_GetObjectItemCaseSensitive(reply, "error");
        const cJSON *m = cJSON_GetObjectItemCaseSensitive(error, "message");
        err_set(e, "the server doesn't take the client's half (HTTP %d): %.200s", status,
                cJSON_IsString(m) ? m->valuestring : "it doesn't say why");
    }
    cJSON_Delete(record);
    record = NULL;
out:
    cJSON_Delete(reply);
    return record;
}

cJSON *load_record(struct load_client *c, const struct load_request *r,
                   const struct load_seen *seen, struct err *why) {
    cJSON *half = load_half(r, seen), *record = NULL;
    *why = (struct err){0};
    if (seen->keeps_records || seen->http_status == 0) /* 0: unknown, so it asks */
        record = join_halves(c, r, seen, half, why);
    if (!record) record = load_own_record(r, seen, half);
    if (!seen->keeps_records) *why = (struct err){0}; /* nothing else was to be expected */
    cJSON_Delete(half);
    return record;
}
