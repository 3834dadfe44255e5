/* traces_csv.c: rows of the CSV traces (azure, burstgpt, vidur). See traces.h for the formats. */
#include "workload/traces_internal.h"

#include "base/clock.h"
#include "workload/decimal.h"
#include "workload/spec.h"

#include <stdio.h>
#include <string.h>

struct csv_format {
    const char *columns[CSV_NEEDED];
    const char *expected_time;
    int64_t unit_ns; /* of the time; 0: a date */
};

static const struct csv_format FORMATS[] = {
    [TRACE_AZURE] = {{"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
                     "a UTC time such as 2023-11-16 18:15:46.6805900",
                     0},
    [TRACE_BURSTGPT] = {{"Timestamp", "Request tokens", "Response tokens"},
                        "seconds from 0 on",
                        NS_PER_S},
    [TRACE_VIDUR] = {{"arrived_at", "num_prefill_tokens", "num_decode_tokens"},
                     "seconds from 0 on",
                     NS_PER_S},
};

/* Splits a line into fields; returns their number, which may be more than `cap`. */
static int split(const char *text, size_t n, struct slice *out, int cap) {
    int fields = 0;
    for (const char *end = text + n;; fields++) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        const char *stop = comma ? comma : end;
        if (fields < cap) out[fields] = (struct slice){text, (size_t)(stop - text)};
        if (!comma) return fields + 1;
        text = comma + 1;
    }
}

/* ---- the first line ---- */

static int find_column(const char *name, const struct slice *fields, int n) {
    for (int i = 0; i < n; i++)
        if (fields[i].n == strlen(name) && !memcmp(fields[i].text, name, fields[i].n)) return i;
    return -1;
}

static bool find_columns(const struct csv_format *f, const struct slice *fields, int n,
                         struct csv_columns *out) {
    bool all = true;
    for (int k = 0; k < CSV_NEEDED; k++) {
        out->at[k] = find_column(f->columns[k], fields, n);
        all &= out->at[k] >= 0;
    }
    out->n = n;
    return all;
}

static const char *looks_like(const struct slice *fields, int n) {
    struct csv_columns unused;
    if (fields[0].n > 0 && fields[0].text[0] == '{') return "mooncake";
    for (int f = TRACE_AZURE; f <= TRACE_VIDUR; f++)
        if (f != TRACE_MOONCAKE && find_columns(&FORMATS[f], fields, n, &unused))
            return spec_trace_format_name((enum trace_format)f);
    return NULL;
}

int csv_header(enum trace_format format, const char *text, size_t n, struct csv_columns *out,
               struct err *e) {
    struct slice fields[CSV_MAX_COLUMNS];
    const struct csv_format *f = &FORMATS[format];
    int found = split(text, n, fields, CSV_MAX_COLUMNS);
    bool too_many = found > CSV_MAX_COLUMNS;
    if (too_many) found = CSV_MAX_COLUMNS;
    if (find_columns(f, fields, found, out) && !too_many) return 0;
    const char *missing = f->columns[0], *other = looks_like(fields, found);
    for (int k = CSV_NEEDED - 1; k >= 0; k--)
        if (out->at[k] < 0) missing = f->columns[k];
    char expected[128];
    snprintf(expected, sizeof expected, "the columns %s, %s and %s", f->columns[0], f->columns[1],
             f->columns[2]);
    if (other)
        return err_at(e, 0, missing, "expected %s; this looks like --trace-format %s", expected,
                      other);
    return bad_field(e, missing, expected, text, n,
                     too_many ? "none of these among the first 64 columns" : "no such column");
}

/* ---- fields ---- */

int bad_field(struct err *e, const char *column, const char *expected, const char *text, size_t n,
              const char *wrong) {
    char found[41]; /* what isn't printable is replaced by err_at, a NUL must be here */
    size_t len = n < sizeof found - 1 ? n : sizeof found - 1;
    for (size_t i = 0; i < len; i++) found[i] = text[i] ? text[i] : '?';
    found[len] = '\0';
    return err_at(e, 0, column, "expected %s, found '%s%s'%s%s%s", expected, found,
                  len < n ? "..." : "", wrong ? " (" : "", wrong ? wrong : "", wrong ? ")" : "");
}

