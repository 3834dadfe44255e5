/* test_options.c: how words become values, with a table of all kinds of flags; then the tables of
 * all commands: each flag is in --help, refuses a bad value by name, and the examples parse. */
#include "cli/options.h"
#include "testing/check_main.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct values {
    const char *text, *empty, *file;
    long long count, other;
    double share, rate;
    int color;
    bool loud;
};

static const char *const COLORS[] = {"red", "green", NULL};

#define T struct values
static const struct option_flag FLAGS[] = {
    OPTION_HEADING("first"),
    OPTION_TEXT(T, text, "text", "TEXT", "a text"),
    OPTION_TEXT(T, empty, "empty", "TEXT", "a text or nothing", .may_be_empty = true),
    OPTION_FILE(T, file, "file", "FILE", "a file"),
    OPTION_INT(T, count, "count", "N", -5, 9, "a count"),
    OPTION_INT(T, other, "other", "N", 0, INT64_MAX, "of the sibling", .only = 2),
    OPTION_HEADING("second"),
    OPTION_REAL(T, share, "share", "X", 0, 1, "a share"),
    OPTION_ABOVE(T, rate, "rate", "X", 0, 100, "a rate"),
    OPTION_CHOICE(T, color, "color", "NAME", COLORS, "a colour"),
    OPTION_SWITCH(T, loud, "loud", "a switch"),
    {0}};
#undef T

static const struct option_rule RULES[] = {{OPTION_EXCLUDE, {"share", "rate"}},
                                           {OPTION_NEEDS, {"color", "loud"}},
                                           {OPTION_ONE_OF, {"text", "empty", "file"}},
                                           {0}};

static const struct command PLAIN, RULED, SIBLING;
static const struct command *const SHARE[] = {&PLAIN, &SIBLING, NULL};
#define COMMAND(title, bit)                                                                        \
    .name = title, .usage = "[FLAGS] [A [B]]", .flags = FLAGS, .args = {"A", "B"}, .max_args = 2,  \
    .exits = "0", .examples = "servelab " title, .variant = bit, .share = SHARE
static const struct command PLAIN = {COMMAND("plain", 1)};
static const struct command SIBLING = {COMMAND("sibling", 2), .min_args = 1};
static const struct command RULED = {COMMAND("ruled", 1), .rules = RULES};

/* ---- running the parser ---- */

static struct values got;
static struct option_words words;
static char said[4096]; /* what went to stderr */

static bool parse_into(const struct command *c, void *values, char **argv, int *status) {
    int argc = 1;
    while (argv[argc]) argc++;
    FILE *real = stderr;
    memset(said, 0, sizeof said);
    stderr = fmemopen(said, sizeof said - 1, "w");
    bool go_on = options_parse(c, values, argc, argv, &words, status);
    fclose(stderr);
    stderr = real;
    return go_on;
}

static bool parse(const struct command *c, char **argv) {
    int status;
    got = (struct values){.count = 3, .color = -1};
    bool go_on = parse_into(c, &got, argv, &status);
    ck_assert_int_eq(status, go_on ? 0 : CLI_USAGE);
    return go_on;
}
#define PARSE(c, ...) parse(c, (char *[]){"x", __VA_ARGS__, NULL})
/* The whole of an error, whose last line names the next step. */
#define REFUSED(c, message, ...)                                                                   \
    do {                                                                                           \
        ck_assert(!PARSE(c, __VA_ARGS__));                                                         \
        ck_assert_str_eq(said, message);                                                           \
    } while (0)
#define TRY(c, message) "servelab " c ": " message "\n  try: servelab " c " --help\n"

/* ---- words ---- */

START_TEST(every_kind_is_read) {
    ck_assert(PARSE(&PLAIN, "--text", "a b", "--empty=", "--file=f", "--count", "-5", "--share",
                    "0", "--rate=1e2", "--color", "green", "--loud"));
    ck_assert_str_eq(got.text, "a b");
    ck_assert_str_eq(got.empty, "");
    ck_assert_str_eq(got.file, "f");
    ck_assert_int_eq(got.count, -5);
    ck_assert_double_eq(got.share, 0);
    ck_assert_double_eq(got.rate, 100);
    ck_assert_int_eq(got.color, 1);
    ck_assert(got.loud);
    ck_assert(option_given(&words, "count") && !option_given(&words, "other"));
    ck_assert(!option_given(&words, "help") && !option_given(&words, "nothing"));
}
END_TEST

