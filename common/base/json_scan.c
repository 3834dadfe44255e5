/* json_scan.c: the scanner. See json_scan.h. Not here: trees and types (json.c).
 *
 * The state is one frame per open container. The loop in json_scan alternates between "a value must
 * begin here" and "a value has ended". Nothing recurses: 100,000 brackets cost 65 steps and an
 * error.
 */
#include "base/json_scan.h"
#include "base/json.h"
#include "base/utf8.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW_KEYS = 32, /* up to this many, each new key is compared with the others; above, one sort at
                      the end */
};

struct key {
    size_t offset; /* into the text, or into `decoded` */
    uint32_t length;
    bool is_decoded;
    bool simple; /* letters, digits, _ and -: prints in a path without quotes */
    int line;
    uint32_t position; /* its place in its object */
};

struct frame {
    bool is_object;
    bool has_key;     /* an object's key has been read, its value is being read */
    size_t first_key; /* where this object's keys begin in scan.keys */
    size_t index;     /* an array's current item */
    int line;         /* where it was opened */
};

struct scan {
    const char *text;
    size_t n, pos;
    int line;
    struct err *e;
    bool takes_nul; /* \u0000 is a character of a string; never of a key */
    struct frame stack[JSON_MAX_DEPTH];
    int depth;
    struct key *keys; /* of the open objects only */
    size_t n_keys, cap_keys;
    char *decoded; /* bytes of keys that had escapes */
    size_t n_decoded, cap_decoded;
    size_t n_numbers;
    size_t cap_literals;
    struct json_scan_result *out;
};

/* ---- errors ---------------------------------------------------------------------------------- */

static const char *key_bytes(const struct scan *s, const struct key *k) {
    return (k->is_decoded ? s->decoded : s->text) + k->offset;
}

static const struct key *current_key(const struct scan *s, int level) {
    size_t end = level + 1 < s->depth ? s->stack[level + 1].first_key : s->n_keys;
    return &s->keys[end - 1];
}

