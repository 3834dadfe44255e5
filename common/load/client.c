/* client.c: sends one completion over libcurl, reads and stamps the answer. See client.h. */
#include "load/client.h"

#include "base/clock.h"
#include "base/json.h"
#include "load/sse.h"
#include "load/surrogates.h"
#include "record/record.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the answer ------------------------------------------------------------------------------ */

struct load_transfer {
    const struct load_client *client;
    const struct load_request *request;
    struct load_seen *seen;
    CURL *curl;
    struct sse sse;
    struct surrogates surrogates;
    struct buffer event; /* the data of one event, split characters joined */
    struct buffer body;  /* of an answer that isn't a stream */
    struct buffer url, sends;
    struct curl_slist *headers;
    int attempts;    /* how often libcurl was about to send it */
    int64_t read_ns; /* when the bytes came that are being parsed */
    bool streamed, begun;
    bool progress_shown;
};

static void problem(struct load_seen *seen, const char *text) {
    if (seen->problem[0]) return;
    text_cut(seen->problem, sizeof seen->problem, text);
    err_clean(seen->problem);
}

/* A text may hold NUL: a model with tokens for single bytes answers so. */
static const char *text_of(const cJSON *obj, const char *key, size_t *n) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(obj, key);
    *n = cJSON_IsString(v) ? json_restore_nul(v->valuestring) : 0;
    return cJSON_IsString(v) ? v->valuestring : NULL;
}

static const char *string_of(const cJSON *obj, const char *key) {
    size_t n;
    return text_of(obj, key, &n);
}

static void take_usage(struct load_seen *seen, const cJSON *chunk) {
    const cJSON *usage = cJSON_GetObjectItemCaseSensitive(chunk, "usage");
    int64_t prompt, output;
    if (!cJSON_IsObject(usage) ||
        json_get_int(usage, "usage", "prompt_tokens", 0, INT32_MAX, &prompt, NULL) ||
        json_get_int(usage, "usage", "completion_tokens", 0, INT32_MAX, &output, NULL))
        return;
    seen->prompt_tokens = (int32_t)prompt;
    seen->output_tokens = (int32_t)output;
}

static void stamp_chunk(struct load_transfer *r) {
    struct load_seen *seen = r->seen;
    if (seen->first_ns < 0) seen->first_ns = r->read_ns;
    seen->last_ns = r->read_ns;
    if (!r->request->keep_chunks) return;
    if (seen->n_chunks == seen->cap_chunks) {
        size_t cap = seen->cap_chunks ? 2 * seen->cap_chunks : 64;
        int64_t *more = realloc(seen->chunk_ns, cap * sizeof *more);
        if (!more) return;
        seen->chunk_ns = more;
        seen->cap_chunks = cap;
    }
    seen->chunk_ns[seen->n_chunks++] = r->read_ns;
}

/* Text that is absent or empty (a chunk with a role alone) isn't content. */
static void take_reasoning(struct load_transfer *r, const char *text) {
    if (!text || !text[0]) return;
    stamp_chunk(r);
    r->seen->reasoning_chunks++;
}

static void take_content(struct load_transfer *r, const char *text, size_t n) {
    struct load_seen *seen = r->seen;
    if (n == 0) return;
    stamp_chunk(r);
    if (seen->answer_ns < 0) seen->answer_ns = r->read_ns;
    seen->content_chunks++;
    buffer_add(&seen->text, text, n);
    if (r->request->echo) fwrite(text, 1, n, r->request->echo), fflush(r->request->echo);
}

static void take_choice(struct load_transfer *r, const cJSON *choice) {
    const cJSON *delta = cJSON_GetObjectItemCaseSensitive(choice, "delta");
    if (!delta) delta = cJSON_GetObjectItemCaseSensitive(choice, "message");
    const char *reasoning = string_of(delta, "reasoning_content"); /* DeepSeek's name, and vLLM's */
    take_reasoning(r, reasoning ? reasoning : string_of(delta, "reasoning")); /* OpenRouter's */
    size_t n;
    const char *text = delta ? text_of(delta, "content", &n) : text_of(choice, "text", &n);
    take_content(r, text, n);
    const char *reason = string_of(choice, "finish_reason");
    if (!reason) return;
    r->seen->saw_finish = true;
    text_cut(r->seen->finish_reason, sizeof r->seen->finish_reason, reason);
}

static void take_error(struct load_seen *seen, const cJSON *error) {
    const char *message = cJSON_IsString(error) ? error->valuestring : string_of(error, "message");
    char text[300];
    snprintf(text, sizeof text, "the server says: %.250s", message ? message : "an error");
    problem(seen, text);
}

