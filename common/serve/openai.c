/* openai.c: reads a completion request. See openai.h; the replies are in openai_reply.c.
 *
 * One table names every field, the function that reads it and the routes that have it. A field that
 * isn't in the table is refused, unless it is null: null means absent, everywhere.
 */
#include "serve/openai_fields.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_model(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    if (field_string(v, name, e)) return -1;
    r->model = v->valuestring;
    return 0;
}

static int read_stream(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    return field_bool(v, name, &r->stream, e);
}

static int read_ignore_eos(struct openai_request *r, const cJSON *v, const char *name,
                           struct err *e) {
    return field_bool(v, name, &r->ignore_eos, e);
}

static int read_max_tokens(struct openai_request *r, const cJSON *v, const char *name,
                           struct err *e) {
    int64_t n = 0;
    if (field_int(v, name, r->api == OPENAI_CHAT ? 1 : 0, INT32_MAX, &n, e)) return -1;
    if (r->max_tokens >= 0 && r->max_tokens != n)
        return err_at(e, 0, name,
                      "max_tokens and max_completion_tokens differ; "
                      "give one of them");
    r->max_tokens = (int32_t)n;
    r->max_name = name;
    return 0;
}

static int read_n(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    int64_t n = 0;
    if (field_int(v, name, 1, OPENAI_MAX_N, &n, e)) return -1;
    r->n = (int32_t)n;
    return 0;
}

static int read_best_of(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    int64_t n = 0;
    if (field_int(v, name, 1, OPENAI_MAX_N, &n, e)) return -1;
    r->best_of = (int32_t)n;
    return 0;
}

/* Chat: true or false. Completions: how many of the most likely tokens beside the chosen one. */
static int read_logprobs(struct openai_request *r, const cJSON *v, const char *name,
                         struct err *e) {
    if (r->api == OPENAI_CHAT) return field_bool(v, name, &r->logprobs, e);
    int64_t top = 0;
    if (cJSON_IsFalse(v)) return 0;
    if (field_int(v, name, 0, TOKEN_SCORES_MAX_TOP, &top, e)) return -1;
    r->logprobs = true;
    r->top_logprobs = (int32_t)top;
    return 0;
}

static int read_top_logprobs(struct openai_request *r, const cJSON *v, const char *name,
                             struct err *e) {
    int64_t top = 0;
    if (field_int(v, name, 0, TOKEN_SCORES_MAX_TOP, &top, e)) return -1;
    r->top_logprobs = (int32_t)top;
    return 0;
}

static int read_echo(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    return field_bool(v, name, &r->echo, e);
}

static int read_user(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    (void)r;
    return field_string(v, name, e);
}

static int read_response_format(struct openai_request *r, const cJSON *v, const char *name,
                                struct err *e) {
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(v, "type");
    bool alone = cJSON_IsObject(v) && cJSON_GetArraySize(v) == 1 && cJSON_IsString(type);
    r->json_object = alone && !strcmp(type->valuestring, "json_object");
    if (r->json_object || (alone && !strcmp(type->valuestring, "text"))) return 0;
    return err_at(e, 0, name,
                  "must be {\"type\": \"text\"} or {\"type\": \"json_object\"}; this server has no "
                  "other format");
}

/* ---- stop, stream_options -------------------------------------------------------------------- */

static int add_stop(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    if (!cJSON_IsString(v)) return field_wrong_type(v, name, "a string", e);
    size_t n = json_restore_nul(v->valuestring);
    if (n == 0) return err_at(e, 0, name, "a stop string can't be empty");
    if (n > ANSWER_MAX_STOP_BYTES)
        return err_at(e, 0, name, "a stop string has at most %d bytes, not %zu",
                      ANSWER_MAX_STOP_BYTES, n);
    r->stops[r->n_stops++] = (struct answer_stop){v->valuestring, n};
    return 0;
}

