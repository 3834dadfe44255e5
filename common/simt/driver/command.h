/* command.h: the options of one call of simtcc, and the function that carries it out. */
#ifndef SIMT_COMMAND_H
#define SIMT_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

struct words {
    const char **list; /* NULL-terminated */
    int count;
};
void words_add(struct words *w, const char *word);

struct command {
    bool check, keep, only_object, only_text, only_ready, shared, unwritten;
    bool ir;            /* --hooks=ir: the calls of the checks are ours (ir/instrument.h) */
    const char *kernel; /* the file is this one kernel, for the grader; or NULL */
    const char *cxx, *output;
    struct words inputs, compile, link; /* files; what goes to the compiler; to the linker */
};

/* Compiles and links; an exit status. */
int command_run(const struct command *c);

/* Prints, for each local of `source` that a compiler's messages call uninitialized, one line
 * "FILE:LINE: 'NAME' is read before anything was written to it". Each place once. Returns their
 * number. (unwritten.c) */
int unwritten_print(const char *source, const char *messages, FILE *out);

int annotate_main(int argc, char **argv); /* annotate.c */
int roofline_main(int argc, char **argv); /* roofline.c */

#endif
