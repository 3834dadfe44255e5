/* openai_tools.c: tools of a chat request, and the tool call that an answer may be. See openai.h.
 */
#include "serve/openai_fields.h"

#include "base/json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the request ----------------------------------------------------------------------------- */

/* Every member is one of `names`, which end with NULL. */
static int check_members(const cJSON *object, const char *name, const char *const *names,
                         struct err *e) {
    for (const cJSON *m = object->child; m; m = m->next) {
        char place[160];
        bool known = cJSON_IsNull(m);
        for (size_t i = 0; names[i]; i++) known = known || !strcmp(names[i], m->string);
        snprintf(place, sizeof place, "%s.%.64s", name, m->string);
        if (!known) return err_at(e, 0, place, "unknown field");
    }
    return 0;
}

static int check_name(const cJSON *v, const char *name, struct err *e) {
    const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (!v) return err_at(e, 0, name, "is missing");
    if (field_string(v, name, e)) return -1;
    size_t n = strlen(v->valuestring);
    if (n >= 1 && n <= 64 && strspn(v->valuestring, letters) == n) return 0;
    return err_at(e, 0, name, "must be 1 to 64 letters, digits, '_' or '-'");
}

static int check_tool(const cJSON *tool, const char *name, struct err *e) {
    static const char *const of_tool[] = {"type", "function", NULL}, *const of_function[] = {
                                                                         "name", "description",
                                                                         "parameters", "strict",
                                                                         NULL};
    char place[96];
    if (!cJSON_IsObject(tool)) return field_wrong_type(tool, name, "an object", e);
    if (check_members(tool, name, of_tool, e)) return -1;
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(tool, "type");
    snprintf(place, sizeof place, "%s.type", name);
    if (!cJSON_IsString(type) || strcmp(type->valuestring, "function"))
        return err_at(e, 0, place, "must be \"function\"");
    const cJSON *function = cJSON_GetObjectItemCaseSensitive(tool, "function");
    snprintf(place, sizeof place, "%s.function", name);
    if (!cJSON_IsObject(function)) return err_at(e, 0, place, "must be an object");
    if (check_members(function, place, of_function, e)) return -1;
    const cJSON *description = cJSON_GetObjectItemCaseSensitive(function, "description");
    snprintf(place, sizeof place, "%s.function.description", name);
    if (description && !cJSON_IsNull(description) && !cJSON_IsString(description))
        return field_wrong_type(description, place, "a string", e);
    const cJSON *strict = cJSON_GetObjectItemCaseSensitive(function, "strict");
    snprintf(place, sizeof place, "%s.function.strict", name);
    if (strict && !cJSON_IsNull(strict) && !cJSON_IsBool(strict))
        return field_wrong_type(strict, place, "true or false", e);
    const cJSON *parameters = cJSON_GetObjectItemCaseSensitive(function, "parameters");
    snprintf(place, sizeof place, "%s.function.parameters", name);
    if (parameters && !cJSON_IsNull(parameters) && !cJSON_IsObject(parameters))
        return field_wrong_type(parameters, place, "an object", e);
    snprintf(place, sizeof place, "%s.function.name", name);
    return check_name(cJSON_GetObjectItemCaseSensitive(function, "name"), place, e);
}

int read_tools(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    if (!cJSON_IsArray(v)) return field_wrong_type(v, name, "an array of tools", e);
    int n = cJSON_GetArraySize(v), i = 0;
    if (n > OPENAI_MAX_TOOLS)
        return err_at(e, 0, name, "at most %d tools, not %d", OPENAI_MAX_TOOLS, n);
    for (const cJSON *tool = v->child; tool; tool = tool->next, i++) {
        char place[40];
        snprintf(place, sizeof place, "%s[%d]", name, i);
        if (check_tool(tool, place, e)) return -1;
    }
    r->n_tools = n;
    return 0;
}

