/* json_guide.c: a pushdown automaton for JSON objects. See json_guide.h. */
#include "model/json_guide.h"

#include <string.h>

enum {
    START,       /* the object's { */
    VALUE,       /* any value */
    FIRST_VALUE, /* a value, or ] */
    KEY,         /* a key */
    FIRST_KEY,   /* a key, or } */
    COLON,
    AFTER, /* a comma, or the end of the container */
    STRING,
    ESCAPE, /* after a backslash */
    HEX,    /* four digits */
    WORD,
    MINUS, /* a number, by what was last: these two and the next two need a digit */
    POINT,
    EXPONENT, /* e: a sign or a digit */
    EXPONENT_SIGN,
    ZERO, /* a number may end after these four */
    DIGITS,
    FRACTION,
    EXPONENT_DIGITS,
    DONE
};

static const char *const words[] = {"true", "false", "null"};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool go(struct json_guide *g, int state) {
    g->state = (unsigned char)state;
    return true;
}

static bool open_container(struct json_guide *g, bool object) {
    if (g->depth == JSON_GUIDE_DEPTH) return false;
    uint64_t bit = UINT64_C(1) << g->depth++;
    g->objects = object ? g->objects | bit : g->objects & ~bit;
    return go(g, object ? FIRST_KEY : FIRST_VALUE);
}

static bool in_object(const struct json_guide *g) {
    return g->objects >> (g->depth - 1) & 1;
}

static bool close_container(struct json_guide *g, char c) {
    if (c != (in_object(g) ? '}' : ']')) return false;
    return go(g, --g->depth > 0 ? AFTER : DONE);
}

static bool begin_string(struct json_guide *g, bool key) {
    g->word = key;
    return go(g, STRING);
}

static bool begin_value(struct json_guide *g, char c) {
    if (c == '{' || c == '[') return open_container(g, c == '{');
    if (c == '"') return begin_string(g, false);
    if (c == '-') return go(g, MINUS);
    if (is_digit(c)) return go(g, c == '0' ? ZERO : DIGITS);
    for (unsigned char w = 0; w < 3; w++)
        if (c == words[w][0]) {
            g->word = w;
            g->n_word = 1;
            return go(g, WORD);
        }
    return false;
}

static bool in_string(struct json_guide *g, char c) {
    if (g->state == ESCAPE) {
        g->n_word = 0;
        if (c == 'u') return go(g, HEX);
        return strchr("\"\\/bfnrt", c) && c ? go(g, STRING) : false;
    }
    if (g->state == HEX) {
        bool hex = is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        return hex && go(g, ++g->n_word == 4 ? STRING : HEX);
    }
    if (c == '"') return go(g, g->word ? COLON : AFTER);
    if (c == '\\') return go(g, ESCAPE);
    return (unsigned char)c >= 0x20;
}

/* A comma or the end of the container; for a number, which ends here, too. */
static bool after_value(struct json_guide *g, char c) {
    if (c == ',') return go(g, in_object(g) ? KEY : VALUE);
    return close_container(g, c);
}

static bool in_number(struct json_guide *g, char c) {
    int s = g->state;
    if (s == MINUS) return is_digit(c) && go(g, c == '0' ? ZERO : DIGITS);
    if (s == POINT) return is_digit(c) && go(g, FRACTION);
    if (s == EXPONENT && (c == '+' || c == '-')) return go(g, EXPONENT_SIGN);
    if (s == EXPONENT || s == EXPONENT_SIGN) return is_digit(c) && go(g, EXPONENT_DIGITS);
    if (s != ZERO && is_digit(c)) return true;
    if (c == '.' && (s == ZERO || s == DIGITS)) return go(g, POINT);
    if ((c == 'e' || c == 'E') && s != EXPONENT_DIGITS) return go(g, EXPONENT);
    return after_value(g, c);
}

static bool in_word(struct json_guide *g, char c) {
    if (c != words[g->word][g->n_word++]) return false;
    return go(g, words[g->word][g->n_word] ? WORD : AFTER);
}

/* Blanks may stand before and after every token of JSON, but not before the object or after it. */
static bool take_blank(struct json_guide *g) {
    bool number_ends = g->state >= ZERO && g->state <= EXPONENT_DIGITS;
    bool between = g->state >= VALUE && g->state <= AFTER;
    if (number_ends) g->state = AFTER;
    return (number_ends || between) && g->blanks++ < JSON_GUIDE_BLANKS;
}

static bool push_byte(struct json_guide *g, char c) {
    bool in_text = g->state >= STRING && g->state <= HEX;
    if (!in_text && (c == ' ' || c == '\n' || c == '\t' || c == '\r')) return take_blank(g);
    g->blanks = 0;
    switch (g->state) {
    case START:
        return c == '{' && open_container(g, true);
    case FIRST_VALUE:
        return c == ']' ? close_container(g, c) : begin_value(g, c);
    case VALUE:
        return begin_value(g, c);
    case FIRST_KEY:
        return c == '}' ? close_container(g, c) : c == '"' && begin_string(g, true);
    case KEY:
        return c == '"' && begin_string(g, true);
    case COLON:
        return c == ':' && go(g, VALUE);
    case AFTER:
        return after_value(g, c);
    case STRING:
    case ESCAPE:
    case HEX:
        return in_string(g, c);
    case WORD:
        return in_word(g, c);
    case DONE:
        return false;
    default:
        return in_number(g, c);
    }
}

bool json_guide_push(struct json_guide *g, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!push_byte(g, text[i])) return false;
    return true;
}

bool json_guide_done(const struct json_guide *g) {
    return g->state == DONE;
}
