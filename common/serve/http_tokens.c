/* http_tokens.c: POST /tokenize and /detokenize, in vLLM's shapes. See http.h.
 *
 * /tokenize takes {"prompt": "..."} or {"messages": [...]} as a completion does, and answers with
 * what the model would read. "add_special_tokens" false leaves out bos; a chat has it by its
 * template, whatever the field says. A field that this server would ignore is refused.
 */
#include "serve/http_reply.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading: on the reader's thread when the body is long ----------------------------------- */

static cJSON *parse(struct exchange *x) {
    const char *bytes = x->body.bytes ? x->body.bytes : "";
    cJSON *body = json_parse_with_nul(bytes, x->body.n, 1, &x->fault);
    buffer_release(&x->body);
    if (body && !cJSON_IsObject(body)) {
        err_set(&x->fault, "the body must be a JSON object");
        cJSON_Delete(body);
        return NULL;
    }
    return body;
}

/* Takes a member out of the body; NULL when it is missing or null. */
static cJSON *take(cJSON *body, const char *name) {
    cJSON *v = cJSON_DetachItemFromObjectCaseSensitive(body, name);
    if (!cJSON_IsNull(v)) return v;
    cJSON_Delete(v);
    return NULL;
}

static int take_bool(cJSON *body, const char *name, bool *out, struct err *e) {
    cJSON *v = take(body, name);
    int rc = !v || cJSON_IsBool(v) ? 0 : err_at(e, 0, name, "must be true or false");
    if (v && !rc) *out = cJSON_IsTrue(v);
    cJSON_Delete(v);
    return rc;
}

/* The model, if it is named, must be this server's. */
static int take_model(struct exchange *x, cJSON *body) {
    cJSON *v = take(body, "model");
    int rc = 0;
    if (v && (!cJSON_IsString(v) || json_has_nul(v->valuestring)))
        rc = err_at(&x->fault, 0, "model", "must be a string, without NUL");
    else if (v && strcmp(v->valuestring, x->h->o.model_name)) {
        x->fault_status = 404;
        rc = err_at(&x->fault, 0, "model", "this server has \"%s\", not \"%.100s\"",
                    x->h->o.model_name, v->valuestring);
    }
    cJSON_Delete(v);
    return rc;
}

static int nothing_left(cJSON *body, struct err *e) {
    for (cJSON *m = body->child; m; m = m->next)
        if (!cJSON_IsNull(m))
            return err_at(e, 0, m->string, "unknown field; this server would ignore it");
    return 0;
}

static int32_t encode_prompt(const struct exchange *x, char *text, bool special, int32_t **ids,
                             struct err *e) {
    const struct tokenizer *t = x->h->o.tokenizer;
    size_t bytes = json_restore_nul(text);
    int32_t n = tokenizer_encode_prompt(t, text, bytes, ids, e);
    if (special || !openai_bos_was_added(t, text, bytes, *ids, n)) return n;
    memmove(*ids, *ids + 1, (size_t)(n - 1) * sizeof **ids);
    return n - 1;
}

/* Each JSON_NUL as the escape that it was. */
static void put_escaped(struct buffer *b, const char *text) {
    const char *nul;
    for (; (nul = strstr(text, JSON_NUL)); text = nul + strlen(JSON_NUL)) {
        buffer_add(b, text, (size_t)(nul - text));
        buffer_puts(b, "\\u0000");
    }
    buffer_puts(b, text);
}

/* Messages are read as a chat completion's: in a body of their own. */
static int32_t encode_messages(const struct exchange *x, cJSON *messages, int32_t **ids,
                               struct err *e) {
    struct openai_request r;
    cJSON *chat = cJSON_CreateObject();
    cJSON_AddStringToObject(chat, "model", x->h->o.model_name);
    cJSON_AddItemReferenceToObject(chat, "messages", messages);
    char *text = json_print(chat);
    struct buffer b = {.failed = !text};
    int32_t n = -1;
    cJSON_Delete(chat);
    if (text) put_escaped(&b, text);
    if (b.failed)
        err_set(e, "no memory for these messages");
    else if (!openai_parse(&r, OPENAI_CHAT, b.bytes, b.n, 1, e)) {
        n = tokenizer_encode_chat(x->h->o.tokenizer, r.messages, r.n_messages, ids, e);
        openai_request_release(&r);
    }
    cJSON_free(text);
    buffer_release(&b);
    return n;
}

