/* options.c: command lines by table. See options.h. */
#include "cli/options.h"

#include "base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FLAGS = 64 /* bits of option_words.given */, HELP_COLUMNS = 96, HELP_LEFT = 28 };

static int take_words(struct option_words *w, void *values, int argc, char **argv, bool *help);
static int check_rules(const struct option_words *w);
static int check_args(const struct option_words *w);

bool options_parse(const struct command *c, void *values, int argc, char **argv,
                   struct option_words *words, int *status) {
    bool help = false;
    *words = (struct option_words){.command = c, .args = argv};
    *status = take_words(words, values, argc, argv, &help);
    if (help) options_help(c, stdout);
    if (*status || help) return false;
    *status = check_rules(words);
    if (!*status) *status = check_args(words);
    return !*status;
}

bool option_given(const struct option_words *w, const char *name) {
    const struct option_flag *f = w->command->flags;
    for (int i = 0; f[i].help; i++)
        if (f[i].name && !strcmp(f[i].name, name)) return w->given >> i & 1;
    return false;
}

bool option_belongs(const struct command *c, const struct option_flag *f) {
    return !f->only || f->only & c->variant;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *list(const char *const *choices, char *buf, size_t cap) {
    size_t n = 0;
    while (choices[n]) n++;
    return list_names(choices, n, buf, cap);
}

const char *option_takes(const struct option_flag *f, char *buf, size_t cap) {
    char names[256];
    switch (f->kind) {
    case OPTION_IS_INT:
        snprintf(buf, cap, "a whole number from %lld to %lld", f->min, f->max);
        break;
    case OPTION_IS_REAL:
        snprintf(buf, cap, "a number from %g to %g", f->lo, f->hi);
        break;
    case OPTION_IS_ABOVE:
        snprintf(buf, cap, "a number above %g, up to %g", f->lo, f->hi);
        break;
    case OPTION_IS_CHOICE:
        snprintf(buf, cap, "one of %s", list(f->choices, names, sizeof names));
        break;
    case OPTION_IS_TEXT:
        snprintf(buf, cap, f->may_be_empty ? "a text" : "a text that is not empty");
        break;
    case OPTION_IS_FILE:
        snprintf(buf, cap, "a path");
        break;
    default:
        snprintf(buf, cap, "no value");
    }
    return buf;
}

static bool read_int(const char *text, long long *out) {
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && !isspace((unsigned char)*text) && !*end && errno != ERANGE;
}

static bool read_real(const char *text, double *out) {
    const char *end;
    return cli_real(text, &end, out) && !*end;
}

static bool read_choice(const char *text, const char *const *choices, int *out) {
    for (*out = 0; choices[*out]; ++*out)
        if (!strcmp(text, choices[*out])) return true;
    return false;
}

/* Checks the value and stores it. false: it is not what the flag takes. */
static bool store(const struct option_flag *f, const char *text, void *values) {
    void *at = (char *)values + f->at;
    long long whole;
    double real;
    int choice;
    switch (f->kind) {
    case OPTION_IS_INT:
        if (!read_int(text, &whole) || whole < f->min || whole > f->max) return false;
        *(long long *)at = whole;
        return true;
    case OPTION_IS_REAL:
    case OPTION_IS_ABOVE:
        if (!read_real(text, &real) || real < f->lo || real > f->hi) return false;
        if (f->kind == OPTION_IS_ABOVE && real == f->lo) return false;
        *(double *)at = real;
        return true;
    case OPTION_IS_CHOICE:
        if (!read_choice(text, f->choices, &choice)) return false;
        *(int *)at = choice;
        return true;
    default:
        if (!*text && !f->may_be_empty) return false;
        *(const char **)at = text;
        return true;
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

enum { NONE = -1, HELP = -2 };

/* The row named name[0..n), or the only one that begins so; HELP for --help, or NONE. */
static int find(const struct command *c, const char *name, size_t n) {
    int found = NONE;
    bool several = false;
    for (int i = 0; i == 0 || c->flags[i - 1].help; i++) {
        bool last = !c->flags[i].help; /* --help, which no table lists */
        const char *known = last ? "help" : c->flags[i].name;
        if (!known || (!last && !option_belongs(c, &c->flags[i])) || strncmp(known, name, n))
            continue;
        if (strlen(known) == n) return last ? HELP : i;
        several = found != NONE;
        found = last ? HELP : i;
    }
    return several || n == 0 ? NONE : found;
}

/* "--arrivals, --arrivals-ms" into buf: those of the names that begin with `typed`. How many. */
static int beginning_with(const char *typed, const char *const *names, size_t n, char *buf,
                          size_t cap) {
    int found = 0;
    *buf = '\0';
    for (size_t i = 0; i < n; i++) {
        if (strncmp(names[i], typed, strlen(typed))) continue;
        size_t at = strlen(buf);
        snprintf(buf + at, cap - at, "%s--%s", found++ ? ", " : "", names[i]);
    }
    return found;
}

static int unknown(const struct command *c, const char *word) {
    const char *names[MAX_FLAGS + 1] = {"help"};
    size_t n = 1, length = strcspn(word, "=");
    for (const struct option_flag *f = c->flags; f->help; f++) {
        if (!f->name) continue;
        if (option_belongs(c, f)) {
            names[n++] = f->name;
            continue;
        }
        if (strncmp(word, "--", 2) || length != strlen(f->name) + 2 ||
            strncmp(word + 2, f->name, length - 2))
            continue;
        for (const struct command *const *s = c->share; *s; s++)
            if (option_belongs(*s, f))
                return cli_usage(c->name, "--%s is a flag of `%s`", f->name, (*s)->name);
    }
    char typed[64], several[400];
    snprintf(typed, sizeof typed, "%.*s", (int)length, word + strspn(word, "-"));
    typed[strcspn(typed, "=")] = '\0';
    if (!strncmp(word, "--", 2) && *typed &&
        beginning_with(typed, names, n, several, sizeof several) > 1)
        return cli_usage(c->name, "--%s is short for several flags: %s; write more of it", typed,
                         several);
    return cli_usage(c->name, "%.*s is not a flag of this command; the nearest one is --%s",
                     length < 60 ? (int)length : 60, word, nearest_name(typed, names, n));
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Is the word the name of a flag, so that it can't be the value of the flag before it? */
static bool names_flag(const struct command *c, const char *word) {
    if (strncmp(word, "--", 2)) return false;
    return !word[2] || find(c, word + 2, strcspn(word + 2, "=")) != NONE;
}

/* Takes the flag argv[*at], and its value if that is a separate word. An exit status. */
static int take_flag(struct option_words *w, void *values, int argc, char **argv, int *at,
                     bool *help) {
    const struct command *c = w->command;
    const char *word = argv[*at], *equals = strchr(word, '=');
    char takes[320];
    int i = strncmp(word, "--", 2) ? NONE : find(c, word + 2, strcspn(word + 2, "="));
    if (!strcmp(word, "-h")) i = HELP;
    if (i == NONE) return unknown(c, word);
    const struct option_flag *f = i == HELP ? NULL : &c->flags[i];
    if (!f || f->kind == OPTION_IS_SWITCH) {
        if (equals)
            return cli_usage(c->name, "--%s takes no value, not '%.60s'", f ? f->name : "help",
                             equals + 1);
        if (f) *(bool *)((char *)values + f->at) = true;
        *help = !f;
    } else {
        const char *text = equals ? equals + 1 : *at + 1 < argc ? argv[*at + 1] : NULL;
        option_takes(f, takes, sizeof takes);
        if (!text || (!equals && names_flag(c, text)))
            return cli_usage(c->name, "--%s needs a value: it takes %s", f->name, takes);
        if (!store(f, text, values))
            return cli_usage(c->name, "--%s takes %s, not '%.60s'", f->name, takes, text);
        *at += !equals;
    }
    if (f) w->given |= UINT64_C(1) << i;
    return 0;
}

static int take_words(struct option_words *w, void *values, int argc, char **argv, bool *help) {
    bool only_args = false;
    for (int i = 1; i < argc && !*help; i++) {
        int status = 0;
        if (!only_args && !strcmp(argv[i], "--"))
            only_args = true;
        else if (only_args || argv[i][0] != '-' || !argv[i][1])
            w->args[w->n_args++] = argv[i]; /* at or before argv[i], which is read */
        else
            status = take_flag(w, values, argc, argv, &i, help);
        if (status) return status;
    }
    return 0;
}

static int check_args(const struct option_words *w) {
    const struct command *c = w->command;
    if (w->n_args < c->min_args) return cli_usage(c->name, "%s is missing", c->args[w->n_args]);
    if (w->n_args > c->max_args)
        return cli_usage(c->name,
                         "'%.60s' is one argument too many; put one that has blanks in quotes",
                         w->args[c->max_args]);
    return 0;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static int check_rule(const struct option_words *w, const struct option_rule *r) {
    const char *command = w->command->name, *given[2] = {NULL, NULL};
    char all[200] = "";
    for (int i = 0; i < 8 && r->names[i]; i++) {
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s--%s", i ? ", " : "", r->names[i]);
        if (option_given(w, r->names[i])) given[given[0] != NULL] = r->names[i];
    }
    if (r->kind == OPTION_NEEDS) {
        if (!option_given(w, r->names[0]) || option_given(w, r->names[1])) return 0;
        return cli_usage(command, "--%s needs --%s", r->names[0], r->names[1]);
    }
    if (given[1])
        return cli_usage(command, "--%s and --%s exclude each other; leave one of them out",
                         given[0], given[1]);
    if (r->kind == OPTION_EXCLUDE || given[0]) return 0;
    return cli_usage(command, r->names[1] ? "one of %s is needed" : "%s is missing", all);
}

static int check_rules(const struct option_words *w) {
    int status = 0;
    for (const struct option_rule *r = w->command->rules; r && r->kind && !status; r++)
        status = check_rule(w, r);
    return status;
}

/* ---- help ------------------------------------------------------------------------------------ */

/* Prints text, each line broken at blanks to fit; the first line starts at column `at`, the others
 * after `indent` blanks. */
static void print_wrapped(FILE *out, const char *text, int at, int indent) {
    for (;;) {
        int room = HELP_COLUMNS - at, n = (int)strcspn(text, "\n");
        if (n > room) {
            for (n = room; n > 0 && text[n] != ' ';) n--;
            if (n == 0) n = (int)strcspn(text, " \n"); /* a word longer than the line */
        }
        fprintf(out, "%.*s\n", n, text);
        text += n;
        if (!*text || !*++text) return;
        fprintf(out, "%*s", indent, "");
        at = indent;
    }
}

static void print_flag(const char *name, const char *value, const char *help, FILE *out) {
    char left[80];
    int n = snprintf(left, sizeof left, "  --%s %s", name, value ? value : "");
    fprintf(out, "%-*s", HELP_LEFT, left);
    if (n >= HELP_LEFT) fprintf(out, "\n%*s", HELP_LEFT, "");
    print_wrapped(out, help, HELP_LEFT, HELP_LEFT);
}

static void print_paragraph(const char *text, FILE *out) {
    if (!text) return;
    fputc('\n', out);
    print_wrapped(out, text, 0, 0);
}

void options_help(const struct command *c, FILE *out) {
    fprintf(out, "usage: servelab %s %s\n", c->name, c->usage);
    print_paragraph(c->about, out);
    fputc('\n', out);
    const struct option_flag *heading = NULL;
    for (const struct option_flag *f = c->flags; f->help; f++) {
        if (!f->name) heading = f;
        if (!f->name || !option_belongs(c, f)) continue;
        if (heading) fprintf(out, "%s%s\n", heading == c->flags ? "" : "\n", heading->help);
        heading = NULL;
        print_flag(f->name, f->value, f->help, out);
    }
    print_flag("help", NULL, "print this", out);
    print_paragraph(c->notes, out);
    fputs("\nexit status: ", out);
    print_wrapped(out, c->exits, 13, 0);
    fputc('\n', out);
    for (const char *e = c->examples; *e; e = strchrnul(e, '\n') + (*strchrnul(e, '\n') != 0))
        fprintf(out, "example: build/bin/%.*s\n", (int)strcspn(e, "\n"), e);
}
