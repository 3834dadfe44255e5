/* strict.c: JSON objects with known members. See strict.h. */
#include "base/strict.h"

#include "base/nearest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *nearest(const char *name, const char *const *known) {
    size_t n = 0;
    while (known[n]) n++;
    return nearest_name(name, known, n);
}

static int unknown(struct err *e, const char *path, const char *what, const char *name,
                   const char *const *known) {
    return err_at(e, 0, path, "\"%.60s\" is not a known %s; the nearest one is \"%s\"", name, what,
                  nearest(name, known));
}

const char *strict_path(char *dst, const char *path, const char *key, int index) {
    int n = key ? snprintf(dst, STRICT_PATH_BYTES, "%s%s%s", path, path[0] ? "." : "", key)
                : snprintf(dst, STRICT_PATH_BYTES, "%s[%d]", path, index);
    INVARIANT(n >= 0); /* a long name is cut, as in err.field */
    return dst;
}

int strict_known(const cJSON *obj, const char *path, const char *const *known, struct err *e) {
    char place[STRICT_PATH_BYTES];
    if (!cJSON_IsObject(obj))
        return err_at(e, 0, path[0] ? path : NULL, "must be an object, {...}");
    for (const cJSON *c = obj->child; c; c = c->next) {
        int i = 0;
        while (known[i] && strcmp(known[i], c->string) != 0) i++;
        if (known[i]) continue;
        return unknown(e, strict_path(place, path, c->string, 0), "member", c->string, known);
    }
    return 0;
}

int strict_members(const cJSON *obj, const char *path, const char *const *known, struct err *e) {
    char place[STRICT_PATH_BYTES];
    if (strict_known(obj, path, known, e)) return -1;
    for (int i = 0; known[i]; i++)
        if (!cJSON_GetObjectItemCaseSensitive(obj, known[i]))
            return err_at(e, 0, strict_path(place, path, known[i], 0),
                          "is missing; write null where it doesn't apply");
    return 0;
}

const cJSON *strict_at(const cJSON *obj, const char *key) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(obj, key);
    return v && !cJSON_IsNull(v) ? v : NULL;
}

static bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int strict_string(const cJSON *v, const char *path, size_t least, char *dst, size_t cap,
                  struct err *e) {
    if (!cJSON_IsString(v)) return err_at(e, 0, path, "must be a text");
    const char *text = v->valuestring;
    size_t n = strlen(text);
    if (n < least || n >= cap)
        return err_at(e, 0, path, "must have %zu to %zu bytes; it has %zu", least, cap - 1, n);
    memcpy(dst, text, n + 1);
    return 0;
}

int strict_text(const cJSON *v, const char *path, size_t least, char *dst, size_t cap,
                struct err *e) {
    if (strict_string(v, path, least, dst, cap, e)) return -1;
    size_t n = strlen(dst);
    if (n > 0 && (blank(dst[0]) || blank(dst[n - 1])))
        return err_at(e, 0, path, "begins or ends with blank space");
    return 0;
}

int strict_choice(const cJSON *v, const char *path, const char *const *names, int *out,
                  struct err *e) {
    char all[256];
    size_t n = 0;
    while (names[n]) n++;
    if (!cJSON_IsString(v))
        return err_at(e, 0, path, "must be a text, one of: %s",
                      list_names(names, n, all, sizeof all));
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], v->valuestring)) {
            *out = i;
            return 0;
        }
    return unknown(e, path, "value", v->valuestring, names);
}

int strict_bool(const cJSON *v, const char *path, bool *out, struct err *e) {
    if (!cJSON_IsBool(v)) return err_at(e, 0, path, "must be true or false");
    *out = cJSON_IsTrue(v);
    return 0;
}

int strict_number(const cJSON *v, const char *path, double lo, double hi, double *out,
                  struct err *e) {
    if (!cJSON_IsNumber(v)) return err_at(e, 0, path, "must be a number");
    if (!(v->valuedouble >= lo && v->valuedouble <= hi))
        return err_at(e, 0, path, "is %g; it must be from %g to %g", v->valuedouble, lo, hi);
    *out = v->valuedouble;
    return 0;
}

int strict_int(const cJSON *v, const char *path, int64_t lo, int64_t hi, int64_t *out,
               struct err *e) {
    double d = 0;
    if (strict_number(v, path, (double)lo, (double)hi, &d, e)) return -1;
    if (d != floor(d)) return err_at(e, 0, path, "is %g; it must be a whole number", d);
    *out = (int64_t)d;
    return 0;
}

int strict_list(const cJSON *v, const char *path, int lo, int hi, int *n, struct err *e) {
    if (!cJSON_IsArray(v)) return err_at(e, 0, path, "must be a list, [...]");
    *n = cJSON_GetArraySize(v);
    if (*n < lo || *n > hi)
        return err_at(e, 0, path, "must have %d to %d entries; it has %d", lo, hi, *n);
    return 0;
}
