/* record_fast.c: reads the usual line of a log in one pass into struct record, without a tree.
 *
 * Logs have millions of lines, and building a tree of 60 to 2,000 nodes per record takes longer
 * than everything else done with it. This reader knows the members of a record and nothing else.
 * Anything it does not expect (an unknown member, an escape, a number with an exponent,
 * clock_offsets, any error) makes it give up; record_read.c then reads the line again from its
 * start and has the error messages. It may give up anywhere. But record_read.c must accept all that
 * it accepts, with the same result: tests/test_fuzz_record.c and tests/fuzz_record.c compare the
 * two.
 */
#include "base/json.h"
#include "base/json_scan.h"
#include "base/utf8.h"
#include "record/record_internal.h"

#include <string.h>

struct cursor {
    const char *at, *end;
};

struct text {
    const char *p;
    size_t n;
};

enum {
    INT_DIGITS = 16, /* 2^53 has 16 */
    SAFE_CHARS =
        15, /* a decimal of so few characters is whole after rounding only if it was whole before */
};

/* ---- values ---------------------------------------------------------------------------------- */

static inline void skip_space(struct cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r' || *c->at == '\n'))
        c->at++;
}

/* Moves past `ch` and the space around it. */
static inline bool take(struct cursor *c, char ch) {
    skip_space(c);
    if (c->at >= c->end || *c->at != ch) return false;
    c->at++;
    skip_space(c);
    return true;
}

static bool take_word(struct cursor *c, const char *word, size_t n) {
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n)) return false;
    c->at += n;
    return true;
}

static inline bool take_null(struct cursor *c) {
    return c->at < c->end && *c->at == 'n' && take_word(c, "null", 4);
}

/* A string without escapes. */
static inline bool take_text(struct cursor *c, struct text *out) {
    if (c->at >= c->end || *c->at != '"') return false;
    const char *from = ++c->at;
    while (c->at < c->end) {
        unsigned char ch = (unsigned char)*c->at;
        if (ch == '"') {
            *out = (struct text){from, (size_t)(c->at - from)};
            c->at++;
            return true;
        }
        if (ch < 0x20 || ch == '\\') return false;
        int length = ch < 0x80 ? 1 : (int)utf8_char_bytes(c->at, (size_t)(c->end - c->at));
        if (!length) return false;
        c->at += length;
    }
    return false;
}

static bool store_text(const struct text *t, char *dst, size_t cap) {
    if (t->n >= cap) return false;
    memcpy(dst, t->p, t->n);
    dst[t->n] = '\0';
    return true;
}

static bool take_stored(struct cursor *c, char *dst, size_t cap) {
    struct text t;
    return take_text(c, &t) && store_text(&t, dst, cap);
}

static bool take_stored_or_null(struct cursor *c, char *dst, size_t cap) {
    return take_null(c) || take_stored(c, dst, cap);
}

/* A plain whole number within [lo, hi], lo >= 0. */
static inline bool take_int(struct cursor *c, int64_t lo, int64_t hi, int64_t *out) {
    const char *from = c->at;
    int64_t value = 0;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9' && c->at - from < INT_DIGITS)
        value = value * 10 + (*c->at++ - '0');
    if (c->at == from || (*from == '0' && c->at - from > 1) || value < lo || value > hi)
        return false;
    *out = value;
    return true; /* if a digit, point or exponent follows, the caller finds no ',' or '}' and gives
                    up */
}

static bool take_int32(struct cursor *c, int32_t lo, int32_t hi, int32_t *out) {
    int64_t value;
    if (!take_int(c, lo, hi, &value)) return false;
    *out = (int32_t)value;
    return true;
}

/* A number of at most SAFE_CHARS characters, without sign and exponent; null leaves *out unchanged.
 */
static bool take_number_or_null(struct cursor *c, double *out) {
    if (take_null(c)) return true;
    const char *from = c->at;
    int points = 0;
    while (c->at < c->end && ((*c->at >= '0' && *c->at <= '9') || *c->at == '.'))
        points += *c->at++ == '.';
    size_t n = (size_t)(c->at - from);
    if (n == 0 || n > SAFE_CHARS || points > 1 || *from == '.' || c->at[-1] == '.') return false;
    if (*from == '0' && n > 1 && from[1] != '.') return false;
    *out = json_literal_double(from, n);
    return true;
}

/* ---- objects --------------------------------------------------------------------------------- */

enum step { STEP_GIVE_UP = -1, STEP_END, STEP_MEMBER };

/* Moves to the next member of an object whose '{' is read: *key, and the cursor on its value.
 * *first is true before the first member. */
static inline enum step next_member(struct cursor *c, bool *first, struct text *key) {
    if (take(c, '}')) return STEP_END;
    if (!*first && !take(c, ',')) return STEP_GIVE_UP;
    *first = false;
    return take_text(c, key) && take(c, ':') ? STEP_MEMBER : STEP_GIVE_UP;
}