static void take_object(struct load_transfer *r, const cJSON *obj) {
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(obj, "error");
    const char *object = string_of(obj, "object");
    if (object && !strcmp(object, "error")) error = obj; /* vLLM's older form */
    bool none = !error || cJSON_IsNull(error) || cJSON_IsFalse(error) ||
                (cJSON_IsString(error) && !error->valuestring[0]);
    if (!none) take_error(r->seen, error);
    const cJSON *choices = cJSON_GetObjectItemCaseSensitive(obj, "choices");
    if (cJSON_IsArray(choices) && choices->child) take_choice(r, choices->child);
    take_usage(r->seen, obj);
}

/* Takes data[0..n) if it is [DONE] or blank, which some servers send as a keep-alive. */
static bool take_done(struct load_transfer *r, const char *data, size_t n) {
    while (n > 0 && (data[n - 1] == ' ' || data[n - 1] == '\t' || data[n - 1] == '\n')) n--;
    bool done = n == 6 && !memcmp(data, "[DONE]", 6);
    if (done) r->seen->saw_done = true;
    return done || n == 0;
}

static int take_torn_event(void *ctx, const char *data, size_t n) {
    take_done(ctx, data, n);
    return 0;
}

static int take_event(void *ctx, const char *data, size_t n) {
    struct load_transfer *r = ctx;
    struct err e;
    if (take_done(r, data, n)) return 0;
    buffer_clear(&r->event);
    surrogates_join(&r->surrogates, data, n, &r->event);
    cJSON *obj = r->event.failed ? NULL : json_parse_with_nul(r->event.bytes, r->event.n, 1, &e);
    if (r->event.failed) err_set(&e, "no memory for it");
    char text[300];
    if (!obj) snprintf(text, sizeof text, "a chunk of the stream isn't JSON: %.250s", e.text);
    if (!obj)
        problem(r->seen, text);
    else
        take_object(r, obj);
    cJSON_Delete(obj);
    return 0;
}

/* ---- libcurl's calls ------------------------------------------------------------------------- */

/* By its type, or where a server states another one or none, by its first bytes. */
static bool is_stream(CURL *curl, const char *bytes, size_t n) {
    char *type = NULL;
    curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    return (type && !strncasecmp(type, "text/event-stream", 17)) ||
           (n >= 5 && !memcmp(bytes, "data:", 5));
}

static void clear_progress(struct load_transfer *r) {
    if (r->progress_shown) fprintf(stderr, "\r\033[K");
    r->progress_shown = false;
}

static size_t on_bytes(char *bytes, size_t one, size_t n, void *ctx) {
    int64_t now = clock_monotonic_ns(); /* before anything else */
    struct load_transfer *r = ctx;
    struct err e;
    n *= one;
    r->read_ns = now;
    clear_progress(r);
    if (!r->begun) r->streamed = is_stream(r->curl, bytes, n);
    r->begun = true;
    if (!r->streamed) buffer_add(&r->body, bytes, n);
    int rc = r->streamed ? sse_feed(&r->sse, bytes, n, take_event, r, &e) : 0;
    if (!rc && (r->streamed ? r->seen->text.n : r->body.n) <= LOAD_MAX_REPLY) return n;
    if (!rc) err_set(&e, "the answer has more than %d MiB of text", LOAD_MAX_REPLY >> 20);
    problem(r->seen, e.text);
    return 0;
}

static size_t on_header(char *line, size_t one, size_t n, void *ctx) {
    struct load_transfer *r = ctx;
    static const char name[] = "X-Attempt:";
    if (one * n >= sizeof name && !strncasecmp(line, name, sizeof name - 1))
        r->seen->keeps_records = true;
    return one * n;
}

/* Called each time libcurl has a connection and is about to send: a second time means that the
 * first connection died and that it tries another. */
static int on_connected(void *ctx, char *a, char *b, int c, int d) {
    (void)a, (void)b, (void)c, (void)d;
    struct load_transfer *r = ctx;
    if (++r->attempts == 1) return CURL_PREREQFUNC_OK;
    r->seen->resent = r->seen->broken = true;
    problem(r->seen, "the kept connection broke before an answer; the request isn't sent again");
    return CURL_PREREQFUNC_ABORT;
}

static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    (void)a, (void)b, (void)c, (void)d;
    struct load_transfer *r = ctx;
    int64_t waited = clock_monotonic_ns() - r->seen->submitted_ns;
    if (!r->request->progress || waited < 2 * NS_PER_S) return 0;
    if (r->begun && r->request->echo) return 0; /* the text itself shows that it goes on */
    fprintf(stderr, "\r%s %lld s ", r->begun ? "answering," : "the model reads the prompt,",
            (long long)(waited / NS_PER_S));
    r->progress_shown = true;
    return 0;
}

