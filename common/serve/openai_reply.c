/* openai_reply.c: the bytes of replies in OpenAI's shapes. See openai.h. */
#include "serve/openai.h"

#include <sys/random.h>

static void usage(struct buffer *b, struct openai_usage u);
static void obfuscation(struct buffer *b, size_t n);

static void head(struct buffer *b, const struct openai_reply *r, const char *object) {
    bool chat = r->api == OPENAI_CHAT;
    buffer_puts(b, chat ? "{\"id\":\"chatcmpl-" : "{\"id\":\"cmpl-");
    buffer_puts(b, r->request_id); /* letters, digits and ._- only */
    buffer_printf(b, "\",\"object\":\"%s\",\"created\":%lld,\"model\":", object,
                  (long long)r->created_s);
    buffer_json_puts(b, r->model);
}

static void chunk_head(struct buffer *b, const struct openai_reply *r) {
    buffer_puts(b, "data: ");
    head(b, r, r->api == OPENAI_CHAT ? "chat.completion.chunk" : "text_completion");
}

static void logprobs_and_end(struct buffer *b, const struct openai_choice *c) {
    buffer_puts(b, ",\"logprobs\":");
    buffer_puts(b, c->logprobs ? c->logprobs : "null");
    buffer_puts(b, ",\"finish_reason\":");
    if (c->finish_reason)
        buffer_json_puts(b, c->finish_reason);
    else
        buffer_puts(b, "null");
    buffer_puts(b, "}");
}

void openai_chunk(struct buffer *b, const struct openai_reply *r, const struct openai_choice *c) {
    chunk_head(b, r);
    buffer_printf(b, ",\"choices\":[{\"index\":%d,", c->index);
    if (r->api == OPENAI_CHAT) {
        buffer_puts(b, "\"delta\":{");
        if (c->first) buffer_puts(b, "\"role\":\"assistant\"");
        if (c->text) buffer_puts(b, c->first ? ",\"content\":" : "\"content\":");
        if (c->text) buffer_json(b, c->text, c->n);
        if (c->tool_calls)
            buffer_puts(b, c->first ? ",\"content\":null,\"tool_calls\":" : "\"tool_calls\":");
        if (c->tool_calls) buffer_puts(b, c->tool_calls);
        buffer_puts(b, "}");
    } else {
        buffer_puts(b, "\"text\":");
        buffer_json(b, c->text ? c->text : "", c->n);
    }
    logprobs_and_end(b, c);
    buffer_puts(b, "]");
    if (r->include_usage && r->continuous_usage)
        usage(b, r->so_far);
    else if (r->include_usage)
        buffer_puts(b, ",\"usage\":null");
    if (r->obfuscate && c->text) obfuscation(b, c->n);
    buffer_puts(b, "}\n\n");
}

/* Fills the text's n bytes up to a multiple of 16 with random letters. */
static void obfuscation(struct buffer *b, size_t n) {
    unsigned char letters[16] = {0};
    size_t want = sizeof letters - n % sizeof letters;
    if (getrandom(letters, want, GRND_NONBLOCK) < 0) return; /* it is an extra */
    for (size_t i = 0; i < want; i++) letters[i] = (unsigned char)('a' + letters[i] % 26);
    buffer_puts(b, ",\"obfuscation\":");
    buffer_json(b, (const char *)letters, want);
}

static void usage(struct buffer *b, struct openai_usage u) {
    buffer_printf(b,
                  ",\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d",
                  u.prompt_tokens, u.completion_tokens, u.prompt_tokens + u.completion_tokens);
    if (u.cached_tokens >= 0)
        buffer_printf(b, ",\"prompt_tokens_details\":{\"cached_tokens\":%d}", u.cached_tokens);
    buffer_puts(b, "}");
}

void openai_chunk_usage(struct buffer *b, const struct openai_reply *r, struct openai_usage u) {
    chunk_head(b, r);
    buffer_puts(b, ",\"choices\":[]");
    usage(b, u);
    buffer_puts(b, "}\n\n");
}

void openai_chunk_done(struct buffer *b) {
    buffer_puts(b, "data: [DONE]\n\n");
}

void openai_chunk_error(struct buffer *b, const char *message) {
    buffer_puts(b, "data: ");
    openai_error(b, "server_error", message, NULL, "engine_fault");
    buffer_puts(b, "\n\n");
}

void openai_whole_begin(struct buffer *b, const struct openai_reply *r) {
    head(b, r, r->api == OPENAI_CHAT ? "chat.completion" : "text_completion");
    buffer_puts(b, ",\"choices\":[");
}

void openai_whole_choice(struct buffer *b, const struct openai_reply *r,
                         const struct openai_choice *c) {
    bool chat = r->api == OPENAI_CHAT;
    buffer_printf(b, "%s{\"index\":%d,", c->index > 0 ? "," : "", c->index);
    buffer_puts(b, chat ? "\"message\":{\"role\":\"assistant\",\"content\":" : "\"text\":");
    if (c->tool_calls) {
        buffer_puts(b, "null,\"tool_calls\":");
        buffer_puts(b, c->tool_calls);
    } else {
        buffer_json(b, c->text, c->n);
    }
    if (chat) buffer_puts(b, "}");
    logprobs_and_end(b, c);
}

void openai_whole_end(struct buffer *b, struct openai_usage u) {
    buffer_puts(b, "]");
    usage(b, u);
    buffer_puts(b, "}\n");
}

static void string_or_null(struct buffer *b, const char *key, const char *text) {
    buffer_printf(b, ",\"%s\":", key);
    if (text)
        buffer_json_puts(b, text);
    else
        buffer_puts(b, "null");
}

void openai_error(struct buffer *b, const char *type, const char *message, const char *param,
                  const char *code) {
    buffer_puts(b, "{\"error\":{\"message\":");
    buffer_json_puts(b, message);
    string_or_null(b, "type", type);
    string_or_null(b, "param", param && param[0] ? param : NULL);
    string_or_null(b, "code", code);
    buffer_puts(b, "}}");
}

void openai_model(struct buffer *b, const struct openai_model *m) {
    buffer_puts(b, "{\"id\":");
    buffer_json_puts(b, m->name);
    buffer_printf(b,
                  ",\"object\":\"model\",\"created\":%lld,\"owned_by\":\"servelab\","
                  "\"context_length\":%d,\"vocab_size\":%d",
                  (long long)m->created_s, m->context_length, m->vocab_size);
    if (m->paced) {
        buffer_puts(b, ",\"paced\":");
        buffer_json_puts(b, m->paced);
    }
    buffer_puts(b, "}");
}

void openai_models(struct buffer *b, const struct openai_model *m) {
    buffer_puts(b, "{\"object\":\"list\",\"data\":[");
    openai_model(b, m);
    buffer_puts(b, "]}\n");
}
