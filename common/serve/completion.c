/* completion.c: one completion over HTTP, from the request's header to the end of its reply.
 *
 * It is entered once per phase:
 *   completion_begin   the header is read: opens the record and stamps request_accepted
 *   completion_start   the body is there: reads it (openai.c), makes token ids, submits the request
 *                      to the engine, and suspends the connection until there is something to send
 *   completion_reply   the first text is there (for a whole reply: all of it), or the request ended
 *                      without any: queues the reply. Nothing was sent before, so an error up to
 *                      here has its own HTTP status.
 *   read_reply         the library asks for bytes of the queued reply: one piece of text a call, or
 *                      the closing chunks; stamps token_sent when the bytes of a piece are handed
 *                      over completely
 *   completion_end     the exchange is over: stamps how it ended and releases everything
 *
 * The routes are in http_router.c, replies in http_reply.c; stamps.h says what is stamped where.
 */
#include "backend/paced.h"
#include "serve/http_reply.h"

#include "serve/stamps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* ---- refusing -------------------------------------------------------------------------------- */

static void stamp(struct exchange *x, void (*how)(struct record *, const struct clock *),
                  const char *error) {
    if (!x->live) return;
    struct record *r = &x->live->record;
    pthread_mutex_lock(&x->live->lock);
    how(r, &x->h->o.clock);
    if (error) text_cut(r->outcome.error, sizeof r->outcome.error, error);
    pthread_mutex_unlock(&x->live->lock);
}

static enum MHD_Result reject(struct exchange *x, int status, const char *field, const char *code,
                              const char *why) {
    stamp(x, status == 500 ? stamp_failed : stamp_rejected, why);
    if (!field || !field[0]) return reply_error(x, status, NULL, code, "%s", why);
    return reply_error(x, status, field, code, "%s: %s", field, why);
}

static enum MHD_Result reject_err(struct exchange *x, int status, const struct err *e) {
    char text[600];
    stamp(x, stamp_rejected, err_format(e, NULL, text, sizeof text));
    return reply_err(x, status, e);
}

/* ---- completion_begin: the header is read ---------------------------------------------------- */

static void refuse_later(struct exchange *x, int status, const char *field, const char *why) {
    x->refusal_status = status;
    text_cut(x->refusal, sizeof x->refusal, why);
    text_cut(x->refusal_field, sizeof x->refusal_field, field);
}

void completion_begin(struct exchange *x) {
    const char *id = request_header(x, "X-Request-Id"), *tried = request_header(x, "X-Attempt");
    int32_t attempt = 0;
    struct err e;
    if (id && !records_valid_id(id)) {
        refuse_later(x, 400, "X-Request-Id",
                     "must be 1 to 63 letters, digits, '.', '_' or '-', and not begin with '.'");
        id = NULL;
    }
    if (tried && !read_attempt(tried, &attempt)) {
        refuse_later(x, 400, "X-Attempt", "must be a whole number from 1 to 1000000");
        attempt = 0;
    }
    const char *check = request_header(x, "X-Quality-Check");
    if (check && !preset_valid_name(check))
        refuse_later(x, 400, "X-Quality-Check",
                     "must be a check and a preset's seed, such as key-recall/1:7");
    else if (check)
        text_cut(x->check, sizeof x->check, check);
    x->live = records_open(x->h->o.records, id, attempt, &e);
    if (!x->live) {
        refuse_later(x, e.field[0] ? 409 : 500, e.field, e.text);
        return;
    }
    pthread_mutex_lock(&x->live->lock);
    stamp_accepted(&x->live->record, &x->h->o.clock);
    pthread_mutex_unlock(&x->live->lock);
    pthread_mutex_lock(&x->h->lock);
    x->h->active++;
    pthread_mutex_unlock(&x->h->lock);
}

/* ---- completion_start: the body is there ----------------------------------------------------- */

static int32_t tokenize(struct exchange *x, const struct openai_request *r, int32_t **ids,
                        bool *owned, struct err *e);
static enum MHD_Result enqueue(struct exchange *x, const struct openai_request *r,
                               const int32_t *ids, int32_t n_prompt);

