/* completion.c: one completion over HTTP, from the request's header to the engine's queue. The way
 * back, from the first text to the end of the reply, is in completion_reply.c.
 *
 * It is entered once per phase:
 *
 *   - completion_begin: the header is read. Opens the record and stamps request_accepted.
 *   - completion_read: the body is there. Reads it (openai.c) and makes token ids.
 *   - completion_start: submits the request to the engine, and suspends the connection until there
 *     is something to send.
 *   - completion_reply: the first text is there (for a whole reply: all of it), or the request
 *     ended without any. Queues the reply. Nothing was sent before, so an error up to here has its
 *     own HTTP status.
 *   - completion_end: the exchange is over. Stamps how it ended and releases everything.
 *
 * A request for several answers has several choices. Each is a request of its own for the engine,
 * with a stream and a record of its own. The record of the first has the request's id; that of
 * choice K has ID-K, the same attempt and the same request_accepted. The client posts its half to
 * the first. The engine's queue takes all of them or none.
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

static const char no_memory[] = "no memory for this request";

/* ---- refusing -------------------------------------------------------------------------------- */

static void stamp_one(struct exchange *x, struct live_record *live,
                      void (*how)(struct record *, const struct clock *), const char *error) {
    struct record *r = &live->record;
    pthread_mutex_lock(&live->lock);
    how(r, &x->h->o.clock);
    if (error) text_cut(r->outcome.error, sizeof r->outcome.error, error);
    pthread_mutex_unlock(&live->lock);
}

void completion_stamp(struct exchange *x, void (*how)(struct record *, const struct clock *),
                      const char *error) {
    if (x->live) stamp_one(x, x->live, how, error);
    for (int32_t i = 1; i < x->n_choices; i++)
        if (x->choices[i].live) stamp_one(x, x->choices[i].live, how, error);
}

static enum MHD_Result reject(struct exchange *x, int status, const char *field, const char *code,
                              const char *why) {
    completion_stamp(x, status == 500 ? stamp_failed : stamp_rejected, why);
    if (!field || !field[0]) return reply_error(x, status, NULL, code, "%s", why);
    return reply_error(x, status, field, code, "%s: %s", field, why);
}

static enum MHD_Result reject_err(struct exchange *x, int status, const struct err *e) {
    char text[600];
    completion_stamp(x, stamp_rejected, err_format(e, NULL, text, sizeof text));
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
    x->unanswered = x->active;
    x->h->unanswered += x->unanswered;
    pthread_mutex_unlock(&x->h->lock);
}

/* ---- completion_read: the body is there ------------------------------------------------------ */

/* The token ids of one prompt. */
struct prompt {
    int32_t *ids; /* (n) */
    int32_t n, max_output;
    bool owned; /* free ids */
};

static int tokenize(struct exchange *x, const struct openai_request *r, int32_t i, struct prompt *p,
                    struct err *e);
static enum MHD_Result with_prompts(struct exchange *x, struct openai_request *r,
                                    struct prompt *prompts);
static int32_t room_for(struct exchange *x, const struct openai_request *r, int32_t n_prompt,
                        const char *field, struct err *e);
static void describe(struct exchange *x, struct live_record *live, const struct openai_request *r,
                     int32_t n_prompt);
static enum MHD_Result enqueue(struct exchange *x, struct openai_request *r,
                               const struct prompt *prompts);

static bool other_model(const struct exchange *x) {
    return x->request.model && strcmp(x->request.model, x->h->o.model_name) != 0;
}

void completion_read(struct exchange *x) {
    struct openai_request *r = &x->request;
    int32_t vocab = tokenizer_vocab_size(x->h->o.tokenizer);
    const char *bytes = x->body.bytes ? x->body.bytes : "";
    if (x->refusal[0] || openai_parse(r, x->route->api, bytes, x->body.n, vocab, &x->fault)) return;
    if (other_model(x)) return;
    x->prompts = calloc((size_t)r->n_prompts, sizeof *x->prompts);
    if (!x->prompts) return;
    for (int32_t i = 0; i < r->n_prompts && !x->fault_status; i++)
        if (tokenize(x, r, i, &x->prompts[i], &x->fault)) x->fault_status = 400;
}

/* Also when the exchange ends before completion_start. */
void completion_release_request(struct exchange *x) {
    for (int32_t i = 0; x->prompts && i < x->request.n_prompts; i++)
        if (x->prompts[i].owned) free(x->prompts[i].ids);
    free(x->prompts);
    x->prompts = NULL;
    openai_request_release(&x->request);
    buffer_release(&x->body);
}

