/* kernel_spec.c: queries of the table in kernel_table.c. See kernel_spec.h. */
#include "backend/kernel_spec.h"

#include "backend/launch.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

const struct kernel_spec *kernel_spec_find(const char *name) {
    for (int i = 0; i < kernel_spec_count; i++)
        if (!strcmp(kernel_specs[i].name, name)) return &kernel_specs[i];
    return NULL;
}

int kernel_param_count(const struct kernel_spec *k) {
    int n = 0;
    while (n < KERNEL_MAX_PARAMS && k->param[n].name) n++;
    return n;
}
int kernel_size_count(const struct kernel_spec *k) {
    int n = 0;
    while (n < KERNEL_MAX_SIZES && k->size[n].name) n++;
    return n;
}
int kernel_version_count(const struct kernel_spec *k) {
    int n = 0;
    while (n < KERNEL_MAX_VERSIONS && k->version[n]) n++;
    return n;
}
int kernel_budget_count(const struct kernel_spec *k) {
    int n = 0;
    while (n < KERNEL_MAX_BUDGETS && k->budget[n].limit) n++;
    return n;
}

int kernel_size_index(const struct kernel_spec *k, const char *name) {
    for (int i = 0; i < kernel_size_count(k); i++)
        if (!strcmp(k->size[i].name, name)) return i;
    return -1;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static int64_t size_or(const struct kernel_sizes *s, const char *name, int64_t otherwise) {
    int i = kernel_size_index(s->spec, name);
    return i < 0 ? otherwise : s->value[i];
}

static bool may_be_zero(const char *name) {
    return !strcmp(name, "pos0") || !strcmp(name, "top_k");
}

/* Conditions between two sizes. */
static int check_relations(const struct kernel_sizes *s, struct err *e) {
    if (size_or(s, "stride", INT32_MAX) < size_or(s, "cols", 0))
        return err_at(e, 0, "stride", "must be at least cols");
    if (size_or(s, "q_heads", 0) % size_or(s, "kv_heads", 1) != 0)
        return err_at(e, 0, "q_heads", "must be a multiple of kv_heads");
    int64_t context = size_or(s, "context", size_or(s, "pos0", 0) + size_or(s, "tokens", 0));
    int64_t blocks = (context + 15) / 16;
    if (size_or(s, "max_blocks", INT32_MAX) < blocks)
        return err_at(e, 0, "max_blocks", "must be at least ceil(context / 16)");
    if (size_or(s, "pool_blocks", INT32_MAX) < size_or(s, "seqs", 1) * blocks)
        return err_at(e, 0, "pool_blocks", "must hold every sequence's blocks");
    if (size_or(s, "positions", INT32_MAX) < size_or(s, "tokens", 0))
        return err_at(e, 0, "positions", "must be at least tokens");
    return 0;
}

int kernel_sizes_check(const struct kernel_sizes *s, struct err *e) {
    int n = kernel_size_count(s->spec);
    for (int i = 0; i < n; i++) {
        const struct kernel_size *z = &s->spec->size[i];
        int64_t v = s->value[i], lo = may_be_zero(z->name) ? 0 : 1;
        int64_t hi = z->max ? z->max : INT32_MAX;
        if (v < lo || v > hi)
            return err_at(e, 0, z->name, "%lld must be between %lld and %lld", (long long)v,
                          (long long)lo, (long long)hi);
        if (v % z->multiple_of != 0)
            return err_at(e, 0, z->name, "%lld must be a multiple of %d", (long long)v,
                          z->multiple_of);
    }
    if (check_relations(s, e)) return -1;
    for (int p = 0; p < kernel_param_count(s->spec); p++)
        if (s->spec->param[p].shape && kernel_elements(s, p) > INT32_MAX)
            return err_at(e, 0, s->spec->param[p].name,
                          "has more elements than an int32_t can count");
    return 0;
}

int kernel_eval(const struct kernel_sizes *s, const char *expression, int64_t *out, struct err *e) {
    const char *name[KERNEL_MAX_SIZES];
    int n = kernel_size_count(s->spec);
    for (int i = 0; i < n; i++) name[i] = s->spec->size[i].name;
    return launch_eval(expression, &(struct launch_names){name, s->value, n}, NULL, out, e);
}

/* An expression of the table. A test checks that each has a value, so a failure is a bug. */
static int64_t own(const struct kernel_sizes *s, const char *expression) {
    int64_t v = 0;
    INVARIANT(kernel_eval(s, expression, &v, NULL) == 0);
    return v;
}
int64_t kernel_bytes_min(const struct kernel_sizes *s) {
    return own(s, s->spec->bytes_min);
}
int64_t kernel_operations(const struct kernel_sizes *s) {
    return own(s, s->spec->operations);
}

/* The product of a shape's dimensions: "(rows, 2 * d)". */
int64_t kernel_elements(const struct kernel_sizes *s, int param) {
    const char *at = s->spec->param[param].shape;
    int64_t product = 1;
    INVARIANT(at && *at == '(');
    for (at++; *at && *at != ')';) {
        char dimension[64];
        int depth = 0, n = 0;
        for (; *at && (depth > 0 || (*at != ',' && *at != ')')); at++) {
            depth += (*at == '(') - (*at == ')');
            INVARIANT(n < 63);
            dimension[n++] = *at;
        }
        dimension[n] = 0;
        if (*at == ',') at++;
        product *= own(s, dimension);
        if (product > INT64_C(1) << 40) return product; /* refused by kernel_sizes_check */
    }
    return product;
}

size_t kernel_dtype_bytes(enum kernel_dtype t) {
    return t == KERNEL_I8 ? 1 : t == KERNEL_BF16 ? 2 : 4;
}

void kernel_launch_names(const struct kernel_sizes *s, struct kernel_names *out) {
    out->n = 0;
    for (int i = 0; i < kernel_size_count(s->spec); i++) {
        if (!s->spec->size[i].passed) continue;
        out->name[out->n] = s->spec->size[i].name;
        out->value[out->n++] = s->value[i];
    }
}

/* ---- budgets --------------------------------------------------------------------------------- */

const char *kernel_counter_name(enum kernel_counter c) {
    static const char *const name[] = {"bytes", "requests", "wavefronts", "bank_conflicts",
                                       "barriers"};
    return name[c];
}

const char *kernel_counter_words(enum kernel_counter c) {
    static const char *const words[] = {"bytes", "requests", "shared wavefronts", "bank conflicts",
                                        "barriers"};
    return words[c];
}

/* One kernel's entry of a report. */
static int read_counts(const cJSON *k, struct kernel_counts *out, struct err *e) {
    static const char *const field[] = {
        "global_load_sectors",  "global_store_sectors",    "global_atomic_sectors",
        "global_load_requests", "global_store_requests",   "global_atomic_requests",
        "shared_wavefronts",    "shared_wavefronts_ideal", "barriers"};
    int64_t v[9], launches;
    if (json_get_int(k, "kernels[]", "launches", 0, JSON_MAX_INT, &launches, e)) return -1;
    if (launches != 1)
        return err_at(e, 0, "kernels[].launches", "is %lld; budgets are for one launch",
                      (long long)launches);
    for (int i = 0; i < 9; i++)
        if (json_get_int(k, "kernels[]", field[i], 0, JSON_MAX_INT / 64, &v[i], e)) return -1;
    out->value[KERNEL_BYTES] = 32 * (v[0] + v[1] + v[2]);
    out->value[KERNEL_REQUESTS] = v[3] + v[4] + v[5];
    out->value[KERNEL_WAVEFRONTS] = v[6];
    out->value[KERNEL_CONFLICTS] = v[6] - v[7];
    out->value[KERNEL_BARRIERS] = v[8];
    return 0;
}

int kernel_counts_read(const char *report_path, const char *kernel, struct kernel_counts *out,
                       struct err *e) {
    cJSON *doc = json_parse_file(report_path, e);
    const cJSON *list, *k;
    if (!doc) return -1;
    int status = json_get_array(doc, "", "kernels", &list, e);
    if (!status) {
        const cJSON *found = NULL;
        cJSON_ArrayForEach(k, list) {
            const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(k, "name"));
            if (name && !strcmp(name, kernel)) found = k;
        }
        status = found ? read_counts(found, out, e)
                       : err_at(e, 0, "kernels", "%s was not launched", kernel);
    }
    cJSON_Delete(doc);
    return status;
}

