/* launch.c: expressions over sizes, and launch.json. See launch.h. */
#include "backend/launch.h"

#include "base/json.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCH_MAX_VALUE (INT64_C(1) << 53) /* a double still holds it, for JSON */

/* ---- expressions: sum = product {+- product}, product = atom {* / atom} ---------------------- */

struct parser {
    const char *text;
    size_t at;
    int depth;
    const struct launch_names *names;
    const char *field;
    struct err *e;
};

static int parse_sum(struct parser *p, int64_t *out);

static char peek(struct parser *p) {
    while (p->text[p->at] == ' ') p->at++;
    return p->text[p->at];
}
static bool take(struct parser *p, char c) {
    if (peek(p) != c) return false;
    p->at++;
    return true;
}

static int fail(struct parser *p, const char *what) {
    return err_at(p->e, 0, p->field, "%s at character %zu of \"%.100s\"", what, p->at + 1, p->text);
}

/* |a| <= 2^53 and |b| <= 2^53, so a sum can't overflow; a product is checked before. */
static int apply(struct parser *p, char op, int64_t a, int64_t b, int64_t *out) {
    if (op == '/' && b == 0) return fail(p, "division by zero");
    if (op == '*' && __builtin_mul_overflow(a, b, out)) return fail(p, "a number beyond 2^53");
    if (op == '/') *out = a / b;
    if (op == '+') *out = a + b;
    if (op == '-') *out = a - b;
    if (*out > LAUNCH_MAX_VALUE || *out < -LAUNCH_MAX_VALUE) return fail(p, "a number beyond 2^53");
    return 0;
}

static int parse_number(struct parser *p, int64_t *out) {
    int64_t v = 0;
    while (isdigit((unsigned char)p->text[p->at])) {
        v = v * 10 + (p->text[p->at] - '0');
        if (v > LAUNCH_MAX_VALUE) return fail(p, "a number beyond 2^53");
        p->at++;
    }
    if (isalpha((unsigned char)p->text[p->at]) ||
        strchr("._", p->text[p->at] ? p->text[p->at] : ' '))
        return fail(p, "only whole numbers are allowed");
    *out = v;
    return 0;
}

/* ceil(a, b), min(a, b), max(a, b): the name is read, the parenthesis comes next. */
static int parse_call(struct parser *p, const char *name, size_t len, int64_t *out) {
    int64_t a, b;
    bool ceil = len == 4 && memcmp(name, "ceil", 4) == 0;
    bool min = len == 3 && memcmp(name, "min", 3) == 0;
    bool max = len == 3 && memcmp(name, "max", 3) == 0;
    if (!ceil && !min && !max) return fail(p, "the only functions are ceil, min and max;");
    if (!take(p, '(')) return fail(p, "expected (");
    if (parse_sum(p, &a)) return -1;
    if (!take(p, ',')) return fail(p, "expected a comma");
    if (parse_sum(p, &b)) return -1;
    if (!take(p, ')')) return fail(p, "expected )");
    if (ceil && b <= 0) return fail(p, "ceil divides by a number that isn't positive");
    if (ceil) *out = a > 0 ? (a - 1) / b + 1 : -(-a / b);
    if (min) *out = a < b ? a : b;
    if (max) *out = a > b ? a : b;
    return 0;
}

static int parse_name(struct parser *p, int64_t *out) {
    const char *name = p->text + p->at;
    size_t len = 0;
    while (isalnum((unsigned char)name[len]) || name[len] == '_') len++;
    for (int i = 0; i < p->names->n; i++)
        if (strlen(p->names->name[i]) == len && memcmp(p->names->name[i], name, len) == 0) {
            p->at += len;
            *out = p->names->value[i];
            if (*out > LAUNCH_MAX_VALUE || *out < -LAUNCH_MAX_VALUE)
                return fail(p, "a number beyond 2^53");
            return 0;
        }
    size_t before = p->at;
    p->at += len;
    if (peek(p) == '(') return parse_call(p, name, len, out);
    char known[200] = "";
    for (int i = 0; i < p->names->n; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", p->names->name[i]);
    }
    p->at = before;
    return err_at(p->e, 0, p->field, "\"%.*s\" is not a size of this kernel; it has: %s",
                  (int)(len < 40 ? len : 40), name, known);
}