/* ---- completion_start: the body was read ----------------------------------------------------- */

static enum MHD_Result start(struct exchange *x) {
    if (x->refusal[0]) return reject(x, x->refusal_status, x->refusal_field, NULL, x->refusal);
    if (x->unread) return reject(x, 503, NULL, "draining", "the server is shutting down");
    if (!x->request.body) return reject_err(x, 400, &x->fault);
    if (other_model(x)) {
        char why[300];
        snprintf(why, sizeof why, "this server has \"%s\", not \"%.100s\"", x->h->o.model_name,
                 x->request.model);
        return reject(x, 404, "model", "model_not_found", why);
    }
    if (!x->prompts) return reject(x, 500, NULL, NULL, no_memory);
    if (x->fault_status) return reject_err(x, x->fault_status, &x->fault);
    return with_prompts(x, &x->request, x->prompts);
}

enum MHD_Result completion_start(struct exchange *x) {
    enum MHD_Result rc = start(x);
    completion_release_request(x);
    if (!x->choices || !x->choices[0].submitted) return rc; /* refused, and answered */
    return stream_ready_or_suspend(x->choices[0].stream) ? completion_reply(x) : MHD_YES;
}

/* Hands all prompts to the engine; or replies what is wrong. */
static enum MHD_Result with_prompts(struct exchange *x, struct openai_request *r,
                                    struct prompt *prompts) {
    struct err e;
    describe(x, x->live, r, prompts[0].n);
    for (int32_t i = 0; i < r->n_prompts; i++) {
        char field[32] = "messages";
        if (r->api == OPENAI_COMPLETIONS)
            snprintf(field, sizeof field, r->n_prompts > 1 ? "prompt[%d]" : "prompt", i);
        prompts[i].max_output = room_for(x, r, prompts[i].n, field, &e);
        if (prompts[i].max_output >= 0) continue;
        completion_stamp(x, stamp_rejected, e.text);
        return reply_error(x, 400, e.field,
                           prompts[i].n > 0 ? "context_length_exceeded" : "empty_prompt", "%s",
                           e.text);
    }
    return enqueue(x, r, prompts);
}

/* The text of a special token is that token in a raw prompt; in a chat message it is text. */
static int tokenize(struct exchange *x, const struct openai_request *r, int32_t i, struct prompt *p,
                    struct err *e) {
    const struct tokenizer *t = x->h->o.tokenizer;
    const struct openai_prompt *from = r->api == OPENAI_CHAT ? NULL : &r->prompts[i];
    p->owned = !from || !from->ids;
    if (!from)
        p->n = tokenizer_encode_chat(t, r->messages, r->n_messages, &p->ids, e);
    else if (from->text)
        p->n = tokenizer_encode_prompt(t, from->text, from->n_text, &p->ids, e);
    else
        *p = (struct prompt){.ids = from->ids, .n = from->n_ids};
    if (p->n < 0) p->owned = false;
    return p->n < 0 ? -1 : 0;
}

/* How many tokens the answer may have at most, or -1 with what doesn't fit. */
static int32_t room_for(struct exchange *x, const struct openai_request *r, int32_t n_prompt,
                        const char *field, struct err *e) {
    int32_t context = x->h->o.engine->backend->info.max_seq_tokens;
    if (n_prompt < 1) return err_at(e, 0, field, "the prompt is empty");
    if (n_prompt >= context)
        return err_at(e, 0, field,
                      "This model's maximum context length is %d tokens; the prompt alone has %d",
                      context, n_prompt);
    int32_t left = context - n_prompt;
    if (r->max_tokens > left)
        return err_at(e, 0, r->max_name,
                      "This model's maximum context length is %d tokens; the prompt has %d, so at "
                      "most %d can be asked for, not %d",
                      context, n_prompt, left, r->max_tokens);
    if (r->max_tokens >= 0) return r->max_tokens;
    /* OpenAI's defaults: all that fits for chat, 16 for plain completions */
    int32_t most = r->api == OPENAI_CHAT || left < 16 ? left : 16;
    if (r->sampling.rules.min_tokens <= most) return most;
    return err_at(e, 0, "min_tokens",
                  "is %d, and without max_tokens the answer has at most %d; give max_tokens, too",
                  r->sampling.rules.min_tokens, most);
}

