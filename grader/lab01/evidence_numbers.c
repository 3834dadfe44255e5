/* evidence_numbers.c: reads numbers and units of time in a learner's sentences. See evidence.h. */
#include "lab01/evidence.h"

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

int lab01_read_number(const char **at, struct number_read out[2]) {
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

double lab01_unit_ms(const char *at) {
    static const struct {
        const char *text;
        double ms;
    } units[] = {{"ms", 1},       {"milli", 1},  {"us", 1e-3},   {"\302\265s", 1e-3},
                 {"micro", 1e-3}, {"ns", 1e-6},  {"nano", 1e-6}, {"sec", 1000},
                 {"sek", 1000},   {"seg", 1000}, {"s", 1000}};
    while (strchr(" -", *at) || !strncmp(at, "\302\240", 2) || !strncmp(at, "\342\200\257", 3)) {
        if (!*at) return 0;
        at += *at == '\302' ? 2 : *at == '\342' ? 3 : 1; /* blanks that keep a line together */
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i].text);
        bool word = n > 2, whole = word || !(at[n] >= 'a' && at[n] <= 'z');
        if (whole && !(word ? strncasecmp : strncmp)(at, units[i].text, n)) return units[i].ms;
    }
    return 0;
}

/* Letters from U+0100 on, without punctuation and signs (U+2000 to U+303F, U+FF00 on). */
bool lab01_other_script(const char *at) {
    while (*at == ' ') at++;
    unsigned char c = (unsigned char)*at;
    return c >= 0xc4 && c != 0xe2 && c < 0xef && strncmp(at, "\343\200", 2) != 0;
}
