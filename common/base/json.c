/* json.c: builds trees from scanned text, reads members with their types. See json.h. Not here: the
 * grammar (json_scan.c).
 */
#include "base/json.h"
#include "base/json_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- text to tree ---------------------------------------------------------------------------- */

/* The node after `at` in document order; `stack` holds the containers on the way down. */
static cJSON *next_node(cJSON *at, cJSON **stack, int *depth) {
    if (at->child) {
        INVARIANT(*depth < JSON_MAX_DEPTH);
        stack[(*depth)++] = at;
        return at->child;
    }
    while (!at->next) {
        if (*depth == 0) return NULL;
        at = stack[--*depth];
    }
    return *depth ? at->next : NULL;
}

/* Stores the kept literals in their number nodes. 0, or -1 when memory is out. */
static int attach_literals(cJSON *root, const char *text, const struct json_scan_result *scan) {
    cJSON *stack[JSON_MAX_DEPTH];
    int depth = 0;
    size_t ordinal = 0, next = 0;
    for (cJSON *at = root; at && next < scan->n_literals; at = next_node(at, stack, &depth)) {
        if (!cJSON_IsNumber(at)) continue;
        if (ordinal++ != scan->literals[next].ordinal) continue;
        size_t length = scan->literals[next].length;
        at->valuestring =
            cJSON_malloc(length + 1); /* cJSON_Delete frees it, cJSON_Duplicate copies it */
        if (!at->valuestring) return -1;
        memcpy(at->valuestring, text + scan->literals[next].offset, length);
        at->valuestring[length] = '\0';
        next++;
    }
    INVARIANT(next == scan->n_literals);
    return 0;
}

static cJSON *parse(const char *text, size_t n, int first_line, bool takes_nul, struct err *e);

cJSON *json_parse(const char *text, size_t n, int first_line, struct err *e) {
    return parse(text, n, first_line, false, e);
}

cJSON *json_parse_with_nul(const char *text, size_t n, int first_line, struct err *e) {
    return parse(text, n, first_line, true, e);
}

/* A copy of a scanned text with JSON_NUL for each \u0000; its length in *n. NULL: memory is out. */
static char *replace_nul(const char *text, size_t *n) {
    char *copy = malloc(*n + 1), *to = copy;
    for (size_t i = 0; copy && i < *n;) {
        bool escape = text[i] == '\\';
        if (escape && !memcmp(text + i + 1, "u0000", 5)) {
            to = mempcpy(to, JSON_NUL, 2);
            i += 6;
            continue;
        }
        *to++ = text[i++];
        if (escape) *to++ = text[i++]; /* what it escapes may be a backslash */
    }
    if (copy) *n = (size_t)(to - copy);
    return copy;
}

static cJSON *parse(const char *text, size_t n, int first_line, bool takes_nul, struct err *e) {
    struct json_scan_result scan;
    if (json_scan_strings(text, n, first_line, takes_nul, &scan, e)) return NULL;
    bool replace = takes_nul && memmem(text, n, "\\u0000", 6);
    size_t length = n;
    char *copy = replace ? replace_nul(text, &length) : NULL;
    const char *from = replace ? copy : text;
    cJSON *root = NULL;
    if (from) {
        /* cJSON skips a byte order mark too, but not in a text of 4 bytes. */
        size_t mark = length >= 3 && !memcmp(from, "\xef\xbb\xbf", 3) ? 3 : 0;
        root = cJSON_ParseWithLength(from + mark, length - mark);
    }
    if (root && attach_literals(root, text, &scan)) {
        cJSON_Delete(root);
        root = NULL;
    }
    free(copy);
    free(scan.literals);
    if (!root) err_at(e, first_line, NULL, "memory is out reading %zu bytes of JSON", n);
    return root;
}

bool json_has_nul(const char *string) {
    return strstr(string, JSON_NUL) != NULL;
}

size_t json_restore_nul(char *string) {
    char *to = string;
    for (const char *from = string; *from; to++) {
        bool nul = !strncmp(from, JSON_NUL, 2);
        *to = nul ? '\0' : *from;
        from += nul ? 2 : 1;
    }
    *to = '\0';
    return (size_t)(to - string);
}

static char *read_all(int fd, size_t size, size_t *n, struct err *e) {
    char *text = malloc(size + 1);
    size_t got = 0;
    if (!text) {
        err_set(e, "memory is out reading %zu bytes", size);
        return NULL;
    }
    while (got < size) {
        ssize_t step = read(fd, text + got, size - got);
        if (step < 0 && errno == EINTR) continue;
        if (step < 0) {
            err_set(e, "can't be read: %s", strerror(errno));
            free(text);
            return NULL;
        }
        if (step == 0) break; /* the file shrank: parse what there is */
        got += (size_t)step;
    }
    text[got] = '\0';
    *n = got;
    return text;
}