START_TEST(what_is_not_given_keeps_its_default) {
    ck_assert(PARSE(&PLAIN, "--loud"));
    ck_assert_int_eq(got.count, 3);
    ck_assert(!option_given(&words, "count"));
}
END_TEST

START_TEST(both_forms_and_the_last_value_counts) {
    ck_assert(PARSE(&PLAIN, "--count=4", "--count", "5"));
    ck_assert_int_eq(got.count, 5);
    ck_assert(PARSE(&PLAIN, "--text=a=b"));
    ck_assert_str_eq(got.text, "a=b");
    ck_assert(PARSE(&PLAIN, "--loud", "--loud"));
}
END_TEST

START_TEST(a_unique_beginning_is_enough) {
    ck_assert(PARSE(&PLAIN, "--cou=4", "--sha", "1"));
    ck_assert_int_eq(got.count, 4);
    REFUSED(&PLAIN, TRY("plain", "--co is not a flag of this command; the nearest one is --count"),
            "--co=4");
    ck_assert(PARSE(&PLAIN, "--l"));
}
END_TEST

START_TEST(arguments_are_found_among_flags) {
    ck_assert(PARSE(&PLAIN, "one", "--count", "4", "-", "--loud"));
    ck_assert_int_eq(words.n_args, 2);
    ck_assert_str_eq(words.args[0], "one");
    ck_assert_str_eq(words.args[1], "-");
    ck_assert(PARSE(&PLAIN, "--loud", "--", "--count", "-h"));
    ck_assert_str_eq(words.args[0], "--count");
    ck_assert_str_eq(words.args[1], "-h");
    ck_assert_int_eq(got.count, 3);
    REFUSED(&PLAIN, TRY("plain", "'c' is one argument too many; put one that has blanks in quotes"),
            "a", "b", "c");
    REFUSED(&SIBLING, TRY("sibling", "A is missing"), "--loud");
    ck_assert(PARSE(&SIBLING, ""));
    ck_assert_str_eq(words.args[0], "");
}
END_TEST

START_TEST(a_value_is_missing) {
    REFUSED(&PLAIN, TRY("plain", "--count needs a value: it takes a whole number from -5 to 9"),
            "--count");
    REFUSED(&PLAIN, TRY("plain", "--text needs a value: it takes a text that is not empty"),
            "--text", "--loud");
    REFUSED(&PLAIN, TRY("plain", "--file needs a value: it takes a path"), "--file", "--count=4");
    REFUSED(&PLAIN, TRY("plain", "--file needs a value: it takes a path"), "--file", "--", "x");
    ck_assert(PARSE(&PLAIN, "--text=--loud", "--file", "--nothing"));
    ck_assert_str_eq(got.text, "--loud");
    ck_assert_str_eq(got.file, "--nothing");
    ck_assert(!got.loud);
}
END_TEST

START_TEST(bad_values_are_refused) {
    static const char *const counts[] = {
        "", " 4", "4 ", "x", "4x", "0x4", "1.5", "10", "-6", "1e1", "99999999999999999999"};
    char message[300];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        snprintf(message, sizeof message,
                 TRY("plain", "--count takes a whole number from -5 to 9, not '%s'"), counts[i]);
        REFUSED(&PLAIN, message, "--count", (char *)counts[i]);
    }
    REFUSED(&PLAIN, TRY("plain", "--share takes a number from 0 to 1, not 'nan'"), "--share=nan");
    REFUSED(&PLAIN, TRY("plain", "--share takes a number from 0 to 1, not '1.01'"), "--share=1.01");
    REFUSED(&PLAIN, TRY("plain", "--rate takes a number above 0, up to 100, not '0'"), "--rate=0");
    REFUSED(&PLAIN, TRY("plain", "--rate takes a number above 0, up to 100, not '5s'"), "--rate",
            "5s");
    REFUSED(&PLAIN, TRY("plain", "--color takes one of red, green, not 'gren'"), "--color", "gren");
    REFUSED(&PLAIN, TRY("plain", "--text takes a text that is not empty, not ''"), "--text=");
    REFUSED(&PLAIN, TRY("plain", "--file takes a path, not ''"), "--file", "");
    REFUSED(&PLAIN, TRY("plain", "--loud takes no value, not 'yes'"), "--loud=yes");
    REFUSED(&PLAIN, TRY("plain", "--count takes a whole number from -5 to 9, not '?[31m'"),
            "--count", "\033[31m");
}
END_TEST