static int parse_atom(struct parser *p, int64_t *out) {
    int status;
    char c = peek(p);
    if (++p->depth > LAUNCH_MAX_DEPTH) return fail(p, "nested too deeply");
    if (isdigit((unsigned char)c)) {
        status = parse_number(p, out);
    } else if (isalpha((unsigned char)c) || c == '_') {
        status = parse_name(p, out);
    } else if (take(p, '-')) {
        status = parse_atom(p, out);
        *out = status ? 0 : -*out;
    } else if (take(p, '(')) {
        status = parse_sum(p, out);
        if (!status && !take(p, ')')) status = fail(p, "expected )");
    } else {
        status = fail(p, c ? "expected a number, a size or (" : "the expression ends too early");
    }
    p->depth--;
    return status;
}

static int parse_product(struct parser *p, int64_t *out) {
    if (parse_atom(p, out)) return -1;
    for (char op; (op = peek(p)) == '*' || op == '/';) {
        int64_t right, left = *out;
        p->at++;
        if (parse_atom(p, &right) || apply(p, op, left, right, out)) return -1;
    }
    return 0;
}

static int parse_sum(struct parser *p, int64_t *out) {
    if (parse_product(p, out)) return -1;
    for (char op; (op = peek(p)) == '+' || op == '-';) {
        int64_t right, left = *out;
        p->at++;
        if (parse_product(p, &right) || apply(p, op, left, right, out)) return -1;
    }
    return 0;
}

int launch_eval(const char *text, const struct launch_names *names, const char *field, int64_t *out,
                struct err *e) {
    struct parser p = {.text = text, .names = names, .field = field, .e = e};
    int64_t value = 0;
    if (strlen(text) > LAUNCH_MAX_TEXT)
        return err_at(e, 0, field, "longer than %d characters", LAUNCH_MAX_TEXT);
    if (parse_sum(&p, &value)) return -1;
    if (peek(&p)) return fail(&p, "nothing may follow");
    *out = value;
    return 0;
}

/* ---- launch.json ----------------------------------------------------------------------------- */

static int read_value(const cJSON *v, const char *field, char *out, struct err *e) {
    if (cJSON_IsString(v)) {
        if (strlen(v->valuestring) > LAUNCH_MAX_TEXT)
            return err_at(e, 0, field, "longer than %d characters", LAUNCH_MAX_TEXT);
        strcpy(out, v->valuestring);
        return 0;
    }
    double d = cJSON_IsNumber(v) ? v->valuedouble : -1;
    if (!(d >= 0 && d <= (double)INT32_MAX) || d != (double)(int64_t)d)
        return err_at(e, 0, field,
                      "must be a whole number of at least 0, or an expression in quotes");
    snprintf(out, LAUNCH_MAX_TEXT + 1, "%lld", (long long)d);
    return 0;
}

static int read_dimensions(const cJSON *entry, const char *kernel, const char *key,
                           char out[3][LAUNCH_MAX_TEXT + 1], struct err *e) {
    char field[96];
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(entry, key);
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    snprintf(field, sizeof field, "%.60s.%s", kernel, key);
    if (n < 1 || n > 3)
        return err_at(e, 0, field, "must be a list of one to three dimensions, x first");
    for (int i = 0; i < 3; i++) {
        snprintf(field, sizeof field, "%.60s.%s[%d]", kernel, key, i);
        if (i >= n)
            strcpy(out[i], "1");
        else if (read_value(cJSON_GetArrayItem(list, i), field, out[i], e))
            return -1;
    }
    return 0;
}