/* The path at the current position, such as "events[2].t_ns"; cut to the buffer. */
static void current_path(const struct scan *s, char *buf, size_t cap) {
    size_t used = 0;
    buf[0] = '\0';
    for (int i = 0; i < s->depth && used + 1 < cap; i++) {
        const struct frame *f = &s->stack[i];
        int wrote = 0;
        if (!f->is_object) {
            wrote = snprintf(buf + used, cap - used, "[%zu]", f->index);
        } else if (f->has_key) {
            const struct key *k = current_key(s, i);
            const char *format = !k->simple ? "%s[\"%.*s\"]" : "%s%.*s";
            int shown = k->length < cap ? (int)k->length : (int)cap;
            wrote = snprintf(buf + used, cap - used, format, used && k->simple ? "." : "", shown,
                             key_bytes(s, k));
        }
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

static int fail(struct scan *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int fail(struct scan *s, const char *fmt, ...) {
    char path[sizeof s->e->field], text[sizeof s->e->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    current_path(s, path, sizeof path);
    return err_at(s->e, s->line, path, "%s", text);
}

static int fail_cut_off(struct scan *s, const char *inside) {
    s->out->cut_off = true;
    if (s->depth == 0) return fail(s, "the text ends inside %s: it was cut off", inside);
    const struct frame *f = &s->stack[s->depth - 1];
    return fail(s,
                "the text ends inside %s: it was cut off (the %s opened on line %d is not closed); "
                "write it again",
                inside, f->is_object ? "object" : "array", f->line);
}

static int fail_memory(struct scan *s) {
    return fail(s, "memory is out after %zu bytes", s->pos);
}

/* Reports what is here instead of what was expected, with help for common mistakes. */
static int fail_unexpected(struct scan *s, const char *expected) {
    static const struct {
        const char *text, *help;
    } slips[] = {
        {"NaN", "NaN is not JSON; write null where a number is unknown"},
        {"nan", "NaN is not JSON; write null where a number is unknown"},
        {"Infinity", "Infinity is not JSON; write null where a number is unknown"},
        {"-Infinity", "Infinity is not JSON; write null where a number is unknown"},
        {"-NaN", "NaN is not JSON; write null where a number is unknown"},
        {"True", "write true, not True"},
        {"False", "write false, not False"},
        {"None", "write null, not None"},
        {"'", "JSON strings need double quotes"},
        {"//", "JSON has no comments; remove it"},
        {"/*", "JSON has no comments; remove it"},
        {"+", "JSON numbers have no plus sign; remove it"},
    };
    const char *at = s->text + s->pos;
    size_t left = s->n - s->pos;
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        size_t length = strlen(slips[i].text);
        if (left >= length && !memcmp(at, slips[i].text, length))
            return fail(s, "%s", slips[i].help);
    }
    unsigned char c = (unsigned char)*at;
    if (c == 0) return fail(s, "a NUL byte (byte %zu): this is not a text file", s->pos);
    if (c == 0xff || c == 0xfe)
        return fail(s, "byte 0x%02x: not UTF-8; if this is UTF-16, save it as UTF-8", c);
    if (c < 0x20 || c >= 0x7f) return fail(s, "expected %s, found byte 0x%02x", expected, c);
    return fail(s, "expected %s, found '%c'", expected, c);
}

/* ---- strings --------------------------------------------------------------------------------- */

/* Are the bytes from p to `end` the beginning of a longer UTF-8 sequence? */
static bool utf8_is_cut(const unsigned char *p, const unsigned char *end) {
    int expected = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (end - p >= expected) return false;
    while (++p < end)
        if ((*p & 0xc0) != 0x80) return false;
    return true;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four hex digits at p as a number, or -1. */
static int hex4(const char *p) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
        if (hex_digit(p[i]) < 0) return -1;
        value = value * 16 + hex_digit(p[i]);
    }
    return value;
}

/* Checks the escape at pos (on the backslash) and moves past it. *code is its character. */
static int scan_escape(struct scan *s, uint32_t *code) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    size_t left = s->n - s->pos;
    if (left < 2) return fail_cut_off(s, "a string");
    const char *p = s->text + s->pos;
    const char *name = p[1] ? strchr(names, p[1]) : NULL;
    if (name) {
        *code = (unsigned char)values[name - names];
        s->pos += 2;
        return 0;
    }
    if (p[1] != 'u') return fail(s, "a backslash before a character that makes no JSON escape");
    if (left < 6) return fail_cut_off(s, "a string");
    int high = hex4(p + 2);
    if (high < 0) return fail(s, "\\u needs four hexadecimal digits");
    if (high == 0 && !s->takes_nul)
        return fail(s, "\\u0000 in a string: NUL is refused, C strings would end there");
    *code = (uint32_t)high;
    s->pos += 6;
    if (high < 0xd800 || high > 0xdfff) return 0;
    int low = left >= 12 && p[6] == '\\' && p[7] == 'u' ? hex4(p + 8) : -1;
    if (high <= 0xdbff && low >= 0xdc00 && low <= 0xdfff) {
        *code = 0x10000 + (((uint32_t)high & 0x3ff) << 10) + ((uint32_t)low & 0x3ff);
        s->pos += 6;
        return 0;
    }
    bool ends_here = left < 12 && !memcmp(p + 6, "\\u", left - 6 < 2 ? left - 6 : 2);
    for (size_t i = 8; ends_here && i < left; i++) ends_here = hex_digit(p[i]) >= 0;
    if (high <= 0xdbff && ends_here) return fail_cut_off(s, "a string");
    return fail(s, "half a surrogate pair (\\u%04x): no character", (unsigned)high);
}

/* Moves past the string whose opening quote is at pos. *escaped: it has escapes. */
static int scan_string(struct scan *s, bool *escaped) {
    const unsigned char *end = (const unsigned char *)s->text + s->n;
    *escaped = false;
    s->pos++;
    while (s->pos < s->n) {
        unsigned char c = (unsigned char)s->text[s->pos];
        if (c == '"') {
            s->pos++;
            return 0;
        }
        if (c == '\\') {
            uint32_t code;
            *escaped = true;
            if (scan_escape(s, &code)) return -1;
        } else if (c >= 0x80) {
            size_t length = utf8_char_bytes(s->text + s->pos, s->n - s->pos);
            const unsigned char *at = (const unsigned char *)s->text + s->pos;
            if (!length && utf8_is_cut(at, end)) return fail_cut_off(s, "a string");
            if (!length) return fail(s, "byte 0x%02x in a string: not valid UTF-8", c);
            s->pos += length;
        } else if (c == '\n') {
            return fail(s, "the line ends inside a string; write \\n for a line break");
        } else if (c < 0x20) {
            return fail(s, "control byte 0x%02x in a string; write it as an escape", c);
        } else {
            s->pos++;
        }
    }
    return fail_cut_off(s, "a string");
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void *grown(void *array, size_t need, size_t *cap, size_t item) {
    if (need <= *cap) return array;
    size_t wider = *cap ? *cap * 2 : 64;
    if (wider < need) wider = need;
    void *p = realloc(array, wider * item);
    if (p) *cap = wider;
    return p;
}

/* Decodes the already checked string bytes [from, to) into s->decoded, so that "a" and "\u0061" are
 * the same key. */
static int decode_key(struct scan *s, size_t from, size_t to, struct key *k) {
    char *p = grown(s->decoded, s->n_decoded + (to - from), &s->cap_decoded, 1);
    if (!p) return fail_memory(s);
    s->decoded = p;
    k->offset = s->n_decoded;
    k->is_decoded = true;
    size_t after = s->pos;
    for (s->pos = from; s->pos < to;) {
        uint32_t code;
        if (s->text[s->pos] != '\\')
            s->decoded[s->n_decoded++] = s->text[s->pos++];
        else if (scan_escape(s, &code) == 0)
            s->n_decoded += utf8_encode(code, s->decoded + s->n_decoded);
        else
            return -1;
    }
    s->pos = after;
    k->length = (uint32_t)(s->n_decoded - k->offset);
    return 0;
}

static int compare_keys(const struct scan *s, const struct key *a, const struct key *b) {
    uint32_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(key_bytes(s, a), key_bytes(s, b), shorter);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_for_sort(const void *a, const void *b, void *scan) {
    const struct key *x = a, *y = b;
    int order = compare_keys(scan, x, y);
    return order ? order : (x->position > y->position) - (x->position < y->position);
}

static int fail_duplicate(struct scan *s, int line, int first_line) {
    s->line = line;
    return fail(s, "this key is twice in one object (first on line %d); remove one", first_line);
}

/* Checks an object with many keys when it closes: after sorting, equal keys are neighbours. */
static int check_many_keys(struct scan *s, const struct frame *f) {
    struct key *keys = s->keys + f->first_key;
    size_t n = s->n_keys - f->first_key;
    if (n <= FEW_KEYS) return 0;
    qsort_r(keys, n, sizeof *keys, compare_for_sort, s);
    const struct key *found = NULL, *first = NULL;
    for (size_t i = 1; i < n; i++)
        if (!compare_keys(s, &keys[i - 1], &keys[i]) &&
            (!found || keys[i].position < found->position)) {
            first = &keys[i - 1];
            found = &keys[i];
        }
    if (!found) return 0;
    int line = found->line, first_line = first->line;
    keys[n - 1] = *found; /* the path names the last key */
    return fail_duplicate(s, line, first_line);
}

static bool is_simple(const char *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '_' || c == '-';
        if (!plain) return false;
    }
    return n > 0;
}

static void skip_space(struct scan *s) {
    while (s->pos < s->n) {
        char c = s->text[s->pos];
        if (c == '\n')
            s->line++;
        else if (c != ' ' && c != '\t' && c != '\r')
            return;
        s->pos++;
    }
}

/* Reads `"key":` of the innermost object and enters the key; a value must follow. */
static int scan_key(struct scan *s) {
    struct frame *f = &s->stack[s->depth - 1];
    f->has_key = false;
    skip_space(s);
    if (s->pos == s->n) return fail_cut_off(s, "an object");
    if (s->text[s->pos] == '}') return fail(s, "a comma before '}'; remove it");
    if (s->text[s->pos] != '"') return fail_unexpected(s, "a key in double quotes");
    size_t from = s->pos + 1;
    bool escaped, takes_nul = s->takes_nul;
    s->takes_nul = false;
    if (scan_string(s, &escaped)) return -1;
    s->takes_nul = takes_nul;
    struct key k = {.offset = from, .length = (uint32_t)(s->pos - 1 - from), .line = s->line};
    if (escaped && decode_key(s, from, s->pos - 1, &k)) return -1;
    k.position = (uint32_t)(s->n_keys - f->first_key);
    k.simple = is_simple(key_bytes(s, &k), k.length);
    struct key *keys = grown(s->keys, s->n_keys + 1, &s->cap_keys, sizeof *keys);
    if (!keys) return fail_memory(s);
    s->keys = keys;
    s->keys[s->n_keys++] = k;
    f->has_key = true;
    for (size_t i = f->first_key; k.position < FEW_KEYS && i + 1 < s->n_keys; i++)
        if (!compare_keys(s, &s->keys[i], &k)) return fail_duplicate(s, k.line, s->keys[i].line);
    skip_space(s);
    if (s->pos == s->n) return fail_cut_off(s, "an object");
    if (s->text[s->pos] != ':') return fail_unexpected(s, "':' after the key");
    s->pos++;
    return 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t digits_at(const struct scan *s, size_t at) {
    size_t n = 0;
    while (at + n < s->n && is_digit(s->text[at + n])) n++;
    return n;
}

double json_literal_double(const char *text, size_t n) {
    char copy[JSON_MAX_NUMBER_CHARS + 16];
    const char *point = localeconv()->decimal_point;
    size_t used = 0;
    INVARIANT(n <= JSON_MAX_NUMBER_CHARS);
    for (size_t i = 0; i < n; i++) {
        if (text[i] != '.')
            copy[used++] = text[i];
        else
            for (const char *p = point; *p && used + (n - i) < sizeof copy; p++) copy[used++] = *p;
    }
    copy[used] = '\0';
    return strtod(copy, NULL);
}

enum literal_kind json_literal_int(const char *text, size_t n, int64_t *out) {
    char digits[JSON_MAX_NUMBER_CHARS + 1];
    size_t i = 0, count = 0;
    int64_t exponent = 0;
    bool negative = n > 0 && text[0] == '-', after_point = false;
    INVARIANT(n <= JSON_MAX_NUMBER_CHARS);
    for (i = negative; i < n && (is_digit(text[i]) || text[i] == '.'); i++) {
        if (text[i] == '.') {
            after_point = true;
            continue;
        }
        exponent -= after_point;
        if (count || text[i] != '0') digits[count++] = text[i];
    }
    if (i < n) { /* at the e */
        bool down = text[i + 1] == '-';
        int64_t power = 0;
        for (i += 1 + (text[i + 1] == '-' || text[i + 1] == '+'); i < n; i++)
            if (power < 100000) power = power * 10 + (text[i] - '0');
        exponent += down ? -power : power;
    }
    for (; count && digits[count - 1] == '0'; count--) exponent++;
    int64_t value = 0;
    if (count && exponent < 0) return LITERAL_FRACTION;
    if (count && exponent + (int64_t)count > 16) return LITERAL_BEYOND;
    for (size_t d = 0; d < count; d++) value = value * 10 + (digits[d] - '0');
    for (; count && exponent > 0; exponent--) value *= 10;
    if (value > JSON_MAX_INT) return LITERAL_BEYOND;
    *out = negative ? -value : value;
    return LITERAL_INT;
}

/* Keeps the literal if its double would look like an integer that it is not. */
static int keep_literal(struct scan *s, size_t from, size_t length, bool plain) {
    const char *text = s->text + from;
    int64_t ignored;
    double value = json_literal_double(text, length);
    if (!isfinite(value)) return fail(s, "a number beyond the range of a double");
    enum literal_kind kind = json_literal_int(text, length, &ignored);
    bool looks_whole = value == floor(value) && fabs(value) <= (double)JSON_MAX_INT;
    if (kind == LITERAL_INT || (!looks_whole && !(plain && kind == LITERAL_BEYOND))) return 0;
    struct json_scan_result *out = s->out;
    struct json_literal *p = grown(out->literals, out->n_literals + 1, &s->cap_literals, sizeof *p);
    if (!p) return fail_memory(s);
    out->literals = p;
    p[out->n_literals++] =
        (struct json_literal){.ordinal = s->n_numbers, .offset = from, .length = length};
    return 0;
}

static int scan_number(struct scan *s) {
    size_t from = s->pos, at = from + (s->text[from] == '-');
    size_t whole = digits_at(s, at);
    bool plain = true;
    if (!whole && at < s->n) return fail_unexpected(s, "a digit");
    if (whole > 1 && s->text[at] == '0') return fail(s, "a number with a leading zero; remove it");
    at += whole;
    if (whole && at < s->n && s->text[at] == '.') {
        size_t fraction = digits_at(s, at + 1);
        at += 1 + fraction;
        plain = false;
        if (!fraction && at < s->n) return fail(s, "digits must follow the decimal point");
        whole = fraction;
    }
    if (whole && at < s->n && (s->text[at] == 'e' || s->text[at] == 'E')) {
        at++;
        at += at < s->n && (s->text[at] == '+' || s->text[at] == '-');
        whole = digits_at(s, at);
        at += whole;
        plain = false;
        if (!whole && at < s->n) return fail(s, "digits must follow the exponent");
    }
    if (!whole) {
        s->pos = s->n;
        return fail_cut_off(s, "a number");
    }
    if (at - from > JSON_MAX_NUMBER_CHARS)
        return fail(s, "a number of %zu characters; at most %d are read", at - from,
                    JSON_MAX_NUMBER_CHARS);
    s->pos = at;
    /* With up to 15 digits and no exponent, a double is whole exactly when the number is. */
    bool safe = at - from <= 15 && (plain || !memchr(s->text + from, 'e', at - from)) &&
                !memchr(s->text + from, 'E', at - from);
    if (!safe && keep_literal(s, from, at - from, plain)) return -1;
    s->n_numbers++;
    return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int scan_word(struct scan *s, const char *word) {
    size_t length = strlen(word), left = s->n - s->pos;
    size_t shown = left < length ? left : length;
    if (memcmp(s->text + s->pos, word, shown)) return fail_unexpected(s, "a value");
    s->pos += shown;
    return shown < length ? fail_cut_off(s, "a value") : 0;
}

/* Enters a container. *value_next: a value must follow; false if it was empty and is closed. */
static int open_container(struct scan *s, bool *value_next) {
    if (s->depth == JSON_MAX_DEPTH)
        return fail(s, "nested deeper than %d levels", (int)JSON_MAX_DEPTH);
    bool is_object = s->text[s->pos] == '{';
    s->stack[s->depth++] =
        (struct frame){.is_object = is_object, .first_key = s->n_keys, .line = s->line};
    s->pos++;
    skip_space(s);
    if (s->pos == s->n) return fail_cut_off(s, is_object ? "an object" : "an array");
    *value_next = s->text[s->pos] != (is_object ? '}' : ']');
    if (*value_next) return is_object ? scan_key(s) : 0;
    s->pos++;
    s->depth--;
    return 0;
}

static int scan_value(struct scan *s, bool *value_next) {
    bool escaped;
    *value_next = false;
    skip_space(s);
    if (s->pos == s->n) {
        if (s->depth)
            return fail_cut_off(s, s->stack[s->depth - 1].is_object ? "an object" : "an array");
        return fail(s, "it is empty; a JSON value is expected here");
    }
    switch (s->text[s->pos]) {
    case '{':
    case '[':
        return open_container(s, value_next);
    case '"':
        return scan_string(s, &escaped);
    case 't':
        return scan_word(s, "true");
    case 'f':
        return scan_word(s, "false");
    case 'n':
        return scan_word(s, "null");
    case ']':
        if (s->depth && s->stack[s->depth - 1].index)
            return fail(s, "a comma before ']'; remove it");
        return fail_unexpected(s, "a value");
    default:
        if (s->text[s->pos] == '-' || is_digit(s->text[s->pos])) return scan_number(s);
        return fail_unexpected(s, "a value");
    }
}

/* Moves on after a value inside a container. *value_next: there was a comma, so a value must
 * follow; false: the container closed. */
static int scan_after_value(struct scan *s, bool *value_next) {
    struct frame *f = &s->stack[s->depth - 1];
    skip_space(s);
    if (s->pos == s->n) return fail_cut_off(s, f->is_object ? "an object" : "an array");
    char c = s->text[s->pos];
    *value_next = c == ',';
    if (c == ',') {
        s->pos++;
        f->index++;
        return f->is_object ? scan_key(s) : 0;
    }
    if (c != (f->is_object ? '}' : ']'))
        return fail_unexpected(s, f->is_object ? "',' or '}' after the value"
                                               : "',' or ']' after the value");
    if (f->is_object && check_many_keys(s, f)) return -1;
    s->n_keys = f->first_key;
    s->pos++;
    s->depth--;
    if (s->depth == 0) s->n_decoded = 0;
    return 0;
}

static int scan_document(struct scan *s) {
    if (s->n > JSON_MAX_BYTES)
        return fail(s, "%zu bytes; one JSON value may have at most %d", s->n, JSON_MAX_BYTES);
    if (s->n >= 3 && !memcmp(s->text, "\xef\xbb\xbf", 3)) s->pos = 3; /* a byte order mark */
    do {
        bool value_next;
        if (scan_value(s, &value_next)) return -1;
        while (!value_next && s->depth > 0)
            if (scan_after_value(s, &value_next)) return -1;
    } while (s->depth > 0);
    skip_space(s);
    if (s->pos < s->n) {
        unsigned char c = (unsigned char)s->text[s->pos];
        char shown[16];
        snprintf(shown, sizeof shown, c > 0x20 && c < 0x7f ? "'%c'" : "byte 0x%02x", c);
        return fail(s, "bytes after the end of the value, beginning with %s; remove them", shown);
    }
    return 0;
}

int json_scan(const char *text, size_t n, int first_line, struct json_scan_result *out,
              struct err *e) {
    return json_scan_strings(text, n, first_line, false, out, e);
}

int json_scan_strings(const char *text, size_t n, int first_line, bool takes_nul,
                      struct json_scan_result *out, struct err *e) {
    struct err unread;
    struct scan s = {.text = text,
                     .n = n,
                     .line = first_line,
                     .e = e ? e : &unread,
                     .takes_nul = takes_nul,
                     .out = out};
    *out = (struct json_scan_result){0};
    int status = scan_document(&s);
    free(s.keys);
    free(s.decoded);
    if (status) {
        free(out->literals);
        out->literals = NULL;
        out->n_literals = 0;
    }
    return status;
}