/* ---- the request ----------------------------------------------------------------------------- */

static const char *route_of(const struct load_request *r) {
    return r->chat ? "/v1/chat/completions" : "/v1/completions";
}

static void write_body(struct buffer *b, const struct load_request *r) {
    buffer_puts(b, "{\"model\":");
    buffer_json_puts(b, r->model);
    buffer_puts(b, r->chat ? ",\"messages\":[{\"role\":\"user\",\"content\":" : ",\"prompt\":");
    if (r->prompt) buffer_json_puts(b, r->prompt);
    for (int32_t i = 0; !r->prompt && i < r->n_ids; i++)
        buffer_printf(b, "%c%d", i ? ',' : '[', r->ids[i]);
    if (!r->prompt) buffer_puts(b, "]");
    if (r->chat) buffer_puts(b, "}]");
    if (r->max_tokens > 0) buffer_printf(b, ",\"max_tokens\":%d", r->max_tokens);
    if (r->has_seed) buffer_printf(b, ",\"seed\":%lld", (long long)r->seed);
    if (r->ignore_eos) buffer_puts(b, ",\"ignore_eos\":true");
    buffer_printf(b, ",\"temperature\":%.17g", r->temperature);
    buffer_puts(b, ",\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
}

static size_t without_slashes(const char *url, size_t n) {
    while (n > 0 && url[n - 1] == '/') n--;
    return n;
}

int load_base_url(const char *url, char *out, size_t cap, struct err *e) {
    size_t n = without_slashes(url, strlen(url));
    if (n >= 3 && !memcmp(url + n - 3, "/v1", 3)) n = without_slashes(url, n - 3);
    if (n < 1 || n >= cap)
        return err_at(e, 0, "--url",
                      "'%.60s' is not an address; give one such as http://127.0.0.1:8080", url);
    memcpy(out, url, n);
    out[n] = '\0';
    return 0;
}

int load_client_init(struct load_client *c, const char *url, int timeout_s, struct err *e) {
    *c = (struct load_client){.url = url, .timeout_s = timeout_s};
    if (curl_global_init(CURL_GLOBAL_DEFAULT) || !(c->curl = curl_easy_init()))
        return err_set(e, "libcurl can't be started");
    return 0;
}

void load_client_release(struct load_client *c) {
    curl_easy_cleanup(c->curl);
    curl_global_cleanup();
}

void load_prepare(const struct load_client *c, void *curl, const char *url, void *headers) {
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* a proxy would be measured with the server */
    curl_easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)load_ask_s(c));
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)c->timeout_s);
}

void load_prepare_ask(const struct load_client *c, void *curl, const char *url, void *headers) {
    load_prepare(c, curl, url, headers);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)load_ask_s(c));
}

static struct curl_slist *headers_of(const struct load_request *r) {
    char line[128];
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");
    list = curl_slist_append(list, "Expect:"); /* no round trip before a body */
    snprintf(line, sizeof line, "X-Request-Id: %s", r->request_id);
    list = curl_slist_append(list, line);
    snprintf(line, sizeof line, "X-Attempt: %d", r->attempt);
    list = curl_slist_append(list, line);
    if (!r->check[0]) return list;
    snprintf(line, sizeof line, "X-Quality-Check: %s", r->check);
    return curl_slist_append(list, line);
}

/* What is wrong with an answer that has no end. */
static const char *no_end(const struct load_transfer *r) {
    bool completion = r->streamed || r->body.n == 0 || r->seen->content_chunks > 0;
    return completion ? "the answer broke off: neither a finish reason nor [DONE]"
                      : "the answer is neither a stream of events nor a completion in JSON; is "
                        "--url the address of a completion server?";
}

void load_redirect(const struct load_client *c, void *curl, const char *path, char *text,
                   size_t cap) {
    char *to = NULL;
    text[0] = '\0';
    if (curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &to) || !to) return;
    size_t n = strlen(to), tail = strlen(path);
    bool same_path = n > tail && !strcmp(to + n - tail, path);
    if (same_path) n -= tail;
    if (same_path && (n != strlen(c->url) || memcmp(to, c->url, n) != 0))
        snprintf(text, cap, "; give --url the address that it redirects to: %.*s", (int)n, to);
    else
        snprintf(
            text, cap,
            "; it redirects to %.100s, which isn't %s of another address. Is --url the address "
            "of a completion server?",
            to, path);
}

static void describe_status(const struct load_transfer *r, long status, char *text, size_t cap) {
    char redirect[260];
    load_redirect(r->client, r->curl, route_of(r->request), redirect, sizeof redirect);
    snprintf(text, cap, "the server answered HTTP %ld%.250s", status, redirect);
}