/* The value of two digits; -1: not digits. */
static int two(const char *p) {
    unsigned a = (unsigned char)p[0] - '0', b = (unsigned char)p[1] - '0';
    return a < 10 && b < 10 ? (int)(a * 10 + b) : -1;
}

/* Days since 1970-01-01, by years that begin in March, so that the leap day comes last and the
 * months before it follow one formula (5 months have 153 days). 719468 days lie between
 * 0000-03-01 and 1970-01-01. */
static int64_t days_from_1970(int year, int month, int day) {
    int64_t y = month > 2 ? year : year - 1;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static int days_in_month(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* The text after the seconds: up to 9 digits and "+00:00", "Z" or nothing. */
static const char *fraction_and_zone(const char *text, size_t n, int64_t *ns) {
    size_t i = 0;
    *ns = 0;
    if (n > 0 && text[0] == '.') {
        int64_t place = NS_PER_S;
        for (i = 1; i < n && text[i] >= '0' && text[i] <= '9' && place > 1; i++)
            *ns += (text[i] - '0') * (place /= 10);
        if (i == 1) return "no digit follows the point";
    }
    size_t rest = n - i;
    if (rest == 0 || (rest == 1 && text[i] == 'Z')) return NULL;
    if (rest == 6 && !memcmp(text + i, "+00:00", 6)) return NULL;
    return "what follows the seconds isn't up to 9 digits and +00:00";
}

const char *azure_time_ns(const char *text, size_t n, int64_t *out) {
    enum { SECONDS_END = sizeof "2023-11-16 18:15:46" - 1 };
    if (n < SECONDS_END || text[4] != '-' || text[7] != '-' || text[10] != ' ' || text[13] != ':' ||
        text[16] != ':')
        return "not a time";
    int century = two(text), year = two(text + 2), month = two(text + 5), day = two(text + 8);
    int hour = two(text + 11), minute = two(text + 14), second = two(text + 17);
    if (century < 0 || year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0)
        return "not a time";
    year += century * 100;
    if (year < 1970 || year > 2099) return "not a year from 1970 to 2099";
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return "no such day";
    if (hour > 23 || minute > 59 || second > 59) return "no such time of day";
    int64_t fraction_ns;
    const char *wrong = fraction_and_zone(text + SECONDS_END, n - SECONDS_END, &fraction_ns);
    if (wrong) return wrong;
    int64_t s = ((days_from_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    *out = s * NS_PER_S + fraction_ns;
    return NULL;
}

static int tokens(const char *column, struct slice field, int32_t *out, struct err *e) {
    uint64_t v;
    const char *wrong = decimal_whole(field.text, field.n, SPEC_MAX_TOKENS, &v);
    if (wrong) return bad_field(e, column, WHOLE_TOKENS, field.text, field.n, wrong);
    *out = (int32_t)v;
    return 0;
}

int csv_row(enum trace_format format, const struct csv_columns *columns, const char *text, size_t n,
            struct trace_row *row, struct err *e) {
    const struct csv_format *f = &FORMATS[format];
    struct slice fields[CSV_MAX_COLUMNS];
    int found = split(text, n, fields, CSV_MAX_COLUMNS);
    if (found != columns->n) {
        char expected[64], wrong[32];
        snprintf(expected, sizeof expected, "%d columns as in the first line", columns->n);
        snprintf(wrong, sizeof wrong, "%d", found);
        return bad_field(e, "row", expected, text, n, wrong);
    }
    struct slice time = fields[columns->at[0]];
    const char *wrong = f->unit_ns ? decimal_ns(time.text, time.n, f->unit_ns, &row->at_ns)
                                   : azure_time_ns(time.text, time.n, &row->at_ns);
    if (wrong) return bad_field(e, f->columns[0], f->expected_time, time.text, time.n, wrong);
    if (tokens(f->columns[1], fields[columns->at[1]], &row->prompt_tokens, e) ||
        tokens(f->columns[2], fields[columns->at[2]], &row->output_tokens, e))
        return -1;
    return 0;
}
