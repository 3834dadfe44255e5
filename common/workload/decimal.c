/* decimal.c: see decimal.h. */
#include "workload/decimal.h"

#include <stdbool.h>

static const char NEGATIVE[] = "negative", NO_NUMBER[] = "not a number", LARGE[] = "too large";
enum {
    KEPT_DIGITS = 19,       /* fit into 64 bits; the rest is below 1 ns for accepted times */
    MOST_EXPONENT = 1000000 /* more digits than any field has */
};
static const int64_t MOST_NS = INT64_C(1) << 62;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* mantissa * 10^power, rounded; LARGE when over MOST_NS. */
static const char *scale(uint64_t mantissa, int power, int64_t *out) {
    unsigned __int128 v = mantissa;
    for (; power > 0 && v > 0; power--)
        if ((v *= 10) > (unsigned __int128)MOST_NS) return LARGE;
    unsigned __int128 divisor = 1;
    for (; power < 0 && divisor <= v * 10; power++) divisor *= 10;
    if (power < 0) v = 0; /* far below a half */
    v = (v + divisor / 2) / divisor;
    if (v > (unsigned __int128)MOST_NS) return LARGE;
    *out = (int64_t)v;
    return NULL;
}

const char *decimal_ns(const char *text, size_t n, int64_t unit_ns, int64_t *out) {
    size_t i = 0;
    bool minus = n > 0 && text[0] == '-', any = false, point = false;
    uint64_t mantissa = 0;
    int digits = 0, power = 0;
    for (i = minus; i < n; i++) {
        if (text[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(text[i])) break;
        any = true;
        if (digits < KEPT_DIGITS) {
            mantissa = mantissa * 10 + (uint64_t)(text[i] - '0');
            digits += mantissa > 0;
            power -= point;
        } else {
            power += !point;
        }
        if (power > MOST_EXPONENT || power < -MOST_EXPONENT) return NO_NUMBER;
    }
    if (!any) return NO_NUMBER;
    if (i < n && (text[i] == 'e' || text[i] == 'E')) {
        bool down = ++i < n && text[i] == '-';
        if (i < n && (text[i] == '-' || text[i] == '+')) i++;
        int exponent = 0;
        size_t from = i;
        for (; i < n && is_digit(text[i]); i++)
            if (exponent < MOST_EXPONENT) exponent = exponent * 10 + (text[i] - '0');
        if (i == from) return NO_NUMBER;
        power += down ? -exponent : exponent;
    }
    if (i < n) return NO_NUMBER;
    if (minus && mantissa > 0) return NEGATIVE;
    for (; unit_ns > 1; unit_ns /= 10) power++;
    return scale(mantissa, power, out);
}

const char *decimal_whole(const char *text, size_t n, uint64_t most, uint64_t *out) {
    if (n > 1 && text[0] == '-' && is_digit(text[1])) return NEGATIVE;
    if (n == 0) return NO_NUMBER;
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(text[i])) return NO_NUMBER;
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (digit > most || v > (most - digit) / 10) return LARGE;
        v = v * 10 + digit;
    }
    *out = v;
    return NULL;
}