static int read_stop(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    if (cJSON_IsString(v)) return add_stop(r, v, name, e);
    if (!cJSON_IsArray(v)) return field_wrong_type(v, name, "a string or an array of strings", e);
    if (cJSON_GetArraySize(v) > ANSWER_MAX_STOPS)
        return err_at(e, 0, name, "at most %d stop strings, not %d", ANSWER_MAX_STOPS,
                      cJSON_GetArraySize(v));
    int i = 0;
    for (const cJSON *s = v->child; s; s = s->next, i++) {
        char place[40];
        snprintf(place, sizeof place, "%s[%d]", name, i);
        if (add_stop(r, s, place, e)) return -1;
    }
    return 0;
}

static int read_stream_options(struct openai_request *r, const cJSON *v, const char *name,
                               struct err *e) {
    if (!cJSON_IsObject(v)) return field_wrong_type(v, name, "an object", e);
    r->has_stream_options = true;
    for (const cJSON *m = v->child; m; m = m->next) {
        char place[96];
        if (cJSON_IsNull(m)) continue;
        snprintf(place, sizeof place, "%s.%s", name, m->string);
        bool *out = !strcmp(m->string, "include_usage")            ? &r->include_usage
                    : !strcmp(m->string, "continuous_usage_stats") ? &r->continuous_usage
                    : !strcmp(m->string, "include_obfuscation")    ? &r->obfuscate
                                                                   : NULL;
        if (!out) return err_at(e, 0, place, "unknown field");
        if (field_bool(m, place, out, e)) return -1;
    }
    if (r->continuous_usage && !r->include_usage)
        return err_at(e, 0, "stream_options.continuous_usage_stats",
                      "works only with \"include_usage\": true");
    return 0;
}

/* ---- prompt ---------------------------------------------------------------------------------- */

static int read_ids(struct openai_request *r, struct openai_prompt *p, const cJSON *v,
                    const char *name, struct err *e) {
    int n = cJSON_GetArraySize(v), i = 0;
    if (n > OPENAI_MAX_PROMPT_IDS)
        return err_at(e, 0, name, "has %d token ids; no context is that long", n);
    p->ids = malloc((size_t)n * sizeof *p->ids);
    if (!p->ids) return err_at(e, 0, name, "no memory for %d token ids", n);
    p->n_ids = n;
    for (const cJSON *id = v->child; id; id = id->next, i++) {
        int64_t x = 0;
        char place[48];
        snprintf(place, sizeof place, "%s[%d]", name, i);
        if (field_int(id, place, 0, INT32_MAX, &x, e)) return -1;
        if (x >= r->vocab_size)
            return err_at(e, 0, place, "token %lld is not in the vocabulary of %d", (long long)x,
                          r->vocab_size);
        p->ids[i] = (int32_t)x;
    }
    return 0;
}

static int read_one_prompt(struct openai_request *r, const cJSON *v, const char *name,
                           struct err *e) {
    struct openai_prompt *p = &r->prompts[r->n_prompts++];
    if (cJSON_IsArray(v) && !v->child) return err_at(e, 0, name, "the prompt is empty");
    if (cJSON_IsArray(v)) return read_ids(r, p, v, name, e);
    if (!cJSON_IsString(v))
        return field_wrong_type(v, name, "a string or an array of token ids", e);
    p->text = v->valuestring;
    p->n_text = json_restore_nul(v->valuestring);
    return 0;
}

/* OpenAI's four shapes: "text", ["text", ...], [id, ...] and [[id, ...], ...]. */
static int read_prompt(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    bool list = cJSON_IsArray(v) && v->child && !cJSON_IsNumber(v->child);
    int n = list ? cJSON_GetArraySize(v) : 1;
    if (n > OPENAI_MAX_CHOICES)
        return err_at(e, 0, name, "at most %d prompts, not %d", OPENAI_MAX_CHOICES, n);
    r->prompts = calloc((size_t)n, sizeof *r->prompts);
    if (!r->prompts) return err_at(e, 0, name, "no memory for %d prompts", n);
    if (!list) return read_one_prompt(r, v, name, e);
    int i = 0;
    for (const cJSON *m = v->child; m; m = m->next, i++) {
        char place[48];
        snprintf(place, sizeof place, "%s[%d]", name, i);
        if (read_one_prompt(r, m, place, e)) return -1;
    }
    return 0;
}

