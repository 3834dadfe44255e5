/* checks.c: the named checks on answers. See checks.h. */
#include "quality/checks.h"

#include "base/json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The first run of ASCII digits in text[0..n); its length, 0 when there is none. */
static size_t first_digits(const char *text, size_t n, const char **start) {
    size_t i = 0;
    while (i < n && !(text[i] >= '0' && text[i] <= '9')) i++;
    *start = text + i;
    size_t m = 0;
    while (i + m < n && text[i + m] >= '0' && text[i + m] <= '9') m++;
    return m;
}

static enum verdict verdict_of(bool passed) {
    return passed ? VERDICT_PASSED : VERDICT_FAILED;
}

static void judge_digits(const char *expected, const char *answer, size_t n,
                         struct quality_result *out) {
    const char *want, *got;
    size_t want_n = first_digits(expected, strlen(expected), &want);
    size_t got_n = first_digits(answer, n, &got);
    bool same = want_n > 0 && got_n == want_n && !memcmp(want, got, want_n);
    out->quality = verdict_of(same);
    out->structure = VERDICT_NOT_REQUIRED;
    if (got_n == 0)
        snprintf(out->detail, sizeof out->detail, "got no digits, want %.*s", (int)want_n, want);
    else
        snprintf(out->detail, sizeof out->detail, "got %.*s, want %.*s",
                 (int)(got_n > 40 ? 40 : got_n), got, (int)want_n, want);
}

/* Takes the next run of digits off *text, which has *n bytes left; its length, 0 at the end. */
static size_t next_digits(const char **text, size_t *n, const char **start) {
    size_t m = first_digits(*text, *n, start), used = (size_t)(*start - *text) + m;
    *text += used;
    *n -= used;
    return m;
}

static void judge_numbers(const char *expected, const char *answer, size_t n,
                          struct quality_result *out) {
    size_t left = strlen(expected), want_n, got_n;
    const char *want, *got;
    int number = 0;
    bool same;
    do {
        want_n = next_digits(&expected, &left, &want);
        got_n = next_digits(&answer, &n, &got);
        same = got_n == want_n && !memcmp(got, want, want_n);
        if (want_n || got_n) number++;
    } while (same && want_n);
    out->quality = verdict_of(same && number > 0);
    out->structure = VERDICT_NOT_REQUIRED;
    if (same)
        snprintf(out->detail, sizeof out->detail, "got all %d numbers", number);
    else if (!got_n)
        snprintf(out->detail, sizeof out->detail, "got %d numbers, want %.*s next", number - 1,
                 (int)want_n, want);
    else if (!want_n)
        snprintf(out->detail, sizeof out->detail, "got %.*s after the last number",
                 (int)(got_n > 40 ? 40 : got_n), got);
    else
        snprintf(out->detail, sizeof out->detail, "number %d is %.*s, want %.*s", number,
                 (int)(got_n > 40 ? 40 : got_n), got, (int)want_n, want);
}

/* In ASCII, whatever the locale. */
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static bool is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Takes the next run of ASCII letters and digits off *text; its length, 0 at the end. */
static size_t next_word(const char **text, size_t *n, const char **word) {
    while (*n > 0 && !is_word(**text)) ++*text, --*n;
    *word = *text;
    while (*n > 0 && is_word(**text)) ++*text, --*n;
    return (size_t)(*text - *word);
}

/* Takes the next number off *text: a word of digits alone. Its length, 0 at the end. */
static size_t next_number(const char **text, size_t *n, const char **number) {
    size_t m, digits;
    do {
        m = next_word(text, n, number);
        digits = 0;
        while (digits < m && is_digit((*number)[digits])) digits++;
    } while (m && digits < m);
    return m;
}

enum { VALUE_DIGITS = 4, VALUES_MOST = 16 };

/* Takes the next number of four digits that isn't one of `seen` off *text. NULL at the end. */
static const char *next_value(const char **text, size_t *n, const char *const *seen, int n_seen) {
    const char *number;
    for (size_t m; (m = next_number(text, n, &number)) > 0;) {
        if (m != VALUE_DIGITS) continue; /* it may end before that many bytes */
        int i = 0;
        while (i < n_seen && memcmp(number, seen[i], VALUE_DIGITS) != 0) i++;
        if (i == n_seen) return number;
    }
    return NULL;
}

static void judge_values(const char *expected, const char *answer, size_t n,
                         struct quality_result *out) {
    const char *seen[VALUES_MOST], *want, *got;
    size_t left = strlen(expected);
    int k = 0;
    bool same;
    do {
        want = next_value(&expected, &left, seen, k);
        got = next_value(&answer, &n, seen, k);
        same = want && got ? !memcmp(want, got, VALUE_DIGITS) : want == got;
        if (same && want) seen[k++] = want;
    } while (same && want && k < VALUES_MOST);
    out->quality = verdict_of(same && k > 0);
    out->structure = VERDICT_NOT_REQUIRED;
    if (same)
        snprintf(out->detail, sizeof out->detail, "got the right values, %d in all", k);
    else
        snprintf(out->detail, sizeof out->detail, "value %d is %.4s, want %.4s", k + 1,
                 got ? got : "none", want ? want : "none");
}

