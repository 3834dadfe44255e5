/* cli.h: what the sub-commands of `servelab` share: the list of them, exit statuses, error
 * messages, colour. Each command is in one file, cmd_NAME.c; how its flags are read: cli/options.h.
 *
 * The exit status is the verdict (enum cli_exit); no program has to parse prose.
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
    CLI_FAULT = 4          /* servelab's own fault, or an output that can't be written */
};

/* Each is in cmd_NAME.c (sim in cmd_sim.c and sim_flags.c); struct command: cli/options.h. */
extern const struct command record_check_command, quality_command, sim_run_command,
    sim_sweep_command, sim_calibrate_command, serve_command, load_command, load_sweep_command,
    model_info_command, model_tokenize_command, model_detokenize_command, model_tokenizer_command,
    grade_command, kernels_command, trace_command, report_command;
/* All of them, NULL at the end (commands.c). */
extern const struct command *const cli_commands[];

/* Runs the command that argv[1] (or argv[1] and argv[2]) names, with the rest of argv. Returns an
 * exit status. */
int cli_run(int argc, char **argv);

/* Runs `servelab record check` with the given words. `servelab load` shows its records by it.
 * argv[0] is not read. */
int cmd_record_check(int argc, char **argv);

/* "servelab COMMAND: TEXT" and the next step to stderr; returns CLI_USAGE. Control bytes in TEXT
 * become '?'. */
int cli_usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reports *e as "servelab COMMAND: INPUT:LINE: FIELD: TEXT" to stderr; with `json`, as {"error":
 * {"input", "line", "field", "message"}} to stdout as well. Returns CLI_USAGE. `input` may be NULL.
 */
int cli_input_error(const char *command, const char *input, const struct err *e, bool json);

/* Reads a finite decimal number at `text` and sets *end behind it. false if there is none: blanks
 * in front are refused, and so are hexadecimal numbers, inf and nan, which strtod accepts. */
bool cli_real(const char *text, const char **end, double *out);

/* Escape codes when stdout is a terminal and NO_COLOR is unset, "" otherwise. */
const char *cli_bold(void);
const char *cli_reset(void);

#endif