/* ---- neutral values -------------------------------------------------------------------------- */

/* Clients send these settings always. Each is taken at the values that change nothing. */
static const struct neutral {
    const char *name;
    const char *values; /* JSON values, one after the other */
    bool chat, completions;
} neutrals[] = {
    {"length_penalty", "[1]", true, true},
    {"suffix", "[\"\"]", false, true},
    {"functions", "[[]]", true, false},
    {"parallel_tool_calls", "[true, false]", true, false},
    {"modalities", "[[\"text\"]]", true, false},
    {"use_beam_search", "[false]", true, true},
    {"skip_special_tokens", "[true]", true, true},
    {"spaces_between_special_tokens", "[true]", true, true},
    {"store", "[false]", true, false},
    {"metadata", "[{}]", true, false},
    {"service_tier", "[\"auto\", \"default\"]", true, false},
    {"add_generation_prompt", "[true]", true, false},
    {"continue_final_message", "[false]", true, false},
    {"chat_template_kwargs", "[{}]", true, false},
    {"stop_token_ids", "[[]]", true, true},
    {"include_stop_str_in_output", "[false]", true, true},
    {"return_tokens_as_token_ids", "[false]", true, true},
    {"detokenize", "[true]", true, true},
    {"priority", "[0]", true, true},
};

/* 1: the field is there at a neutral value; 0: there is no such field; -1: another value. */
static int read_neutral(const struct openai_request *r, const cJSON *v, struct err *e) {
    for (size_t i = 0; i < sizeof neutrals / sizeof *neutrals; i++) {
        const struct neutral *n = &neutrals[i];
        if (strcmp(n->name, v->string)) continue;
        if (!(r->api == OPENAI_CHAT ? n->chat : n->completions)) return 0;
        cJSON *values = cJSON_Parse(n->values);
        bool same = false;
        for (const cJSON *want = values ? values->child : NULL; want; want = want->next)
            same = same || cJSON_Compare(v, want, true);
        cJSON_Delete(values);
        if (same) return 1;
        return err_at(e, 0, n->name,
                      "this server doesn't have this setting; leave it out, or send a value of %s",
                      n->values);
    }
    return 0;
}

/* ---- the request ----------------------------------------------------------------------------- */

static const struct field {
    const char *name;
    field_reader *read;
    bool chat, completions; /* which routes know it */
} fields[] = {
    {"model", read_model, true, true},
    {"messages", read_messages, true, false},
    {"prompt", read_prompt, false, true},
    {"response_format", read_response_format, true, true},
    {"tools", read_tools, true, false},
    {"tool_choice", read_tool_choice, true, false},
    {"stream", read_stream, true, true},
    {"stream_options", read_stream_options, true, true},
    {"stop", read_stop, true, true},
    {"max_tokens", read_max_tokens, true, true},
    {"max_completion_tokens", read_max_tokens, true, false},
    {"temperature", read_temperature, true, true},
    {"top_p", read_top_p, true, true},
    {"top_k", read_top_k, true, true},
    {"min_p", read_min_p, true, true},
    {"seed", read_seed, true, true},
    {"min_tokens", read_min_tokens, true, true},
    {"logit_bias", read_logit_bias, true, true},
    {"presence_penalty", read_presence_penalty, true, true},
    {"frequency_penalty", read_frequency_penalty, true, true},
    {"repetition_penalty", read_repetition_penalty, true, true},
    {"n", read_n, true, true},
    {"best_of", read_best_of, false, true},
    {"logprobs", read_logprobs, true, true},
    {"top_logprobs", read_top_logprobs, true, false},
    {"echo", read_echo, false, true},
    {"user", read_user, true, true},
    {"ignore_eos", read_ignore_eos, true, true},
};