static int read_entry(const cJSON *doc, const char *kernel, struct launch_rule *out,
                      struct err *e) {
    char field[96];
    if (!cJSON_IsObject(doc))
        return err_set(e, "must be an object with one entry a kernel, as "
                          "{\"rmsnorm\": {\"grid\": [\"rows\"], \"block\": [256]}}");
    const cJSON *entry = cJSON_GetObjectItemCaseSensitive(doc, kernel);
    if (!cJSON_IsObject(entry))
        return err_at(e, 0, kernel,
                      entry ? "must be an object with grid and block"
                            : "is missing: give the kernel's launch shape, with grid and block");
    const cJSON *m;
    cJSON_ArrayForEach(m, entry) {
        if (!strcmp(m->string, "grid") || !strcmp(m->string, "block") ||
            !strcmp(m->string, "shared_bytes"))
            continue;
        snprintf(field, sizeof field, "%.60s.%.30s", kernel, m->string);
        return err_at(e, 0, field, "is not known; the fields are grid, block and shared_bytes");
    }
    if (read_dimensions(entry, kernel, "grid", out->grid, e)) return -1;
    if (read_dimensions(entry, kernel, "block", out->block, e)) return -1;
    strcpy(out->shared_bytes, "0");
    const cJSON *shared = cJSON_GetObjectItemCaseSensitive(entry, "shared_bytes");
    snprintf(field, sizeof field, "%.60s.shared_bytes", kernel);
    return shared ? read_value(shared, field, out->shared_bytes, e) : 0;
}

int launch_rule_parse(const char *text, size_t n, const char *kernel, struct launch_rule *out,
                      struct err *e) {
    struct err none;
    if (!e) e = &none;
    cJSON *doc = json_parse(text, n, 1, e);
    if (!doc) return -1;
    int status = read_entry(doc, kernel, out, e);
    if (status && !e->line && e->field[0]) e->line = json_line_of(text, n, 1, e->field);
    cJSON_Delete(doc);
    return status;
}

int launch_rule_read(const char *path, const char *kernel, struct launch_rule *out, struct err *e) {
    size_t n;
    char *text = json_read_file(path, &n, e);
    if (!text) return -1;
    int status = launch_rule_parse(text, n, kernel, out, e);
    free(text);
    return status;
}

static int bounded(const char *text, const struct launch_names *names, const char *field,
                   int64_t lo, int64_t hi, const char *unit, uint32_t *out, struct err *e) {
    int64_t v;
    if (launch_eval(text, names, field, &v, e)) return -1;
    bool plain = !text[strspn(text, "0123456789")];
    if (v < lo || v > hi)
        return err_at(e, 0, field, "%s%.100s%s%lld %s; it may have %lld to %lld", plain ? "" : "\"",
                      plain ? "" : text, plain ? "" : "\" is here ", (long long)v, unit,
                      (long long)lo, (long long)hi);
    *out = (uint32_t)v;
    return 0;
}

int launch_shape_of(const struct launch_rule *rule, const struct launch_names *names,
                    struct launch_shape *out, struct err *e) {
    static const char *const grid_field[3] = {"grid[0]", "grid[1]", "grid[2]"};
    static const char *const block_field[3] = {"block[0]", "block[1]", "block[2]"};
    static const int64_t grid_max[3] = {INT32_MAX, 65535, 65535};
    static const int64_t block_max[3] = {LAUNCH_MAX_THREADS, LAUNCH_MAX_THREADS, 64};
    for (int i = 0; i < 3; i++)
        if (bounded(rule->grid[i], names, grid_field[i], 1, grid_max[i], "blocks", &out->grid[i],
                    e) ||
            bounded(rule->block[i], names, block_field[i], 1, block_max[i], "threads",
                    &out->block[i], e))
            return -1;
    int64_t threads = (int64_t)out->block[0] * out->block[1] * out->block[2];
    if (threads > LAUNCH_MAX_THREADS)
        return err_at(e, 0, "block", "%lld threads; a block has at most %d", (long long)threads,
                      LAUNCH_MAX_THREADS);
    return bounded(rule->shared_bytes, names, "shared_bytes", 0, LAUNCH_MAX_SHARED, "bytes",
                   &out->shared_bytes, e);
}