/* Is there a setting that the record's "decoding" has no room for? It then ends with " +". */
static bool has_more_settings(const struct openai_request *request) {
    const struct sampler_config *c = &request->sampling;
    const struct token_rules_config *r = &c->rules;
    bool truncates = c->temperature != 0 && (c->top_k > 0 || c->min_p > 0);
    return truncates || r->presence_penalty != 0 || r->frequency_penalty != 0 ||
           (r->repetition_penalty != 0 && r->repetition_penalty != 1) || r->n_bias > 0 ||
           r->min_tokens > 0 || request->json_object;
}

/* Records the request's settings that are known now, also for a request that is then refused. */
static void describe(struct exchange *x, struct live_record *live, const struct openai_request *r,
                     int32_t n_prompt) {
    struct record *rec = &live->record;
    pthread_mutex_lock(&live->lock);
    stamp_tokenized(rec, &x->h->o.clock, n_prompt);
    rec->workload.max_output_tokens = r->max_tokens;
    text_cut(rec->workload.model, sizeof rec->workload.model, x->h->o.model_name);
    const char *paced = paced_label(x->h->o.engine->backend);
    if (paced) text_cut(rec->workload.paced, sizeof rec->workload.paced, paced);
    const struct sampler_config *c = &r->sampling;
    char decoding[64] = "greedy";
    if (c->temperature != 0)
        snprintf(decoding, sizeof decoding, "temperature %.2g top_p %.2g", (double)c->temperature,
                 (double)c->top_p);
    if (has_more_settings(r)) strcat(decoding, " +");
    text_cut(rec->workload.decoding, sizeof rec->workload.decoding, decoding);
    pthread_mutex_unlock(&live->lock);
}