char *json_read_file(const char *path, size_t *n, struct err *e) {
    struct stat st;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* so that a FIFO does not block */
    if (fd < 0)
        err_set(e, "can't be opened: %s", strerror(errno));
    else if (fstat(fd, &st))
        err_set(e, "can't be examined: %s", strerror(errno));
    else if (S_ISDIR(st.st_mode))
        err_set(e, "is a folder; name the file in it");
    else if (!S_ISREG(st.st_mode))
        err_set(e, "is not a regular file");
    else if (st.st_size == 0)
        err_at(e, 1, NULL, "the file is empty");
    else if (st.st_size > JSON_MAX_BYTES)
        err_set(e, "has %lld bytes; one JSON value may have at most %d", (long long)st.st_size,
                JSON_MAX_BYTES);
    else
        text = read_all(fd, (size_t)st.st_size, n, e);
    if (fd >= 0) close(fd);
    return text;
}

cJSON *json_parse_file(const char *path, struct err *e) {
    size_t n;
    char *text = json_read_file(path, &n, e);
    if (!text) return NULL;
    cJSON *root = json_parse(text, n, 1, e);
    free(text);
    return root;
}

/* ---- the line of a member ---------------------------------------------------------------------
 */

struct cursor {
    const char *at, *end;
    int line;
};

static void skip_space(struct cursor *c) {
    for (; c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at; c->at++)
        c->line += *c->at == '\n';
}

/* Past the string that begins at the cursor. The text is valid: a quote ends it. */
static void skip_string(struct cursor *c) {
    for (c->at++; c->at < c->end && *c->at != '"'; c->at++) c->at += *c->at == '\\';
    if (c->at < c->end) c->at++;
    if (c->at > c->end) c->at = c->end;
}

static void skip_value(struct cursor *c) {
    int depth = 0;
    do {
        skip_space(c);
        if (c->at >= c->end) return;
        char ch = *c->at;
        if (ch == '"') {
            skip_string(c);
            continue;
        }
        depth += (ch == '{' || ch == '[') - (ch == '}' || ch == ']');
        c->at++;
        if (!strchr("{}[],:", ch))
            while (c->at < c->end && !strchr(" \t\r\n{}[],:\"", *c->at)) c->at++;
    } while (depth > 0);
}

/* Moves the cursor from a container to its member `name`[0..n), or to item `index` when name is
 * NULL. false: no such member. */
static bool enter(struct cursor *c, const char *name, size_t n, size_t index) {
    if (c->at >= c->end || *c->at != (name ? '{' : '[')) return false;
    c->at++;
    for (size_t i = 0;; i++) {
        skip_space(c);
        if (c->at >= c->end || *c->at == '}' || *c->at == ']') return false;
        bool here = i == index;
        if (name) {
            const char *key = c->at + 1;
            skip_string(c);
            here = (size_t)(c->at - 1 - key) == n && !memcmp(key, name, n);
            skip_space(c);
            c->at += c->at < c->end; /* the colon */
            skip_space(c);
        }
        if (here) return true;
        skip_value(c);
        skip_space(c);
        if (c->at >= c->end || *c->at != ',') return false;
        c->at++;
    }
}

int json_line_of(const char *text, size_t n, int first_line, const char *path) {
    struct cursor c = {.at = text, .end = text + n, .line = first_line};
    if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) c.at += 3;
    skip_space(&c);
    int line = c.line;
    while (*path) {
        bool found;
        if (*path == '[') {
            char *after;
            size_t index = strtoull(path + 1, &after, 10);
            if (*after != ']') break;
            found = enter(&c, NULL, 0, index);
            path = after + 1;
        } else {
            path += *path == '.';
            size_t length = strcspn(path, ".[");
            found = enter(&c, path, length, 0);
            path += length;
        }
        if (!found) break;
        line = c.line;
    }
    return line;
}

/* ---- tree to text ---------------------------------------------------------------------------- */

static bool has_literal(const cJSON *node) {
    return cJSON_IsNumber(node) && node->valuestring;
}

/* Turns numbers with kept digits into raw text, which cJSON prints unchanged. */
static void show_literals(cJSON *root) {
    cJSON *stack[JSON_MAX_DEPTH];
    int depth = 0;
    for (cJSON *at = root; at; at = next_node(at, stack, &depth))
        if (has_literal(at)) at->type = (at->type & ~0xff) | cJSON_Raw;
}

char *json_print(const cJSON *tree) {
    cJSON *mine = cJSON_Duplicate(tree, true); /* the caller's tree is const */
    if (!mine) return NULL;
    show_literals(mine);
    char *text = cJSON_PrintUnformatted(mine);
    cJSON_Delete(mine);
    return text;
}

cJSON *json_add_int(cJSON *obj, const char *key, int64_t value) {
    char digits[24];
    cJSON *node = cJSON_AddNumberToObject(obj, key, (double)value);
    if (!node || (value > -1000000000000000 && value < 1000000000000000)) return node;
    int length = snprintf(digits, sizeof digits, "%" PRId64, value);
    node->valuestring = cJSON_malloc((size_t)length + 1);
    if (!node->valuestring) return NULL;
    memcpy(node->valuestring, digits, (size_t)length + 1);
    return node;
}

/* ---- members --------------------------------------------------------------------------------- */

