/* commands.c: the list of sub-commands, and which of them a command line names. See cli.h. */
#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

const struct command *const cli_commands[] = {
    &record_check_command,
    &quality_command,
    &sim_run_command,
    &sim_sweep_command,
    &sim_calibrate_command,
    &serve_command,
    &load_sweep_command, /* before load: the first match counts */
    &load_command,
    &model_info_command,
    &model_tokenize_command,
    &model_detokenize_command,
    &model_tokenizer_command,
    &grade_command,
    &kernels_command,
    &trace_command,
    &report_command,
    NULL,
};

/* The commands whose name begins with the word `group` ("sim"), or all of them with NULL. */
static void print_list(const char *group, FILE *out) {
    size_t n = group ? strlen(group) : 0;
    for (const struct command *const *c = cli_commands; *c; c++)
        if (!group || (!strncmp((*c)->name, group, n) && (*c)->name[n] == ' '))
            fprintf(out, "  %-17s %s\n", (*c)->name, (*c)->summary);
}

static int print_help(FILE *out) {
    fprintf(out, "servelab: measure and build an LLM serving path\n\n"
                 "usage: servelab COMMAND [FLAGS] [ARGUMENTS]\n\n");
    print_list(NULL, out);
    fprintf(out, "\n`servelab COMMAND --help` lists its flags, with an example that runs.\n"
                 "exit status: 0 done, 1 the answer is no, 2 bad usage or input, 3 not attempted, "
                 "4 our own fault\n");
    return out == stdout ? CLI_DONE : CLI_USAGE;
}

/* `servelab sim`, `servelab sim --help`: the commands of a group and their examples. */
static int print_group(const char *group, FILE *out) {
    size_t n = strlen(group);
    fprintf(out, "usage: servelab %s COMMAND [FLAGS] [ARGUMENTS]\n\n", group);
    print_list(group, out);
    fputc('\n', out);
    for (const struct command *const *c = cli_commands; *c; c++)
        if (!strncmp((*c)->name, group, n) && (*c)->name[n] == ' ')
            fprintf(out, "example: build/bin/%.*s\n", (int)strcspn((*c)->examples, "\n"),
                    (*c)->examples);
    fprintf(out, "\n`servelab %s COMMAND --help` lists its flags.\n", group);
    return out == stdout ? CLI_DONE : CLI_USAGE;
}

static bool asks_for_help(const char *word) {
    return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* The command that argv[1..] names; *words is how many words its name has. NULL if none. */
static const struct command *find(int argc, char **argv, int *words) {
    char two[64] = "";
    if (argc > 2) snprintf(two, sizeof two, "%s %s", argv[1], argv[2]);
    for (const struct command *const *c = cli_commands; *c; c++)
        for (*words = 1; *words <= 2; ++*words)
            if (!strcmp((*c)->name, *words == 1 ? argv[1] : two)) return *c;
    return NULL;
}

/* argv names no command: help, the help of a group, or an error with the nearest name. */
static int no_command(int argc, char **argv) {
    const char *names[32], *first = argv[1], *second = argc > 2 ? argv[2] : "";
    char groups[32][32], typed[64];
    size_t n = 0, length = strlen(first);
    bool group = false;
    for (const struct command *const *c = cli_commands; *c; c++)
        group |= !strncmp((*c)->name, first, length) && (*c)->name[length] == ' ';
    if (group && argc == 2) return print_group(first, stderr);
    if (group && asks_for_help(second)) return print_group(first, stdout);
    for (const struct command *const *c = cli_commands; *c && n < 32; c++, n++) {
        const char *name = (*c)->name;
        int width = (int)(group ? strlen(name) : strcspn(name, " "));
        snprintf(groups[n], sizeof groups[n], "%.*s", width, name);
        names[n] = groups[n];
    }
    snprintf(typed, sizeof typed, group ? "%s %s" : "%s", first, second);
    err_clean(typed);
    fprintf(stderr, "servelab: there is no command '%s'; the nearest one is '%s'\n", typed,
            nearest_name(typed, names, n));
    if (group) print_list(first, stderr);
    fprintf(stderr, "  try: servelab %s%s--help\n", group ? first : "", group ? " " : "");
    return CLI_USAGE;
}

int cli_run(int argc, char **argv) {
    int words;
    if (argc < 2) return print_help(stderr);
    if (asks_for_help(argv[1]) || !strcmp(argv[1], "help")) return print_help(stdout);
    const struct command *c = find(argc, argv, &words);
    return c ? c->run(argc - words, argv + words) : no_command(argc, argv);
}