int kernel_version_reached(const struct kernel_sizes *s, const struct kernel_counts *counts,
                           const struct kernel_budget **missed) {
    int reached = kernel_version_count(s->spec);
    if (missed) *missed = NULL;
    for (int i = 0; i < kernel_budget_count(s->spec); i++) {
        const struct kernel_budget *b = &s->spec->budget[i];
        int64_t limit = own(s, b->limit);
        if (counts->value[b->counter] * KERNEL_BUDGET_SLACK_DEN <= limit * KERNEL_BUDGET_SLACK_NUM)
            continue;
        if (b->version - 1 < reached) {
            reached = b->version - 1;
            if (missed) *missed = b;
        }
    }
    return reached;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Length of the comment or literal that begins at text[at], 0 when none does. */
static size_t skipped(const char *text, size_t n, size_t at) {
    size_t i = at;
    char c = text[i], next = i + 1 < n ? text[i + 1] : 0;
    if (c == '/' && next == '/') {
        while (i < n && text[i] != '\n') i++;
        return i - at;
    }
    if (c == '/' && next == '*') {
        for (i += 2; i < n && !(text[i - 1] == '*' && text[i] == '/' && i - 1 > at + 1);) i++;
        return (i < n ? i + 1 : n) - at;
    }
    if (c != '"' && c != '\'') return 0;
    for (i++; i < n && text[i] != c && text[i] != '\n'; i++)
        if (text[i] == '\\') i++;
    return (i < n ? i + 1 : n) - at;
}

bool kernel_not_attempted(const char *text, size_t n) {
    static const char mark[] = "LAB_TODO_KERNEL";
    for (size_t i = 0; i < n;) {
        size_t skip = skipped(text, n, i);
        if (skip) {
            i += skip;
            continue;
        }
        if (n - i >= sizeof mark - 1 && !memcmp(text + i, mark, sizeof mark - 1)) return true;
        i++;
    }
    return false;
}