static void judge_last_number(const char *expected, const char *answer, size_t n,
                              struct quality_result *out) {
    const char *number, *got = "none";
    size_t want_n = strlen(expected), got_n = 4;
    bool same = false;
    for (size_t m; (m = next_number(&answer, &n, &number)) > 0;) {
        got = number, got_n = m;
        same = m == want_n && !memcmp(number, expected, m);
    }
    out->quality = verdict_of(same);
    out->structure = VERDICT_NOT_REQUIRED;
    snprintf(out->detail, sizeof out->detail, "the last number is %.*s, want %s",
             (int)(got_n > 40 ? 40 : got_n), got, expected);
}

static const struct {
    const char *name;
    int args;
    bool numbers; /* arguments are integers; otherwise strings */
} TOOLS[] = {{"add", 2, true}, {"sub", 2, true}, {"mul", 2, true},
             {"div", 2, true}, {"max", 2, true}, {"get", 1, false}};

/* NULL when the call has the right shape, else the reason why not. */
static const char *call_fault(const cJSON *call) {
    if (!cJSON_IsObject(call)) return "the answer isn't a JSON object";
    const cJSON *tool = cJSON_GetObjectItemCaseSensitive(call, "tool");
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(call, "args");
    if (!cJSON_IsString(tool)) return "member 'tool' is missing or not a string";
    if (!cJSON_IsArray(args)) return "member 'args' is missing or not an array";
    if (cJSON_GetArraySize(call) != 2) return "there are other members than 'tool' and 'args'";
    for (size_t i = 0; i < sizeof TOOLS / sizeof *TOOLS; i++) {
        if (strcmp(tool->valuestring, TOOLS[i].name)) continue;
        if (cJSON_GetArraySize(args) != TOOLS[i].args) return "the number of arguments is wrong";
        const cJSON *arg;
        cJSON_ArrayForEach(
            arg, args) if (TOOLS[i].numbers
                               ? !cJSON_IsNumber(arg)
                               : !cJSON_IsString(arg)) return "an argument has the wrong type";
        return NULL;
    }
    return "the tool is unknown";
}

static void judge_call(const char *expected, const char *answer, size_t n,
                       struct quality_result *out) {
    struct err why = {0};
    cJSON *want = json_parse(expected, strlen(expected), 1, &why);
    cJSON *got = json_parse(answer, n, 1, &why);
    const char *fault = got ? call_fault(got) : "the answer isn't JSON";
    out->structure = verdict_of(!fault);
    /* case-sensitive, and arguments in order; the order of the two members doesn't matter */
    out->quality = verdict_of(!fault && want && cJSON_Compare(want, got, true));
    if (fault)
        snprintf(out->detail, sizeof out->detail, "%s", fault);
    else
        snprintf(out->detail, sizeof out->detail, "got %.*s, want %s", (int)(n > 60 ? 60 : n),
                 answer, expected);
    cJSON_Delete(want);
    cJSON_Delete(got);
}

int quality_judge(const char *check, const char *expected, const char *answer, size_t n,
                  struct quality_result *out, struct err *e) {
    *out = (struct quality_result){0};
    while (n > 0 && isspace((unsigned char)answer[0])) answer++, n--;
    while (n > 0 && isspace((unsigned char)answer[n - 1])) n--;
    if (!strcmp(check, "key-recall/1") || !strcmp(check, "sum/1"))
        judge_digits(expected, answer, n, out);
    else if (!strcmp(check, "key-count/1"))
        judge_numbers(expected, answer, n, out);
    else if (!strcmp(check, "plain-recall/1") || !strcmp(check, "plain-pair/1"))
        judge_values(expected, answer, n, out);
    else if (!strcmp(check, "plain-sum/1"))
        judge_last_number(expected, answer, n, out);
    else if (!strcmp(check, "tool-call/1"))
        judge_call(expected, answer, n, out);
    else
        return err_set(e,
                       "there is no quality check '%.40s'; known: key-recall/1, sum/1, "
                       "tool-call/1, key-count/1, plain-recall/1, plain-sum/1, plain-pair/1",
                       check);
    for (char *c = out->detail; *c; c++) /* an answer may be any bytes; a detail is printed */
        if (*c < 0x20 || *c > 0x7e) *c = '?';
    return 0;
}

void quality_write(struct record *r, const char *check, const struct quality_result *result) {
    snprintf(r->quality.check, sizeof r->quality.check, "%s", check);
    r->quality.verdict = result->quality;
    r->structure.verdict = result->structure;
    r->structure.check[0] = '\0';
    if (result->structure != VERDICT_NOT_REQUIRED)
        snprintf(r->structure.check, sizeof r->structure.check, "%s", check);
}
