/* completion_reply.c: the way back of a completion, from the first text to the end of its reply.
 * See completion.c.
 *
 *   - completion_reply: queues the reply, or an error while nothing was sent.
 *   - read_reply: the library asks for bytes of the queued reply. One piece of text a call, or the
 *     closing chunks; stamps token_sent when the bytes of a piece are handed over completely.
 *   - completion_end: the exchange is over. Stamps how it ended and releases everything.
 *
 * The parts of several choices come as they are there, each with the number of its choice. A fault
 * in one of them ends the reply, and the others are cancelled.
 */
#include "serve/http_reply.h"
#include "serve/stamps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum MHD_Result reply_streamed(struct exchange *x);
static enum MHD_Result reply_whole(struct exchange *x);

/* The engine drops what is left of the request. */
static void cancel_all(struct exchange *x) {
    for (int32_t i = 0; i < x->n_choices; i++)
        if (x->choices[i].submitted) engine_cancel(x->h->o.engine, x->choices[i].seq_id);
}

/* A choice that was closed without being complete, or NULL. */
static struct choice *broken_choice(struct exchange *x, struct stream_end *end) {
    for (int32_t i = 0; i < x->n_choices; i++) {
        *end = stream_end_of(x->choices[i].stream);
        if (end->state != STREAM_OPEN && end->state != STREAM_DONE) return &x->choices[i];
    }
    return NULL;
}

