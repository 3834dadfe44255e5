/* main.c: the program `servelab`: finds the sub-command and runs it. Not here: anything a command
 * does. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_command commands[] = {
    {"record", "check request records: intervals, classification, summary", cmd_record},
    {"quality", "ask a model checkable questions; show what faults and precision do", cmd_quality},
    {"sim", "simulate a server: arrivals, a policy, a cost model", cmd_sim},
    {"serve", "serve a model over HTTP in OpenAI's shapes, and record every request", cmd_serve},
    {"load", "ask a server, with the client's clock, and join the records", cmd_load},
    {"model", "show what a model file holds; text to token ids and back", cmd_model},
    {"grade", "grade a lab: points, what to do next, the command that repeats a check", cmd_grade},
    {"kernels", "what lab 03's kernels must move and compute, and their budgets", cmd_kernels},
    {0}, /* end */
};

static void print_help(FILE *out) {
    fprintf(out, "servelab: measure and build an LLM serving path\n\n"
                 "usage: servelab COMMAND [ARGUMENTS]\n\n");
    for (const struct cli_command *c = commands; c->name; c++)
        fprintf(out, "  %-8s %s\n", c->name, c->summary);
    fprintf(out, "\n`servelab COMMAND --help` says more, with an example that runs.\n"
                 "exit status: 0 done, 1 the answer is no, 2 bad usage or input, 3 not attempted, "
                 "4 our own fault\n");
}

/* A closed standard descriptor would be given to the next file that is opened, and our messages
 * written into it. Opened the wrong way round, so that using it is still the error that it was. */
static void reserve_standard(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* Text that didn't arrive, on a full disk say, is not done. */
static int delivered(int status) {
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout)) return status;
    fprintf(stderr, "servelab: the output can't be written%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return status ? status : CLI_FAULT;
}

int main(int argc, char **argv) {
    reserve_standard();
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return delivered(CLI_DONE);
    }
    for (const struct cli_command *c = commands; c->name; c++)
        if (!strcmp(argv[1], c->name)) return delivered(c->run(argc - 1, argv + 1));
    fprintf(stderr, "servelab: there is no command '%s'\n  try: servelab --help\n", argv[1]);
    return CLI_USAGE;
}
