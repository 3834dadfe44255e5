/* openai_messages.c: reads the messages of a chat. See openai.h.
 *
 * No chat template here has a form for tool calls. So the calls of an assistant's message become
 * text, in the grammar that the embedded model was trained on (model/embedded/README.md):
 * {"tool":"sub","args":[10,3]}, the values of the call's arguments in their order. A tool's message
 * keeps its role, which the templates write as it is.
 */
#include "serve/openai_fields.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count_members(const cJSON *obj) {
    int n = 0;
    for (const cJSON *m = obj->child; m; m = m->next) n += !cJSON_IsNull(m);
    return n;
}

/* Joins a content in parts: [{"type": "text", "text": "..."}]. */
static int join_parts(const cJSON *parts, const char *name, char **out, size_t *n, struct err *e) {
    struct buffer b = {0};
    int i = 0;
    buffer_puts(&b, "");
    for (const cJSON *p = parts->child; p; p = p->next, i++) {
        const cJSON *type = cJSON_GetObjectItemCaseSensitive(p, "type");
        const cJSON *text = cJSON_GetObjectItemCaseSensitive(p, "text");
        if (!cJSON_IsString(type) || strcmp(type->valuestring, "text") || !cJSON_IsString(text) ||
            count_members(p) != 2) {
            char place[120];
            snprintf(place, sizeof place, "%s[%d]", name, i);
            buffer_release(&b);
            return err_at(e, 0, place,
                          "must be {\"type\": \"text\", \"text\": \"...\"}; this model "
                          "reads text only");
        }
        buffer_add(&b, text->valuestring, json_restore_nul(text->valuestring));
    }
    if (b.failed) {
        buffer_release(&b);
        return err_at(e, 0, name, "no memory for this content");
    }
    *out = b.bytes;
    *n = b.n;
    return 0;
}

static int read_content(struct openai_request *r, size_t i, const cJSON *v, const char *name,
                        struct err *e) {
    if (cJSON_IsString(v)) {
        r->messages[i].content_bytes = json_restore_nul(v->valuestring);
        r->messages[i].content = v->valuestring;
        return 0;
    }
    if (!cJSON_IsArray(v))
        return field_wrong_type(v, name, "a string or an array of text parts", e);
    if (join_parts(v, name, &r->joined[i], &r->messages[i].content_bytes, e)) return -1;
    r->messages[i].content = r->joined[i];
    return 0;
}

static int read_role(struct openai_request *r, size_t i, const cJSON *v, const char *name,
                     struct err *e) {
    static const char *const roles[][2] = {{"system", "system"},
                                           {"developer", "system"}, /* OpenAI's newer word */
                                           {"user", "user"},
                                           {"assistant", "assistant"},
                                           {"tool", "tool"}};
    if (!cJSON_IsString(v)) return field_wrong_type(v, name, "a string", e);
    for (size_t k = 0; k < sizeof roles / sizeof *roles; k++)
        if (!strcmp(roles[k][0], v->valuestring)) r->messages[i].role = roles[k][1];
    if (r->messages[i].role) return 0;
    return err_at(
        e, 0, name,
        "must be \"system\", \"developer\", \"user\", \"assistant\" or \"tool\", not \"%.40s\"",
        v->valuestring);
}

static bool is_word(const cJSON *v, const char *word) {
    return cJSON_IsString(v) && !strcmp(v->valuestring, word);
}

/* Appends one call of the assistant in the embedded model's grammar. */
static int put_call(struct buffer *b, const cJSON *call, const char *name, struct err *e) {
    char place[160];
    const cJSON *function = cJSON_GetObjectItemCaseSensitive(call, "function");
    const cJSON *tool = cJSON_GetObjectItemCaseSensitive(function, "name");
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(function, "arguments");
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(call, "id");
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(call, "type");
    bool named = (!id || cJSON_IsNull(id) || cJSON_IsString(id)) &&
                 (!type || cJSON_IsNull(type) || is_word(type, "function"));
    if (!named || !cJSON_IsString(tool) || json_has_nul(tool->valuestring) || !cJSON_IsString(text))
        return err_at(e, 0, name,
                      "must be {\"id\": \"...\", \"type\": \"function\", \"function\": {\"name\": "
                      "\"...\", \"arguments\": \"{...}\"}}");
    struct err why = {0};
    cJSON *arguments = json_parse(text->valuestring, strlen(text->valuestring), 1, &why);
    if (!cJSON_IsObject(arguments)) {
        snprintf(place, sizeof place, "%s.function.arguments", name);
        err_at(e, 0, place, "must be a JSON object, as a string%s%s", arguments ? "" : ": ",
               arguments ? "" : why.text);
        cJSON_Delete(arguments);
        return -1;
    }
    buffer_puts(b, "{\"tool\":");
    buffer_json_puts(b, tool->valuestring);
    buffer_puts(b, ",\"args\":[");
    for (const cJSON *v = arguments->child; v; v = v->next) {
        char *value = json_print(v);
        if (v != arguments->child) buffer_puts(b, ",");
        buffer_puts(b, value ? value : "");
        b->failed |= !value;
        cJSON_free(value);
    }
    buffer_puts(b, "]}");
    cJSON_Delete(arguments);
    return 0;
}