static void print_ids(struct exchange *x, const int32_t *ids, int32_t n, bool strings) {
    struct buffer *b = &x->out;
    buffer_printf(b, "{\"count\":%d,\"max_model_len\":%d,\"tokens\":[", n,
                  x->h->o.engine->backend->info.max_seq_tokens);
    for (int32_t i = 0; i < n; i++) buffer_printf(b, i ? ",%d" : "%d", ids[i]);
    buffer_puts(b, strings ? "],\"token_strs\":[" : "],\"token_strs\":null}\n");
    if (!strings) return;
    for (int32_t i = 0; i < n; i++) {
        size_t length;
        const char *s = tokenizer_token_bytes(x->h->o.tokenizer, ids[i], true, &length);
        if (i) buffer_puts(b, ",");
        buffer_json(b, s, length);
    }
    buffer_puts(b, "]}\n");
}

/* The prompt's or the messages' ids, or -1. */
static int32_t encode(struct exchange *x, cJSON *body, bool *strings, int32_t **ids) {
    struct err *e = &x->fault;
    bool special = true, opens = true, goes_on = false;
    cJSON *prompt = take(body, "prompt"), *messages = take(body, "messages");
    int32_t n = -1;
    if (take_model(x, body) || take_bool(body, "return_token_strs", strings, e) ||
        take_bool(body, "add_special_tokens", &special, e) ||
        take_bool(body, "add_generation_prompt", &opens, e) ||
        take_bool(body, "continue_final_message", &goes_on, e) || nothing_left(body, e))
        n = -1;
    else if (!opens || goes_on)
        err_at(e, 0, opens ? "continue_final_message" : "add_generation_prompt",
               "this server always opens the assistant's turn; leave it out");
    else if (!prompt == !messages)
        err_at(e, 0, "prompt", "give a prompt, or messages, and not both");
    else if (prompt && !cJSON_IsString(prompt))
        err_at(e, 0, "prompt", "must be a string");
    else
        n = prompt ? encode_prompt(x, prompt->valuestring, special, ids, e)
                   : encode_messages(x, messages, ids, e);
    cJSON_Delete(prompt);
    cJSON_Delete(messages);
    return n;
}

void tokenize_read(struct exchange *x) {
    int32_t *ids = NULL;
    bool strings = false;
    cJSON *body = parse(x);
    int32_t n = body ? encode(x, body, &strings, &ids) : -1;
    if (n >= 0) print_ids(x, ids, n, strings);
    free(ids);
    cJSON_Delete(body);
}

static int decode(struct exchange *x, const cJSON *tokens) {
    const struct tokenizer *t = x->h->o.tokenizer;
    struct buffer text = {0};
    int32_t i = 0;
    for (const cJSON *v = tokens->child; v; v = v->next, i++) {
        size_t n;
        int32_t id = cJSON_IsNumber(v) && !v->valuestring && v->valuedouble == v->valueint
                         ? v->valueint
                         : -1;
        if (id < 0 || id >= tokenizer_vocab_size(t)) {
            char place[32];
            snprintf(place, sizeof place, "tokens[%d]", i);
            buffer_release(&text);
            return err_at(&x->fault, 0, place, "must be a token id from 0 to %d",
                          tokenizer_vocab_size(t) - 1);
        }
        const char *bytes = tokenizer_token_bytes(t, id, true, &n);
        buffer_add(&text, bytes, n);
    }
    buffer_puts(&x->out, "{\"prompt\":");
    buffer_json(&x->out, text.bytes ? text.bytes : "", text.n);
    buffer_puts(&x->out, "}\n");
    x->out.failed = x->out.failed || text.failed;
    buffer_release(&text);
    return 0;
}

void detokenize_read(struct exchange *x) {
    cJSON *body = parse(x);
    cJSON *tokens = body ? take(body, "tokens") : NULL;
    if (body && !take_model(x, body) && !nothing_left(body, &x->fault)) {
        if (!cJSON_IsArray(tokens))
            err_at(&x->fault, 0, "tokens", tokens ? "must be an array of token ids" : "is missing");
        else
            decode(x, tokens);
    }
    cJSON_Delete(tokens);
    cJSON_Delete(body);
}

/* ---- replying -------------------------------------------------------------------------------- */

enum MHD_Result tokens_route(struct exchange *x) {
    if (x->unread) return reply_error(x, 503, NULL, "draining", "the server is shutting down");
    if (x->out.failed) return reply_error(x, 500, NULL, NULL, "no memory for this reply");
    if (!x->out.n) return reply_err(x, x->fault_status ? x->fault_status : 400, &x->fault);
    return reply_bytes(x, 200, "application/json", &x->out);
}