enum MHD_Result completion_start(struct exchange *x) {
    struct openai_request r;
    struct err e;
    if (x->refusal[0]) return reject(x, x->refusal_status, x->refusal_field, NULL, x->refusal);
    int32_t vocab = tokenizer_vocab_size(x->h->o.tokenizer);
    if (openai_parse(&r, x->route->api, x->body.bytes ? x->body.bytes : "", x->body.n, vocab, &e))
        return reject_err(x, 400, &e);
    enum MHD_Result rc;
    int32_t *ids = NULL;
    bool owned = false;
    if (strcmp(r.model, x->h->o.model_name)) {
        char why[300];
        snprintf(why, sizeof why, "this server has \"%s\", not \"%.100s\"", x->h->o.model_name,
                 r.model);
        rc = reject(x, 404, "model", "model_not_found", why);
        goto out;
    }
    int32_t n = tokenize(x, &r, &ids, &owned, &e);
    rc = n < 0 ? reject_err(x, 400, &e) : enqueue(x, &r, ids, n);
    if (owned) free(ids);
out:
    openai_request_release(&r);
    buffer_release(&x->body);
    if (!x->submitted) return rc; /* refused, and answered */
    return stream_ready_or_suspend(x->stream) ? completion_reply(x) : MHD_YES;
}

/* The prompt's token ids, and their number, or -1. With *owned the caller frees *ids. The text of a
 * special token is that token in a raw prompt; in a chat message it is text. */
static int32_t tokenize(struct exchange *x, const struct openai_request *r, int32_t **ids,
                        bool *owned, struct err *e) {
    const struct tokenizer *t = x->h->o.tokenizer;
    *owned = !r->ids;
    *ids = r->ids;
    if (r->ids) return r->n_ids;
    if (r->api == OPENAI_CHAT) return tokenizer_encode_chat(t, r->messages, r->n_messages, ids, e);
    return tokenizer_encode_prompt(t, r->prompt, strlen(r->prompt), ids, e);
}

/* How many tokens the answer may have at most, or -1 with what doesn't fit. */
static int32_t room_for(struct exchange *x, const struct openai_request *r, int32_t n_prompt,
                        struct err *e) {
    int32_t context = x->h->o.engine->backend->info.max_seq_tokens;
    const char *field = r->api == OPENAI_CHAT ? "messages" : "prompt";
    if (n_prompt < 1) return err_at(e, 0, field, "the prompt is empty");
    if (n_prompt >= context)
        return err_at(e, 0, field,
                      "This model's maximum context length is %d tokens; the prompt alone has %d",
                      context, n_prompt);
    int32_t left = context - n_prompt;
    if (r->max_tokens > left)
        return err_at(e, 0, "max_tokens",
                      "This model's maximum context length is %d tokens; the prompt has %d, so at "
                      "most %d can be asked for, not %d",
                      context, n_prompt, left, r->max_tokens);
    if (r->max_tokens > 0) return r->max_tokens;
    /* OpenAI's defaults: all that fits for chat, 16 for plain completions */
    return r->api == OPENAI_CHAT || left < 16 ? left : 16;
}

/* Is there a setting that the record's "decoding" has no room for? It then ends with " +". */
static bool has_more_settings(const struct sampler_config *c) {
    const struct token_rules_config *r = &c->rules;
    bool truncates = c->temperature != 0 && (c->top_k > 0 || c->min_p > 0);
    return truncates || r->presence_penalty != 0 || r->frequency_penalty != 0 ||
           (r->repetition_penalty != 0 && r->repetition_penalty != 1) || r->n_bias > 0 ||
           r->min_tokens > 0;
}

/* Records the request's settings that are known now, also for a request that is then refused. */
static void describe(struct exchange *x, const struct openai_request *r, int32_t n_prompt) {
    struct record *rec = &x->live->record;
    pthread_mutex_lock(&x->live->lock);
    stamp_tokenized(rec, &x->h->o.clock, n_prompt);
    rec->workload.max_output_tokens = r->max_tokens > 0 ? r->max_tokens : -1;
    text_cut(rec->workload.model, sizeof rec->workload.model, x->h->o.model_name);
    const char *paced = paced_label(x->h->o.engine->backend);
    if (paced) text_cut(rec->workload.paced, sizeof rec->workload.paced, paced);
    const struct sampler_config *c = &r->sampling;
    char decoding[64] = "greedy";
    if (c->temperature != 0)
        snprintf(decoding, sizeof decoding, "temperature %.2g top_p %.2g", (double)c->temperature,
                 (double)c->top_p);
    if (has_more_settings(c)) strcat(decoding, " +");
    text_cut(rec->workload.decoding, sizeof rec->workload.decoding, decoding);
    pthread_mutex_unlock(&x->live->lock);
}

