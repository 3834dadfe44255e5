/* openai_fields.c: typed reading of a request's fields. See openai_fields.h. */
#include "serve/openai_fields.h"

#include "base/json.h"

#include <math.h>

const char *field_type(const cJSON *v) {
    if (cJSON_IsString(v)) return "a string";
    if (cJSON_IsNumber(v)) return "a number";
    if (cJSON_IsBool(v)) return "true or false";
    if (cJSON_IsArray(v)) return "an array";
    if (cJSON_IsObject(v)) return "an object";
    return "null";
}

int field_wrong_type(const cJSON *v, const char *name, const char *want, struct err *e) {
    return err_at(e, 0, name, "must be %s, not %s", want, field_type(v));
}

int field_bool(const cJSON *v, const char *name, bool *out, struct err *e) {
    if (!cJSON_IsBool(v)) return field_wrong_type(v, name, "true or false", e);
    *out = cJSON_IsTrue(v);
    return 0;
}

int field_int(const cJSON *v, const char *name, int64_t lo, int64_t hi, int64_t *out,
              struct err *e) {
    if (!cJSON_IsNumber(v)) return field_wrong_type(v, name, "a whole number", e);
    double x = v->valuedouble;
    if (v->valuestring) /* beyond 2^53, or with too many digits for a double */
        return err_at(e, 0, name, "must be a whole number between %lld and %lld", (long long)lo,
                      (long long)hi);
    if (x != floor(x)) return err_at(e, 0, name, "must be a whole number, not %g", x);
    if (!(x >= (double)lo && x <= (double)hi))
        return err_at(e, 0, name, "must lie between %lld and %lld, not be %.17g", (long long)lo,
                      (long long)hi, x);
    *out = (int64_t)x;
    return 0;
}

int field_real(const cJSON *v, const char *name, double lo, double hi, double *out, struct err *e) {
    if (!cJSON_IsNumber(v)) return field_wrong_type(v, name, "a number", e);
    *out = v->valuedouble;
    if (*out >= lo && *out <= hi) return 0;
    return err_at(e, 0, name, "must lie between %g and %g, not be %g", lo, hi, *out);
}

int field_string(const cJSON *v, const char *name, struct err *e) {
    if (!cJSON_IsString(v)) return field_wrong_type(v, name, "a string", e);
    return json_has_nul(v->valuestring) ? err_at(e, 0, name, "can't contain NUL") : 0;
}
