/* traces_mooncake.c: rows of Mooncake's JSON lines. json_scan checks that a line is valid JSON;
 * this file then walks over its text, because building a tree of some hundred nodes for the
 * hash_ids of each row would take most of the time. */
#include "workload/traces_internal.h"

#include "base/clock.h"
#include "base/json_scan.h"
#include "workload/decimal.h"
#include "workload/spec.h"

#include <stdlib.h>
#include <string.h>

enum member { TIMESTAMP, INPUT_LENGTH, OUTPUT_LENGTH, HASH_IDS, N_MEMBERS };
static const char *const MEMBERS[] = {"timestamp", "input_length", "output_length", "hash_ids"};

/* ---- walking over valid JSON ---- */

static const char *skip_space(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) p++;
    return p;
}

/* Past the string that begins at p. */
static const char *skip_string(const char *p) {
    for (p++; *p != '"'; p++) p += *p == '\\';
    return p + 1;
}

/* Past the value that begins at p. */
static const char *skip_value(const char *p, const char *end) {
    int depth = 0;
    while (p < end) {
        char c = *p;
        if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
        if (c == '"') {
            p = skip_string(p);
            continue;
        }
        depth += (c == '[' || c == '{') - (c == ']' || c == '}');
        p++;
    }
    return p;
}

static void trim(struct slice *s) {
    while (s->n > 0 && strchr(" \t\r\n", s->text[s->n - 1])) s->n--;
}

/* The texts of the known members; NULL: absent. Other members are skipped. */
static void find_members(struct slice whole, struct slice *out) {
    const char *end = whole.text + whole.n;
    const char *p = skip_space(whole.text, end) + 1; /* past the brace */
    for (p = skip_space(p, end); *p == '"'; p = skip_space(p + (*p == ','), end)) {
        struct slice key = {p + 1, 0};
        p = skip_string(p);
        key.n = (size_t)(p - 1 - key.text);
        p = skip_space(skip_space(p, end) + 1, end); /* past the colon */
        struct slice value = {p, 0};
        p = skip_value(p, end);
        value.n = (size_t)(p - value.text);
        trim(&value);
        for (int m = 0; m < N_MEMBERS; m++)
            if (key.n == strlen(MEMBERS[m]) && !memcmp(key.text, MEMBERS[m], key.n)) out[m] = value;
    }
}

/* ---- the row ---- */

static void append_prefix(struct trace *t, uint64_t id) {
    if (t->n_prefixes == t->cap_prefixes) {
        t->cap_prefixes = t->cap_prefixes ? t->cap_prefixes * 2 : 1024;
        t->prefixes = realloc(t->prefixes, (size_t)t->cap_prefixes * sizeof *t->prefixes);
        INVARIANT(t->prefixes);
    }
    /* Published ids count from 0, other files have hashes of 64 bits. Mixed, both can be taken
     * modulo something by a router. This is splitmix64's last step, a bijection that maps only 0 to
     * 0. A prefix of 0 means "not known": the greatest id gets the place of an arbitrary other one.
     */
    uint64_t z = id + 1 ? id + 1 : UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    t->prefixes[t->n_prefixes++] = z ^ (z >> 31);
}

static int read_prefix(struct trace *t, struct slice ids, struct trace_row *row, struct err *e) {
    const char *name = MEMBERS[HASH_IDS], *expected = "a list of whole numbers from 0 to 2^64 - 1";
    row->prefix_at = t->n_prefixes;
    row->n_prefix = 0;
    if (!ids.text || (ids.n == 4 && !memcmp(ids.text, "null", 4))) return 0;
    if (ids.text[0] != '[') return bad_field(e, name, expected, ids.text, ids.n, NULL);
    int64_t blocks = ((int64_t)row->prompt_tokens + TRACE_PREFIX_TOKENS - 1) / TRACE_PREFIX_TOKENS;
    const char *end = ids.text + ids.n, *p = skip_space(ids.text + 1, end);
    while (*p != ']') {
        struct slice item = {p, 0};
        uint64_t id;
        p = skip_value(p, end);
        item.n = (size_t)(p - item.text);
        trim(&item);
        const char *wrong = decimal_whole(item.text, item.n, UINT64_MAX, &id);
        if (wrong) return bad_field(e, name, expected, item.text, item.n, wrong);
        if (++row->n_prefix > blocks)
            return err_at(
                e, 0, name,
                "expected at most %lld, one per %d of the %d prompt tokens; there are more",
                (long long)blocks, TRACE_PREFIX_TOKENS, row->prompt_tokens);
        append_prefix(t, id);
        if (*p == ',') p = skip_space(p + 1, end);
    }
    return 0;
}

static int read_tokens(const struct slice *members, enum member m, int32_t *out, struct err *e) {
    uint64_t v = 0;
    struct slice s = members[m];
    const char *wrong = s.text ? decimal_whole(s.text, s.n, SPEC_MAX_TOKENS, &v) : "missing";
    *out = (int32_t)v;
    return wrong ? bad_field(e, MEMBERS[m], WHOLE_TOKENS, s.text ? s.text : "", s.n, wrong) : 0;
}

int mooncake_row(struct trace *t, const char *text, size_t n, struct trace_row *row,
                 struct err *e) {
    struct json_scan_result scan;
    if (json_scan(text, n, 1, &scan, e)) return -1;
    free(scan.literals); /* ids above 2^53 are read from the text */
    struct slice whole = {text, n}, members[N_MEMBERS] = {{NULL, 0}};
    const char *first = skip_space(text, text + n);
    if (*first != '{')
        return bad_field(e, "row", "a JSON object with timestamp, input_length and output_length",
                         text, n, NULL);
    find_members(whole, members);
    struct slice at = members[TIMESTAMP];
    const char *wrong = at.text ? decimal_ns(at.text, at.n, NS_PER_MS, &row->at_ns) : "missing";
    if (wrong)
        return bad_field(e, MEMBERS[TIMESTAMP], "milliseconds from 0 on", at.text ? at.text : "",
                         at.n, wrong);
    if (read_tokens(members, INPUT_LENGTH, &row->prompt_tokens, e) ||
        read_tokens(members, OUTPUT_LENGTH, &row->output_tokens, e))
        return -1;
    return read_prefix(t, members[HASH_IDS], row, e);
}