static uint64_t seed_of(const struct openai_request *r) {
    uint64_t seed = r->sampling.seed;
    if (!r->has_seed && getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
        seed = (uint64_t)clock_monotonic_ns();
    return seed;
}

static enum engine_submit submit(struct exchange *x, const struct openai_request *r,
                                 const int32_t *ids, int32_t n_prompt, int32_t max_output) {
    struct engine_request q = {.prompt = ids,
                               .n_prompt = n_prompt,
                               .max_output = max_output,
                               .sampling = r->sampling,
                               .stops = r->stops,
                               .n_stops = r->n_stops,
                               .ignore_end = r->ignore_eos,
                               .stream = x->stream,
                               .live = x->live};
    q.sampling.seed = seed_of(r);
    pthread_mutex_lock(&x->live->lock);
    x->live->record.workload.max_output_tokens = max_output;
    q.arrival_ns = record_event(&x->live->record, EV_REQUEST_ACCEPTED)->t_ns;
    pthread_mutex_unlock(&x->live->lock);
    return engine_submit(x->h->o.engine, &q, &x->seq_id);
}

static enum MHD_Result refused(struct exchange *x, enum engine_submit why) {
    if (why == SUBMIT_FULL)
        return reject(x, 429, NULL, "queue_full",
                      "the waiting queue is full; try again, or start the server with a larger "
                      "--max-waiting");
    if (why == SUBMIT_TOO_LARGE)
        return reject(x, 400, "max_tokens", "context_length_exceeded",
                      "prompt and max_tokens together need more KV blocks than the whole cache "
                      "has; ask for fewer tokens, or start the server with more --kv-blocks");
    if (why == SUBMIT_DRAINING)
        return reject(x, 503, NULL, "draining", "the server is shutting down");
    return reject(x, 500, NULL, NULL, "no memory for this request");
}

/* Hands the request to the engine (x->submitted), or replies with the reason why the engine can't
 * take it. */
static enum MHD_Result enqueue(struct exchange *x, const struct openai_request *r,
                               const int32_t *ids, int32_t n_prompt) {
    struct err e;
    describe(x, r, n_prompt);
    int32_t max_output = room_for(x, r, n_prompt, &e);
    if (max_output < 0) {
        stamp(x, stamp_rejected, e.text);
        return reply_error(x, 400, e.field,
                           n_prompt > 0 ? "context_length_exceeded" : "empty_prompt", "%s", e.text);
    }
    x->prompt_tokens = n_prompt;
    x->streamed = r->stream;
    x->reply = (struct openai_reply){.api = r->api,
                                     .request_id = x->live->id,
                                     .model = x->h->o.model_name,
                                     .created_s = time(NULL),
                                     .include_usage = r->include_usage,
                                     .continuous_usage = r->continuous_usage,
                                     .obfuscate = r->obfuscate,
                                     .so_far = {n_prompt, 0, -1}};
    x->stream = stream_create();
    if (!x->stream) return refused(x, SUBMIT_NO_MEMORY);
    int fd = MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    stream_attach(x->stream, x->connection, fd, !r->stream);
    enum engine_submit rc = submit(x, r, ids, n_prompt, max_output);
    if (rc != SUBMIT_OK) return refused(x, rc);
    x->submitted = true;
    return MHD_YES;
}

/* ---- completion_reply: there is something to send -------------------------------------------- */

static enum MHD_Result reply_streamed(struct exchange *x);
static enum MHD_Result reply_whole(struct exchange *x, const struct stream_end *end);

enum MHD_Result completion_reply(struct exchange *x) {
    struct stream_end end = stream_end_of(x->stream);
    INVARIANT(end.state != STREAM_OPEN || x->streamed); /* resumed only when it is ready */
    switch (end.state) {
    case STREAM_REJECTED:
        return reply_error(x, 400, NULL, "never_fits", "%s", end.error);
    case STREAM_FAILED:
        stamp(x, stamp_failed, NULL);
        return reply_error(x, 500, NULL, "engine_fault", "%s", end.error);
    case STREAM_CANCELLED:
        return MHD_NO; /* the client is gone, or the server stops: the connection is closed */
    case STREAM_OPEN:
    case STREAM_DONE:
        break;
    }
    return x->streamed ? reply_streamed(x) : reply_whole(x, &end);
}

static ssize_t read_reply(void *cls, uint64_t at, char *to, size_t cap);

static enum MHD_Result reply_streamed(struct exchange *x) {
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_reply, x, NULL);
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Content-Type", "text/event-stream; charset=utf-8");
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "X-Accel-Buffering", "no"); /* nginx would collect the chunks */
    return reply_queue(x, 200, r);
}

static enum MHD_Result reply_whole(struct exchange *x, const struct stream_end *end) {
    struct buffer text = {0};
    int32_t tokens = end->closing_tokens, piece;
    buffer_puts(&text, "");
    while (stream_take(x->stream, &text, &piece) == 1) tokens += piece;
    struct openai_usage usage = {x->prompt_tokens, end->output_tokens, end->cached_tokens};
    openai_whole(&x->out, &x->reply, text.bytes, text.n, end->finish_reason, usage);
    if (x->check[0]) buffer_add(&x->answer, text.bytes, text.n);
    bool failed = text.failed || x->out.failed;
    buffer_release(&text);
    if (failed) return reject(x, 500, NULL, NULL, "no memory for this reply");
    x->out_tokens = tokens;
    struct MHD_Response *r =
        MHD_create_response_from_callback(x->out.n, 16 * 1024, read_reply, x, NULL);
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Content-Type", "application/json");
    MHD_add_response_header(r, "Cache-Control", "no-store");
    return reply_queue(x, 200, r);
}