static inline bool is(const struct text *key, const char *name, size_t n) {
    return key->n == n && !memcmp(key->p, name, n);
}
#define IS(name) is(&key, name, sizeof name - 1)

/* Marks a member in *seen; false if it is marked already. */
static inline bool once(unsigned *seen, unsigned bit) {
    bool new = !(*seen & bit);
    *seen |= bit;
    return new;
}

/* The readers below return false at a key that they do not know. */

static bool take_workload(struct cursor *c, struct record *r) {
    struct text key;
    unsigned seen = 0;
    bool first = true, ok = take(c, '{');
    enum step step = STEP_GIVE_UP;
    while (ok && (step = next_member(c, &first, &key)) == STEP_MEMBER) {
        if (IS("model"))
            ok = once(&seen, 1) &&
                 take_stored_or_null(c, r->workload.model, sizeof r->workload.model);
        else if (IS("prompt_tokens"))
            ok = once(&seen, 2) &&
                 (take_null(c) || take_int32(c, 0, INT32_MAX, &r->workload.prompt_tokens));
        else if (IS("max_output_tokens"))
            ok = once(&seen, 4) &&
                 (take_null(c) || take_int32(c, 0, INT32_MAX, &r->workload.max_output_tokens));
        else if (IS("output_tokens"))
            ok = once(&seen, 8) &&
                 (take_null(c) || take_int32(c, 0, INT32_MAX, &r->workload.output_tokens));
        else if (IS("cached_prompt_tokens"))
            ok = once(&seen, 32) &&
                 (take_null(c) || take_int32(c, 0, INT32_MAX, &r->workload.cached_prompt_tokens));
        else if (IS("paced"))
            ok = once(&seen, 64) &&
                 take_stored_or_null(c, r->workload.paced, sizeof r->workload.paced);
        else if (IS("draft_steps"))
            ok = once(&seen, 128) &&
                 (take_null(c) || take_int32(c, 0, INT32_MAX, &r->workload.draft_steps));
        else if (IS("draft_tokens"))
            ok = once(&seen, 256) &&
                 (take_null(c) || take_int32(c, 0, INT32_MAX, &r->workload.draft_tokens));
        else if (IS("accepted_draft_tokens"))
            ok = once(&seen, 512) &&
                 (take_null(c) || take_int32(c, 0, INT32_MAX, &r->workload.accepted_draft_tokens));
        else if (IS("decoding"))
            ok = once(&seen, 16) &&
                 take_stored_or_null(c, r->workload.decoding, sizeof r->workload.decoding);
        else
            ok = false;
    }
    return ok && step == STEP_END;
}

static bool take_name(struct cursor *c, int (*from_bytes)(const char *, size_t), int *out) {
    struct text t;
    if (!take_text(c, &t)) return false;
    *out = from_bytes(t.p, t.n);
    return *out >= 0;
}

static bool take_event(struct cursor *c, struct record *r) {
    enum { EVENT = 1, CLOCK = 2, T_NS = 4, SOURCE = 8, API = 16, TOKENS = 32, RANGE = 64 };
    enum { NEEDED = EVENT | CLOCK | T_NS | SOURCE | API };
    struct text key;
    struct event ev;
    int kind = 0, clock = 0, source = 0;
    unsigned seen = 0;
    bool first = true, ok = take(c, '{');
    enum step step = STEP_GIVE_UP;
    memset(&ev, 0, sizeof ev);
    while (ok && (step = next_member(c, &first, &key)) == STEP_MEMBER) {
        if (IS("event"))
            ok = once(&seen, EVENT) && take_name(c, event_from_bytes, &kind);
        else if (IS("clock"))
            ok = once(&seen, CLOCK) && take_name(c, clock_from_bytes, &clock);
        else if (IS("t_ns"))
            ok = once(&seen, T_NS) && take_int(c, 0, JSON_MAX_INT, &ev.t_ns);
        else if (IS("source"))
            ok = once(&seen, SOURCE) && take_name(c, source_from_bytes, &source);
        else if (IS("clock_api"))
            ok = once(&seen, API) && take_stored(c, ev.clock_api, sizeof ev.clock_api);
        else if (IS("tokens"))
            ok = once(&seen, TOKENS) && take_int32(c, 0, INT32_MAX, &ev.tokens);
        else if (IS("range"))
            ok = once(&seen, RANGE) && take_stored(c, ev.range, sizeof ev.range);
        else
            ok = false;
    }
    if (!ok || step != STEP_END || (seen & NEEDED) != NEEDED) return false;
    if (kind == EV_TOKEN_SENT && !(seen & TOKENS)) return false;
    ev.kind = kind;
    ev.clock = clock;
    ev.source = source;
    return record_add_event(r, &ev, NULL) == 0;
}

static bool take_events(struct cursor *c, struct record *r) {
    if (!take(c, '[')) return false;
    if (take(c, ']')) return true;
    do {
        if (!take_event(c, r)) return false;
    } while (take(c, ','));
    return take(c, ']');
}