/* Decides how the answer ended, after libcurl has returned. */
static void conclude(struct load_transfer *r, CURLcode rc) {
    int64_t now = clock_monotonic_ns();
    struct load_seen *seen = r->seen;
    long status = 0;
    curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
    seen->http_status = (int32_t)status;
    if (!r->streamed && r->body.n > 0) { /* an error, or a server that doesn't stream */
        struct err e;
        cJSON *obj = json_parse_with_nul(r->body.bytes, r->body.n, 1, &e);
        if (obj) take_object(r, obj);
        cJSON_Delete(obj);
    }
    char text[300];
    bool ok = rc == CURLE_OK;
    seen->ended_ns = now;
    seen->timed_out = rc == CURLE_OPERATION_TIMEDOUT;
    seen->no_connection = seen->timed_out && r->attempts == 0;
    if (seen->no_connection)
        snprintf(text, sizeof text, "timed_out: the server took no connection within %d s",
                 load_ask_s(r->client));
    else if (seen->timed_out)
        snprintf(text, sizeof text, "timed_out");
    else if (!ok)
        snprintf(text, sizeof text, "the connection broke: %s", curl_easy_strerror(rc));
    else if (status != 200)
        describe_status(r, status, text, sizeof text);
    if (!ok && !seen->timed_out && !seen->problem[0]) seen->broken = true;
    if (!ok || status != 200) problem(seen, text);
    if (r->surrogates.high) take_content(r, "\xef\xbf\xbd", 3); /* half a character, U+FFFD */
    struct err e;
    bool torn = sse_end(&r->sse); /* an event without its blank line; of [DONE] that does no harm */
    if (torn) sse_feed(&r->sse, "\n\n", 2, take_torn_event, r, &e);
    seen->cut_off = ok && status == 200 && !seen->saw_finish && !seen->saw_done;
    bool broke_off = seen->cut_off || (torn && !seen->saw_done);
    if (broke_off && !seen->problem[0]) seen->broken = true;
    if (broke_off) problem(seen, no_end(r));
    if (ok && status == 200 && !seen->cut_off) seen->final_ns = now;
}

struct load_transfer *load_transfer_open(const struct load_client *c, void *curl,
                                         const struct load_request *r, struct load_seen *seen,
                                         struct err *e) {
    struct load_transfer *t = calloc(1, sizeof *t);
    *seen = (struct load_seen){.submitted_ns = -1,
                               .first_ns = -1,
                               .answer_ns = -1,
                               .final_ns = -1,
                               .last_ns = -1,
                               .ended_ns = -1,
                               .prompt_tokens = -1,
                               .output_tokens = -1};
    if (t) {
        *t = (struct load_transfer){.client = c, .request = r, .seen = seen, .curl = curl};
        write_body(&t->sends, r);
        buffer_puts(&seen->text, "");
        buffer_printf(&t->url, "%s%s", c->url, route_of(r));
        t->headers = headers_of(r);
    }
    if (!t || t->sends.failed || t->url.failed || !t->headers) {
        err_set(e, "no memory for the request");
        load_transfer_free(t);
        load_seen_release(seen);
        return NULL;
    }
    load_prepare(c, curl, t->url.bytes, t->headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, t->sends.bytes);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->sends.n);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, on_connected);
    curl_easy_setopt(curl, CURLOPT_PREREQDATA, t);
    curl_easy_setopt(curl, CURLOPT_MAXAGE_CONN, (long)LOAD_KEPT_S);
    curl_easy_setopt(curl, CURLOPT_DNS_CACHE_TIMEOUT, -1L); /* a name is looked up once */
    if (!r->progress) return t;
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
    return t;
}

void load_transfer_sent(struct load_transfer *t) {
    t->seen->submitted_ns = clock_monotonic_ns();
}

void load_transfer_conclude(struct load_transfer *t, int curl_code) {
    conclude(t, (CURLcode)curl_code);
    clear_progress(t);
}

void load_transfer_free(struct load_transfer *t) {
    if (!t) return;
    curl_slist_free_all(t->headers);
    buffer_release(&t->sends);
    buffer_release(&t->url);
    buffer_release(&t->event);
    buffer_release(&t->body);
    sse_release(&t->sse);
    free(t);
}

int load_complete(struct load_client *c, const struct load_request *r, struct load_seen *seen,
                  struct err *e) {
    struct load_transfer *t = load_transfer_open(c, c->curl, r, seen, e);
    if (!t) return -1;
    load_transfer_sent(t);
    load_transfer_conclude(t, curl_easy_perform(c->curl));
    load_transfer_free(t);
    return 0;
}

void load_seen_release(struct load_seen *seen) {
    buffer_release(&seen->text);
    free(seen->chunk_ns);
    seen->chunk_ns = NULL;
}