static const struct field *find_field(enum openai_api api, const char *name) {
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!strcmp(fields[i].name, name) &&
            (api == OPENAI_CHAT ? fields[i].chat : fields[i].completions))
            return &fields[i];
    return NULL;
}

/* What one field says about another. */
static int check_together(const struct openai_request *r, struct err *e) {
    int32_t min_tokens = r->sampling.rules.min_tokens;
    if (r->max_tokens >= 0 && min_tokens > r->max_tokens)
        return err_at(e, 0, "min_tokens", "is %d, and %s only %d", min_tokens, r->max_name,
                      r->max_tokens);
    if (r->json_object && (min_tokens > 0 || r->ignore_eos))
        return err_at(e, 0, "response_format",
                      "a JSON object ends where it ends; leave out min_tokens and ignore_eos");
    if (r->max_tokens == 0 && !r->echo)
        return err_at(e, 0, "max_tokens", "must lie between 1 and %d, or be 0 with \"echo\": true",
                      INT32_MAX);
    if (r->best_of > 0 && r->best_of != r->n)
        return err_at(e, 0, "best_of",
                      "must equal n, which is %d: this server sends every answer that it makes",
                      r->n);
    if (r->top_logprobs > 0 && !r->logprobs)
        return err_at(e, 0, "top_logprobs", "works only with \"logprobs\": true");
    if (r->n * r->n_prompts > OPENAI_MAX_CHOICES)
        return err_at(e, 0, "n", "%d answers for each of %d prompts are more than %d", r->n,
                      r->n_prompts, OPENAI_MAX_CHOICES);
    return 0;
}

static int read_fields(struct openai_request *r, struct err *e) {
    for (const cJSON *m = r->body->child; m; m = m->next) {
        if (cJSON_IsNull(m)) continue;
        const struct field *f = find_field(r->api, m->string);
        int neutral = f ? 0 : read_neutral(r, m, e);
        if (neutral < 0) return -1;
        if (neutral > 0) continue;
        if (!f)
            return err_at(e, 0, m->string,
                          "unknown field; this server would ignore it, so leave "
                          "it out");
        if (f->read(r, m, f->name, e)) return -1;
    }
    if (!r->model) return err_at(e, 0, "model", "is missing; GET /v1/models names the model");
    if (r->api == OPENAI_CHAT && !r->messages) return err_at(e, 0, "messages", "is missing");
    if (r->api == OPENAI_COMPLETIONS && !r->prompts) return err_at(e, 0, "prompt", "is missing");
    if (r->has_stream_options && !r->stream)
        return err_at(e, 0, "stream_options",
                      "works only with \"stream\": true; leave it out, or stream");
    return check_together(r, e);
}

int openai_parse(struct openai_request *r, enum openai_api api, const char *body, size_t n,
                 int32_t vocab_size, struct err *e) {
    *r = (struct openai_request){.api = api,
                                 .vocab_size = vocab_size,
                                 .n = 1,
                                 .n_prompts = api == OPENAI_CHAT,
                                 .max_tokens = -1,
                                 .max_name = "max_tokens",
                                 .sampling = {.temperature = 1, .top_p = 1}};
    r->body = json_parse_with_nul(body, n, 1, e);
    if (!r->body) return -1;
    int rc = cJSON_IsObject(r->body)
                 ? read_fields(r, e)
                 : err_set(e, "the body must be a JSON object, not %s", field_type(r->body));
    if (rc) openai_request_release(r);
    return rc;
}

void openai_request_release(struct openai_request *r) {
    for (size_t i = 0; r->joined && i < r->n_messages; i++) free(r->joined[i]);
    free(r->joined);
    free(r->messages);
    for (int32_t i = 0; r->prompts && i < r->n_prompts; i++) free(r->prompts[i].ids);
    free(r->prompts);
    free(r->bias);
    cJSON_Delete(r->body);
    *r = (struct openai_request){0};
}
