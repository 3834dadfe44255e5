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
    if (p > text && isalpha((unsigned char)p[-1])) { /* a word's digits, as in "p99 170 ms" */
        size_t n = strspn(p, digits);
        out[0] = (struct number_read){.value = strtod(p, &end)};
        *at = p[n] == '.' ? end : p + n;
        if (p[n] == '.') out[0].decimals = (int)strspn(p + n + 1, digits);
        return 1;
    }
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

/* Whether the rest of a word is "second", in a language of Latin letters, or short for it. */
static bool is_second(const char *rest) {
    static const char *const whole[] = {"s",       "sec",     "secs",     "sek",
                                        "seg",     "segs",    "second",   "seconds",
                                        "seconde", "secondi", "secondes", "seconden"};
    static const char *const stems[] = {"sekund", "sekunt", "sekunn",        "sek\303\272nd",
                                        "secund", "segund", "segon",         "m\303\241sodperc",
                                        "saniye", "detik",  "vte\305\231in", "gi\303\242y"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        size_t n = strlen(whole[i]);
        if (!strncasecmp(rest, whole[i], n) && !is_letter(rest + n)) return true;
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
    } parts[] = {{"milli", 1},       {"mili", 1},  {"micro", 1e-3}, {"mikro", 1e-3},
                 {"nano", 1e-6},     {"ezred", 1}, {"m", 1},        {"\302\265", 1e-3},
                 {"\316\274", 1e-3}, {"u", 1e-3},  {"n", 1e-6},     {"", 1000}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t n = strlen(parts[i].text);
        bool word = n > 2;
        if (strncasecmp(at, parts[i].text, n) != 0) continue;
        bool any = parts[i].ms == 1 && word && tolower((unsigned char)at[n]) == 's';
        if (any || is_second(at + n) || (word && !is_letter(at + n))) return parts[i].ms;
    }
    return 0;
}

/* Goes over blanks, also those that keep a line together, and hyphens. */
static const char *after_blanks(const char *at) {
    for (;; at++) {
        if (!strncmp(at, "\302\240", 2))
            at++;
        else if (!strncmp(at, "\342\200\257", 3) || !strncmp(at, "\342\200\211", 3))
            at += 2;
        else if (*at != ' ' && *at != '-')
            return at;
    }
}

double lab01_unit_ms(const char *at) {
    return word_unit_ms(after_blanks(at));
}

/* Goes to the next character of UTF-8. */
static void step(const char **at) {
    do ++*at;
    while (((unsigned char)**at & 0xc0) == 0x80);
}

bool lab01_add_rest(const char *at, double unit_ms, struct number_read *n) {
    struct number_read rest[2];
    const char *p = after_blanks(at), *word;
    while (is_letter(p)) step(&p);
    p = after_blanks(p + (*p == '.'));
    for (word = p; is_letter(p);) step(&p);
    if (p - word > 3) return false; /* and, und, et, y */
    p = after_blanks(p);
    if (unit_ms == 0 || n->decimals > 0 || !isdigit((unsigned char)*p)) return false;
    read_number(&p, rest);
    double small = lab01_unit_ms(p);
    if (small == 0 || small >= unit_ms || rest[0].value * small >= unit_ms) return false;
    n->value += rest[0].value * small / unit_ms;
    n->decimals = rest[0].decimals + (int)lround(log10(unit_ms / small));
    return true;
}

/* Whether the word at p is one of these. */
static bool is_one_of(const char *p, const char *const words[]) {
    for (; *words; words++) {
        size_t n = strlen(*words);
        if (!strncasecmp(p, *words, n) && !is_letter(p + n)) return true;
    }
    return false;
}

int lab01_bound(const char *text, const char *at) {
    static const char *const upper[] = {"below",   "under", "within", "less",  "most",
                                        "shorter", "limit", "<",      "unter", "moins",
                                        "weniger", "menos", NULL};
    static const char *const lower[] = {"over",   "above",      "more", "least", "longer", ">",
                                        "beyond", "m\303\241s", "mehr", "plus",  NULL};
    const char *from = at;
    /* the three words before it: "far below the 800 ms", "the limit is 1 s" */
    for (int blanks = 0; from > text && !strchr(".;:", from[-1]); from--)
        if (from[-1] == ' ' && ++blanks > 3) break;
    for (const char *p = from; p < at; p++) {
        if (p > text && is_letter(p - 1) && is_letter(p)) continue;
        if (is_one_of(p, upper)) return 1;
        if (is_one_of(p, lower)) return -1;
    }
    return 0;
}

char *lab01_plain(const char *text) {
    /* Where ten digits, or other characters in the order of ASCII's, begin. */
    static const struct {
        const char *first;
        char plain;
        int n;
    } others[] = {{"\357\274\220", '0', 10}, /* wide, */
                  {"\357\274\241", 'A', 26}, /* as in the font of CJK */
                  {"\357\275\201", 'a', 26}, {"\357\274\216", '.', 1},
                  {"\331\240", '0', 10},      /* Arabic */
                  {"\333\260", '0', 10},      /* Persian */
                  {"\340\245\246", '0', 10},  /* Devanagari */
                  {"\340\247\246", '0', 10}}; /* Bengali */
    char *out = strdup(text), *to = out;
    for (const char *p = text; out && (*to = *p); to++, p++)
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            size_t last = strlen(others[i].first) - 1;
            int k = strncmp(p, others[i].first, last) != 0
                        ? -1
                        : (unsigned char)p[last] - (unsigned char)others[i].first[last];
            if (k < 0 || k >= others[i].n) continue;
            *to = (char)(others[i].plain + k);
            p += last;
            break;
        }
    return out;
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