static uint64_t seed_of(const struct openai_request *r) {
    uint64_t seed = r->sampling.seed;
    if (!r->has_seed && getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
        seed = (uint64_t)clock_monotonic_ns();
    return seed;
}

/* ---- the choices ----------------------------------------------------------------------------- */

static int make_choices(struct exchange *x, const struct openai_request *r,
                        const struct prompt *prompts, struct err *e);
static enum engine_submit submit(struct exchange *x, const struct openai_request *r,
                                 const struct prompt *prompts);

static enum MHD_Result refused(struct exchange *x, enum engine_submit why) {
    char full[160];
    snprintf(full, sizeof full,
             "the waiting queue has no room for %d more; try again, or start the server with a "
             "larger --max-waiting",
             x->n_choices);
    if (why == SUBMIT_FULL && x->n_choices > 1) return reject(x, 429, "n", "queue_full", full);
    if (why == SUBMIT_FULL)
        return reject(x, 429, NULL, "queue_full",
                      "the waiting queue is full; try again, or start the server with a larger "
                      "--max-waiting");
    if (why == SUBMIT_TOO_LARGE)
        return reject(x, 400, x->request.max_name, "context_length_exceeded",
                      "prompt and max_tokens together need more KV blocks than the whole cache "
                      "has; ask for fewer tokens, or start the server with more --kv-blocks");
    if (why == SUBMIT_DRAINING)
        return reject(x, 503, NULL, "draining", "the server is shutting down");
    return reject(x, 500, NULL, NULL, no_memory);
}

/* Hands every choice to the engine, or replies with the reason why the engine can't take them. */
static enum MHD_Result enqueue(struct exchange *x, struct openai_request *r,
                               const struct prompt *prompts) {
    struct err e;
    if (r->n_tools > 0 && !r->no_tools)
        x->tools = cJSON_DetachItemFromObjectCaseSensitive(r->body, "tools");
    x->streamed = r->stream;
    x->logprobs = r->logprobs;
    x->n_per_prompt = r->n;
    x->reply = (struct openai_reply){.api = r->api,
                                     .request_id = x->live->id,
                                     .model = x->h->o.model_name,
                                     .created_s = time(NULL),
                                     .include_usage = r->include_usage,
                                     .continuous_usage = r->continuous_usage,
                                     .obfuscate = r->obfuscate};
    x->choices = calloc((size_t)(r->n * r->n_prompts), sizeof *x->choices);
    if (!x->choices) return refused(x, SUBMIT_NO_MEMORY);
    x->n_choices = r->n * r->n_prompts;
    if (make_choices(x, r, prompts, &e)) {
        int conflict = strcmp(e.field, "X-Attempt") ? 400 : 409;
        return reject_err(x, e.field[0] ? conflict : 500, &e);
    }
    stream_attach(x->choices[0].stream, x->connection, x->fd, !r->stream);
    enum engine_submit rc = submit(x, r, prompts);
    return rc == SUBMIT_OK ? MHD_YES : refused(x, rc);
}

/* The record of choice k > 0. */
static struct live_record *open_record(struct exchange *x, int32_t k, struct err *e) {
    char id[RECORD_ID_BYTES + 16];
    snprintf(id, sizeof id, "%s-%d", x->live->id, k);
    if (!records_valid_id(id)) {
        err_at(e, 0, "X-Request-Id", "is too long for %d answers, whose records are called %s",
               x->n_choices, id);
        return NULL;
    }
    struct live_record *live = records_open(x->h->o.records, id, x->live->attempt, e);
    if (!live) return NULL;
    pthread_mutex_lock(&x->live->lock);
    struct event accepted = *record_event(&x->live->record, EV_REQUEST_ACCEPTED);
    pthread_mutex_unlock(&x->live->lock);
    pthread_mutex_lock(&live->lock);
    (void)record_add_event(&live->record, &accepted, NULL);
    pthread_mutex_unlock(&live->lock);
    return live;
}

/* What the reply says of the prompt. */
static void prepare_reply(struct exchange *x, struct choice *c, const struct openai_request *r,
                          const struct openai_prompt *from, const struct prompt *p) {
    const struct tokenizer *t = x->h->o.tokenizer;
    c->prompt_tokens = p->n;
    c->scores = (struct openai_scores){.api = r->api, .tokenizer = t, .top = r->top_logprobs};
    if (!r->echo) return;
    c->scores.prompt_rows = r->logprobs ? p->n : 0;
    c->scores.silent_bos =
        from->text && openai_bos_was_added(t, from->text, from->n_text, p->ids, p->n);
    if (from->text)
        buffer_add(&c->echo, from->text, from->n_text);
    else
        openai_prompt_text(&c->echo, t, p->ids, p->n);
}

static int make_choices(struct exchange *x, const struct openai_request *r,
                        const struct prompt *prompts, struct err *e) {
    x->choices[0].live = x->live;
    for (int32_t k = 0; k < x->n_choices; k++) {
        struct choice *c = &x->choices[k];
        const struct prompt *p = &prompts[k / r->n];
        prepare_reply(x, c, r, r->api == OPENAI_CHAT ? NULL : &r->prompts[k / r->n], p);
        c->stream = stream_create(x->choices[0].stream);
        if (!c->stream || c->echo.failed) return err_set(e, no_memory);
        if (k == 0) continue;
        c->live = open_record(x, k, e);
        if (!c->live) return -1;
        describe(x, c->live, r, p->n);
    }
    return 0;
}

static enum engine_submit submit(struct exchange *x, const struct openai_request *r,
                                 const struct prompt *prompts) {
    size_t n = (size_t)x->n_choices;
    struct engine_request *q = calloc(n, sizeof *q);
    int64_t *ids = calloc(n, sizeof *ids);
    enum engine_submit rc = SUBMIT_NO_MEMORY;
    uint64_t seed = seed_of(r);
    for (int32_t k = 0; q && k < x->n_choices; k++) {
        struct choice *c = &x->choices[k];
        const struct prompt *p = &prompts[k / r->n];
        q[k] = (struct engine_request){.prompt = p->ids,
                                       .n_prompt = p->n,
                                       .max_output = p->max_output,
                                       .sampling = r->sampling,
                                       .stops = r->stops,
                                       .n_stops = r->n_stops,
                                       .ignore_end = r->ignore_eos,
                                       .scores = r->logprobs,
                                       .prompt_scores = r->logprobs && r->echo,
                                       .top_scores = r->top_logprobs,
                                       .stream = c->stream,
                                       .live = c->live};
        if (r->json_object) q[k].sampling.rules.json_object = x->h->o.tokenizer;
        q[k].sampling.seed = seed + (uint64_t)(k % r->n); /* as vLLM: choices of a prompt differ */
        pthread_mutex_lock(&c->live->lock);
        c->live->record.workload.max_output_tokens = p->max_output;
        q[k].arrival_ns = record_event(&c->live->record, EV_REQUEST_ACCEPTED)->t_ns;
        pthread_mutex_unlock(&c->live->lock);
    }
    if (q && ids) rc = engine_submit_all(x->h->o.engine, q, x->n_choices, ids);
    for (int32_t k = 0; rc == SUBMIT_OK && k < x->n_choices; k++) {
        x->choices[k].seq_id = ids[k];
        x->choices[k].submitted = true;
    }
    free(q);
    free(ids);
    return rc;
}