/* ---- read_reply: the library asks for bytes -------------------------------------------------- */

static int next_part(struct exchange *x);

/* The library asks for up to `cap` bytes. One part a call: the library sends after each call. */
static ssize_t read_reply(void *cls, uint64_t at, char *to, size_t cap) {
    struct exchange *x = cls;
    (void)at;
    if (x->out_sent == x->out.n) {
        int rc = x->streamed ? next_part(x) : -1;
        if (rc == 0) return 0; /* the connection is suspended */
        if (rc < 0 || x->out.failed)
            return x->out.failed || stream_end_of(x->stream).state == STREAM_CANCELLED
                       ? MHD_CONTENT_READER_END_WITH_ERROR
                       : MHD_CONTENT_READER_END_OF_STREAM;
    }
    size_t n = x->out.n - x->out_sent;
    if (n > cap) n = cap;
    memcpy(to, x->out.bytes + x->out_sent, n);
    x->out_sent += n;
    if (x->out_sent < x->out.n || x->out_tokens == 0) return (ssize_t)n;
    struct record *r = &x->live->record;
    pthread_mutex_lock(&x->live->lock);
    /* nothing follows the cancellation, not even the token that was on its way when it happened */
    if (r->events[r->n_events - 1].kind != EV_REQUEST_CANCELLED)
        stamp_token_sent(r, &x->h->o.clock, x->out_tokens);
    pthread_mutex_unlock(&x->live->lock);
    return (ssize_t)n;
}

/* Fills x->out with the next bytes of a stream. 1 there are some, 0 not yet, -1 the end. */
static int next_part(struct exchange *x) {
    struct buffer text = {0};
    int rc;
    buffer_clear(&x->out);
    x->out_sent = 0;
    x->out_tokens = 0;
    do rc = stream_take(x->stream, &text, &x->out_tokens);
    while (rc == 0 && stream_ready_or_suspend(x->stream));
    if (rc == 1) {
        x->reply.so_far.completion_tokens += x->out_tokens;
        openai_chunk(&x->out, &x->reply, !x->began, text.bytes, text.n);
        if (x->check[0]) buffer_add(&x->answer, text.bytes, text.n);
        x->began = true;
    }
    buffer_release(&text);
    if (rc >= 0 || x->ended) return rc;

    struct stream_end end = stream_end_of(x->stream);
    x->ended = true;
    if (end.state == STREAM_FAILED) openai_chunk_error(&x->out, end.error);
    if (end.state != STREAM_DONE) return end.state == STREAM_FAILED ? 1 : -1;
    struct openai_usage usage = {x->prompt_tokens, end.output_tokens, end.cached_tokens};
    x->reply.so_far = usage;
    openai_chunk_finish(&x->out, &x->reply, !x->began, end.finish_reason);
    if (x->reply.include_usage) openai_chunk_usage(&x->out, &x->reply, usage);
    openai_chunk_done(&x->out);
    x->out_tokens = end.closing_tokens; /* a stop string's tokens count here */
    return 1;
}

/* ---- completion_end -------------------------------------------------------------------------- */

static bool has_ending(const struct record *r) {
    return record_event(r, EV_REQUEST_REJECTED) || record_event(r, EV_REQUEST_CANCELLED) ||
           record_event(r, EV_REQUEST_FAILED);
}

void completion_end(struct exchange *x, bool ok) {
    if (!x->live) return; /* the header was refused before there was a record */
    struct http *h = x->h;
    struct record *r = &x->live->record;
    /* a request that is still in the engine is stamped there, when its position is freed */
    bool in_engine = !ok && x->submitted && engine_cancel(h->o.engine, x->seq_id);
    pthread_mutex_lock(&x->live->lock);
    if (ok && x->status == 200) {
        stamp_finished(r, &h->o.clock);
    } else if (!ok && !in_engine && !has_ending(r)) {
        stamp_cancelled(r, &h->o.clock);
        text_cut(r->outcome.error, sizeof r->outcome.error, "the client went away");
    }
    pthread_mutex_unlock(&x->live->lock);
    if (ok && x->status == 200) preset_judge(x);
    if (x->stream) stream_detach(x->stream);
    if (x->stream) stream_release(x->stream);
    live_end(h->o.records, x->live);
    pthread_mutex_lock(&h->lock);
    h->active--;
    pthread_mutex_unlock(&h->lock);
}