static bool take_outcome(struct cursor *c, struct record *r) {
    struct text key;
    unsigned seen = 0;
    bool first = true, ok = take(c, '{');
    enum step step = STEP_GIVE_UP;
    while (ok && (step = next_member(c, &first, &key)) == STEP_MEMBER) {
        if (IS("delivered")) {
            r->outcome.delivered = c->at < c->end && *c->at == 't';
            ok = once(&seen, 1) && (take_word(c, "true", 4) || take_word(c, "false", 5));
        } else if (IS("http_status")) {
            ok = once(&seen, 2) &&
                 (take_null(c) || take_int32(c, 100, 599, &r->outcome.http_status));
        } else if (IS("finish_reason")) {
            ok = once(&seen, 4) &&
                 take_stored_or_null(c, r->outcome.finish_reason, sizeof r->outcome.finish_reason);
        } else if (IS("error")) {
            ok =
                once(&seen, 8) && take_stored_or_null(c, r->outcome.error, sizeof r->outcome.error);
        } else {
            ok = false;
        }
    }
    return ok && step == STEP_END && (seen & 1);
}

/* "quality" or "structure". */
static bool take_checked(struct cursor *c, char *check, size_t cap, enum verdict *verdict) {
    struct text key;
    unsigned seen = 0;
    int v = 0;
    bool first = true, ok = take(c, '{');
    enum step step = STEP_GIVE_UP;
    while (ok && (step = next_member(c, &first, &key)) == STEP_MEMBER) {
        if (IS("check"))
            ok = once(&seen, 1) && take_stored_or_null(c, check, cap);
        else if (IS("verdict"))
            ok = once(&seen, 2) && take_name(c, verdict_from_bytes, &v);
        else
            ok = false;
    }
    *verdict = v;
    return ok && step == STEP_END && (seen & 2);
}

static bool take_resources(struct cursor *c, struct record *r) {
    struct text key;
    unsigned seen = 0;
    bool first = true, ok = take(c, '{');
    enum step step = STEP_GIVE_UP;
    while (ok && (step = next_member(c, &first, &key)) == STEP_MEMBER) {
        if (IS("gpu_seconds"))
            ok = once(&seen, 1) && take_number_or_null(c, &r->resources.gpu_seconds);
        else if (IS("joules"))
            ok = once(&seen, 2) && take_number_or_null(c, &r->resources.joules);
        else
            ok = false;
    }
    return ok && step == STEP_END;
}

/* ---- the record ------------------------------------------------------------------------------ */

enum {
    SCHEMA = 1,
    REQUEST_ID = 2,
    ATTEMPT = 4,
    WORKLOAD = 8,
    EVENTS = 16,
    OUTCOME = 32,
    QUALITY = 64,
    STRUCTURE = 128,
    RESOURCES = 256,
    STATEMENT = 512,
    REQUIRED = SCHEMA | REQUEST_ID | ATTEMPT | WORKLOAD | EVENTS | OUTCOME,
};

static bool take_member(struct cursor *c, struct record *r, struct text key, unsigned *seen) {
    struct text schema;
    if (IS("events")) return once(seen, EVENTS) && take_events(c, r);
    if (IS("schema"))
        return once(seen, SCHEMA) && take_text(c, &schema) &&
               is(&schema, RECORD_SCHEMA, sizeof RECORD_SCHEMA - 1);
    if (IS("request_id"))
        return once(seen, REQUEST_ID) && take_stored(c, r->request_id, sizeof r->request_id);
    if (IS("attempt")) return once(seen, ATTEMPT) && take_int32(c, 1, INT32_MAX, &r->attempt);
    if (IS("workload")) return once(seen, WORKLOAD) && take_workload(c, r);
    if (IS("outcome")) return once(seen, OUTCOME) && take_outcome(c, r);
    if (IS("quality"))
        return once(seen, QUALITY) &&
               take_checked(c, r->quality.check, sizeof r->quality.check, &r->quality.verdict);
    if (IS("structure"))
        return once(seen, STRUCTURE) &&
               take_checked(c, r->structure.check, sizeof r->structure.check,
                            &r->structure.verdict);
    if (IS("resources")) return once(seen, RESOURCES) && take_resources(c, r);
    if (IS("statement"))
        return once(seen, STATEMENT) && take_stored_or_null(c, r->statement, sizeof r->statement);
    return false;
}

bool record_fill_fast(struct record *r, const char *text, size_t n) {
    struct cursor c = {.at = text, .end = text + n};
    struct text key;
    unsigned seen = 0;
    bool first = true;
    enum step step;
    if (!take(&c, '{')) return false;
    while ((step = next_member(&c, &first, &key)) == STEP_MEMBER)
        if (!take_member(&c, r, key, &seen)) return false;
    if (step != STEP_END || c.at != c.end || (seen & REQUIRED) != REQUIRED) return false;
    return record_validate(r, NULL) == 0;
}
