/* openai.h: reads OpenAI's requests to /v1/chat/completions and /v1/completions, and writes the
 * replies.
 *
 * A request is read strictly: an unknown field, or one of the wrong type, is an error that names
 * it. A setting that is silently dropped would spoil a measurement. Settings that this server
 * doesn't have but clients send always are taken at the values that change nothing; another value
 * is an error that names the field. n > 1 and several prompts in one request
 * are refused.
 *
 * A prompt has one of OpenAI's four shapes: text, a list of one text, token ids (an exact prompt
 * length), a list of one list of token ids. Beyond OpenAI, "ignore_eos" makes the end token an
 * ordinary one (an exact output length), as in vLLM and its load generator.
 */
#ifndef SERVELAB_SERVE_OPENAI_H
#define SERVELAB_SERVE_OPENAI_H

#include "base/buffer.h"
#include "base/err.h"
#include "model/sampler.h"
#include "model/tokenizer.h"
#include "serve/answer.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

enum openai_api { OPENAI_CHAT, OPENAI_COMPLETIONS };

enum {
    OPENAI_MAX_MESSAGES = 4096,
    OPENAI_MAX_BIASES = 1024,               /* OpenAI documents 300 */
    OPENAI_MAX_PROMPT_IDS = 4 * 1024 * 1024 /* more than any model's context, less than overflow */
};

struct openai_request {
    enum openai_api api;
    cJSON *body;                   /* owned; the strings below are in it */
    const char *model;             /* as asked for */
    struct chat_message *messages; /* OPENAI_CHAT: (n_messages); owned */
    size_t n_messages;
    char **joined;      /* (n_messages) contents that came in parts, NULL for the others; owned */
    const char *prompt; /* OPENAI_COMPLETIONS: text, or NULL when ids are given */
    int32_t *ids;       /* (n_ids); owned */
    int32_t n_ids;
    struct answer_stop stops[ANSWER_MAX_STOPS];
    int32_t n_stops;
    int32_t max_tokens; /* 0: not given */
    struct sampler_config sampling;
    bool has_seed;           /* sampling.seed is the client's */
    struct token_bias *bias; /* of sampling.rules; owned */
    bool stream, has_stream_options, include_usage, continuous_usage, obfuscate, ignore_eos;
    int32_t vocab_size; /* ids must be below it */
};

/* Reads body[0..n). Each token id of a prompt must be below vocab_size. A field that is null counts
 * as absent. 0: the caller calls openai_request_release. -1: *e names the line or the field, and
 * nothing is left to release. */
int openai_parse(struct openai_request *r, enum openai_api api, const char *body, size_t n,
                 int32_t vocab_size, struct err *e);
void openai_request_release(struct openai_request *r);

/* ---- replies: each appends to *b ------------------------------------------------------------- */

struct openai_usage {
    int32_t prompt_tokens, completion_tokens;
    int32_t cached_tokens; /* of the prompt, found in the KV cache; -1: not reported */
};

/* The fields that all parts of one reply share. */
struct openai_reply {
    enum openai_api api;
    const char *request_id; /* "chatcmpl-" or "cmpl-" is put in front */
    const char *model;
    int64_t created_s;     /* wall clock, as the shape asks for; no interval is computed from it */
    bool include_usage;    /* other chunks then carry "usage": null, or so_far */
    bool continuous_usage; /* with include_usage: each chunk carries so_far (vLLM's field) */
    bool obfuscate;        /* chunks with text carry random letters that hide its length */
    struct openai_usage so_far; /* of what was sent, this chunk included */
};

/* Server-sent events of a stream. `first`: this is the reply's first chunk, it carries the role. */
void openai_chunk(struct buffer *b, const struct openai_reply *r, bool first, const char *text,
                  size_t n);
void openai_chunk_finish(struct buffer *b, const struct openai_reply *r, bool first,
                         const char *finish_reason);
void openai_chunk_usage(struct buffer *b, const struct openai_reply *r, struct openai_usage u);
void openai_chunk_done(struct buffer *b);
/* An error inside a stream that has begun. */
void openai_chunk_error(struct buffer *b, const char *message);

/* A whole reply. */
void openai_whole(struct buffer *b, const struct openai_reply *r, const char *text, size_t n,
                  const char *finish_reason, struct openai_usage u);

/* {"error": {"message", "type", "param", "code"}}; param and code may be NULL. */
void openai_error(struct buffer *b, const char *type, const char *message, const char *param,
                  const char *code);

/* The model as an object, and as the only one of a list. */
struct openai_model {
    const char *name;
    int64_t created_s;
    int32_t context_length, vocab_size;
    const char *paced; /* "llama-2-7b on h100", or NULL */
};
void openai_model(struct buffer *b, const struct openai_model *m);
void openai_models(struct buffer *b, const struct openai_model *m);

#endif