static const char *type_name(const cJSON *v) {
    if (cJSON_IsString(v)) return "a string";
    if (cJSON_IsNumber(v)) return "a number";
    if (cJSON_IsBool(v)) return cJSON_IsTrue(v) ? "true" : "false";
    if (cJSON_IsNull(v)) return "null";
    return cJSON_IsArray(v) ? "an array" : "an object";
}

static int fail_member(struct err *e, const char *path, const char *key, const char *expected,
                       const cJSON *found) {
    char field[sizeof e->field];
    snprintf(field, sizeof field, "%s%s%s", path, *path ? "." : "", key);
    if (!found) return err_at(e, 0, field, "is missing; it must be %s", expected);
    return err_at(e, 0, field, "must be %s, not %s", expected, type_name(found));
}

/* The member; NULL with *found false when it is missing or null. */
static const cJSON *optional(const cJSON *obj, const char *key, bool *found) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(obj, key);
    *found = v && !cJSON_IsNull(v);
    return *found ? v : NULL;
}

static int to_string(const cJSON *v, const char *path, const char *key, const char **out,
                     struct err *e) {
    if (!cJSON_IsString(v)) return fail_member(e, path, key, "a string", v);
    *out = v->valuestring;
    return 0;
}

static int to_int(const cJSON *v, const char *path, const char *key, int64_t lo, int64_t hi,
                  int64_t *out, struct err *e) {
    char field[sizeof e->field];
    int64_t value = 0;
    if (!cJSON_IsNumber(v)) return fail_member(e, path, key, "a whole number", v);
    snprintf(field, sizeof field, "%s%s%s", path, *path ? "." : "", key);
    double d = v->valuedouble;
    enum literal_kind kind = !(fabs(d) <= (double)JSON_MAX_INT) ? LITERAL_BEYOND
                             : d == floor(d)                    ? LITERAL_INT
                                                                : LITERAL_FRACTION;
    if (has_literal(v))
        kind = json_literal_int(v->valuestring, strlen(v->valuestring), &value);
    else if (kind == LITERAL_INT)
        value = (int64_t)d;
    if (kind == LITERAL_FRACTION)
        return err_at(e, 0, field, "must be a whole number, not a fraction (%.17g)", d);
    if (kind == LITERAL_BEYOND)
        return err_at(e, 0, field,
                      "%.17g is beyond 2^53 (9007199254740992), where whole numbers get lost", d);
    if (value < lo || value > hi)
        return err_at(e, 0, field, "is %" PRId64 "; it must lie between %" PRId64 " and %" PRId64,
                      value, lo, hi);
    *out = value;
    return 0;
}

static int to_number(const cJSON *v, const char *path, const char *key, double *out,
                     struct err *e) {
    if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble))
        return fail_member(e, path, key, "a number", v);
    *out = v->valuedouble;
    return 0;
}

int json_get_string(const cJSON *obj, const char *path, const char *key, const char **out,
                    struct err *e) {
    return to_string(cJSON_GetObjectItemCaseSensitive(obj, key), path, key, out, e);
}

int json_get_string_opt(const cJSON *obj, const char *path, const char *key, const char **out,
                        bool *found, struct err *e) {
    const cJSON *v = optional(obj, key, found);
    return v ? to_string(v, path, key, out, e) : 0;
}

int json_get_bool(const cJSON *obj, const char *path, const char *key, bool *out, struct err *e) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(obj, key);
    if (!cJSON_IsBool(v)) return fail_member(e, path, key, "true or false", v);
    *out = cJSON_IsTrue(v);
    return 0;
}

int json_get_int(const cJSON *obj, const char *path, const char *key, int64_t lo, int64_t hi,
                 int64_t *out, struct err *e) {
    return to_int(cJSON_GetObjectItemCaseSensitive(obj, key), path, key, lo, hi, out, e);
}

int json_get_int_opt(const cJSON *obj, const char *path, const char *key, int64_t lo, int64_t hi,
                     int64_t *out, bool *found, struct err *e) {
    const cJSON *v = optional(obj, key, found);
    return v ? to_int(v, path, key, lo, hi, out, e) : 0;
}

int json_get_number(const cJSON *obj, const char *path, const char *key, double *out,
                    struct err *e) {
    return to_number(cJSON_GetObjectItemCaseSensitive(obj, key), path, key, out, e);
}

int json_get_number_opt(const cJSON *obj, const char *path, const char *key, double *out,
                        bool *found, struct err *e) {
    const cJSON *v = optional(obj, key, found);
    return v ? to_number(v, path, key, out, e) : 0;
}

int json_get_object(const cJSON *obj, const char *path, const char *key, const cJSON **out,
                    struct err *e) {
    *out = cJSON_GetObjectItemCaseSensitive(obj, key);
    return cJSON_IsObject(*out) ? 0 : fail_member(e, path, key, "an object", *out);
}

int json_get_array(const cJSON *obj, const char *path, const char *key, const cJSON **out,
                   struct err *e) {
    *out = cJSON_GetObjectItemCaseSensitive(obj, key);
    return cJSON_IsArray(*out) ? 0 : fail_member(e, path, key, "an array", *out);
}
