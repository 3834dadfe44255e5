/* options.h: describes a sub-command of servelab by a table of its flags, and parses, checks and
 * explains the flags by that table.
 *
 * Every command reads its words in the same way:
 *   --flag VALUE, --flag=VALUE  are the same. If VALUE itself names a flag, use the second form.
 *   --fl                        is --flag if no other flag of the command begins with --fl.
 *   --flag 1 --flag 2           the last value counts.
 *   --                          every word after it is an argument.
 *   -                           is an argument; most commands take it for standard input.
 *   --help, -h                  prints the help and ends with status 0; words after it are not
 * read. Flags and arguments may be in any order.
 *
 * Every error has one form, on stderr, and exit status CLI_USAGE:
 *   servelab COMMAND: --flag takes WHAT, not 'GIVEN'
 *     try: servelab COMMAND --help
 * An unknown flag is reported with the nearest known one.
 */
#ifndef SERVELAB_CLI_OPTIONS_H
#define SERVELAB_CLI_OPTIONS_H

#include "cli/cli.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
    OPTION_IS_HEADING, /* begins a group of --help; .help is its title */
    OPTION_IS_SWITCH,  /* bool: no value */
    OPTION_IS_INT,     /* long long from .min to .max, decimal */
    OPTION_IS_REAL,    /* double from .lo to .hi, decimal and finite */
    OPTION_IS_ABOVE,   /* double above .lo and up to .hi */
    OPTION_IS_CHOICE,  /* int: index in .choices */
    OPTION_IS_TEXT,    /* const char *: any text that is not empty */
    OPTION_IS_FILE     /* const char *: a path that is not empty */
};

struct option_flag {
    const char *name;  /* without the dashes: "max-tokens" */
    const char *value; /* what --help calls the value: "N"; NULL for a switch */
    const char *help;  /* what the flag does, the default in parentheses */
    enum option_kind kind;
    size_t at;                  /* offset of the field that takes the value */
    long long min, max;         /* of an INT */
    double lo, hi;              /* of a REAL or ABOVE */
    const char *const *choices; /* of a CHOICE, NULL at the end */
    bool may_be_empty;          /* a TEXT that accepts '' */
    unsigned only;              /* command.variant bits of the commands that have it; 0: all */
};

/* The rows of a table; the table ends with {0}. T is the command's struct, M its field; a field of
 * another type than the kind needs does not compile. Designated members may follow. */
#define OPTION_FIELD(T, M, type) _Generic(((T *)0)->M, type : offsetof(T, M))
#define OPTION_HEADING(title, ...)                                                                 \
    { .help = (title), __VA_ARGS__ }
#define OPTION_ROW(T, M, type, n, v, k, ...)                                                       \
    { .name = (n), .value = (v), .kind = (k), .at = OPTION_FIELD(T, M, type), __VA_ARGS__ }
#define OPTION_SWITCH(T, M, n, ...)                                                                \
    OPTION_ROW(T, M, bool, n, NULL, OPTION_IS_SWITCH, .help = __VA_ARGS__)
#define OPTION_INT(T, M, n, v, least, most, ...)                                                   \
    OPTION_ROW(T, M, long long, n, v, OPTION_IS_INT, .min = (least), .max = (most),                \
               .help = __VA_ARGS__)
#define OPTION_REAL(T, M, n, v, least, most, ...)                                                  \
    OPTION_ROW(T, M, double, n, v, OPTION_IS_REAL, .lo = (least), .hi = (most), .help = __VA_ARGS__)
#define OPTION_ABOVE(T, M, n, v, least, most, ...)                                                 \
    OPTION_ROW(T, M, double, n, v, OPTION_IS_ABOVE, .lo = (least), .hi = (most),                   \
               .help = __VA_ARGS__)
#define OPTION_CHOICE(T, M, n, v, names, ...)                                                      \
    OPTION_ROW(T, M, int, n, v, OPTION_IS_CHOICE, .choices = (names), .help = __VA_ARGS__)
#define OPTION_TEXT(T, M, n, v, ...)                                                               \
    OPTION_ROW(T, M, const char *, n, v, OPTION_IS_TEXT, .help = __VA_ARGS__)
#define OPTION_FILE(T, M, n, v, ...)                                                               \
    OPTION_ROW(T, M, const char *, n, v, OPTION_IS_FILE, .help = __VA_ARGS__)

/* A rule between flags. */
enum option_rule_kind {
    OPTION_RULE_END,
    OPTION_EXCLUDE, /* at most one of the names is given */
    OPTION_ONE_OF,  /* exactly one of the names is given */
    OPTION_NEEDS    /* names[0] is given only together with names[1] */
};
struct option_rule {
    enum option_rule_kind kind;
    const char *names[8];
};

struct command {
    const char *name;                  /* "record check" */
    const char *summary;               /* one line for `servelab --help` */
    int (*run)(int argc, char **argv); /* argv[0] is not read; returns an exit status */

    const char *usage;    /* what follows the name in the usage line */
    const char *about;    /* paragraphs below it */
    const char *notes;    /* paragraphs after the flags, or NULL */
    const char *exits;    /* what the exit statuses mean */
    const char *examples; /* a command a line, each begins with "servelab"; the first runs in the
                             project's folder */

    const struct option_flag *flags;
    const struct option_rule *rules; /* NULL: none */
    const char *args[3];             /* names of the arguments, in order */
    int min_args, max_args;

    unsigned variant;                   /* this command's bit in option_flag.only */
    const struct command *const *share; /* all commands with this table, NULL at the end; or NULL */
};

enum { OPTIONS_MANY = 1 << 30 /* as max_args: any number */ };

struct option_words {
    const struct command *command;
    uint64_t given; /* bit i: flags[i] was given */
    char **args;    /* the arguments, in order; they lie in argv, whose order changes */
    int n_args;
};

/* Reads argv[1..argc) into *values, which holds the defaults. true: go on. false: the command ends
 * with *status; the help or the error is printed. */
bool options_parse(const struct command *c, void *values, int argc, char **argv,
                   struct option_words *words, int *status);

/* Was --name in argv? false also for a flag that this command does not have. */
bool option_given(const struct option_words *w, const char *name);

/* Does the command have the flag of this row? */
bool option_belongs(const struct command *c, const struct option_flag *f);

/* The help, lines of up to 96 columns. */
void options_help(const struct command *c, FILE *out);

/* "WHAT" of the error above, such as "a whole number from 1 to 9". Returns buf. */
const char *option_takes(const struct option_flag *f, char *buf, size_t cap);

#endif
