/* openai.h: reads OpenAI's requests to /v1/chat/completions and /v1/completions, and writes the
 * replies.
 *
 * A request is read strictly: an unknown field, or one of the wrong type, is an error that names
 * it. A setting that is silently dropped would spoil a measurement. Settings that this server
 * doesn't have but clients send always are taken at the values that change nothing; another value
 * is an error that names the field.
 *
 * The tools of a request are not shown to the model: no chat template here has a place for them.
 * The embedded model has learnt the tools of the check tool-call/1 (quality/checks.h). An answer in
 * that form is given as a tool call; it can't be forced. response_format "json_object" excludes
 * each token that would break a JSON object (model/json_guide.h). An answer that ends for its
 * length is the beginning of one.
 *
 * A prompt has one of OpenAI's four shapes: text, a list of texts, token ids (an exact prompt
 * length), a list of lists of token ids. A request with `n` answers for each of its prompts has
 * n_prompts * n choices; number p * n + k is the k-th of prompt p. Beyond OpenAI, "ignore_eos"
 * makes the end token an ordinary one (an exact output length), as in vLLM and its load generator.
 */
#ifndef SERVELAB_SERVE_OPENAI_H
#define SERVELAB_SERVE_OPENAI_H

#include "base/buffer.h"
#include "base/err.h"
#include "model/sampler.h"
#include "model/token_scores.h"
#include "model/tokenizer.h"
#include "serve/answer.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

enum openai_api { OPENAI_CHAT, OPENAI_COMPLETIONS };

enum {
    OPENAI_MAX_MESSAGES = 4096,
    OPENAI_MAX_TOOLS = 128,    /* as OpenAI's */
    OPENAI_MAX_N = 128,        /* as OpenAI's */
    OPENAI_MAX_CHOICES = 2048, /* what OpenAI takes as a list; the queue is mostly shorter */
    OPENAI_MAX_BIASES = 1024,  /* OpenAI documents 300 */
    OPENAI_MAX_PROMPT_IDS = 4 * 1024 * 1024 /* more than any model's context, less than overflow */
};

struct openai_prompt {
    const char *text; /* in the request's body; NULL when ids are given */
    size_t n_text;
    int32_t *ids; /* (n_ids), owned */
    int32_t n_ids;
};

struct openai_request {
    enum openai_api api;
    cJSON *body;                   /* owned; the strings below are in it */
    const char *model;             /* as asked for */
    struct chat_message *messages; /* OPENAI_CHAT: (n_messages); owned */
    size_t n_messages;
    char **joined; /* (n_messages) contents that came in parts, NULL for the others; owned */
    struct openai_prompt *prompts; /* OPENAI_COMPLETIONS: (n_prompts); owned */
    int32_t n_prompts;             /* OPENAI_CHAT: 1, which is the messages */
    int32_t n, best_of;            /* answers for each prompt; best_of is 0 when it is not given */
    struct answer_stop stops[ANSWER_MAX_STOPS];
    int32_t n_stops;
    int32_t max_tokens;   /* -1: not given; 0 with echo only */
    const char *max_name; /* the field that gave it: max_tokens or max_completion_tokens */
    bool logprobs, echo;
    int32_t top_logprobs;
    struct sampler_config sampling;
    bool has_seed;           /* sampling.seed is the client's */
    struct token_bias *bias; /* of sampling.rules; owned */
    bool json_object; /* response_format: the answer is one JSON object, as far as it comes */
    int32_t n_tools;  /* body's "tools" has been checked */
    bool no_tools;    /* tool_choice "none" */
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

/* One answer, or a part of one. */
struct openai_choice {
    int32_t index;
    bool first;       /* a chunk: the first of this choice, it carries the role */
    const char *text; /* (n); NULL: no content */
    size_t n;
    const char *logprobs;      /* JSON of openai_logprobs, or NULL */
    const char *tool_calls;    /* JSON of openai_tool_call, instead of text; or NULL */
    const char *finish_reason; /* NULL: the answer goes on */
};

/* Server-sent events of a stream. */
void openai_chunk(struct buffer *b, const struct openai_reply *r, const struct openai_choice *c);
void openai_chunk_usage(struct buffer *b, const struct openai_reply *r, struct openai_usage u);
void openai_chunk_done(struct buffer *b);
/* An error inside a stream that has begun. */
void openai_chunk_error(struct buffer *b, const char *message);

/* A whole reply: its beginning, each choice, its end. */
void openai_whole_begin(struct buffer *b, const struct openai_reply *r);
void openai_whole_choice(struct buffer *b, const struct openai_reply *r,
                         const struct openai_choice *c);
void openai_whole_end(struct buffer *b, struct openai_usage u);

/* Writes the log-probabilities of a choice's tokens, in the order in which it has them: for chat
 * {"content": [...]}, for completions {"tokens", "token_logprobs", "top_logprobs", "text_offset"}.
 * text_offset counts characters of the choice's text (with echo: of the prompt too) before the
 * token; a token that continues a character has the offset of that character. A token that ended
 * the answer is in the lists, as in vLLM, although it has no text and is in no usage. */
struct openai_scores {
    enum openai_api api;
    const struct tokenizer *tokenizer;
    int32_t top;         /* each row has 1 + top scores (token_scores.h) */
    int32_t prompt_rows; /* so many rows that follow are of the prompt */
    bool silent_bos;     /* the first of them is a bos that the prompt's text doesn't have: it is
                            left out, so that the tokens of an echo are those of its text */
    struct detokenizer held; /* these two say where the next token begins */
    int32_t chars;
};
void openai_logprobs(struct buffer *b, struct openai_scores *s, const struct token_score *rows,
                     size_t n);
/* Do the ids of this prompt begin with a bos that its text doesn't begin with? */
bool openai_bos_was_added(const struct tokenizer *t, const char *text, size_t n, const int32_t *ids,
                          int32_t n_ids);
/* The text of a prompt that came as ids, special tokens by their text, as `echo` gives it back. */
void openai_prompt_text(struct buffer *b, const struct tokenizer *t, const int32_t *ids,
                        int32_t n_ids);

/* The tool call that an answer is: {"tool": NAME, "args": [...]} as the embedded model writes it,
 * where NAME is one of the request's tools and the arguments have the number and the types of its
 * parameters, in their order. Writes OpenAI's list of tool calls, for a chunk with "index". False
 * for any other answer, which stays text. `id`: of the answer's record. */
bool openai_tool_call(struct buffer *b, const cJSON *tools, const char *id, bool chunk,
                      const char *text, size_t n);
/* Can an answer that begins with this text still become one? */
bool openai_may_be_tool_call(const char *text, size_t n);

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