START_TEST(unknown_flags_get_the_nearest) {
    REFUSED(&PLAIN,
            TRY("plain", "--cuont is not a flag of this command; the nearest one is --count"),
            "--cuont=4");
    REFUSED(&PLAIN, TRY("plain", "-x is not a flag of this command; the nearest one is --text"),
            "-x");
    REFUSED(&PLAIN, TRY("plain", "--other is a flag of `sibling`"), "--other=4");
    ck_assert(PARSE(&SIBLING, "--other=9223372036854775807", "a"));
    ck_assert_int_eq(got.other, INT64_MAX);
    char longest[300];
    memset(longest, 'a', sizeof longest - 1);
    longest[0] = longest[1] = '-';
    longest[sizeof longest - 1] = '\0';
    ck_assert(!PARSE(&PLAIN, longest));
}
END_TEST

START_TEST(rules_hold_between_flags) {
    REFUSED(&RULED, TRY("ruled", "one of --text, --empty, --file is needed"), "a");
    ck_assert(PARSE(&RULED, "--empty="));
    REFUSED(&RULED, TRY("ruled", "--text and --file exclude each other; leave one of them out"),
            "--file=f", "--text=t");
    REFUSED(&RULED, TRY("ruled", "--share and --rate exclude each other; leave one of them out"),
            "--file=f", "--rate=1", "--share=1");
    REFUSED(&RULED, TRY("ruled", "--color needs --loud"), "--file=f", "--color=red");
    ck_assert(PARSE(&RULED, "--file=f", "--color=red", "--loud"));
}
END_TEST

/* ---- help ---- */

static char *help_of(const struct command *c) {
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    options_help(c, out);
    fclose(out);
    return text;
}

START_TEST(help_ends_the_command) {
    char *forms[] = {"--help", "-h", "--he"};
    for (size_t i = 0; i < 3; i++) {
        int status = 9;
        FILE *real = stdout;
        stdout = fopen("/dev/null", "w");
        ck_assert(
            !parse_into(&PLAIN, &got, (char *[]){"x", "a", forms[i], "--nonsense", NULL}, &status));
        fclose(stdout);
        stdout = real;
        ck_assert_int_eq(status, 0);
    }
    ck_assert(!PARSE(&PLAIN, "--nonsense", "--help"));
}
END_TEST

START_TEST(help_shows_what_the_command_has) {
    char *text = help_of(&PLAIN);
    ck_assert_ptr_nonnull(strstr(text, "usage: servelab plain [FLAGS] [A [B]]\n\nfirst\n  --text"));
    ck_assert_ptr_nonnull(strstr(text, "\n\nsecond\n  --share X"));
    ck_assert_ptr_null(strstr(text, "--other"));
    ck_assert_ptr_nonnull(strstr(text, "\nexample: build/bin/servelab plain\n"));
    free(text);
}
END_TEST

/* ---- the commands' tables ---- */

static union {
    long long align;
    double real;
    const char *pointer;
    char bytes[4096];
} any;

static void fill(const struct command *c) {
    memset(&any, 0, sizeof any);
    for (const struct option_flag *f = c->flags; f->help; f++)
        ck_assert_uint_lt(f->at, sizeof any - 8);
}

START_TEST(every_flag_is_in_the_help) {
    const struct command *c = cli_commands[_i];
    char *text = help_of(c), line[80];
    for (const struct option_flag *f = c->flags; f->help; f++) {
        if (!f->name || !option_belongs(c, f)) continue;
        ck_assert_msg(f->help[0] && (f->value != NULL) == (f->kind != OPTION_IS_SWITCH),
                      "%s --%s: help and value", c->name, f->name);
        snprintf(line, sizeof line, "\n  --%s %s", f->name, f->value ? f->value : "");
        ck_assert_msg(strstr(text, line) != NULL, "%s --help doesn't show --%s", c->name, f->name);
    }
    for (char *at = text; *at; at += strcspn(at, "\n") + 1)
        ck_assert_msg(strcspn(at, "\n") <= 110 || !strncmp(at, "example: ", 9) ||
                          !strncmp(at, "usage: ", 7) || !strncmp(at, "  curl", 6),
                      "%s --help: a line is too long: %s", c->name, at);
    free(text);
}
END_TEST

