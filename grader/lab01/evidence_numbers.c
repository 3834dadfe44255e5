/* evidence_numbers.c: reads numbers and units of time in a learner's sentences. See evidence.h. */
#include "lab01/evidence.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char digits[] = "0123456789";

/* Bytes of what sets thousands apart, at p; 0: nothing. */
static size_t separator(const char *p) {
    static const char *const all[] = {",",
                                      ".",
                                      "'",
                                      "_",
                                      " ",
                                      "\302\240", /* no-break, */
                                      "\342\200\257",
                                      "\342\200\211",  /* narrow and thin space */
                                      "\342\200\231"}; /* apostrophe */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strncmp(p, all[i], strlen(all[i]))) return strlen(all[i]);
    return 0;
}

/* The decimals behind a point or a comma at *at, if there are any. */
static void read_decimals(const char **at, struct number_read *n) {
    if (**at != '.' && **at != ',') return;
    n->decimals = (int)strspn(*at + 1, digits);
    for (int i = 1; i <= n->decimals; i++) n->value += ((*at)[i] - '0') * pow(10, -i);
    if (n->decimals > 0) *at += 1 + n->decimals;
}

/* 1,400 and 1 400 000. The number of groups after the first. */
static int read_groups(const char **at, struct number_read *n) {
    const char *p = *at;
    size_t lead = strspn(p, digits), sep = separator(p + lead);
    int groups = 0;
    if (*p == '0' || lead > 3 || sep == 0) return 0;
    const char *first = p + lead;
    for (size_t i = 0; i < lead; i++) n->value = n->value * 10 + (p[i] - '0');
    for (p = first; !strncmp(p, first, sep) && strspn(p + sep, digits) == 3; p += sep + 3) {
        for (size_t i = 0; i < 3; i++) n->value = n->value * 10 + (p[sep + i] - '0');
        groups++;
    }
    *at = p;
    if (groups > 0) read_decimals(at, n);
    return groups;
}

static int read_number(const char **at, struct number_read out[2]) {
    const char *grouped = *at, *from = *at;
    char *end;
    struct number_read one = {0}, many = {0};
    size_t lead = strspn(from, digits);
    int n = 0, groups = read_groups(&grouped, &many);
    if (groups > 0) {
        out[n++] = many;
        *at = grouped;
    }
    if (groups > 1 || (groups == 1 && from[lead] != ',' && from[lead] != '.')) return n;
    one.value = strtod(from, &end); /* also 1.4e3 */
    const char *plain = from + lead;
    if (*plain == '.') {
        one.decimals = (int)strspn(plain + 1, digits);
        plain = end;
    } else if (*plain == ',') {
        read_decimals(&plain, &one);
    } else {
        plain = end;
    }
    out[n++] = one;
    if (plain > *at) *at = plain;
    return n;
}

int lab01_next_number(const char *text, const char **at, struct number_read out[2]) {
    const char *p = strpbrk(*at, digits);
    char *end;
    if (!p) return 0;
    *at = p;
    if (p == text || p[-1] != '.') return read_number(at, out);
    /* Behind a word or a number a point is the end of a sentence, or of a part of a version. */
    if (p - 1 > text && (isalnum((unsigned char)p[-2]) || strchr(".)]\"'%", p[-2])))
        return read_number(at, out);
    out[0].value = strtod(p - 1, &end);
    out[0].decimals = (int)strspn(p, digits);
    *at = end;
    return 1;
}

/* A letter of ASCII or of U+00C0 to U+02BF, or one of the two signs for micro. */
static bool is_letter(const char *p) {
    unsigned char c = (unsigned char)p[0];
    if (c < 0x80) return isalpha(c) != 0;
    if (!strncmp(p, "\303\227", 2) || !strncmp(p, "\303\267", 2)) return false; /* times, over */
    return (c >= 0xc3 && c <= 0xca) || !strncmp(p, "\302\265", 2) || !strncmp(p, "\316\274", 2);
}

/* Whether the rest of a word is "second", in a European language, or short for it. */
static bool is_second(const char *rest) {
    static const char *const whole[] = {"s",       "sec",     "secs",     "sek",
                                        "seg",     "segs",    "second",   "seconds",
                                        "seconde", "secondi", "secondes", "seconden"};
    static const char *const stems[] = {"sekund", "sekunt", "sekunn", "secund", "segund", "segon"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        size_t n = strlen(whole[i]);
        bool same = n > 1 ? !strncasecmp(rest, whole[i], n) : *rest == *whole[i];
        if (same && !is_letter(rest + n)) return true;
    }
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        if (!strncasecmp(rest, stems[i], strlen(stems[i]))) return true;
    return false;
}

/* The unit of time that the word at `at` is, in ms; 0: it is none. What begins with "millis" is
 * milliseconds in each language, and misspelt. */
static double word_unit_ms(const char *at) {
    static const struct {
        const char *text;
        double ms;
    } parts[] = {{"milli", 1},   {"mili", 1}, {"micro", 1e-3},    {"mikro", 1e-3},
                 {"nano", 1e-6}, {"m", 1},    {"\302\265", 1e-3}, {"\316\274", 1e-3},
                 {"u", 1e-3},    {"n", 1e-6}, {"", 1000}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t n = strlen(parts[i].text);
        bool word = n > 2;
        if ((word ? strncasecmp : strncmp)(at, parts[i].text, n) != 0) continue;
        bool any = parts[i].ms == 1 && word && tolower((unsigned char)at[n]) == 's';
        if (any || is_second(at + n) || (word && !is_letter(at + n))) return parts[i].ms;
    }
    return 0;
}

double lab01_unit_ms(const char *at) {
    while (strchr(" -", *at) || !strncmp(at, "\302\240", 2) || !strncmp(at, "\342\200\257", 3)) {
        if (!*at) return 0;
        at += *at == '\302' ? 2 : *at == '\342' ? 3 : 1; /* blanks that keep a line together */
    }
    return word_unit_ms(at);
}

/* Goes to the next character of UTF-8. */
static void step(const char **at) {
    do ++*at;
    while (((unsigned char)**at & 0xc0) == 0x80);
}

double lab01_next_unit_ms(const char *text, const char **at) {
    while (**at) {
        const char *word = *at;
        /* it's, with either apostrophe; 800ms */
        bool joined = (word > text && strchr("'0123456789", word[-1])) ||
                      (word - text >= 3 && !strncmp(word - 3, "\342\200\231", 3));
        if (!is_letter(word)) {
            step(at);
            continue;
        }
        while (is_letter(*at)) step(at);
        double unit = joined ? 0 : word_unit_ms(word);
        if (unit != 0) return unit;
    }
    return 0;
}

/* Letters from U+0100 on, without punctuation and signs (U+2000 to U+303F, U+FF00 on). */
bool lab01_other_script(const char *at) {
    while (*at == ' ') at++;
    unsigned char c = (unsigned char)*at;
    return c >= 0xc4 && c != 0xe2 && c < 0xef && strncmp(at, "\343\200", 2) != 0;
}
