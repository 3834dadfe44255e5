/* load_flags.h: the flags of `servelab load`, which sends either a few requests one after the other
 * (cmd_load.c) or a load on a schedule (load_run.c; load_print.c shows its figures).
 */
#ifndef SERVELAB_CLI_LOAD_FLAGS_H
#define SERVELAB_CLI_LOAD_FLAGS_H

#include "base/buffer.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/sim_flags.h"
#include "load/outbox.h"
#include "load/run_file.h"
#include "load/summary.h"

#include <stdbool.h>

enum { CLI_INTERRUPTED = 130 }; /* exit status, as of a shell: 128 + SIGINT */

enum prompt_form { FORM_AUTO, FORM_IDS, FORM_TEXT };

struct load_flags {
    const char *url, *model, *prompt, *prompt_file, *tokens_file, *preset, *record, *annotate, *out;
    const char *objective;
    struct sim_flags w; /* the workload's flags, as `servelab sim run` has them */
    long long max_tokens, requests, timeout_s, seed;
    long long shared_prefix, prompt_salt, max_streams;
    double temperature, duration_s, warm_up_s, cool_down_s, check_share;
    int prompt_form, check_wording; /* check_wording: index in load_wordings */
    bool completions, ignore_eos, json, no_join, force;
    bool has_seed, has_requests, has_salt; /* given */
    bool quiet;                            /* of a workload: show nothing of the run */
    const char *command;                   /* the command's name in messages; NULL: "load" */
    const char *label;                     /* in front of the lines about progress; NULL: nothing */
};

extern const char *const load_wordings[]; /* "auto", then GET /v1/presets' wordings */

/* The words of a command, as a shell would take them back, after its name. The caller releases it.
 */
struct buffer load_command_line(const char *name, int argc, char **argv);

/* A load on a schedule. command_line is for the run file. Exit status. */
int load_run(const struct load_flags *f, const char *command_line);

/* What load_print.c shows. */
struct load_report {
    const struct load_flags *flags;
    const struct run_file *run;
    const struct load_results *results;
    const struct load_summary *summary;
};
/* Each returns the objective's verdict (SLO_MET without an objective). */
enum slo_answer load_print_text(const struct load_report *r);
enum slo_answer load_print_json(const struct load_report *r);

#endif