START_TEST(every_flag_refuses_a_bad_value) {
    const struct command *c = cli_commands[_i];
    char word[80], start[120];
    for (const struct option_flag *f = c->flags; f->help; f++) {
        if (!f->name || !option_belongs(c, f) || f->may_be_empty) continue;
        bool text = f->kind == OPTION_IS_TEXT || f->kind == OPTION_IS_FILE;
        snprintf(word, sizeof word, "--%s=%s", f->name, text ? "" : "bad");
        snprintf(start, sizeof start, "servelab %s: --%s takes ", c->name, f->name);
        fill(c);
        int status;
        ck_assert(!parse_into(c, &any, (char *[]){"x", word, NULL}, &status));
        ck_assert_int_eq(status, CLI_USAGE);
        ck_assert_msg(!strncmp(said, start, strlen(start)), "%s", said);
    }
}
END_TEST

START_TEST(every_rule_names_flags) {
    const struct command *c = cli_commands[_i];
    for (const struct option_rule *r = c->rules; r && r->kind; r++)
        for (int i = 0; i < 4 && r->names[i]; i++) {
            const struct option_flag *f = c->flags;
            while (f->help && (!f->name || strcmp(f->name, r->names[i]))) f++;
            ck_assert_msg(f->help != NULL, "%s: a rule names --%s", c->name, r->names[i]);
        }
}
END_TEST

/* Splits a line at blanks; quotes of either kind keep a word together. */
static char **split(char *line) {
    static char *list[64];
    int n = 0;
    for (char *at = line; *at && n < 63;) {
        char quote = *at == '\'' || *at == '"' ? *at : 0;
        list[n++] = at + (quote != 0);
        at = quote ? strchr(at + 1, quote) : at + strcspn(at, " ");
        ck_assert_ptr_nonnull(at);
        if (*at) *at++ = '\0';
        while (*at == ' ') at++;
    }
    list[n] = NULL;
    return list;
}

START_TEST(the_examples_parse) {
    const struct command *c = cli_commands[_i];
    char *examples = strdup(c->examples);
    int n = 0;
    for (char *save, *line = strtok_r(examples, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save), n++) {
        size_t length = strlen(c->name);
        ck_assert_msg(!strncmp(line, "servelab ", 9) && !strncmp(line + 9, c->name, length), "%s",
                      line);
        fill(c);
        int status;
        char **argv = split(line + 9 + strcspn(c->name, " ") + (strchr(c->name, ' ') ? 1 : 0));
        ck_assert_msg(parse_into(c, &any, argv, &status), "%s", said);
    }
    ck_assert_int_gt(n, 0);
    free(examples);
}
END_TEST

int main(void) {
    Suite *s = suite_create("options");
    TCase *t = tcase_create("options");
    int n = 0;
    while (cli_commands[n]) n++;
    tcase_add_test(t, every_kind_is_read);
    tcase_add_test(t, what_is_not_given_keeps_its_default);
    tcase_add_test(t, both_forms_and_the_last_value_counts);
    tcase_add_test(t, a_unique_beginning_is_enough);
    tcase_add_test(t, arguments_are_found_among_flags);
    tcase_add_test(t, a_value_is_missing);
    tcase_add_test(t, bad_values_are_refused);
    tcase_add_test(t, unknown_flags_get_the_nearest);
    tcase_add_test(t, rules_hold_between_flags);
    tcase_add_test(t, help_ends_the_command);
    tcase_add_test(t, help_shows_what_the_command_has);
    tcase_add_loop_test(t, every_flag_is_in_the_help, 0, n);
    tcase_add_loop_test(t, every_flag_refuses_a_bad_value, 0, n);
    tcase_add_loop_test(t, every_rule_names_flags, 0, n);
    tcase_add_loop_test(t, the_examples_parse, 0, n);
    suite_add_tcase(s, t);
    return check_main(s);
}
