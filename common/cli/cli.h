/* cli.h: what the sub-commands of `servelab` share: exit statuses, messages, colour. One file
 * cmd_NAME.c a command.
 *
 * Exit status is the verdict (enum cli_exit); nothing parses prose.
 */
#ifndef SERVELAB_CLI_CLI_H
#define SERVELAB_CLI_CLI_H

#include "base/err.h"

#include <stdbool.h>

enum cli_exit {
    CLI_DONE = 0,
    CLI_NO = 1,            /* the answer is no: lost points, objective missed */
    CLI_USAGE = 2,         /* bad usage or input */
    CLI_NOT_ATTEMPTED = 3, /* a lab file is still the starter */
    CLI_FAULT = 4          /* our own fault */
};

struct cli_command {
    const char *name;                  /* "record", "serve" */
    const char *summary;               /* one line for `servelab --help` */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

/* One function a command, declared here, listed in main.c: int cmd_NAME(int argc, char **argv); */
int cmd_record(int argc, char **argv);
int cmd_quality(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_load(int argc, char **argv);
int cmd_model(int argc, char **argv);
int cmd_grade(int argc, char **argv);
int cmd_kernels(int argc, char **argv);

/* "servelab COMMAND: TEXT" to stderr; returns CLI_USAGE. */
int cli_usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reports *e as "servelab COMMAND: INPUT:LINE: FIELD: TEXT" to stderr; with `json`, as {"error":
 * {"input", "line", "field", "message"}} to stdout as well. Returns CLI_USAGE. `input` may be NULL.
 */
int cli_input_error(const char *command, const char *input, const struct err *e, bool json);

/* For getopt_long with opterr = 0 after it returned '?' or ':': names the flag in question and
 * returns CLI_USAGE. */
int cli_bad_flag(const char *command, int argc, char **argv, bool missing_argument);

/* Reads an integer flag value within [lo, hi]; on failure names the flag. 0 or -1 (message already
 * printed). */
int cli_int(const char *command, const char *flag, const char *text, long long lo, long long hi,
            long long *out);

/* Reads a finite decimal number at `text` and sets *end behind it. false where none stands: no
 * blanks in front, and nothing hexadecimal, which strtod takes for a number that nobody meant. */
bool cli_real(const char *text, const char **end, double *out);

/* Escape codes when stdout is a terminal and NO_COLOR is unset, "" otherwise. */
const char *cli_bold(void);
const char *cli_reset(void);

#endif