int read_tool_choice(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    r->no_tools = cJSON_IsString(v) && !strcmp(v->valuestring, "none");
    if (r->no_tools || (cJSON_IsString(v) && !strcmp(v->valuestring, "auto"))) return 0;
    return err_at(e, 0, name,
                  "must be \"auto\" or \"none\": this server can't make a model call a tool");
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const cJSON *find_tool(const cJSON *tools, const char *name) {
    for (const cJSON *t = tools->child; t; t = t->next) {
        const cJSON *function = cJSON_GetObjectItemCaseSensitive(t, "function");
        const cJSON *known = cJSON_GetObjectItemCaseSensitive(function, "name");
        if (!strcmp(known->valuestring, name)) return function;
    }
    return NULL;
}

/* Has the value the type that the schema of its parameter names? A schema without one takes all. */
static bool has_type(const cJSON *value, const cJSON *schema) {
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(schema, "type");
    if (!cJSON_IsString(type)) return true;
    const char *t = type->valuestring;
    if (!strcmp(t, "integer"))
        return cJSON_IsNumber(value) && value->valuedouble == floor(value->valuedouble);
    if (!strcmp(t, "number")) return cJSON_IsNumber(value);
    if (!strcmp(t, "string")) return cJSON_IsString(value);
    if (!strcmp(t, "boolean")) return cJSON_IsBool(value);
    if (!strcmp(t, "array")) return cJSON_IsArray(value);
    return !strcmp(t, "object") ? cJSON_IsObject(value) : true;
}

/* The arguments by the names of the tool's parameters, which have the same number and types. */
static cJSON *name_arguments(const cJSON *function, const cJSON *args) {
    const cJSON *parameters = cJSON_GetObjectItemCaseSensitive(function, "parameters");
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(parameters, "properties");
    const cJSON *p = cJSON_IsObject(properties) ? properties->child : NULL;
    cJSON *named = cJSON_CreateObject();
    for (const cJSON *v = args->child; v; v = v->next, p = p->next) {
        if (!p || !has_type(v, p) ||
            !cJSON_AddItemToObject(named, p->string, cJSON_Duplicate(v, true))) {
            cJSON_Delete(named);
            return NULL;
        }
    }
    if (!p) return named;
    cJSON_Delete(named);
    return NULL;
}

/* The tree of an answer that is {"tool": string, "args": array} and nothing else, or NULL. */
static cJSON *parse_call(const char *text, size_t n) {
    while (n > 0 && isspace((unsigned char)text[0])) text++, n--;
    cJSON *call = json_parse(text, n, 1, NULL);
    if (cJSON_IsObject(call) && cJSON_GetArraySize(call) == 2 &&
        cJSON_IsString(cJSON_GetObjectItemCaseSensitive(call, "tool")) &&
        cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(call, "args")))
        return call;
    cJSON_Delete(call);
    return NULL;
}

bool openai_tool_call(struct buffer *b, const cJSON *tools, const char *id, bool chunk,
                      const char *text, size_t n) {
    cJSON *call = parse_call(text, n), *named = NULL;
    if (!call) return false;
    const char *name = cJSON_GetObjectItemCaseSensitive(call, "tool")->valuestring;
    const cJSON *function = find_tool(tools, name);
    if (function) named = name_arguments(function, cJSON_GetObjectItemCaseSensitive(call, "args"));
    char *arguments = named ? json_print(named) : NULL;
    if (arguments) {
        buffer_puts(b, chunk ? "[{\"index\":0,\"id\":\"call_" : "[{\"id\":\"call_");
        buffer_puts(b, id); /* letters, digits and ._- only */
        buffer_puts(b, "\",\"type\":\"function\",\"function\":{\"name\":");
        buffer_json_puts(b, name);
        buffer_puts(b, ",\"arguments\":");
        buffer_json_puts(b, arguments);
        buffer_puts(b, "}}]");
    }
    cJSON_free(arguments);
    cJSON_Delete(named);
    cJSON_Delete(call);
    return arguments != NULL;
}

bool openai_may_be_tool_call(const char *text, size_t n) {
    while (n > 0 && isspace((unsigned char)text[0])) text++, n--;
    return n == 0 || text[0] == '{';
}