enum MHD_Result completion_reply(struct exchange *x) {
    struct stream_end end;
    struct choice *c = broken_choice(x, &end);
    if (!c) return x->streamed ? reply_streamed(x) : reply_whole(x);
    cancel_all(x);
    if (end.state == STREAM_CANCELLED)
        return MHD_NO; /* the client is gone, or the server stops: the connection is closed */
    if (end.state == STREAM_REJECTED)
        return reply_error(x, 400, NULL, "never_fits", "%s", end.error);
    pthread_mutex_lock(&c->live->lock);
    stamp_failed(&c->live->record, &x->h->o.clock);
    pthread_mutex_unlock(&c->live->lock);
    return reply_error(x, 500, NULL, "engine_fault", "%s", end.error);
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

/* ---- the usage of all choices ---------------------------------------------------------------- */

/* As OpenAI counts: each prompt once, the output of every choice. */
static struct openai_usage usage_of(struct exchange *x) {
    struct openai_usage all = {0};
    for (int32_t i = 0; i < x->n_choices; i++) {
        struct stream_end end = stream_end_of(x->choices[i].stream);
        all.completion_tokens += end.output_tokens;
        if (i % x->n_per_prompt > 0) continue;
        all.prompt_tokens += x->choices[i].prompt_tokens;
        all.cached_tokens += end.cached_tokens;
    }
    if (all.cached_tokens < 0) all.cached_tokens = -1; /* each choice has -1 when reuse is off */
    return all;
}

/* ---- a whole reply --------------------------------------------------------------------------- */

/* The JSON of the next n rows' log-probabilities in *b, or NULL where none are asked for. */
static const char *logprobs_of(struct exchange *x, struct choice *c, size_t n, struct buffer *b) {
    struct buffer rows = {0};
    size_t width = (size_t)c->scores.top + 1;
    if (!x->logprobs) return NULL;
    if (n > 0) stream_take_scores(c->stream, &rows, n * width);
    n = rows.n / sizeof(struct token_score) / width;
    if (n > 0) openai_logprobs(b, &c->scores, (const struct token_score *)(void *)rows.bytes, n);
    b->failed |= rows.failed;
    buffer_release(&rows);
    return n > 0 ? b->bytes : NULL;
}

enum { ALL_ROWS = 1 << 30 };

static bool add_whole_choice(struct exchange *x, int32_t index) {
    struct choice *c = &x->choices[index];
    struct stream_end end = stream_end_of(c->stream);
    struct buffer text = {0}, logprobs = {0}, calls = {0};
    int32_t piece;
    c->out_tokens = end.closing_tokens;
    buffer_puts(&text, "");
    buffer_add(&text, c->echo.bytes, c->echo.n);
    while (stream_take(c->stream, &text, &piece) == 1) c->out_tokens += piece;
    struct openai_choice out = {.index = index,
                                .text = text.bytes,
                                .n = text.n,
                                .logprobs = logprobs_of(x, c, ALL_ROWS, &logprobs),
                                .finish_reason = end.finish_reason};
    if (x->tools && openai_tool_call(&calls, x->tools, c->live->id, false, text.bytes, text.n)) {
        out.tool_calls = calls.bytes;
        out.finish_reason = "tool_calls";
    }
    openai_whole_choice(&x->out, &x->reply, &out);
    if (x->check[0] && index == 0) buffer_add(&x->answer, text.bytes, text.n);
    bool failed = text.failed || logprobs.failed || calls.failed || x->out.failed;
    buffer_release(&text);
    buffer_release(&logprobs);
    buffer_release(&calls);
    return !failed;
}

static enum MHD_Result reply_whole(struct exchange *x) {
    openai_whole_begin(&x->out, &x->reply);
    for (int32_t i = 0; i < x->n_choices; i++)
        if (!add_whole_choice(x, i)) {
            completion_stamp(x, stamp_failed, "no memory for this reply");
            return reply_error(x, 500, NULL, NULL, "no memory for this reply");
        }
    openai_whole_end(&x->out, usage_of(x));
    struct MHD_Response *r =
        MHD_create_response_from_callback(x->out.n, 16 * 1024, read_reply, x, NULL);
    if (!r) return MHD_NO;
    MHD_add_response_header(r, "Content-Type", "application/json");
    MHD_add_response_header(r, "Cache-Control", "no-store");
    return reply_queue(x, 200, r);
}

/* ---- read_reply: the library asks for bytes -------------------------------------------------- */

static int next_part(struct exchange *x);
static void stamp_sent(struct exchange *x);

/* The library asks for up to `cap` bytes. One part a call: the library sends after each call. */
static ssize_t read_reply(void *cls, uint64_t at, char *to, size_t cap) {
    struct exchange *x = cls;
    (void)at;
    if (x->out_sent == x->out.n) {
        int rc = x->streamed ? next_part(x) : -1;
        if (rc == 0) return 0; /* the connection is suspended */
        struct stream_end end;
        if (rc < 0 || x->out.failed)
            return x->out.failed ||
                           (broken_choice(x, &end) && end.state == STREAM_CANCELLED && !x->ended)
                       ? MHD_CONTENT_READER_END_WITH_ERROR
                       : MHD_CONTENT_READER_END_OF_STREAM;
    }
    size_t n = x->out.n - x->out_sent;
    if (n > cap) n = cap;
    memcpy(to, x->out.bytes + x->out_sent, n);
    x->out_sent += n;
    if (x->out_sent == x->out.n) stamp_sent(x);
    return (ssize_t)n;
}

/* All of x->out is handed over. */
static void stamp_sent(struct exchange *x) {
    for (int32_t i = 0; i < x->n_choices; i++) {
        struct choice *c = &x->choices[i];
        if (c->out_tokens == 0) continue;
        struct record *r = &c->live->record;
        pthread_mutex_lock(&c->live->lock);
        /* nothing follows the cancellation, not even the token that was on its way when it
         * happened */
        if (r->events[r->n_events - 1].kind != EV_REQUEST_CANCELLED)
            stamp_token_sent(r, &x->h->o.clock, c->out_tokens);
        pthread_mutex_unlock(&c->live->lock);
        c->out_tokens = 0;
    }
}

/* ---- a stream -------------------------------------------------------------------------------- */

static void put_chunk(struct exchange *x, struct choice *c, const struct buffer *text, size_t rows,
                      const char *finish_reason);
static void put_echo(struct exchange *x, struct choice *c);
static int put_text(struct exchange *x, struct choice *c, const struct buffer *text,
                    int32_t tokens);
static int put_end(struct exchange *x, struct choice *c);

/* Makes the next part of one choice: 1 it is in x->out, 0 there is none yet, -1 the reply ends here
 * without one. */
static int choice_part(struct exchange *x, struct choice *c) {
    struct buffer text = {0};
    int32_t tokens = 0;
    if (c->ended) return 0;
    int rc = stream_take(c->stream, &text, &tokens);
    if (rc == 1) {
        put_echo(x, c);
        if (x->check[0] && c == x->choices) buffer_add(&x->answer, text.bytes, text.n);
        rc = put_text(x, c, &text, tokens);
    }
    buffer_release(&text);
    return rc < 0 ? put_end(x, c) : rc;
}

/* Fills x->out with the next bytes of a stream. 1 there are some, 0 not yet, -1 the end. */
static int next_part(struct exchange *x) {
    buffer_clear(&x->out);
    x->out_sent = 0;
    if (x->ended) return -1;
    do
        for (int32_t i = 0; i < x->n_choices; i++) {
            struct choice *c = &x->choices[x->turn];
            x->turn = (x->turn + 1) % x->n_choices;
            int rc = choice_part(x, c);
            if (rc != 0) return rc;
        }
    while (stream_ready_or_suspend(x->choices[0].stream));
    return 0;
}

/* A piece of text; 0 where it is held back, because it may be the beginning of a tool call. */
static int put_text(struct exchange *x, struct choice *c, const struct buffer *text,
                    int32_t tokens) {
    c->held_tokens += tokens;
    c->sent_tokens += tokens;
    if (x->tools && !c->is_text) {
        buffer_add(&c->held, text->bytes, text->n);
        if (openai_may_be_tool_call(c->held.bytes, c->held.n)) return 0;
        text = &c->held;
        c->is_text = true;
    }
    put_chunk(x, c, text, (size_t)c->held_tokens, NULL);
    c->out_tokens = c->held_tokens;
    c->held_tokens = 0;
    buffer_release(&c->held);
    return 1;
}

/* At the end of an answer that was held back: the tool call that it is, or its text. */
static const char *put_held(struct exchange *x, struct choice *c, const char *finish_reason) {
    struct buffer calls = {0}, logprobs = {0};
    struct openai_choice out = {.index = (int32_t)(c - x->choices),
                                .first = !c->began,
                                .logprobs = logprobs_of(x, c, (size_t)c->held_tokens, &logprobs)};
    if (openai_tool_call(&calls, x->tools, c->live->id, true, c->held.bytes, c->held.n)) {
        out.tool_calls = calls.bytes;
        finish_reason = "tool_calls";
    } else {
        out.text = c->held.bytes;
        out.n = c->held.n;
    }
    openai_chunk(&x->out, &x->reply, &out);
    x->out.failed |= calls.failed || logprobs.failed || c->held.failed;
    c->began = true;
    buffer_release(&calls);
    buffer_release(&logprobs);
    buffer_release(&c->held);
    return finish_reason;
}

static void put_chunk(struct exchange *x, struct choice *c, const struct buffer *text, size_t rows,
                      const char *finish_reason) {
    struct buffer logprobs = {0};
    struct openai_choice out = {.index = (int32_t)(c - x->choices),
                                .first = !c->began,
                                .text = text ? text->bytes : NULL,
                                .n = text ? text->n : 0,
                                .logprobs = logprobs_of(x, c, rows, &logprobs),
                                .finish_reason = finish_reason};
    int32_t cached = c->ended ? stream_end_of(c->stream).cached_tokens : -1;
    x->reply.so_far = (struct openai_usage){c->prompt_tokens, c->sent_tokens, cached};
    openai_chunk(&x->out, &x->reply, &out);
    x->out.failed |= logprobs.failed;
    buffer_release(&logprobs);
    c->began = true;
}

/* The prompt, as a chunk of its own before the first. Its scores are complete: an answer begins
 * after them. */
static void put_echo(struct exchange *x, struct choice *c) {
    if (c->echo.n > 0 || c->scores.prompt_rows > 0)
        put_chunk(x, c, &c->echo, (size_t)c->scores.prompt_rows, NULL);
    buffer_release(&c->echo);
}

/* The end of one choice; with the last one, of the reply. */
static int put_end(struct exchange *x, struct choice *c) {
    struct stream_end end = stream_end_of(c->stream);
    stream_over(c->stream);
    c->ended = true;
    if (end.state != STREAM_DONE) {
        cancel_all(x);
        if (end.state == STREAM_OPEN) x->out.failed = true; /* no memory for its text */
        if (end.state == STREAM_OPEN || end.state == STREAM_CANCELLED) return -1;
        x->ended = true;
        openai_chunk_error(&x->out, end.error);
        return 1;
    }
    put_echo(x, c);
    c->out_tokens = c->held_tokens + end.closing_tokens; /* a stop string's tokens count here */
    c->sent_tokens = end.output_tokens;
    x->reply.so_far = (struct openai_usage){c->prompt_tokens, c->sent_tokens, -1};
    const char *why = c->held.n > 0 ? put_held(x, c, end.finish_reason) : end.finish_reason;
    put_chunk(x, c, NULL, ALL_ROWS, why);
    for (int32_t i = 0; i < x->n_choices; i++)
        if (!x->choices[i].ended) return 1;
    x->ended = true;
    if (x->reply.include_usage) openai_chunk_usage(&x->out, &x->reply, usage_of(x));
    openai_chunk_done(&x->out);
    return 1;
}

/* ---- completion_end -------------------------------------------------------------------------- */

static bool has_ending(const struct record *r) {
    return record_event(r, EV_REQUEST_REJECTED) || record_event(r, EV_REQUEST_CANCELLED) ||
           record_event(r, EV_REQUEST_FAILED);
}

static void count_answered(struct exchange *x) {
    pthread_mutex_lock(&x->h->lock);
    x->h->unanswered -= x->unanswered;
    x->unanswered = false;
    pthread_mutex_unlock(&x->h->lock);
}

void completion_refused(struct exchange *x, int status, const char *why) {
    struct record *r = &x->live->record;
    count_answered(x);
    pthread_mutex_lock(&x->live->lock);
    r->outcome.http_status = status;
    if (!has_ending(r)) {
        stamp_rejected(r, &x->h->o.clock);
        text_cut(r->outcome.error, sizeof r->outcome.error, why);
    }
    pthread_mutex_unlock(&x->live->lock);
}

/* Stamps how it ended, unless the engine does or somebody has. */
static void end_record(struct exchange *x, struct live_record *live, bool ok, bool in_engine) {
    struct record *r = &live->record;
    const char *error = NULL;
    pthread_mutex_lock(&live->lock);
    if (x->status) r->outcome.http_status = x->status;
    if (in_engine || has_ending(r)) goto out;
    if (!ok) {
        stamp_cancelled(r, &x->h->o.clock);
        error = "the client went away";
    } else if (x->status == 200) {
        stamp_finished(r, &x->h->o.clock);
    } else {
        stamp_failed(r, &x->h->o.clock);
        error = r->outcome.error[0] ? NULL : "another answer of this request failed";
    }
    if (error) text_cut(r->outcome.error, sizeof r->outcome.error, error);
out:
    pthread_mutex_unlock(&live->lock);
}

void completion_end(struct exchange *x, bool ok) {
    completion_release_request(x);
    if (!x->live) return; /* the header was refused before there was a record */
    struct http *h = x->h;
    for (int32_t i = 0; i < x->n_choices; i++) {
        struct choice *c = &x->choices[i];
        if (!c->live) continue;
        bool open = x->streamed ? !c->ended : !ok || x->status != 200;
        /* a request that is still in the engine is stamped there, when its position is freed */
        bool in_engine = c->submitted && open && engine_cancel(h->o.engine, c->seq_id);
        end_record(x, c->live, ok, in_engine);
    }
    if (x->n_choices == 0) end_record(x, x->live, ok, false);
    if (ok && x->status == 200) preset_judge(x);
    if (x->n_choices > 0 && x->choices[0].stream) stream_detach(x->choices[0].stream);
    for (int32_t i = 0; i < x->n_choices; i++) {
        struct choice *c = &x->choices[i];
        if (c->stream) stream_release(c->stream);
        buffer_release(&c->echo);
        buffer_release(&c->held);
        if (c->live && i > 0) live_end(h->o.records, c->live);
    }
    free(x->choices);
    cJSON_Delete(x->tools);
    live_end(h->o.records, x->live);
    count_answered(x);
}