static int append_calls(struct openai_request *r, size_t i, const cJSON *calls, const char *name,
                        struct err *e) {
    struct chat_message *m = &r->messages[i];
    struct buffer b = {0};
    int k = 0;
    if (!cJSON_IsArray(calls)) return field_wrong_type(calls, name, "an array of tool calls", e);
    if (!m->role || strcmp(m->role, "assistant"))
        return err_at(e, 0, name, "only an assistant's message has tool calls");
    buffer_puts(&b, "");
    if (m->content) buffer_add(&b, m->content, m->content_bytes);
    for (const cJSON *call = calls->child; call; call = call->next, k++) {
        char place[120];
        snprintf(place, sizeof place, "%s[%d]", name, k);
        if (put_call(&b, call, place, e)) {
            buffer_release(&b);
            return -1;
        }
    }
    if (b.failed) {
        buffer_release(&b);
        return err_at(e, 0, name, "no memory for this content");
    }
    free(r->joined[i]);
    m->content = r->joined[i] = b.bytes;
    m->content_bytes = b.n;
    return 0;
}

/* An answer of the assistant may have a refusal or tool calls as its text, or no text at all. */
static int fill_content(struct openai_request *r, size_t i, const cJSON *v, struct err *e) {
    const cJSON *refusal = cJSON_GetObjectItemCaseSensitive(v, "refusal");
    const cJSON *calls = cJSON_GetObjectItemCaseSensitive(v, "tool_calls");
    struct chat_message *m = &r->messages[i];
    char place[96];
    snprintf(place, sizeof place, "messages[%zu].tool_calls", i);
    if (calls && !cJSON_IsNull(calls)) return append_calls(r, i, calls, place, e);
    if (!m->role || strcmp(m->role, "assistant") || m->content) return 0;
    if (cJSON_IsString(refusal))
        m->content = refusal->valuestring;
    else if (cJSON_HasObjectItem(v, "content"))
        m->content = "";
    return 0;
}

/* OpenAI's answers have them, empty without a web search, and clients send the answers back. */
static int no_annotations(const cJSON *v, const char *name, struct err *e) {
    if (cJSON_IsArray(v) && !v->child) return 0;
    return err_at(e, 0, name, "must be [] or left out; this server reads no annotations");
}

static int read_message(struct openai_request *r, size_t i, const cJSON *v, struct err *e) {
    char place[96];
    snprintf(place, sizeof place, "messages[%zu]", i);
    if (!cJSON_IsObject(v)) return field_wrong_type(v, place, "an object", e);
    for (const cJSON *m = v->child; m; m = m->next) {
        if (cJSON_IsNull(m)) continue;
        snprintf(place, sizeof place, "messages[%zu].%s", i, m->string);
        /* no template here has a place for name and tool_call_id; fill_content has the others */
        int rc = !strcmp(m->string, "role")           ? read_role(r, i, m, place, e)
                 : !strcmp(m->string, "content")      ? read_content(r, i, m, place, e)
                 : !strcmp(m->string, "name")         ? field_string(m, place, e)
                 : !strcmp(m->string, "tool_call_id") ? field_string(m, place, e)
                 : !strcmp(m->string, "refusal")      ? field_string(m, place, e)
                 : !strcmp(m->string, "annotations")  ? no_annotations(m, place, e)
                 : !strcmp(m->string, "tool_calls")   ? 0
                                                      : err_at(e, 0, place, "unknown field");
        if (rc) return -1;
    }
    if (fill_content(r, i, v, e)) return -1;
    snprintf(place, sizeof place, "messages[%zu].%s", i, r->messages[i].role ? "content" : "role");
    if (!r->messages[i].role || !r->messages[i].content) return err_at(e, 0, place, "is missing");
    return 0;
}

int read_messages(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    if (!cJSON_IsArray(v)) return field_wrong_type(v, name, "an array of messages", e);
    int n = cJSON_GetArraySize(v);
    if (n < 1 || n > OPENAI_MAX_MESSAGES)
        return err_at(e, 0, name, "must have 1 to %d messages, not %d", OPENAI_MAX_MESSAGES, n);
    r->n_messages = (size_t)n;
    r->messages = calloc(r->n_messages, sizeof *r->messages);
    r->joined = calloc(r->n_messages, sizeof *r->joined);
    if (!r->messages || !r->joined) return err_at(e, 0, name, "no memory for %d messages", n);
    size_t i = 0;
    for (const cJSON *m = v->child; m; m = m->next)
        if (read_message(r, i++, m, e)) return -1;
    return 0;
}
