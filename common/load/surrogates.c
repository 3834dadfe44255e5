/* surrogates.c: see surrogates.h. */
#include "load/surrogates.h"

#include <string.h>

/* The value of the escape \uXXXX at text, of which n bytes are there; 0 when there is none. */
static unsigned escape_at(const char *text, size_t n) {
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    if (n < 6 || text[0] != '\\' || text[1] != 'u') return 0;
    unsigned value = 0;
    for (int i = 2; i < 6; i++) {
        const char *at = text[i] ? strchr(digits, text[i]) : NULL;
        if (!at) return 0;
        value = value << 4 | (unsigned)((at - digits) % 16);
    }
    return value;
}

static bool is_high(unsigned value) {
    return value >= 0xd800 && value < 0xdc00;
}

static bool is_low(unsigned value) {
    return value >= 0xdc00 && value < 0xe000;
}

void surrogates_join(struct surrogates *s, const char *data, size_t n, struct buffer *out) {
    unsigned kept = s->high;
    for (size_t i = 0; i < n;) {
        size_t left = n - i, take = data[i] == '\\' && left > 1 ? 2 : 1;
        unsigned value = escape_at(data + i, left);
        if (value) take = 6;
        if (is_high(value) && is_low(escape_at(data + i + 6, left - 6)))
            buffer_add(out, data + i, take = 12); /* a whole pair */
        else if (is_high(value))
            s->high = value;
        else if (is_low(value) && kept) {
            buffer_printf(out, "\\u%04x\\u%04x", kept, value);
            s->high = 0;
        } else if (is_low(value))
            buffer_puts(out, "\\ufffd");
        else
            buffer_add(out, data + i, take);
        i += take;
    }
}
